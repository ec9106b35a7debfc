"""Explanations of classifiers, by themselves and through pipelines and transformers of columns."""

import string
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from labelkin._utils.labels import is_missing, label_names, label_names_of
from labelkin._utils.names import abbreviate, show_value
from labelkin._utils.optional import import_optional
from labelkin.base import Matrix
from labelkin.explain._explanation import Explanation
from labelkin.explain._fields import CHANGED, effects_of_changes, occlude_features, typical_values
from labelkin.metrics._estimators import estimator_scores, labels_and_scores, transformers_of
from labelkin.rows import as_dense, ensure_on_host, to_host

_LONGEST = 100  # characters of a row in words
_MAX_CHARACTERS = 14_000_000  # of all rows that are predicted with one part removed


class ExplainMixin:
    """Adds `explain` to a classifier."""

    _typical: Any = None
    """Median and standard deviation of each feature in training, for occlusion; None: none."""
    _known_bits: Any = None
    """Which labels of the training rows are known, packed; None: all."""

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
            What counts for and against each label: features, members, training samples. Print it,
            plot it, or read its arrays. `labelkin.explain.explain` explains pipelines too.
        """
        tried = 0 if self._typical is None else max_features
        return explain(self, x, feature_names=feature_names, max_features=tried)


def explain(
    model: Any,
    x: Any,
    *,
    background: Any = None,
    training: Any = None,
    training_ids: Any = None,
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
    training_ids : sequence of str, optional
        Identifiers of these samples, to show in place of their numbers.
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
    if (moved := ensure_on_host(model)) is not model:
        model, x = moved, to_host(x)
    is_text = isinstance(x, str) or (np.shape(x) == (1,) and isinstance(np.asarray(x)[0], str))
    row: Any = [str(np.asarray(x).item())] if is_text else _as_one_row(x)
    steps, classifier = _split(model)
    if steps and hasattr(steps[0], "read"):  # the schema of a TableClassifier
        row = steps.pop(0).read(row)
    vectorizers = find_vectorizers(model)
    is_table = is_text or hasattr(row, "iloc")

    # What the classifier itself can explain.
    found: dict[str, Any] = {}
    z, own_typical = row, None
    if has_own := hasattr(classifier, "_explain_row"):
        for step in steps:
            z = step.read(z) if hasattr(step, "read") else step.transform(z)
        if (moved := ensure_on_host(classifier)) is not classifier:
            classifier, z = moved, to_host(z)
        z = classifier._validate_predict(z)
        found = classifier._explain_row(z)
        # Columns and words are removed by themselves: each may be several features.
        own_typical = None if steps and is_table else classifier._typical
    if model is classifier and has_own:  # its target may be a column of words
        labels, scores = np.asarray(model._labels(z)), np.asarray(model._proba(z))
        known = label_names(model)
    else:
        labels, scores = map(as_dense, labels_and_scores(model, row))
        known = label_names_of(model) or [str(number) for number in range(labels.shape[1])]

    # Rows of a table are read already; read again, changed ones would be warned of, too.
    scored = getattr(model, "pipeline_", model)

    def proba(rows: Any) -> Any:
        return estimator_scores(scored, rows, labels.shape[1]).reshape(-1, labels.shape[1])

    # Other features: each is removed, and the labels are predicted again.
    by_parts = False
    if "features" not in found and max_features:
        if own_typical is not None:
            found |= occlude_features(classifier._proba, z, own_typical, max_features)
        elif is_table and (steps or background is not None or not has_own):
            by_parts = True
            others = _other_categories(model)
            found |= explain_parts(proba, row, vectorizers, background, max_features, others)
        elif background is not None or sparse.issparse(row):
            z, shape = row, np.shape(row if background is None else background)[1:]
            if not sparse.issparse(row):  # the features of an image are its pixels
                z = np.asarray(row, dtype=float).reshape(1, -1)
            typical = np.zeros((2, z.shape[1]))  # a single sample is not typical
            if background is not None and background.shape[0] > 1:
                flat = background.reshape(len(background), -1) if len(shape) > 1 else background
                typical = typical_values(flat)

            def proba_of(rows: Any) -> Any:
                return proba(rows.reshape(-1, *shape) if len(shape) > 1 else rows)

            found |= occlude_features(proba_of, z, typical, max_features)
            steps, classifier = [], model
        elif not has_own:
            raise ValueError(
                "background is needed: give some samples, such as training samples, whose medians "
                "replace the values of x."
            )
    if "features" in found and not by_parts:
        names, used = feature_names, found["features"]
        for step in steps:
            names = _names_out(step, names)
        names = _feature_names(classifier, names, z.shape[1])
        found["features"] = [names[i] for i in used]
        if steps:
            found |= _in_words(found["features"], found["feature_effects"], row, vectorizers)
        elif not sparse.issparse(z):
            found["feature_values"] = [float(z[0, i]) for i in used]
    titles = [*vectorizers] or [step.title for step in steps if hasattr(step, "title")]
    describe = partial(describe_row, training, vectorizers=titles)
    return Explanation(
        label_names=known,
        predicted=labels[0].astype(bool),
        probability=scores.reshape(-1),
        title=describe_row(row, 0, titles) if steps else "",
        row_names=None if training is None else describe,
        row_ids=training_ids,
        **found,
    )


def describe_row(X: Any, row: int, vectorizers: Any = (), longest: int = _LONGEST) -> str:
    """Return the texts of a row in quotes or, without any, its values.

    `vectorizers` are those of `find_vectorizers`, or columns of texts. Rows of a plain matrix are
    described by nothing.
    """
    if hasattr(X, "iloc"):
        cells = _cells(X, row)
        texts = [cells.get(name) for name in vectorizers if name in X.columns]
        if not texts:
            values = ", ".join(f"{name} = {show_value(value)}" for name, value in cells.items())
            return abbreviate(" ".join(values.split()), longest)
    else:
        texts = [X[row]] if isinstance(X, list) and isinstance(X[row], str) else []
    words = " / ".join(str(text) for text in texts if text)
    return f'"{abbreviate(" ".join(words.split()), longest)}"' if words else ""


def find_vectorizers(model: Any) -> dict[str, Any]:
    """Return the fitted vectorizers of a pipeline by the columns of texts that they take.

    One that is the first step itself takes texts without a column; its name is empty. The column by
    which a reader knows a row comes first.
    """
    first = next((step for step in _split(model)[0] if not hasattr(step, "read")), None)
    words = getattr(first, "words_", first)  # of `TextFeatures`
    if hasattr(words, "build_analyzer"):
        return {"": words}
    found = {}
    for _, part, column in getattr(first, "transformers_", ()):
        last = part.steps[-1][1] if hasattr(part, "steps") else part
        if isinstance(column, str) and hasattr(last, "build_analyzer"):
            found[column] = last
    title = next((step.title for step in _split(model)[0] if hasattr(step, "title")), "")
    return dict(sorted(found.items(), key=lambda pair: pair[0] != title))


def _other_categories(model: Any) -> dict[str, Any]:
    """Return, by column, the category that a missing one counts as, and the next frequent one."""
    found = dict[str, Any]()
    for step in _split(model)[0]:
        for _, part, columns in getattr(step, "transformers_", ()):
            last = part.steps[-1][1] if hasattr(part, "steps") else part
            usual = getattr(last, "usual_", [])
            found |= {name: two for name, two in zip(columns, usual, strict=False) if len(two) == 2}
    return found


def _split(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers before the classifier, and the classifier inside all wrappers.

    Before those of a TableClassifier is its schema, which reads rows.
    """
    steps: list[Any] = []
    while True:
        if hasattr(model, "steps"):
            steps += transformers_of(model)
            model = model.steps[-1][1]
        elif hasattr(model, "schema_"):
            steps.append(model.schema_)
            model = model.pipeline_
        else:
            inner = [one for one in ("best_estimator_", "estimator_") if hasattr(model, one)]
            if not inner or hasattr(model, "explain"):
                return steps, model
            model = getattr(model, inner[0])


