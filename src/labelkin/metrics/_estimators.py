"""Scores, probabilities and labels of any classifier: one (n, q) matrix, or a column per class.

A classifier without ``predict_proba`` is ranked by its ``decision_function``.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from labelkin.rows import as_dense, to_numpy


def estimator_scores(estimator: Any, X: Any, n_labels: int, keep_sparse: bool = False) -> Any:
    """Return the scores of the positive class as a NumPy array, one column per label.

    With `keep_sparse`, those of thousands of labels may be a CSR array.

    They come from ``predict_proba``, or without it from ``decision_function``, in any of these
    forms: one (n, q) array, as labelkin's classifiers and scikit-learn's chains and networks
    return; a list of q arrays with one column per class, as scikit-learn's forests and neighbours
    do; and, for a single label, (n,) or one column per class.
    """
    if hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)
    elif hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function: use its "
            "label sets, without proba=True or with a metric such as 'f1' or 'hamming_loss'."
        )
    if keep_sparse and sparse.issparse(scores):
        return scores
    return score_matrix(estimator, scores, n_labels)


def class_proba(classifier: Any, X: Any) -> np.ndarray:
    """Return the probabilities of a classifier of one target, one column per class.

    Without ``predict_proba``, two classes get their decision values as `squash` maps them, more
    classes the softmax of theirs; without decision values the predicted class has probability 1.
    """
    classes = classifier.classes_
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(X)
    if hasattr(classifier, "decision_function"):
        decision = np.asarray(classifier.decision_function(X), dtype=np.float64)
        if decision.ndim == 1:
            positive = squash(decision)
            return np.column_stack([1 - positive, positive])
        if decision.shape[1] == len(classes):
            return softmax(decision, axis=1)
    return (classifier.predict(X)[:, None] == classes).astype(np.float64)


def squash(decision: np.ndarray) -> np.ndarray:
    """Map decision values to (0, 1) in the same order, above one half exactly the positive ones.

    The map is (1 + d / (1 + |d|)) / 2. It is not calibrated, and, unlike the logistic function,
    does not round different large values to the same 1.
    """
    decision = np.asarray(decision, dtype=np.float64)
    proba = 0.5 + 0.5 * decision / (1 + np.abs(decision))
    below, above = np.nextafter(0.5, [0, 1])  # a value near zero must not round to one half
    return np.where(decision > 0, np.maximum(proba, above), np.minimum(proba, below))


def score_matrix(estimator: Any, scores: Any, n_labels: int = 0) -> np.ndarray:
    """Return scores in any of the forms of `estimator_scores` as one array."""
    classes: Any = getattr(estimator, "classes_", None)
    if isinstance(scores, list):
        known = classes if classes is not None else [(0, 1)] * len(scores)
        parts = zip(scores, known, strict=True)
        return np.column_stack([_positive(np.asarray(to_numpy(part)), c) for part, c in parts])
    scores = np.asarray(as_dense(to_numpy(scores)))
    if scores.ndim == 2 and n_labels == 1 and np.shape(classes) == scores.shape[1:]:
        return _positive(scores, classes).reshape(-1, 1)
    return scores


def _positive(part: np.ndarray, classes: Any) -> np.ndarray:
    """Return the column of class 1: zeros for a label that was always absent in training."""
    column = np.flatnonzero(np.asarray(to_numpy(classes)) == 1)
    return part[:, column[0]] if len(column) else np.zeros(len(part))


def estimator_labels(estimator: Any, X: Any) -> np.ndarray:
    """Return the labels predicted for the rows of `X` as a dense (n, q) array of 0 and 1."""
    return _label_matrix(estimator, estimator.predict(X))


def labels_and_scores(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what `estimator_labels` and `estimator_scores` do, computed once where possible.

    The labels are the scores too where an estimator has no scores.
    """
    if hasattr(estimator, "predict_with_scores"):
        return estimator.predict_with_scores(X)
    steps = getattr(estimator, "steps", [])
    if len(steps) > 1:  # a pipeline: its transformers run once
        # One by one: a slice of a pipeline counts as unfitted if its last step learns nothing.
        for step in transformers_of(estimator):
            X = step.transform(X)
        estimator = steps[-1][1]
    if hasattr(estimator, "_predict_with_proba"):
        predicted, proba = estimator._predict_with_proba(X)
        if sparse.issparse(proba):  # of thousands of labels
            return predicted, proba
        labels = _label_matrix(estimator, predicted)
        return labels, score_matrix(estimator, proba, labels.shape[1])
    labels = estimator_labels(estimator, X)
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        return labels, labels.astype(float)
    return labels, estimator_scores(estimator, X, labels.shape[1])


def transformers_of(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline before the last."""
    return [step for _, step in pipeline.steps[:-1] if step not in (None, "passthrough")]


def _label_matrix(estimator: Any, predicted: Any) -> np.ndarray:
    labels = np.asarray(as_dense(to_numpy(predicted)))
    if (wrong := labels[(labels != 0) & (labels != 1)]).size:
        name = type(estimator).__name__
        raise ValueError(f"{name}.predict must return 0 and 1, but returns {wrong[0]}.")
    return labels.reshape(len(labels), -1).astype(np.uint8)


def label_thresholds(estimator: Any, n_labels: int) -> np.ndarray:
    """Return the score above which a fitted estimator predicts each label.

    It is 0 for one without probabilities, and NaN where label sets are not decided by a threshold.
    """
    if hasattr(estimator, "pipeline_"):  # a TableClassifier
        return estimator.thresholds_
    final = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    final = getattr(final, "label_tree_", final)  # of Kin with thousands of labels
    if hasattr(final, "threshold_"):
        return np.full(n_labels, final.threshold_)
    found = getattr(getattr(final, "decision_", None), "thresholds_", None)
    if found is not None:
        return np.asarray(found, dtype=float)
    is_margin = hasattr(final, "decision_function") and not hasattr(final, "predict_proba")
    return np.full(n_labels, 0.0 if is_margin else 0.5)
