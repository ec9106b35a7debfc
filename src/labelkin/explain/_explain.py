"""Explanations of classifiers, by themselves and through pipelines and transformers of columns."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from labelkin._utils.labels import label_names, label_names_of
from labelkin._utils.names import abbreviate
from labelkin._utils.optional import import_optional
from labelkin.base import Matrix
from labelkin.explain._explanation import Explanation
from labelkin.explain._occlusion import (
    CHANGED,
    as_log_odds,
    occlude_features,
    typical_values,
    without_parts,
    words_as_written,
)
from labelkin.metrics._estimators import estimator_scores, labels_and_scores
from labelkin.rows import ensure_on_host, to_host

_LONGEST = 100  # characters of a row in words


class ExplainMixin:
    """Adds `explain` to a classifier."""

    _typical: Any = None
    """Median and standard deviation of each feature in training, for occlusion; None: none."""

    @abstractmethod
    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        """Return the fields of `Explanation` that the classifier knows, for one validated row.

        Names of `features` are their numbers here.
        """

    def explain(
        self, x: ArrayLike, feature_names: Any = None, *, max_features: int = 400
    ) -> Explanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The sample.
        feature_names : sequence of str, optional
            Names to show, such as a vectorizer's ``get_feature_names_out()``; None: those seen in
            ``fit``, else x0, x1, and so on.
        max_features : int, default=400
            Where the effect of a feature is found by replacing it: features that are tried, those
            furthest from their medians. The time is that of as many predictions. 0: none.

        Returns
        -------
        Explanation
            What speaks for and against each label: features, members, training samples. Print it,
            plot it, or read its arrays. `labelkin.explain.explain` explains pipelines too.
        """
        check_is_fitted(self)
        if (model := ensure_on_host(self)) is not self:
            x = to_host(x)
        row = model._validate_predict(_as_one_row(x))
        names = _feature_names(model, feature_names)
        found = model._explain_row(row)
        if "features" not in found and model._typical is not None and max_features:
            features, effects = occlude_features(
                lambda rows: as_log_odds(model._proba(rows)), row, model._typical, max_features
            )
            found |= {"features": features, "feature_effects": effects, "method": CHANGED}
        used = found.get("features", ())
        values = [None] * len(used) if sparse.issparse(row) else [float(row[0, i]) for i in used]
        return Explanation(
            label_names=label_names(model),
            predicted=np.asarray(model._labels(row))[0].astype(bool),
            probability=np.asarray(model._proba(row))[0],
            **{**found, "features": [names[i] for i in used], "feature_values": values},
        )