def _as_one_row(x: Any) -> Any:
    """Return one sample as a table of one row; a row of a DataFrame keeps its names."""
    if hasattr(x, "to_frame") and np.ndim(x) == 1:
        return x.to_frame().T.infer_objects()
    if isinstance(x, dict):
        raise TypeError("x must be a row of a table or an array: pass pandas.DataFrame([x]).")
    row = np.reshape(x, (1, -1)) if not sparse.issparse(x) and np.ndim(x) == 1 else x
    if (count := _num_samples(row)) != 1:
        text = "explain them one after the other, or pass x.ravel() if it is one image."
        raise ValueError(f"x must be one sample, got {count}: {text}")
    return row


def _feature_names(model: Any, names: Any, count: int) -> list[Any]:
    if names is None:
        numbered = [f"x{number}" for number in range(count)]
        names = getattr(model, "feature_names_in_", numbered)
    if len(names) != count:
        raise ValueError(
            f"feature_names must hold one name for each of the {count} features, got {len(names)}."
        )
    return [name if isinstance(name, tuple) else str(name) for name in names]


def _names_out(step: Any, names: Any) -> Any:
    """Return the names of a fitted step's features, None where it has none.

    Those of a `ColumnTransformer` are put together here: it refuses a word of a text that is
    also the name of a column. All features made of a category or a date have the name of its
    column; a word of a text is a pair of its column and itself. An n-gram is a tuple of itself.
    """
    if hasattr(step, "read"):
        return step.feature_names or names
    if hasattr(step, "transformers_"):
        found: list[Any] = []
        for _, part, columns in step.transformers_:
            is_text = isinstance(columns, str)
            names = [] if part == "drop" else _names_out(part, [columns] if is_text else columns)
            found += [(columns, name) for name in names] if is_text else list(names)
        return found
    if hasattr(step, "steps"):
        for _, one in step.steps:
            names = names if one in (None, "passthrough") else _names_out(one, names)
        return names
    if hasattr(step, "explained_name"):  # an embedding
        return [step.explained_name(names)] * step.n_columns_
    if hasattr(step, "kinds"):  # n-grams
        return [(name,) for name in step.get_feature_names_out()]
    if hasattr(step, "parts"):  # words, n-grams and embeddings
        found = [name for part in step.parts for name in _names_out(part, None)]
        return [("", name) if isinstance(name, tuple) else name for name in found]
    if hasattr(step, "feature_name_combiner"):  # an encoder of categories
        step = copy(step).set_params(feature_name_combiner=lambda column, _: str(column))
    if hasattr(step, "error_on_new"):  # which values are missing
        return list(names)
    if hasattr(step, "day_first"):  # an encoder of dates
        return np.repeat(names, len(step.get_feature_names_out()) // len(names))
    return step.get_feature_names_out(names) if hasattr(step, "get_feature_names_out") else None


def _in_words(
    names: list[Any], effects: Any, row: Any, vectorizers: dict[str, Any]
) -> dict[str, Any]:
    """Return words as they are written, columns with their values, and the effects of both.

    Features that are made of one column are added up. The effect of an n-gram is shared by the
    words that it is a part of, or that are a part of it.
    """
    written = {
        column: _words_as_written(one, str(row[column].iloc[0] if column else row[0]))
        for column, one in vectorizers.items()
    }
    shares = []
    for name in names:
        column, word = name if isinstance(name, tuple) else ("", name)
        shared = _words_with(word[0], written.get(column, ())) if isinstance(word, tuple) else None
        shares.append([name] if shared is None else [(column, one) for one in shared])
    if "" in written:  # a text without a column
        shares = [[one[1] if isinstance(one, tuple) else one for one in some] for some in shares]
    place = {name: i for i, name in enumerate(dict.fromkeys(n for some in shares for n in some))}
    total = np.zeros((len(effects), len(place)))
    for share, added in zip(shares, np.transpose(effects), strict=True):
        for name in share:
            total[:, place[name]] += added / len(share)
    features: list[str] = []
    values: list[Any] = []
    for name in place:
        column, word = name if isinstance(name, tuple) else ("", name)
        shown = str(written.get(column, {}).get(word, word))
        features.append(f"{column}: {shown}" if column and len(written) > 1 else shown)
        is_column = not column and "" not in written and word in getattr(row, "columns", ())
        value = row[word].iloc[0] if is_column else None
        values.append(np.nan if is_column and is_missing(value) else value)
    return {"features": features, "feature_values": values, "feature_effects": total}


def explain_parts(
    proba: Any,
    row: Any,
    vectorizers: dict[str, Any],
    background: Any,
    max_parts: int,
    others: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields about words and columns: each is removed, and the labels predicted again.

    Columns with a vectorizer are texts, whose parts are words. Other values become typical ones of
    `background`, or missing. A category that a missing one counts as becomes the next frequent one:
    `others` has both, by column.
    """
    typical: dict[str, Any] = {}
    if background is not None:  # medians of numbers, and the most frequent of other values
        columns = {name: background[name] for name in background.columns}
        typical = {
            name: column.median() if column.dtype.kind in "biuf" else column.mode().iloc[0]
            for name, column in columns.items()
        }
    is_text = isinstance(row, list)
    cells = {"": row[0]} if is_text else _cells(row, 0)

    words = {
        column: _removable(vectorizer, str(cells[column]))
        for column, vectorizer in vectorizers.items()
        if column in cells
    }
    length = 1 + sum(len(str(cells[column])) for column in words)
    most = min(max_parts, 1 + _MAX_CHARACTERS // length)
    parts: list[tuple[str, Any, dict[str, Any]]] = []  # name, value, and what takes its place
    for column, value in cells.items():
        if column not in words:
            other = typical.get(column)
            usual, following = others.get(column, (None, None))
            if str(value) == usual and other in (None, value):
                other = following
            parts.append((column, value, {column: other}))
            continue
        for word, rest in islice(words[column].items(), most):
            name = word if len(vectorizers) == 1 else f"{column}: {word}"
            parts.append((name, None, {column: rest}))
    del parts[most:]
    changed = [cells, *(cells | change for _, _, change in parts)]
    rows: Any = [one[""] for one in changed] if is_text else None
    if rows is None:
        rows = import_optional("pandas").DataFrame(changed, columns=row.columns)
        rows.attrs = row.attrs
    try:
        effects = effects_of_changes(proba, rows, len(changed))
    except ValueError as error:
        if background is not None:
            raise
        raise ValueError(
            "The model refuses missing values: give background, some samples whose medians and "
            "most frequent values replace those of x."
        ) from error
    return {
        "features": [name for name, _, _ in parts],
        "feature_values": [value for _, value, _ in parts],
        "feature_effects": effects,
        "method": CHANGED,
    }


def _removable(vectorizer: Any, text: str) -> dict[str, str]:
    """Return the words of a text as they are written, and the text without each of them.

    Words that the vectorizer knows come first: others matter to embeddings and n-grams only. In
    texts without spaces between words, two neighbouring characters are a word.
    """
    known = getattr(vectorizer, "vocabulary_", None)
    if vectorizer.analyzer == "char":
        text = vectorizer.build_preprocessor()(text)
        pairs = (text[i : i + 2] for i in range(len(text) - 1))
        kept = (one for one in pairs if len(one.strip()) == 2 and (known is None or one in known))
        return {pair: text.replace(pair, "") for pair in kept}
    simplify, split = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    places: dict[str, list[tuple[int, int]]] = {}
    end = 0
    for word in split(text):
        if (start := text.find(word, end)) >= 0:
            end = start + len(word)
            places.setdefault(simplify(word), []).append((start, end))
    found = {}
    for word in sorted(places, key=lambda word: known is not None and word not in known):
        starts, ends = zip(*places[word], strict=True)
        kept_text = (text[i:j] for i, j in zip((0, *ends), (*starts, len(text)), strict=True))
        found[text[starts[0] : ends[0]]] = " ".join(kept_text)
    return found


def _words_with(ngram: str, words: Iterable[str]) -> list[str]:
    """Return the words that contain an n-gram or, of a pair of words, these two.

    A space at its end is the end of a word. Punctuation is in no word.
    """
    parts = ngram.split()
    inner = [f" {part} " for part in parts] if len(parts) > 1 else [ngram]
    inner = [part.strip(string.punctuation) for part in inner]
    found = [word for part in inner for word in words if part.strip() and part in f" {word} "]
    return found or ["other characters"]


def _words_as_written(vectorizer: Any, text: str) -> dict[str, str]:
    """Return the words of a text by the form in which a vectorizer knows them.

    That form may be in lower case and without accents.
    """
    simplify, split = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    found: dict[str, str] = {}
    for word in split(text):
        found.setdefault(simplify(word), word)
    return found


def _cells(X: Any, row: int) -> dict[str, Any]:
    """Return the values of a row that are not missing, by their columns."""
    cells = {name: X[name].iloc[row] for name in X.columns}
    return {name: cell for name, cell in cells.items() if not is_missing(cell)}
