"""What the figures mean: the paper's seven metrics (Eq. 8–14) and Mulan's others.

Metrics of *label sets* compare ``Y_true`` with predicted sets ``Y_pred``; metrics of
*rankings* compare it with real scores ``Y_score``, larger meaning more relevant. All
take arrays, sparse matrices or DataFrames of shape (n, q), ``Y`` holding 0 and 1; one
dimension is read as one label. The values are fractions, not percent. :data:`METRICS`
lists every metric with its direction: tables, scorers and tests read it there.

Three conventions hold throughout:

- **Ties count against.** Of labels with equal scores, irrelevant ones are taken to
  stand first, as in scikit-learn. No metric depends on the order of the labels. Mulan
  breaks ties by label index instead.
- **Rows without relevant, or without irrelevant, labels** cannot be ranked wrongly:
  ranking loss 0, average precision 1, coverage 0 where nothing is to be covered. The
  top label of a row without relevant labels is still an error.
- **0/0** in precision, recall, F1 and Jaccard is 0, but 1 where the true and the
  predicted set are both empty, since then they agree. This is Mulan's rule.

Torch and CuPy arrays are measured on their device when scikit-learn's
``array_api_dispatch`` is on.

Scorers for ``GridSearchCV`` and ``cross_validate`` are in :data:`SCORERS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import sklearn.metrics as skm
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._array import (
    astype,
    block_rows,
    finite,
    from_numpy,
    is_accelerator,
    is_foreign,
    namespace,
    running_sum,
    suffix_minimum,
    to_numpy,
)
from labelkin._labels import as_matrix, check_labels
from labelkin._scoring import estimator_scores

__all__ = [
    "METRICS",
    "PAPER_METRICS",
    "SCORERS",
    "Metric",
    "Scorer",
    "auc",
    "average_precision",
    "coverage",
    "evaluate",
    "example_f1",
    "example_precision",
    "example_recall",
    "get_scorer",
    "hamming_loss",
    "is_error",
    "jaccard",
    "label_f1",
    "label_precision",
    "label_recall",
    "log_loss",
    "margin",
    "one_error",
    "ranking_loss",
    "score_all",
    "subset_accuracy",
]

LabelAverage = Literal["micro", "macro", "weighted"]

# Cells ranked at a time: the ranks of a block need some hundred megabytes at most.
_BLOCK = 1 << 21


# --------------------------------------------------------------------------- input


def _on_device(array: Any, name: str) -> Any:
    """Return an array of a device as a matrix; the counterpart of `as_matrix`."""
    matrix = array[:, None] if array.ndim == 1 else array
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name} must have the shape (n, q), one column a label, and not be empty: its shape "
            f"is {tuple(array.shape)}."
        )
    return matrix


def _check_labels(Y: Any, name: str) -> Any:
    """Return an indicator matrix as int8: sparse, dense or on its device, as it came."""
    if not is_foreign(Y):
        return check_labels(Y, name)
    xp, _ = namespace(Y)
    matrix = _on_device(Y, name)
    if matrix.dtype != xp.bool and not bool(xp.all((matrix == 0) | (matrix == 1))):
        raise ValueError(f"{name} must hold only 0 and 1: turn scores into labels by a threshold.")
    return xp.astype(matrix, xp.int8)


def _check_scores(Y_score: Any) -> Any:
    """Return scores as a dense float array without NaN or infinity."""
    if is_foreign(Y_score):
        xp, _ = namespace(Y_score)
        array = _on_device(Y_score, "Y_score")
        if not xp.isdtype(array.dtype, "real floating"):
            array = xp.astype(array, xp.float64)
    else:
        array = as_matrix(Y_score, "Y_score")
        if sparse.issparse(array):
            array = array.toarray()
        try:
            array = array.astype(float, copy=False)
        except (TypeError, ValueError):
            raise ValueError("Y_score must hold numbers.") from None
    if not finite(array):
        raise ValueError("Y_score must be finite, but holds NaN or infinity.")
    return array


def _check_match(Y_true: Any, other: Any, checked: tuple[Any, Any], name: str) -> None:
    """Refuse two matrices whose rows and columns cannot be the same samples and labels."""
    if tuple(checked[0].shape) != tuple(checked[1].shape):
        raise ValueError(
            f"Y_true and {name} must have the same shape, "
            f"but have {tuple(checked[0].shape)} and {tuple(checked[1].shape)}."
        )
    columns = [list(getattr(frame, "columns", ())) for frame in (Y_true, other)]
    if columns[0] != columns[1] and set(columns[0]) == set(columns[1]):
        raise ValueError(
            f"Y_true and {name} hold the same labels in different orders: "
            f"reorder one by the other's columns."
        )


def _together(Y_true: Any, prediction: Any) -> tuple[Any, Any]:
    """Move true labels that lie elsewhere to where the predictions are."""
    if is_foreign(Y_true) or is_foreign(prediction):
        xp, device = namespace(prediction)
        here, _ = namespace(Y_true)
        if here is not xp or (device is not None and Y_true.device != device):
            host = to_numpy(Y_true)
            host = host.toarray() if sparse.issparse(host) else np.asarray(host)
            return from_numpy(host, xp, device), prediction
    return Y_true, prediction


def _label_sets(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    Y_true, Y_pred = _together(Y_true, Y_pred)
    Y, Z = _check_labels(Y_true, "Y_true"), _check_labels(Y_pred, "Y_pred")
    _check_match(Y_true, Y_pred, (Y, Z), "Y_pred")
    if Y.shape[1] == 1:
        # Scikit-learn reads a single column as two classes. Twice the same label gives the
        # same value of every metric of label sets.
        Y, Z = (_twice(labels) for labels in (Y, Z))
    return Y, Z


def _twice(labels: Any) -> Any:
    return labels[:, [0, 0]] if not is_foreign(labels) else labels  # only scikit-learn minds


def _ranking(Y_true: Any, Y_score: Any) -> tuple[Any, Any]:
    Y_true, Y_score = _together(Y_true, Y_score)
    Y, S = _check_labels(Y_true, "Y_true"), _check_scores(Y_score)
    _check_match(Y_true, Y_score, (Y, S), "Y_score")
    return (Y.toarray() if sparse.issparse(Y) else Y), S


# ----------------------------------------------------------------- the paper's seven


def hamming_loss(Y_true: Any, Y_pred: Any) -> float:
    """Share of the n × q label decisions that are wrong (Eq. 8).

    Examples
    --------
    One wrong decision (the second row misses its third label) of six:

    >>> round(hamming_loss([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0]]), 4)
    0.1667
    """
    Y, Z = _label_sets(Y_true, Y_pred)
    if sparse.issparse(Y) or sparse.issparse(Z):
        return float(skm.hamming_loss(Y, Z))
    xp, _ = namespace(Y)
    return float(xp.count_nonzero(Y != Z)) / (Y.shape[0] * Y.shape[1])


def ranking_loss(Y_true: Any, Y_score: Any) -> float:
    """Share of (relevant, irrelevant) label pairs in the wrong order, mean over rows (Eq. 9).

    The equation prints the same label twice; it means r(a) > r(b) for a relevant a and an
    irrelevant b. A tied pair counts as wrong. A row where either kind is missing counts 0.

    Examples
    --------
    The relevant label (0.5) beats one irrelevant label (0.1) and ties with the other:

    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]])
    0.5
    """
    Y, S = _ranking(Y_true, Y_score)
    total, xp = 0.0, namespace(S)[0]
    for relevant, rank, hits in _ranked(Y, S):
        size = xp.sum(relevant, axis=1)
        wrong = xp.sum(relevant * (rank - hits), axis=1)
        pairs = size * (Y.shape[1] - size)
        pairs = xp.where(pairs == 0, 1, pairs)
        total += float(xp.sum(astype(wrong, "float64") / astype(pairs, "float64")))
    return total / Y.shape[0]


def one_error(Y_true: Any, Y_score: Any) -> float:
    """Share of rows whose top-ranked label is not relevant (Eq. 10).

    Where several labels share the top score, the row is an error unless all of them are
    relevant: the tie counts against, whatever the order of the labels. A row without
    relevant labels is an error.

    Examples
    --------
    The first row's top is relevant; in the second an irrelevant label shares the top:

    >>> one_error([[1, 0, 1], [1, 0, 0]], [[0.9, 0.2, 0.9], [0.7, 0.7, 0.1]])
    0.5
    """
    Y, S = _ranking(Y_true, Y_score)
    return _mean(_best(S, Y) <= _best(S, 1 - Y))


def coverage(Y_true: Any, Y_score: Any) -> float:
    """Count the steps down the ranking that cover all relevant labels, mean over rows (Eq. 11).

    The depth counts from 0 (the paper's −1): a single relevant label at the top costs
    nothing. A tied irrelevant label counts as a step. A row without relevant labels costs
    0 steps, as in Mulan (``sklearn.metrics.coverage_error(...) - 1`` would give it −1).

    Examples
    --------
    The lower relevant label stands third, two steps below the top:

    >>> coverage([[1, 0, 1, 0]], [[0.9, 0.8, 0.3, 0.1]])
    2.0
    """
    Y, S = _ranking(Y_true, Y_score)
    xp, _ = namespace(S)
    worst = -_best(-S, Y)  # infinite without relevant labels: nothing is to be covered
    depth = xp.count_nonzero(worst[:, None] <= S, axis=1)
    return _mean(depth) - _mean(xp.any(Y != 0, axis=1))


def average_precision(Y_true: Any, Y_score: Any) -> float:
    """Share of relevant labels among those ranked at or above each relevant one (Eq. 12).

    The mean over a row's relevant labels, then over the rows. Labels tied with a relevant
    one are ranked at it. A row without relevant, or without irrelevant, labels counts 1.

    Examples
    --------
    The relevant labels stand first and third: (1/1 + 2/3) / 2.

    >>> round(average_precision([[1, 0, 1, 0]], [[0.9, 0.8, 0.3, 0.1]]), 4)
    0.8333
    """
    Y, S = _ranking(Y_true, Y_score)
    total, xp = 0.0, namespace(S)[0]
    for relevant, rank, hits in _ranked(Y, S):
        size = xp.sum(relevant, axis=1)
        shares = astype(relevant * hits, "float64") / astype(rank, "float64")
        precision = xp.sum(shares, axis=1) / astype(xp.where(size == 0, 1, size), "float64")
        total += float(xp.sum(xp.where(size == 0, 1.0, precision)))
    return total / Y.shape[0]


def example_f1(Y_true: Any, Y_pred: Any) -> float:
    """Twice the shared labels over the sizes of the two sets, mean over rows (Eq. 13).

    Two empty sets agree and count 1; one empty set counts 0.

    Examples
    --------
    One shared label, sets of two and one labels, 2/3; then two empty sets, 1:

    >>> round(example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]), 4)
    0.8333
    """
    return _overlap("f1", "samples", Y_true, Y_pred)


def example_recall(Y_true: Any, Y_pred: Any) -> float:
    """Share of a row's relevant labels that are predicted, mean over rows (Eq. 14).

    A row without relevant labels counts 1 if none is predicted, else 0.

    Examples
    --------
    One of two relevant labels is found; then nothing is relevant, but one is predicted:

    >>> example_recall([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]])
    0.25
    """
    return _overlap("recall", "samples", Y_true, Y_pred)


def _ranked(Y: Any, S: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield blocks of rows: relevance, rank, and how many relevant labels are ranked no lower.

    The labels stand in the order of their scores. A label's rank is the number of labels that
    score at least as much: tied labels share the last of their places. Scikit-learn's functions
    give the same values, but row by row in Python.
    """
    n, q = Y.shape
    xp, device = namespace(S)
    block = block_rows(q, 64, device) if is_accelerator(device) else max(1, _BLOCK // q)
    places = xp.arange(1, q + 1, device=device)
    for rows in gen_batches(n, block):
        order = xp.argsort(-S[rows, :], axis=1)
        relevant = xp.take_along_axis(astype(Y[rows, :], "int64"), order, axis=1)
        scores = xp.take_along_axis(S[rows, :], order, axis=1)
        tied = scores[:, :-1] == scores[:, 1:]
        last = xp.zeros((scores.shape[0], 1), device=device) > 0
        rank = suffix_minimum(xp.where(xp.concat([tied, last], axis=1), q, places))
        hits = running_sum(relevant)
        yield relevant, rank, xp.take_along_axis(hits, rank - 1, axis=1)


def _best(S: Any, mask: Any) -> Any:
    """Highest score of each row under the mask; −∞ where the mask is empty."""
    xp, _ = namespace(S)
    return xp.max(xp.where(mask != 0, S, -np.inf), axis=1)


def _mean(values: Any) -> float:
    """Mean of booleans or whole numbers, summed exactly."""
    xp, _ = namespace(values)
    return float(xp.sum(astype(values, "int64"))) / values.shape[0]


# ------------------------------------------------------------- overlap of label sets

# Numerator and denominator from the counts of true positives, false positives and misses.
_OVERLAP: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "precision": lambda tp, fp, fn: (tp, tp + fp),
    "recall": lambda tp, fp, fn: (tp, tp + fn),
    "f1": lambda tp, fp, fn: (2 * tp, 2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn: (tp, tp + fp + fn),
}


def _overlap(kind: str, average: str, Y_true: Any, Y_pred: Any) -> float:
    """Precision, recall, F1 or Jaccard over rows ("samples") or over labels (the others)."""
    if average not in ("samples", "micro", "macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro' or 'weighted', not {average!r}.")
    Y, Z = _label_sets(Y_true, Y_pred)
    tp, fp, fn = _confusion(Y, Z, axis=1 if average == "samples" else 0)
    if average == "micro":
        tp, fp, fn = (counts.sum(keepdims=True) for counts in (tp, fp, fn))
    numerator, denominator = _OVERLAP[kind](tp, fp, fn)
    ratio = np.where(tp + fp + fn == 0, 1.0, numerator / np.maximum(denominator, 1))
    weights = tp + fn if average == "weighted" and (tp + fn).any() else None
    return float(np.average(ratio, weights=weights))


def _confusion(Y: Any, Z: Any, axis: int) -> list[np.ndarray]:
    """Count true positives, false positives and misses, by row (axis 1) or by label (0)."""
    if is_foreign(Y):
        xp, _ = namespace(Y)
        both, sizes = (
            xp.count_nonzero(Y * Z, axis=axis),
            (
                xp.count_nonzero(Y, axis=axis),
                xp.count_nonzero(Z, axis=axis),
            ),
        )
        # A number for each row or label is little: the means are taken on the host.
        counts = to_numpy(xp.stack([both, sizes[1] - both, sizes[0] - both]))
        return list(counts)
    table = skm.multilabel_confusion_matrix(Y, Z, samplewise=axis == 1)
    return [table[:, 1, 1], table[:, 0, 1], table[:, 1, 0]]


def example_precision(Y_true: Any, Y_pred: Any) -> float:
    """Share of a row's predicted labels that are relevant, mean over rows.

    Nothing predicted counts 1 if nothing is relevant, else 0.

    Examples
    --------
    >>> example_precision([[1, 0, 0]], [[1, 1, 0]])
    0.5
    """
    return _overlap("precision", "samples", Y_true, Y_pred)


def jaccard(Y_true: Any, Y_pred: Any) -> float:
    """Shared labels over the union of the two sets, mean over rows; Mulan calls it accuracy.

    Two empty sets count 1.

    Examples
    --------
    >>> round(jaccard([[1, 1, 0]], [[0, 1, 1]]), 4)
    0.3333
    """
    return _overlap("jaccard", "samples", Y_true, Y_pred)


def subset_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Share of rows whose whole label set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    0.5
    """
    Y, Z = _label_sets(Y_true, Y_pred)
    if sparse.issparse(Y) or sparse.issparse(Z):
        return float(skm.accuracy_score(Y, Z))
    return _mean(namespace(Y)[0].all(Y == Z, axis=1))


def label_f1(Y_true: Any, Y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """F1 over labels: pooled counts ("micro"), mean ("macro") or mean by support ("weighted").

    A label that is neither present nor predicted counts 1 in the plain mean and nothing in
    the weighted one. Without any positive in ``Y_true`` the weighted mean is the plain one.

    Examples
    --------
    The labels' F1 are 1, 2/3 and 0; the pooled counts are tp = 2, fp = 1, fn = 1:

    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_f1(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.5556, 0.7778]
    """
    return _overlap("f1", average, Y_true, Y_pred)


def label_precision(Y_true: Any, Y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """Precision over labels, averaged as in :func:`label_f1`.

    A label never predicted counts 0, or 1 where it is never present either.

    Examples
    --------
    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_precision(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.6667, 1.0]
    """
    return _overlap("precision", average, Y_true, Y_pred)


def label_recall(Y_true: Any, Y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """Recall over labels, averaged as in :func:`label_f1`.

    A label never present counts 0, or 1 where it is never predicted either.

    Examples
    --------
    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_recall(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.5, 0.6667]
    """
    return _overlap("recall", average, Y_true, Y_pred)


# ------------------------------------------------------- scores and rankings, beyond


def auc(Y_true: Any, Y_score: Any, *, average: Literal["micro", "macro"] = "macro") -> float:
    """Area under the ROC curve: over all n × q cells ("micro") or mean over labels ("macro").

    A tied pair counts one half, as is usual for the area. Labels with one class only in
    ``Y_true`` have no curve and are left out of the mean; if none is left, the value is NaN.

    Examples
    --------
    The second label has positives only, so the macro figure is the first one's:

    >>> Y, S = [[1, 1], [0, 1], [0, 1]], [[0.8, 0.9], [0.4, 0.3], [0.8, 0.6]]
    >>> auc(Y, S), auc(Y, S, average="micro")
    (0.75, 0.5625)
    """
    if average not in ("micro", "macro"):
        raise ValueError(f"average must be 'micro' or 'macro', not {average!r}.")
    Y, S = map(to_numpy, _ranking(Y_true, Y_score))
    if average == "micro":
        Y, S = Y.reshape(-1, 1), S.reshape(-1, 1)
    both = np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))
    areas = [skm.roc_auc_score(Y[:, label], S[:, label]) for label in both]
    return float(np.mean(areas)) if areas else float("nan")


def log_loss(Y_true: Any, Y_score: Any) -> float:
    """Negative log-likelihood of the labels under the probabilities, mean over all cells.

    ``Y_score`` must lie in [0, 1]; 0 and 1 are moved inwards by the smallest step scikit-learn
    uses. Mulan sums over the labels: its figure is q times this one.

    Examples
    --------
    (−ln 0.5 − ln 0.8) / 2:

    >>> round(log_loss([[1, 0]], [[0.5, 0.2]]), 4)
    0.4581
    """
    Y, S = map(to_numpy, _ranking(Y_true, Y_score))
    if S.min() < 0 or S.max() > 1:
        raise ValueError("log_loss needs probabilities: Y_score must lie between 0 and 1.")
    return float(skm.log_loss(Y.ravel(), S.ravel(), labels=[0, 1]))


def is_error(Y_true: Any, Y_score: Any) -> float:
    """Share of rows whose ranking is not perfect.

    A ranking is perfect when every relevant label scores strictly higher than every
    irrelevant one; a row where either kind is missing is perfect.

    Examples
    --------
    >>> is_error([[1, 0, 1], [1, 0, 1]], [[0.9, 0.1, 0.5], [0.9, 0.5, 0.5]])
    0.5
    """
    Y, S = _ranking(Y_true, Y_score)
    return _mean(-_best(-S, Y) <= _best(S, 1 - Y))


def margin(Y_true: Any, Y_score: Any) -> float:
    """Positions from the best irrelevant down to the worst relevant label, mean over rows.

    Zero for a perfect ranking, and where either kind of label is missing. Tied irrelevant
    labels stand before relevant ones.

    Examples
    --------
    The best irrelevant label stands second, the worst relevant one fourth:

    >>> margin([[1, 0, 0, 1]], [[0.9, 0.8, 0.7, 0.1]])
    2.0
    """
    Y, S = _ranking(Y_true, Y_score)
    worst_relevant, best_irrelevant = -_best(-S, Y), _best(S, 1 - Y)
    xp, _ = namespace(S)
    depth = xp.count_nonzero(worst_relevant[:, None] <= S, axis=1)
    height = xp.count_nonzero(best_irrelevant[:, None] < S, axis=1) + 1
    return _mean(xp.where(depth > height, depth - height, 0))


# ------------------------------------------------------------------------- registry


@dataclass(frozen=True)
class Metric:
    """One metric as tables, scorers and tests need it."""

    name: str
    """Key in :data:`METRICS` and in the result of :func:`evaluate`."""
    title: str
    """Name in print, the paper's where it has one."""
    function: Callable[[Any, Any], float]
    """Called with ``Y_true`` and what `needs` says."""
    needs: Literal["label", "score"]
    """Predicted label sets, or scores."""
    greater_is_better: bool
    in_paper: bool = False
    percent: bool = True
    """Whether tables show it times 100."""

    @property
    def arrow(self) -> str:
        """The direction as a sign: ↑ larger is better, ↓ smaller is better."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def sign(self) -> int:
        """1 where larger is better, else −1."""
        return 1 if self.greater_is_better else -1

    @property
    def scorer_name(self) -> str:
        """Name of its scorer; losses are negated there, as in scikit-learn."""
        return self.name if self.greater_is_better else f"neg_{self.name}"

    def __call__(self, Y_true: Any, prediction: Any) -> float:
        """Return the value of the metric."""
        return self.function(Y_true, prediction)


def _registry() -> dict[str, Metric]:
    paper, up, down = True, True, False
    metrics = [
        Metric("hamming_loss", "Hamming loss", hamming_loss, "label", down, paper),
        Metric("ranking_loss", "Ranking loss", ranking_loss, "score", down, paper),
        Metric("one_error", "One-error", one_error, "score", down, paper),
        Metric("coverage", "Coverage", coverage, "score", down, paper, percent=False),
        Metric("average_precision", "Average precision", average_precision, "score", up, paper),
        Metric("f1", "F1-metric", example_f1, "label", up, paper),
        Metric("recall", "Recall", example_recall, "label", up, paper),
        Metric("precision", "Precision", example_precision, "label", up),
        Metric("jaccard", "Jaccard", jaccard, "label", up),
        Metric("subset_accuracy", "Subset accuracy", subset_accuracy, "label", up),
    ]
    for title, by_label in [
        ("F1", label_f1),
        ("precision", label_precision),
        ("recall", label_recall),
    ]:
        for average in ("micro", "macro", "weighted"):
            function = partial(by_label, average=average)
            name = f"{average}_{title.lower()}"
            metrics.append(Metric(name, f"{average.title()} {title}", function, "label", up))
    metrics += [
        Metric("micro_auc", "Micro AUC", partial(auc, average="micro"), "score", up),
        Metric("macro_auc", "Macro AUC", partial(auc, average="macro"), "score", up),
        Metric("log_loss", "Log loss", log_loss, "score", down, percent=False),
        Metric("is_error", "Is-error", is_error, "score", down),
        Metric("margin", "Margin", margin, "score", down, percent=False),
    ]
    return {metric.name: metric for metric in metrics}


METRICS: dict[str, Metric] = _registry()
"""Every metric by name; the paper's seven come first, in its order."""

PAPER_METRICS: tuple[str, ...] = tuple(name for name, m in METRICS.items() if m.in_paper)
"""Names of the paper's seven metrics, in its order."""


def _find(name: str) -> Metric:
    try:
        return METRICS[name.removeprefix("neg_")]
    except KeyError:
        raise ValueError(f"no metric is called {name!r}; known: {', '.join(METRICS)}.") from None


def evaluate(
    Y_true: Any, Y_score: Any, Y_pred: Any = None, *, metrics: Iterable[str] = PAPER_METRICS
) -> dict[str, float]:
    """Measure scores and label sets by the paper's seven metrics, in its order.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of shape (n, q)
        The true labels, 0 or 1.
    Y_score : array-like of shape (n, q)
        A score for each label, larger meaning more relevant: what ``predict_proba`` returns.
    Y_pred : array-like or sparse matrix of shape (n, q), optional
        The predicted labels; without it, the labels scoring more than 0.5.
    metrics : iterable of str
        Names from :data:`METRICS`, to measure by others.

    Returns
    -------
    dict of str to float
        The values by name, as fractions.

    Examples
    --------
    >>> figures = evaluate([[1, 0, 1], [0, 1, 0]], [[0.9, 0.2, 0.4], [0.6, 0.7, 0.1]])
    >>> for name, value in figures.items():
    ...     print(f"{name:18}{value:.4f}")
    hamming_loss      0.3333
    ranking_loss      0.0000
    one_error         0.0000
    coverage          0.5000
    average_precision 1.0000
    f1                0.6667
    recall            0.7500
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    chosen = [_find(name) for name in metrics]
    given = {"score": Y_score, "label": _check_scores(Y_score) > 0.5 if Y_pred is None else Y_pred}
    return {metric.name: metric(Y_true, given[metric.needs]) for metric in chosen}


# -------------------------------------------------------------------------- scorers


def _n_labels(y: Any) -> int:
    return int(as_matrix(y, "y").shape[1])


@dataclass(frozen=True)
class Scorer:
    """A metric as scikit-learn's ``scoring=`` takes it: larger is better, losses negated.

    Works with estimators whose ``predict_proba`` returns one (n, q) array, as labelkin's do,
    and with those that return a list of q arrays, as scikit-learn's forests and neighbours
    do; without ``predict_proba`` the ``decision_function`` ranks the labels.
    """

    metric: Metric

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator on the rows of `X` with the true labels `y`."""
        if self.metric.needs == "label":
            prediction = estimator.predict(X)
        else:
            prediction = estimator_scores(estimator, X, _n_labels(y))
        return self.metric.sign * self.metric(y, prediction)

    def __repr__(self) -> str:
        return f"get_scorer({self.metric.scorer_name!r})"


def get_scorer(name: str) -> Scorer:
    """Return the scorer of a metric, for ``GridSearchCV(scoring=...)``.

    Larger is better for every scorer, so losses come negated, and ``"hamming_loss"`` and
    ``"neg_hamming_loss"`` name the same scorer.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> model = KNeighborsClassifier(1).fit(X, Y)
    >>> get_scorer("hamming_loss")(model, X, Y)
    -0.0
    """
    return SCORERS[_find(name).scorer_name]


SCORERS: dict[str, Scorer] = {m.scorer_name: Scorer(m) for m in METRICS.values()}
"""Every scorer by name, for ``cross_validate(scoring=...)``."""


def score_all(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """Score by the paper's seven metrics at once, with one prediction of each kind.

    For ``cross_validate(scoring=score_all)`` or ``GridSearchCV(scoring=score_all,
    refit="average_precision")``. The keys are those of :data:`SCORERS`.
    """
    scores = estimator_scores(estimator, X, _n_labels(y))
    figures = evaluate(y, scores, estimator.predict(X))
    return {METRICS[n].scorer_name: METRICS[n].sign * value for n, value in figures.items()}
