"""From scores to label sets: thresholds chosen on out-of-sample scores for a given metric.

A classifier gives the probability of each label; which labels to *predict* depends on the metric. A
threshold of one half is optimal for the Hamming loss of calibrated probabilities, but not for most
other metrics: F1 is larger with a lower threshold, and a sample that must have a label should not
get the empty set.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.labels import as_matrix, split_unknown
from labelkin._utils.names import did_you_mean
from labelkin.base import Array
from labelkin.decisions._cuts import ROW_VALUES, best_cut, values_at_cuts
from labelkin.decisions._risk import GUARANTEES, guaranteed_thresholds, parse_guarantee
from labelkin.metrics import METRICS
from labelkin.rows import as_dense, to_numpy

# Metrics with one threshold for all labels, and with one for each label.
_SHARED = ("f1", "jaccard", "subset_accuracy", "micro_f1")
_BY_LABEL = ("hamming_loss", "macro_f1")
_TARGETS = (*_SHARED, *_BY_LABEL)

DECISIONS: tuple[str, ...] = ("auto", "fixed", "cardinality", *_TARGETS)
"""Values of ``decision=``; besides, "recall:0.9" and its like guarantee a level, and "cost:FN=5"
and its like are costs."""

# Between F1, which favours large sets, and subset accuracy, which favours small ones.
_AUTO = "jaccard"


def check_decision(decision: Any) -> None:
    """Raise a ValueError that names the alternatives if `decision` is not a decision."""
    if decision in DECISIONS or parse_guarantee(decision) or is_fixed(decision):
        return
    name = str(decision).partition(":")[0]
    why = f"no such decision.{did_you_mean(name, DECISIONS)}"
    if name in METRICS and METRICS[name].needs == "score":
        why = "this is a metric of rankings, which no threshold changes."
    elif name.endswith(("recall", "precision")):
        why = "it alone is highest if every label, or hardly any label, is predicted."
    example = f"{name if name in GUARANTEES else 'recall'}:0.9"
    raise ValueError(
        f"decision={decision!r}: {why} Choose one of {', '.join(DECISIONS)}, a level such as "
        f"{example}, or costs such as cost:FN=5."
    )


def parse_costs(decision: Any) -> float | None:
    """Return the threshold of least cost for a decision such as "cost:FN=5"; None for others."""
    name, colon, text = decision.partition(":") if isinstance(decision, str) else ("", "", "")
    if not colon or name.lower() != "cost":
        return None
    costs = {"FN": 1.0, "FP": 1.0}
    for part in text.upper().split(","):
        kind, _, number = (word.strip() for word in part.partition("="))
        try:
            cost = float(number)
        except ValueError:
            cost = np.nan
        if kind not in costs or not 0 < cost < np.inf:
            raise ValueError(
                f"decision={decision!r}: write the cost of a missed label (FN) or of a wrong one "
                "(FP) as in cost:FN=5 or cost:FN=5,FP=2, with positive numbers."
            )
        costs[kind] = cost
    return costs["FP"] / (costs["FP"] + costs["FN"])


def is_fixed(decision: Any) -> bool:
    """Return whether a decision learns nothing: "fixed", or costs."""
    return decision == "fixed" or parse_costs(decision) is not None


class LabelDecision(BaseEstimator):
    """Label sets from scores, by thresholds learned on out-of-sample scores.

    Parameters
    ----------
    decision : str, default="auto"
        What label sets are optimised for.

        - "fixed": every label whose score is above `cut`.
        - "cardinality": one threshold for all labels, with which as many labels are predicted as
          the training rows have.
        - "f1" (by example), "jaccard", "subset_accuracy", "micro_f1": the one threshold for all
          labels that is best for this metric.
        - "hamming_loss", "macro_f1": the best threshold of each label.
        - "auto": "jaccard". It lies between F1, which favours large sets, and subset accuracy,
          which favours small ones.
        - "recall:0.9", with any level: the largest threshold for all labels with which new rows
          have an expected recall of at least 0.9. "macro_recall:0.9": the largest threshold of
          each label with which a new row that has the label gets it with a probability of at
          least 0.9.
        - "precision:0.9": the smallest threshold for all labels with which new rows have an
          expected precision of at least 0.9. "macro_precision:0.9": the smallest threshold of
          each label with which the label is right in at least 0.9 of the new rows that get it.
          Both with a certainty of 90 %. See Notes for all four.
        - "cost:FN=5": every label whose probability is above FP / (FP + FN), the threshold of least
          expected cost if a missed label (FN) costs five times as much as a wrong one (FP).
          "cost:FN=5,FP=2" sets both costs; one that is not named is 1.
    at_least_one : bool or "auto", default="auto"
        Whether a row without a label above its threshold gets the label of its top score.
        "auto": if that improves the metric on the training scores; never for "fixed",
        "cardinality", guaranteed levels and costs.
    shrinkage : float, default=20
        The threshold of a single label is the mean of its own best threshold, weighted by the
        number of rows with the label (or without it, where those are fewer), and of the best
        shared one, weighted by `shrinkage`. 0: the label's own.
    cut : float or array-like of shape (n_labels,), default=0.5
        The threshold of "fixed": one number, or one per label. For the other decisions, one number,
        which is kept if no other threshold is better; costs do not use it.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted when its score is larger. ∞ for a label that no training row has,
        −∞ for one that all have.
    at_least_one_ : bool
        Whether empty sets are filled.
    metric_ : str or None
        The name of the metric that was optimised.

    Notes
    -----
    Rows whose scores are not finite, such as rows that were in every bag, are left out. Thresholds
    are the best ones for the known labels, as :mod:`labelkin.metrics` counts them.

    **What "recall:0.9" guarantees.** Suppose that the n rows of ``fit`` that have a label, and a
    new row that has one, are exchangeable, and that the scores of all of them come from one model
    that saw none of them. Then the share of the new row's labels that are predicted is at least
    0.9 on average, over draws of the n rows and of the new one (conformal risk control;
    Angelopoulos et al. 2024). It is too high by about 1 / n at most when scores do not tie: no more
    labels are predicted than needed. Rows without labels have no recall and do not count.

    **What "precision:0.9" guarantees.** Under the same assumption, with independent rows, in at
    least 90 % of draws of the rows of ``fit``, the share of right labels among the predicted ones
    is at least 0.9 on average over new rows for which anything is predicted (Learn-Then-Test;
    Angelopoulos et al. 2025). Precision is not monotone in the threshold, so that a guarantee on
    average over the draws, as for recall, is not possible.

    **What cross-fitting costs.** With scores of held-out rows by the model that will predict, both
    hold exactly. Leave-one-out, out-of-bag and out-of-fold scores come from models of fewer rows
    than the one that predicts, and these models differ from each other. No rows are held out, but
    the guarantee then holds if the scores of the final model have the same distribution as these.
    In general the final model is slightly better, so that levels are exceeded. They can be missed
    if rows of different folds are related, such as copies of a row or several rows of one person.

    Too few rows: "recall:0.9" needs 9 rows that have a label, in general 1 / (1 − level) − 1, and
    "precision:0.9" a threshold of that precision which some 65 rows or more exceed without error. A
    ValueError says so. With "macro_…" a warning counts the labels that cannot reach the level:
    those are predicted from the lowest score of a row that has them (a recall of n / (n + 1)), or
    never.

    References
    ----------
    A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal risk control. ICLR 2024.

    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei. Learn then test: calibrating predictive
    algorithms to achieve risk control. Annals of Applied Statistics, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0]])
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.3], [0.2, 0.4], [0.3, 0.1]])
    >>> decision = LabelDecision("micro_f1").fit(scores, Y)
    >>> decision.thresholds_
    array([0.25, 0.25])
    >>> decision.apply([[0.7, 0.27]])
    array([[ True,  True]])
    """

    _parameter_constraints: dict = {
        "decision": [str],
        "at_least_one": ["boolean", StrOptions({"auto"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "cut": [Real, "array-like"],
    }

    thresholds_: Array
    at_least_one_: bool
    metric_: str | None

    def __init__(
        self,
        decision: str = "auto",
        *,
        at_least_one: bool | str = "auto",
        shrinkage: float = 20.0,
        cut: Any = 0.5,
    ) -> None:
        self.decision = decision
        self.at_least_one = at_least_one
        self.shrinkage = shrinkage
        self.cut = cut

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, scores: Any, y: Any) -> "LabelDecision":
        """Learn the thresholds.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Out-of-sample scores of the training rows: leave-one-out, out-of-bag or out-of-fold.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown. Only known labels count.

        Returns
        -------
        self
        """
        check_decision(self.decision)
        labels, known = split_unknown(to_numpy(y), "y")
        Y = as_dense(labels)
        scores = np.asarray(as_matrix(scores, "scores"), dtype=np.float64)
        if Y.shape != scores.shape:
            raise ValueError(
                f"scores and y must have the same shape, but have {scores.shape} and {Y.shape}."
            )
        cut = np.asarray(self.cut, dtype=np.float64)
        if cut.ndim and (self.decision != "fixed" or cut.shape != Y.shape[1:]):
            raise ValueError(
                f"cut must be one number, or for decision='fixed' one per label "
                f"({Y.shape[1]}); got {cut.size} numbers for decision={self.decision!r}."
            )
        known = np.ones(Y.shape, dtype=bool) if known is None else known
        metric = _AUTO if self.decision == "auto" else self.decision
        self.metric_ = metric if metric in _TARGETS else None
        self.at_least_one_ = self.at_least_one is True
        rows = np.isfinite(scores).all(axis=1)
        scores, labels, cells = scores[rows], Y[rows], known[rows]
        target = np.where(cells, labels, np.nan)
        if guarantee := parse_guarantee(self.decision):
            # Labels that are constant in training are included: they are part of new rows.
            scores = _top_first(scores) if self.at_least_one_ else scores
            self.thresholds_ = guaranteed_thresholds(*guarantee, scores, target)
            return self
        if self.metric_ is None or not cells.any():
            self.thresholds_ = self._thresholds_without_metric(scores, labels, cells)
        else:
            # With and without filling empty sets, whichever is better
            chosen, best = METRICS[self.metric_], -np.inf
            choices = [False, True] if self.at_least_one == "auto" else [self.at_least_one_]
            for at_least_one in choices:
                thresholds = self._thresholds(scores, labels, cells, at_least_one)
                value = chosen.sign * chosen(target, label_sets(scores, thresholds, at_least_one))
                if value > best:
                    best, self.thresholds_, self.at_least_one_ = value, thresholds, at_least_one
        if not is_fixed(self.decision):
            # A label that is constant in training stays as it is; one of no known row is never
            # predicted.
            self.thresholds_[(known <= Y).all(axis=0)] = -np.inf
            self.thresholds_[~Y.any(axis=0)] = np.inf
        return self

    def _thresholds_without_metric(self, scores: Array, Y: Array, known: Array) -> Array:
        """Return the thresholds of "fixed", "cardinality" and costs."""
        least_cost = parse_costs(self.decision)
        cut: Any = self.cut if least_cost is None else least_cost
        if self.decision == "cardinality" and len(Y):
            scores = _top_first(scores) if self.at_least_one_ else scores
            ordered = np.sort(scores[known])[::-1]
            cut = best_cut(ordered, -np.abs(np.arange(ordered.size + 1) - Y.sum()), float(cut))
        return np.full(Y.shape[1], cut)

    def _thresholds(self, scores: Array, Y: Array, known: Array, at_least_one: bool) -> Array:
        """Return the best thresholds on these rows, those of single labels shrunk."""
        q, cut = Y.shape[1], float(self.cut)
        value = ROW_VALUES.get(str(self.metric_), ROW_VALUES["f1"])
        if at_least_one and self.metric_ in _SHARED:
            scores = _top_first(scores)
        scores = np.where(known, scores, -np.inf)  # unknown labels are never predicted
        if self.metric_ in _SHARED:
            if self.metric_ == "micro_f1":  # all labels of all rows as one row
                Y, scores = Y.reshape(1, -1), scores.reshape(1, -1)
            return np.full(q, best_cut(*values_at_cuts(Y, scores, value), cut))
        shared = best_cut(*values_at_cuts(Y.T, scores.T, value), cut)
        own = [
            best_cut(*values_at_cuts(y[None], s[None], value), shared)
            for y, s in zip(Y.T, scores.T, strict=True)
        ]
        rows = np.minimum(Y.sum(axis=0), known.sum(axis=0) - Y.sum(axis=0))
        weight = rows / np.maximum(rows + self.shrinkage, np.finfo(float).tiny)
        return weight * own + (1 - weight) * shared

    def apply(self, scores: Any) -> Any:
        """Turn scores into label sets.

        Parameters
        ----------
        scores : {array-like, CSR array} of shape (n_samples, n_labels)
            Scores on the scale of those in ``fit``. Of sparse ones, those of thousands of labels,
            what has no entry is not predicted.

        Returns
        -------
        {ndarray of bool, CSR array} of shape (n_samples, n_labels)
            The predicted labels.
        """
        check_is_fitted(self)
        if sparse.issparse(scores):
            chosen = sparse.csr_array(scores, copy=True)
            chosen.data[:] = chosen.data > self.thresholds_[chosen.indices]
            chosen.eliminate_zeros()
            return chosen.astype(int)
        array = np.asarray(scores, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.thresholds_):
            raise ValueError(
                f"scores must have the shape (n, {len(self.thresholds_)}), one column per label, "
                f"not {array.shape}."
            )
        return label_sets(array, self.thresholds_, self.at_least_one_)


def _top_first(scores: Array) -> Array:
    """Raise each row's top score, the first of equal ones, above every threshold.

    With a threshold shared by all labels this fills the rows that would be empty.
    """
    scores = scores.copy()
    scores[np.arange(len(scores)), scores.argmax(axis=1)] = np.inf
    return scores


def label_sets(scores: Array, thresholds: Array, at_least_one: bool = False) -> Array:
    """Return which labels of (n, q) scores are above their threshold, as booleans.

    With `at_least_one`, a row without such a label gets the label of its top score.
    """
    sets, allowed = scores > thresholds, ~np.isposinf(thresholds)
    if at_least_one and allowed.any():
        empty = np.flatnonzero(~sets.any(axis=1))
        top = np.where(allowed, scores[empty], -np.inf).argmax(axis=1)
        sets[empty, top] = True
    return sets


def out_of_sample_scores(estimator: Any) -> tuple[str | None, Any]:
    """Return name and value of the out-of-sample scores that a fitted classifier has, if any."""
    for name in ("training_scores_", "oob_proba_", "oof_proba_", "loo_proba_"):
        scores = getattr(estimator, name, None)
        if isinstance(scores, np.ndarray) and np.isfinite(scores).any():
            return name, scores
    return None, None


def learn_thresholds(classifier: Any, y: Any) -> dict[str, dict[str, Any]]:
    """Return the thresholds of each decision that is learned from scores, by its name.

    Parameters
    ----------
    classifier : fitted classifier
        Its out-of-sample scores of the training rows are used, or those of its ``estimator_``.
    y : array-like of shape (n_samples, n_labels)
        The labels of these rows.

    Returns
    -------
    dict of str to dict
        ``thresholds`` and ``at_least_one``, as `label_sets` takes them; empty for a classifier
        without out-of-sample scores. JSON can hold it.
    """
    _, scores = out_of_sample_scores(classifier)
    while scores is None and hasattr(classifier, "estimator_"):
        classifier = classifier.estimator_
        _, scores = out_of_sample_scores(classifier)
    if scores is None or scores.shape != np.shape(y):
        return {}
    found = {}
    for name in (*DECISIONS, "recall:0.9", "precision:0.9"):
        if name == "fixed":
            continue  # it learns nothing
        try:
            decision = LabelDecision(name).fit(scores, y)
        except ValueError:
            if parse_guarantee(name):  # not to be reached with these rows
                continue
            raise
        # A label that is never or always predicted has an infinite threshold, which JSON lacks.
        thresholds = np.clip(decision.thresholds_, -1, 2)
        thresholds = (thresholds if parse_guarantee(name) else thresholds.round(6)).tolist()
        found[name] = {"thresholds": thresholds, "at_least_one": bool(decision.at_least_one_)}
    return found