def explain(
    model: Any,
    x: Any,
    *,
    background: Any = None,
    training: Any = None,
    feature_names: Any = None,
    max_features: int = 400,
) -> Explanation:
    """Explain the prediction of a fitted classifier for one sample, in the user's words.

    The classifier may be the last step of a scikit-learn ``Pipeline``, with a
    ``ColumnTransformer`` or a vectorizer of texts before it. Features are then the columns of the
    table and the words of its texts.

    - Linear models: what each word or value adds to the log odds, exactly.
    - Other models: each word is removed, each value replaced, and the labels are predicted again.
      Values of a DataFrame count as missing; with `background`, its medians and most frequent
      values take their place.
    - Kernel regressions, neighbours and ensembles of them also list training samples and members.

    Parameters
    ----------
    model : fitted classifier
        Of labelkin or scikit-learn, by itself or at the end of a pipeline. With other classifiers
        than labelkin's, ``predict_proba`` or ``decision_function`` is needed.
    x : array-like of shape (n_features,) or (1, n_features), Series, DataFrame or str
        The sample: one row, or one text for a pipeline that begins with a vectorizer.
    background : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), optional
        Samples, such as those of training, whose typical values replace those of `x`; of a single
        sample, 0 does. Needed for dense arrays if the classifier has no medians of its own, and
        for DataFrames if the pipeline refuses missing values.
    training : array-like, DataFrame or list of str, optional
        The samples of training, to show them in words and not by their numbers.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    max_features : int, default=400
        Words and values that are tried, at most.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from labelkin import MultiLabelLogisticRegression
    >>> from labelkin.explain import explain
    >>> texts = ["app crashes", "crash of the app", "pay the bill", "the bill is wrong"] * 5
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
    >>> model = make_pipeline(TfidfVectorizer(), MultiLabelLogisticRegression()).fit(texts, Y)
    >>> why = explain(model, "My App crashes")
    >>> [name for name, _ in why.strongest_features(0, 2)]
    ['App', 'crashes']
    """
    check_is_fitted(model)
    is_text = isinstance(x, str) or (np.shape(x) == (1,) and isinstance(np.asarray(x)[0], str))
    row = [str(np.asarray(x).item())] if is_text else _as_one_row(x)
    if hasattr(model, "schema_"):  # a TableClassifier
        row = model.schema_.read(row)
    is_frame = hasattr(row, "iloc")
    steps, classifier = _split(model)
    z, names = row, feature_names
    for step in steps:
        z, names = step.transform(z), _names_out(step, names)
    own = None
    if hasattr(classifier, "explain"):
        # Columns and words are removed by themselves: each may be several features.
        tried = 0 if steps and (is_text or is_frame) else max_features
        own = classifier.explain(z, names, max_features=tried)
    labels, scores = labels_and_scores(model, row)
    numbers = [str(number) for number in range(labels.shape[1])]
    found = replace(
        own or Explanation(numbers, labels[0], scores[0]),
        predicted=labels[0].astype(bool),
        probability=scores.reshape(-1),
    )
    if known := label_names_of(model):
        found = replace(found, label_names=known)
    vectorizers = find_vectorizers(model)
    if own is not None and own.features:
        if steps:
            found = _rename(found, row, vectorizers, is_frame)
    elif max_features:
        features = _occlude(
            model, row, labels.shape[1], vectorizers, background, feature_names, max_features
        )
        if features is None and own is None:
            raise ValueError(
                "background is needed: give some samples, such as those of training, whose "
                "medians take the place of the values of x."
            )
        found = replace(found, **(features or {}))
    describe = describe_row(row, vectorizers)
    row_names = None if training is None else describe_row(training, vectorizers)
    return replace(found, title=describe(0), row_names=row_names)


def describe_row(X: Any, vectorizers: Any = (), longest: int = _LONGEST) -> Callable[[int], str]:
    """Return a function from a row's position to its texts in quotes or, without any, its values.

    `vectorizers` are those of `find_vectorizers`. Rows of a plain matrix are described by nothing.
    """
    if not hasattr(X, "iloc"):
        is_text = isinstance(X, list) and isinstance(X[0], str)
        return lambda row: f'"{_shorten(X[row], longest)}"' if is_text else ""
    texts = [column for column in X.columns if column in vectorizers]

    def describe(row: int) -> str:
        cells = _cells(X, row)
        if texts:
            words = " / ".join(str(cells[name]) for name in texts if cells.get(name))
            return f'"{_shorten(words, longest)}"' if words else ""
        shown = {n: f"{x:g}" if isinstance(x, int | float) else x for n, x in cells.items()}
        return _shorten(", ".join(f"{name}={value}" for name, value in shown.items()), longest)

    return describe


def find_vectorizers(model: Any) -> dict[str, Any]:
    """Return the fitted vectorizers of a pipeline by the columns of texts that they take.

    One that is the first step itself takes texts without a column; its name is empty.
    """
    steps, _ = _split(model)
    first = steps[0] if steps else None
    if hasattr(first, "build_analyzer"):
        return {"": first}
    found = {}
    for _, part, column in getattr(first, "transformers_", ()):
        last = part.steps[-1][1] if hasattr(part, "steps") else part
        if isinstance(column, str) and hasattr(last, "build_analyzer"):
            found[column] = last
    return found


