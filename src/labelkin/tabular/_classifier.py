"""A classifier of tables with columns of any kind."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_n_features, check_is_fitted, has_fit_parameter

from labelkin._utils.files import FormatError, reason
from labelkin._utils.labels import (
    MANY_LABELS,
    check_label_order,
    check_target_given,
    fits_unknown,
    label_names,
    named_if_single,
)
from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.base import SubsetAccuracyMixin
from labelkin.datasets import RawTable
from labelkin.explain import Explanation, explain
from labelkin.metrics._estimators import label_thresholds, labels_and_scores, score_matrix
from labelkin.tabular._categories import list_gaps, list_new, list_spellings
from labelkin.tabular._fingerprint import count_known_rows, fingerprint
from labelkin.tabular._kinds import Kind
from labelkin.tabular._labels import LabelColumns, count_labels, names_columns
from labelkin.tabular._pipeline import fit_pipeline, make_pipeline, predict_on_device
from labelkin.tabular._predictions import identifiers_of
from labelkin.tabular._schema import Schema
from labelkin.tabular._training import find_training_data


def _has(method: str) -> Callable[[Any], bool]:
    def check(self: "TableClassifier") -> bool:
        return hasattr(getattr(self, "pipeline_", self._base()), method)

    return check


class TableClassifier(SubsetAccuracyMixin, BaseEstimator):
    """A multi-label classifier of tables with columns of any kind.

    Columns of numbers, categories, texts and dates are recognised and turned into features as
    ``labelkin fit`` does: missing numbers become the median of their column, categories one
    indicator per value, texts TF-IDF weights and embeddings, dates month, weekday and hour.
    Identifiers and empty columns are left out. All of it is learned in ``fit``, from the training
    rows only.

    Parameters
    ----------
    estimator : estimator, default=None
        The classifier of the features: one of this library, or any scikit-learn classifier that
        takes label matrices. None: ``KinEnsembleClassifier(random_state=0)``. With 2,000 labels or
        more, a `LabelTreeClassifier` takes the place of a Kin ensemble; it returns sparse scores,
        and uses the names of the labels if all columns are texts.
    labels : str, list of str or int, default=None
        Where a table that is given to ``fit`` without y holds its labels: the names of label
        columns, as a list or separated by commas, in the order that `label_names_` is to have; a
        count (3: the first three columns, -3: the last three); or the name of one column of tags,
        which is ``a.b`` for the field b of objects that column a lists.
    separator : str or list of str, default=None
        What separates the tags of a row, [";", ","] if either does; None: it is guessed. If it is
        given, the one column that `labels` names holds tags, even if these are words like yes or 1.
    ignore_case : bool, default=False
        Whether tags that differ by case, spaces or a final point only are one label.
    no_label : str or list of str, default=()
        Tags that mean that a row has no label, such as "none".
    missing_labels : {"no", "unknown", "drop"}, default=None
        What an empty label cell means: that the label does not apply, or that it is unknown, which
        the classifier must be able to learn from (see :doc:`/guide/unknown`). "drop": rows with
        empty label cells are left out. None: guessed. Empty cells are unknown where labels are
        written as 0 and 1 (or yes and no), and mean no where only 1, yes or x is written. An empty
        cell of a column of tags means that a row has none, unless this parameter is given.
    columns : dict of str to str, default=None
        Kinds of columns, by name: "number", "category", "text", "date" (also numbers such as
        20230616, or of seconds, milli-, micro- or nanoseconds since 1970), "day_first_date"
        (where 3/4/2025 is in April) or "ignore". The kinds of other columns are found. The
        `schema_` of another classifier is accepted as well: columns are then prepared as there.
    scale : {"auto", "none", "robust", "standard", "minmax"}, default="auto"
        Scaling of numbers: "robust" uses medians and quartiles, so that extreme values have
        little influence. "auto" is "robust", but "none" in a table of numbers alone if these are
        counts of words (most are 0) or if the classifier is Kin, which scales them itself.
    max_words : int, default=None
        Maximum number of words kept per column of text; None: 5,000, from 5,000 rows on 20,000,
        with 2,000 labels and more 100,000.
    embedding : {"auto", "none"}, default="auto"
        Whether texts have embeddings beside their words: with "auto", where ``labelkin[text]`` is
        installed and labels are fewer than 2,000. Words of similar meaning have
        similar embeddings, which helps most with few or short texts.
    ngrams : {"auto", "none"}, default="auto"
        Whether texts have pairs of words and parts of words of 2 to 5 characters beside their
        words: with "auto", from 3,000 rows on if the classifier is a
        `MultiLabelLogisticRegression`, and from 10,000 rows on if it is a Kin ensemble, if the
        numbers of texts and labels allow for it. They help with many rows, and with spelling
        mistakes and inflected words.
    trend : bool, default=False
        Whether the year of dates is used. It helps where labels change over time and new rows are
        soon after those of training; later dates have the year of the last of these.
    device : str, default=None
        Where the classifier computes: "cpu", "cuda" or "cuda:1". The fitted model is on the host.

    Attributes
    ----------
    pipeline_ : Pipeline
        The preparation of the columns and the classifier, both fitted. It takes rows as
        ``schema_.read`` returns them.
    estimator_ : estimator
        The fitted classifier, the last step of `pipeline_`.
    columns_ : dict of str to str, or None
        The columns that are used, with their kinds; None after a matrix of numbers.
    schema_ : Schema
        What new tables must look like.
    label_columns_ : LabelColumns
        Names and place of the labels.
    label_names_ : ndarray of shape (n_labels,)
        Names of the labels, where the table or y has any.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label.
    guesses_ : list of str
        What was guessed about the table.
    fingerprint_ : list of str
        Hashes of at most 1,000 training rows, by which an evaluation recognises them.
    n_features_in_ : int
        Number of columns that are used.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they have any.

    See Also
    --------
    labelkin.datasets.read_table : Reads a file as a table for ``fit`` and ``predict``.
    labelkin.tabular.split_labels : Separates features and labels, for ``cross_val_score``.
    labelkin.tabular.predict_frame : Predictions as a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelkin import MultiLabelLogisticRegression, TableClassifier
    >>> films = pd.DataFrame(
    ...     {
    ...         "plot": ["a cop hunts a gang", "two friends marry", "a gang robs a bank"],
    ...         "length": [97, None, 121],
    ...         "tags": ["crime", "comedy;romance", "crime;drama"],
    ...     }
    ... )
    >>> linear = MultiLabelLogisticRegression(C=10.0)
    >>> model = TableClassifier(linear, labels="tags").fit(films)
    >>> model.columns_
    {'plot': 'text', 'length': 'number'}
    >>> model.label_names_.tolist()
    ['comedy', 'crime', 'drama', 'romance']
    >>> model.predict(pd.DataFrame({"plot": ["the gang is back"], "length": [118]}))
    array([[0, 1, 1, 0]])
    """

    _decision: Any = None
    """A fitted `LabelDecision` that takes the place of the classifier's own; None: none."""

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "labels": [None, str, Integral, "array-like", LabelColumns],
        "separator": [None, str, "array-like"],
        "ignore_case": ["boolean"],
        "no_label": [str, "array-like"],
        "missing_labels": [None, StrOptions({"no", "unknown", "drop"})],
        "columns": [None, dict, Schema],
        "scale": [StrOptions({"auto", "none", "robust", "standard", "minmax"})],
        "max_words": [None, Interval(Integral, 1, None, closed="left")],
        "embedding": [StrOptions({"auto", "none"})],
        "ngrams": [StrOptions({"auto", "none"})],
        "trend": ["boolean"],
        "device": [None, str],
    }

    label_names_: np.ndarray

    def __init__(
        self,
        estimator: Any = None,
        *,
        labels: Any = None,
        separator: str | Iterable[str] | None = None,
        ignore_case: bool = False,
        no_label: str | Iterable[str] = (),
        missing_labels: str | None = None,
        columns: Mapping[str, str] | Schema | None = None,
        scale: str = "auto",
        max_words: int | None = None,
        embedding: str = "auto",
        ngrams: str = "auto",
        trend: bool = False,
        device: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.separator = separator
        self.ignore_case = ignore_case
        self.no_label = no_label
        self.missing_labels = missing_labels
        self.columns = columns
        self.scale = scale
        self.max_words = max_words
        self.embedding = embedding
        self.ngrams = ngrams
        self.trend = trend
        self.device = device

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any = None, *, labels: Any = None, sample_weight: Any = None
    ) -> "TableClassifier":
        """Find the kinds of the columns, and fit their preparation and the classifier.

        Parameters
        ----------
        X : DataFrame, RawTable, array-like or sparse matrix
            The table, or a matrix of numbers; arrays of more than two dimensions, such as images,
            are flattened. A DataFrame may hold the labels, too.
        y : DataFrame, Series, array-like, str, list of str or int, default=None
            The labels: one column of 0 and 1 (or yes and no) per label, or a Series of tags, such
            as ``"a;b"`` or ``["a", "b"]``. Columns of X with the name of a label column are not
            used. None: the labels are columns of X. Names of columns, and a count, are the same
            as `labels`.
        labels : str, list of str or int, default=None
            Where X holds the labels; by default the parameter of this name.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for a classifier that takes them.

        Returns
        -------
        TableClassifier
            The fitted classifier.
        """
        # Find labels and kinds of columns.
        table = RawTable.of(X)
        if table.is_matrix and table.target is None and table.labelled.names is None:
            check_target_given(self, y)
        own = self.get_params(deep=False)
        options = {key: own[key] for key in own if key not in ("estimator", "labels", "device")}
        where = self.labels if labels is None else labels
        training = find_training_data(table, where, y=y, **options)
        self.schema_, self.guesses_ = training.schema, [guess.text for guess in table.guesses]
        for guess in table.guesses:
            if guess.doubtful:
                by = [f"{name}=" for name in guess.arguments if name in own]
                if guess.values:
                    by[0] += str([*guess.values])
                decides = " or ".join(by or ["columns="])
                warnings.warn(f"{table.source}: {guess.text} (set {decides})", stacklevel=3)
        target, names = training.y, training.labels.names
        if _has_other_order(X, y):
            warnings.warn(
                "X and y have the same index in another order, and rows are matched by position: "
                "pass y.loc[X.index] if they belong together by the index.",
                stacklevel=3,
            )
        if target.dtype == np.uint8:
            target = target.astype(np.int8)  # RidgeClassifier, for one, writes -1 for 0
        if names and target.ndim == 2 and not sparse.issparse(target):
            target = import_optional("pandas").DataFrame(target, columns=list(names))

        # Fit the preparation of the columns, and the classifier.
        classifier = clone(self._base())
        if count_labels(target) >= MANY_LABELS and hasattr(classifier, "make_label_tree"):
            classifier = classifier.make_label_tree()  # in the place of Kin
        weights = {}
        if sample_weight is not None:
            if not has_fit_parameter(classifier, "sample_weight"):
                raise ValueError(f"{type(classifier).__name__} takes no sample_weight.")
            weights["sample_weight"] = _safe_indexing(sample_weight, training.kept)
        pipeline = make_pipeline(self.schema_, classifier)
        rows = self.schema_.label_rows(names)
        with named_if_single(classifier):
            self.pipeline_ = fit_pipeline(
                pipeline, training.X, target, self.device, rows, **weights
            )
        self.fingerprint_ = fingerprint(training.X, self.columns_)
        self._name_labels(training.labels if names else None)
        return self

    def _name_labels(self, labels: LabelColumns | None) -> None:
        """Store where the labels are, and their names; without names they are numbered."""
        self.__dict__.pop("label_names_", None)
        self.label_columns_ = labels or LabelColumns(_names_of(self.estimator_))
        if labels is not None:
            self.label_names_ = np.array(labels.names, dtype=object)

    @property
    def _fits_unknown(self) -> bool:
        return fits_unknown(self._base())

    def _base(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from labelkin.kin import KinEnsembleClassifier  # only where it is used

        return KinEnsembleClassifier(random_state=0)

    @classmethod
    def around(cls, model: Any, names: list[str] | None = None) -> "TableClassifier":
        """Return a classifier of tables around a fitted model, which prepares columns itself.

        `names` are those of the labels; by default the model's own.
        """
        found = cls(model)
        columns = getattr(model, "feature_names_in_", None)
        kinds: Any = None if columns is None else dict.fromkeys(map(str, columns), "raw")
        n_features = getattr(model, "n_features_in_", None) if kinds is None else 0
        if n_features is None:
            raise ValueError(
                f"this {type(model).__name__} takes a list of texts, not a table; fit a "
                "TableClassifier, which takes tables with columns of texts."
            )
        found.schema_ = Schema(kinds, n_features=int(n_features))
        found.pipeline_, found.guesses_ = model, []
        found._name_labels(None if names is None else LabelColumns(tuple(names)))
        return found

    @property
    def columns_(self) -> dict[str, Kind] | None:
        """The columns that are used, with their kinds; None after a matrix of numbers."""
        return self.schema_.columns

    @property
    def n_features_in_(self) -> int:
        """Number of columns that are used."""
        return len(self.schema_.feature_names or range(self.schema_.n_features))

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that are used, where they have any."""
        if self.schema_.feature_names is None:
            raise AttributeError("feature_names_in_: the columns have no names.")
        return np.array(self.schema_.feature_names, dtype=object)

    @property
    def classes_(self) -> Any:
        """The classes of the fitted classifier."""
        found = self.estimator_.classes_
        # An array, not a list of arrays: cross_val_predict reads its shape.
        return np.tile([0, 1], (len(found), 1)) if isinstance(found, list) else found

    @property
    def estimator_(self) -> Any:
        """The fitted classifier."""
        return self.pipeline_.steps[-1][1] if hasattr(self.pipeline_, "steps") else self.pipeline_

    @property
    def thresholds_(self) -> np.ndarray:
        """The score above which each label is predicted; NaN where none decides label sets."""
        if self._decision is not None:
            return self._decision.thresholds_
        return label_thresholds(self.pipeline_, len(self.label_columns_.names))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label set of each row.

        Parameters
        ----------
        X : DataFrame, RawTable, array-like or sparse matrix
            Rows with the columns of the training data, in any order; others are ignored. Dates
            with another time zone or offset from UTC than those of the training data are converted
            to it. Where these have several offsets, as in files of a place with summer time, dates
            are read as they are written.

        Returns
        -------
        ndarray of int of shape (n_samples, n_labels)
            1 where the label is predicted.
        """
        return self._predict("predict", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(label = 1), in the order of `label_names_`; X as in `predict`."""
        return self._predict("predict_proba", X)

    @available_if(lambda self: hasattr(getattr(self, "estimator_", None), "predict_topk"))
    def predict_topk(self, X: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and probabilities of the k most probable labels; X as in `predict`."""
        features = self.pipeline_[:-1].transform(self._read(X))
        return self.estimator_.predict_topk(features, k)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of a classifier without probabilities; X as in `predict`."""
        return self._predict("decision_function", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose label set is predicted exactly.

        Parameters
        ----------
        X : DataFrame, RawTable, array-like or sparse matrix
            Rows as in `predict`.
        y : DataFrame, Series, array-like, str, list of str or int, default=None
            Their labels, in any form that ``fit`` takes; None: they are in X. Unknown ones do not
            count.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        table, notes = RawTable.of(X), list[str]()
        if y is None or names_columns(y, table):
            y = self.label_columns_.read(table.labelled, notes)
        check_label_order(self, y)
        y = self.label_columns_.read_target(y, notes)
        for note in notes:  # on labels that count as absent
            warnings.warn(note, stacklevel=2)
        return super().score(X, y, sample_weight)

    @property
    def categories_(self) -> dict[str, list[str]]:
        """The values of each column of categories that the model was fitted on."""
        found = [[*map(str, known)] for known in getattr(self._encoder, "categories_", ())]
        return dict(zip(self.schema_.of_kind("category"), found, strict=True))

    @property
    def _encoder(self) -> Any:
        """What encodes categories; None: there are none."""
        if not self.schema_.of_kind("category"):
            return None
        return self.pipeline_[0].named_transformers_["category"].named_steps["encode"]

    def read_rows(self, table: RawTable, notes: list[str]) -> Any:
        """Return the features of new rows, as `predict` takes them; remarks go to `notes`."""
        features = self.schema_.read(table, notes)
        present = {*(table.names or ())} - {*table.absent}
        known = self.categories_
        remarks = list_gaps({name: known[name] for name in known if name in present}, features)
        remarks += list_spellings(known, features) + list_new(known, self._encoder, features)
        notes += [f"{table.source}: {text}" for text in remarks]
        return features

    def _read(self, X: Any, unlike: list[str] | None = None) -> Any:
        """Return new rows as the pipeline takes them; see `Schema.read`."""
        check_is_fitted(self)
        table = RawTable.of(X)
        if table.is_matrix and table is not X:
            _check_n_features(self, table.data, reset=False)
        return self.schema_.read(table, unlike=unlike)

    def _predict(self, method: str, X: Any) -> Any:
        if self.device in (None, "cpu") and self._decision is None:
            notes = list[str]()
            features = self._read(X, notes)  # first, as it checks that the model is fitted
            source = RawTable.of(X).source
            remarks = list_new(self.categories_, self._encoder, features)
            notes += [f"{source}: {text}" for text in remarks]
            for note in notes:
                warnings.warn(note, stacklevel=3)
            found = getattr(self.pipeline_, method)(features)
            # Forests and others of scikit-learn return a list with one array per label.
            return score_matrix(self.pipeline_, found) if isinstance(found, list) else found
        return self.predict_with_scores(X)[method != "predict"]

    def predict_with_scores(self, X: Any) -> tuple[Any, Any]:
        """Return predicted labels and scores of the same shape, computed once; X as in `predict`.

        The scores are probabilities or, of a classifier without any, those of its decision
        function.
        """
        features = self._read(X)
        try:
            if self.device not in (None, "cpu"):
                labels, scores = predict_on_device(self.pipeline_, features, self.device)
            else:
                labels, scores = labels_and_scores(self.pipeline_, features)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if not (gaps := self._name_gaps(X, features)):
                raise
            text = f"values are missing in {gaps}, which the model's own preparation may not take"
            raise FormatError("the rows", f"{text} ({reason(error, 100)})") from error
        if not sparse.issparse(scores):  # those of thousands of labels are
            scores = scores.reshape(labels.shape)  # those of one label may have one dimension
        if self._decision is not None:
            labels = self._decision.apply(scores).astype(int)
        return labels, scores

    def _name_gaps(self, X: Any, features: Any) -> str:
        """Return where values are missing that the model prepares itself, those of texts first."""
        columns = {name: features[name].isna().to_numpy() for name in self.schema_.of_kind("raw")}
        names = [name for name, gaps in columns.items() if gaps.any()]
        names.sort(key=lambda name: features[name].dtype.kind == "f")
        index: Any = RawTable.of(X).data.index if names else ()
        return join_names([f"{name} (row {index[columns[name]][0] + 1})" for name in names], 3)

    def count_training_rows(self, X: Any) -> int:
        """Return how many rows are among those of ``fit``; for many of these, an estimate."""
        known = getattr(self, "fingerprint_", None)  # a wrapped model has none
        return count_known_rows(self._read(X), known, self.columns_)

    def explain(self, x: Any, *, training: Any = None, **options: Any) -> Explanation:
        """Explain the prediction for one row, in the words and columns of the table.

        Parameters
        ----------
        x : DataFrame of one row, Series or array-like
            The row.
        training : DataFrame or RawTable, optional
            The table of ``fit``, to show its rows by their identifier and text, not by numbers.
        **options
            ``background`` and ``max_features`` of `labelkin.explain.explain`.

        Returns
        -------
        Explanation
            What counts for and against each label.
        """
        check_is_fitted(self)
        names = None
        if self.columns_ is None:
            names = self.schema_.matrix_names
        if training is not None:
            table = RawTable.of(training)
            options["training"] = self.schema_.read(table)
            known = identifiers_of(table, self.schema_)
            options["training_ids"] = next(iter(known.values()), None)
        return explain(self, x, feature_names=names, **options)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "pipeline_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def _has_other_order(X: Any, y: Any) -> bool:
    """Return whether two tables of pandas have the same distinct index labels in another order."""
    one: Any = getattr(X, "index", None)
    other: Any = getattr(y, "index", None)
    if not hasattr(one, "equals") or not hasattr(other, "equals") or one.equals(other):
        return False
    return one.is_unique and len(one) == len(other) and {*one} == {*other}


def _names_of(model: Any) -> tuple[str, ...]:
    """Return the names of the labels of a model, or y1, y2 and so on."""
    if hasattr(model, "label_names_") or getattr(model, "_one_target", False):
        return tuple(label_names(model))
    return tuple(f"y{i + 1}" for i in range(len(getattr(model, "classes_", ()))))