def _split(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers before the classifier, and the classifier inside all wrappers."""
    steps: list[Any] = []
    while True:
        if hasattr(model, "steps"):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
            continue
        inner = [name for name in ("pipeline_", "best_estimator_", "estimator_")
                 if hasattr(model, name)]  # fmt: skip
        if not inner or (hasattr(model, "explain") and inner[0] != "pipeline_"):
            return steps, model
        model = getattr(model, inner[0])


def _as_one_row(x: Any) -> Any:
    """Return one sample as a table of one row; a row of a DataFrame keeps its names."""
    if hasattr(x, "to_frame") and np.ndim(x) == 1:
        return x.to_frame().T.infer_objects()
    row = np.reshape(x, (1, -1)) if not sparse.issparse(x) and np.ndim(x) == 1 else x
    if (count := _num_samples(row)) != 1:
        raise ValueError(f"x must be one sample, got {count}: explain them one after the other.")
    return row


def _feature_names(model: Any, names: Any) -> list[str]:
    if names is None:
        numbered = [f"x{number}" for number in range(model.n_features_in_)]
        names = getattr(model, "feature_names_in_", numbered)
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must hold one name for each of the {model.n_features_in_} features, "
            f"got {len(names)}."
        )
    return [str(name) for name in names]


def _names_out(step: Any, names: Any) -> Any:
    """Return the names of a fitted step's features, None where it has none.

    Those of a `ColumnTransformer` are put together here: it refuses a word of a text that is
    also the name of a column. The features of a category are written as ``column=value``.
    """
    if hasattr(step, "transformers_"):
        found: list[str] = []
        for _, part, columns in step.transformers_:
            columns = [columns] if isinstance(columns, str) else columns
            found += [] if part == "drop" else list(_names_out(part, columns))
        return found
    if hasattr(step, "steps"):
        for _, one in step.steps:
            names = names if one in (None, "passthrough") else _names_out(one, names)
        return names
    if hasattr(step, "feature_name_combiner"):  # an encoder of categories
        step = copy(step).set_params(feature_name_combiner=_name_category)
    return step.get_feature_names_out(names) if hasattr(step, "get_feature_names_out") else None


def _name_category(column: Any, value: Any) -> str:
    return f"{column}={value}"


def _rename(found: Explanation, row: Any, vectorizers: dict[str, Any], is_frame: bool) -> Any:
    """Return an explanation with words as they are written, and the values of columns."""
    columns = set(row.columns) - set(vectorizers) if is_frame else set()
    written: dict[str, str] = {}
    for column, vectorizer in vectorizers.items():
        written |= words_as_written(vectorizer, str(row[column].iloc[0] if column else row[0]))
    values = [row[name].iloc[0] if name in columns else None for name in found.features]
    names = [n if n in columns else written.get(n, n) for n in found.features]
    return replace(found, features=names, feature_values=values)


def _occlude(
    model: Any,
    row: Any,
    n_labels: int,
    vectorizers: dict[str, Any],
    background: Any,
    names: Any,
    max_features: int,
) -> dict[str, Any] | None:
    """Return the fields about features, found by removing them; None without typical values."""

    def log_odds(rows: Any) -> Any:
        return as_log_odds(estimator_scores(model, rows, n_labels).reshape(-1, n_labels))

    if isinstance(row, list) or hasattr(row, "iloc"):
        cells = {"": row[0]} if isinstance(row, list) else _cells(row, 0)
        typical = {} if background is None else _typical_cells(background)
        features, values, changed = without_parts(cells, vectorizers, typical, max_features)
        rows: Any = [one[""] for one in changed] if isinstance(row, list) else None
        if rows is None:
            rows = import_optional("pandas").DataFrame(changed, columns=row.columns)
        try:
            odds = log_odds(rows)
        except ValueError as error:
            if background is not None:
                raise
            raise ValueError(
                "The model refuses missing values: give background, some samples whose medians "
                "and most frequent values take the place of those of x."
            ) from error
        effects = (odds[0] - odds[1:]).T
    else:
        row = row if sparse.issparse(row) else np.asarray(row, dtype=float)
        if background is None and not sparse.issparse(row):
            return None
        known_rows = row if background is None else background
        medians = typical_values(known_rows)
        if known_rows.shape[0] == 1:  # not typical
            medians = np.zeros_like(medians)
        used, effects = occlude_features(log_odds, row, medians, max_features)
        known = _feature_names(model, names)
        features = [known[j] for j in used]
        values = [float(row[0, j]) for j in used]
    return {
        "features": features,
        "feature_values": values,
        "feature_effects": effects,
        "method": CHANGED,
    }


def _cells(X: Any, row: int) -> dict[str, Any]:
    """Return the values of a row that are not missing, by their columns."""
    cells = {name: X[name].iloc[row] for name in X.columns}
    return {name: cell for name, cell in cells.items() if cell is not None and cell == cell}


def _typical_cells(X: Any) -> dict[str, Any]:
    """Return the median of each column of numbers, and the most frequent value of each other."""
    return {
        name: X[name].median() if X[name].dtype.kind in "biuf" else X[name].mode().iloc[0]
        for name in X.columns
    }


def _shorten(text: str, longest: int) -> str:
    return abbreviate(" ".join(text.split()), longest)
