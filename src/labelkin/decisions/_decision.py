"""From scores to label sets: cuts chosen on held-out scores for the metric that counts.

A classifier says how likely each label is; which labels to *predict* depends on what a mistake
costs. One half is right for the Hamming loss of calibrated probabilities, and for little else:
F1 wants a lower cut, and a sample that must have a label should not get the empty set.

:class:`LabelDecision` learns the cut from label sets and honest scores of the same rows:
leave-one-out, out-of-bag or out-of-fold. :class:`DecisionClassifier` brings the two together
for any multi-label classifier.
"""

from collections.abc import Callable
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.model_selection import check_cv
from sklearn.utils import (
    Tags,
    _safe_indexing,
    check_random_state,
    get_tags,
    indexable,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    has_fit_parameter,
)

from labelkin._utils.labels import as_matrix
from labelkin._utils.scoring import estimator_scores
from labelkin.base import Array, MultiLabelClassifier, label_matrix, seeded
from labelkin.decisions._cuts import (
    RowValue,
    agreement,
    best_cut,
    expected_f1_sets,
    f1,
    jaccard,
    subset,
    values_at_cuts,
)
from labelkin.metrics import METRICS
from labelkin.model_selection import IterativeStratifiedKFold
from labelkin.neighbors._mlknn import MLkNNClassifier

# ----------------------------------------------------------------------------- decision

# One threshold for all labels, or one for each.
_SHARED: dict[str, RowValue] = {
    "f1": f1,
    "jaccard": jaccard,
    "subset_accuracy": subset,
    "micro_f1": f1,
}
_BY_LABEL: dict[str, RowValue] = {
    "hamming_loss": agreement,
    "macro_f1": f1,
    "weighted_f1": f1,
}
_TARGETS = (*_SHARED, *_BY_LABEL)

DECISIONS: tuple[str, ...] = ("auto", "fixed", "cardinality", "expected_f1", *_TARGETS)
"""What ``decision=`` takes."""

_AUTO = "jaccard"


def check_decision(decision: Any) -> None:
    """Refuse, in one sentence, what is no decision."""
    if decision in DECISIONS:
        return
    known = METRICS.get(decision) if isinstance(decision, str) else None
    if known is None:
        why = "is not known"
    elif known.needs == "score":
        why = "judges rankings, which no threshold changes"
    else:
        why = "alone is best with every label predicted, or hardly any"
    raise ValueError(f"decision={decision!r} {why}; choose one of {', '.join(DECISIONS)}.")


class LabelDecision(BaseEstimator):
    """Turns scores into label sets, by cuts learned on held-out scores.

    Parameters
    ----------
    decision : str, default="auto"
        What to decide for.

        - "fixed": every label whose score is above `cut`.
        - "cardinality": one threshold for all labels, by which as many labels are predicted as
          the training rows have.
        - "f1" (by example), "jaccard", "subset_accuracy", "micro_f1": the one threshold for all
          labels that is best for this metric.
        - "hamming_loss", "macro_f1", "weighted_f1": the best threshold of each label.
        - "expected_f1": of each row, the set of largest expected F1 (`expected_f1_sets`). Needs
          calibrated probabilities, and learns nothing from the labels.
        - "auto": "jaccard". It lies between F1, which favours large sets, and subset accuracy,
          which favours sure ones.
    at_least_one : bool or "auto", default="auto"
        Whether a row without a label above its threshold gets the label of its top score: a
        threshold of its own. "auto": where that is better for the metric, judged on the held-out
        scores; never for "fixed", "cardinality" and "expected_f1".
    shrinkage : float, default=20
        Thresholds of single labels are means of the label's own best and of the best shared one,
        weighted by the number of rows with the label (or without it, where those are fewer) and
        by `shrinkage`. 0: the label's own.
    cut : float, default=0.5
        The threshold of "fixed", which others keep where nothing is gained by another.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted when its score is larger. A label that no training row has, or that
        all have, keeps to that: ∞ or −∞. (All NaN for "expected_f1".)
    at_least_one_ : bool
        Whether empty sets are filled.
    metric_ : str or None
        The name of the metric that was optimised.

    Notes
    -----
    Rows of the scores that are not finite, such as rows that were in every bag, are left out.

    References
    ----------
    N. Ye, K. Chai, W. Lee, H. Chieu. Optimizing F-measures: a tale of two approaches. ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0]])
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.3], [0.2, 0.4], [0.3, 0.1]])
    >>> decision = LabelDecision("micro_f1").fit(Y, scores)
    >>> decision.thresholds_
    array([0.25, 0.25])
    >>> decision.apply([[0.7, 0.27]])
    array([[ True,  True]])
    """

    _parameter_constraints: dict = {
        "decision": [str],
        "at_least_one": ["boolean", StrOptions({"auto"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "cut": [Real],
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
        cut: float = 0.5,
    ) -> None:
        self.decision = decision
        self.at_least_one = at_least_one
        self.shrinkage = shrinkage
        self.cut = cut

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, Y: Any, scores: Any) -> "LabelDecision":
        """Learn the cuts.

        Parameters
        ----------
        Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        scores : array-like of shape (n_samples, n_labels)
            Honest scores of the same rows: made without their labels.

        Returns
        -------
        self
        """
        check_decision(self.decision)
        Y = label_matrix(Y)
        scores = np.asarray(as_matrix(scores, "scores"), dtype=np.float64)
        if Y.shape != scores.shape:
            raise ValueError(
                f"y and scores must have the same shape, but have {Y.shape} and {scores.shape}."
            )
        metric = _AUTO if self.decision == "auto" else self.decision
        self.metric_ = metric if metric in _TARGETS else None
        known = np.isfinite(scores).all(axis=1)
        if self.metric_ is None or not known.any():
            self._fit_plain(Y[known], scores[known])
        else:
            self._fit_metric(Y[known], scores[known], METRICS[self.metric_])
        if self.decision not in ("fixed", "expected_f1"):
            # A label that is constant in training stays as it is.
            self.thresholds_[~Y.any(axis=0)] = np.inf
            self.thresholds_[Y.all(axis=0)] = -np.inf
        return self

    def _fit_plain(self, Y: Array, scores: Array) -> None:
        """Take the decisions that no metric judges."""
        self.at_least_one_ = self.at_least_one is True
        cut = float(self.cut)
        if self.decision == "cardinality" and len(Y):
            scores = _top_first(scores) if self.at_least_one_ else scores
            ordered = np.sort(scores, axis=None)[::-1]
            cut = best_cut(ordered, -np.abs(np.arange(Y.size + 1) - int(Y.sum())), cut)
        self.thresholds_ = np.full(Y.shape[1], np.nan if self.decision == "expected_f1" else cut)

    def _fit_metric(self, Y: Array, scores: Array, metric: Any) -> None:
        """Learn thresholds with and without empty sets, and keep what is better."""
        wanted = [False, True] if self.at_least_one == "auto" else [bool(self.at_least_one)]
        best = -np.inf
        for at_least_one in wanted:
            thresholds = self._thresholds(Y, scores, at_least_one)
            value = metric.sign * metric(Y, _above(scores, thresholds, at_least_one))
            if value > best:
                best, self.thresholds_, self.at_least_one_ = value, thresholds, at_least_one

    def _thresholds(self, Y: Array, scores: Array, at_least_one: bool) -> Array:
        """Return the best thresholds on these rows, single labels' ones shrunk."""
        q, cut = Y.shape[1], float(self.cut)
        if self.metric_ in _SHARED:
            scores = _top_first(scores) if at_least_one else scores
            if self.metric_ == "micro_f1":  # all cells as one row
                Y, scores = Y.reshape(1, -1), scores.reshape(1, -1)
            return np.full(q, best_cut(*values_at_cuts(Y, scores, _SHARED[self.metric_]), cut))
        value = _BY_LABEL[str(self.metric_)]
        shared = best_cut(*values_at_cuts(Y.T, scores.T, value), cut)
        own = [
            best_cut(*values_at_cuts(y[None], s[None], value), shared)
            for y, s in zip(Y.T, scores.T, strict=True)
        ]
        rows = np.minimum(Y.sum(axis=0), len(Y) - Y.sum(axis=0))
        trust = rows / np.maximum(rows + self.shrinkage, np.finfo(float).tiny)
        return trust * own + (1 - trust) * shared

    def apply(self, scores: ArrayLike) -> Array:
        """Decide.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Scores of the kind that was fitted.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_labels)
            The predicted labels.
        """
        check_is_fitted(self)
        array = np.asarray(scores, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.thresholds_):
            raise ValueError(
                f"scores must have the shape (n, {len(self.thresholds_)}), one column a label, "
                f"not {array.shape}."
            )
        if self.decision == "expected_f1":
            return _fill(expected_f1_sets(array), array, self.at_least_one_)
        return _above(array, self.thresholds_, self.at_least_one_)


def _top_first(scores: Array) -> Array:
    """Put each row's top score, the first of equal ones, above every threshold.

    With a threshold shared by all labels that is to fill the rows it would leave empty.
    """
    scores = scores.copy()
    scores[np.arange(len(scores)), scores.argmax(axis=1)] = np.inf
    return scores


def _above(scores: Array, thresholds: Array, at_least_one: bool) -> Array:
    return _fill(scores > thresholds, scores, at_least_one, ~np.isposinf(thresholds))


def _fill(sets: Array, scores: Array, at_least_one: bool, allowed: Any = True) -> Array:
    """Give empty sets the label of their top score, the first of equal ones."""
    if at_least_one and np.any(allowed):
        empty = np.flatnonzero(~sets.any(axis=1))
        top = np.where(allowed, scores[empty], -np.inf).argmax(axis=1)
        sets[empty, top] = True
    return sets


# ----------------------------------------------------------------------- meta-estimator


def _has(method: str) -> Callable[[Any], bool]:
    def check(self: "DecisionClassifier") -> bool:
        fitted = getattr(self, "estimator_", None)
        return hasattr(self._given() if fitted is None else fitted, method)

    return check


class DecisionClassifier(MultiLabelClassifier):
    """Any multi-label classifier, its label sets decided for a metric.

    The scores of the wrapped classifier stay; only ``predict`` changes. The cuts are learned on
    scores of the training rows that did not see their labels, so nothing but training data is
    used, and nothing is judged on itself:

    - what the classifier itself offers: ``fit_loo_proba(X, y)`` (with ``strict=True``, where it
      has that), or ``oob_proba_`` or
      ``loo_proba_`` after ``fit``; else
    - out-of-fold scores, at the cost of `cv` more fits.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier of this library, or any of scikit-learn that takes multi-label targets and
        has ``predict_proba`` or ``decision_function``, pipelines included. None:
        ``MLkNNClassifier()``.
    decision : str, default="auto"
        "fixed", "cardinality", "expected_f1" or the metric to decide for: "f1", "jaccard",
        "subset_accuracy", "hamming_loss", "micro_f1", "macro_f1", "weighted_f1". See
        `LabelDecision`.
    cv : int or splitter, default=5
        Folds for the out-of-fold scores; an int: stratified by the labels.
    at_least_one, shrinkage
        As in `LabelDecision`.
    n_jobs : int, default=None
        Folds fitted at the same time (joblib).
    random_state : int, RandomState instance or None, default=None
        Source of the folds, and of seeds for an estimator that has none.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all rows.
    decision_ : LabelDecision
        The fitted decision.
    thresholds_ : ndarray of shape (n_labels,)
        Its thresholds.
    training_scores_ : ndarray of shape (n_samples, n_labels)
        The honest scores of the training rows, for another `LabelDecision`, or to calibrate.
        NaN where there are none.
    scores_from_ : {"fit_loo_proba", "oob_proba_", "loo_proba_", "cv", None}
        Where the honest scores come from. None: none were needed, or there was a single row.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``, where the estimator says it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, where the estimator says them.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same for one binary label.

    Examples
    --------
    >>> from labelkin.datasets import load_digit_scenes
    >>> from labelkin.decisions._decision import DecisionClassifier
    >>> from labelkin.metrics import example_f1
    >>> scenes = load_digit_scenes(n_samples=600, random_state=0)
    >>> X, Y = scenes.data, scenes.target
    >>> for decision in ("fixed", "f1"):
    ...     model = DecisionClassifier(decision=decision).fit(X[:400], Y[:400])
    ...     print(decision, round(example_f1(Y[400:], model.predict(X[400:])), 2))
    fixed 0.22
    f1 0.43
    """

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "decision": [str],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "cv_object"],
        "at_least_one": ["boolean", StrOptions({"auto"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    scores_from_: str | None

    def __init__(
        self,
        estimator: Any = None,
        decision: str = "auto",
        *,
        cv: Any = 5,
        at_least_one: bool | str = "auto",
        shrinkage: float = 20.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.cv = cv
        self.at_least_one = at_least_one
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **params: Any) -> "DecisionClassifier":
        """Fit the estimator on all rows, and the decision on honest scores of them.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list, of n_samples rows
            Training samples, in any form the estimator takes.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        **params : dict
            Handed on to the estimator's ``fit``, ``sample_weight`` above all; with metadata
            routing, what the estimator requests. The cuts count every row alike.

        Returns
        -------
        self
        """
        check_decision(self.decision)
        params = self._route(params)
        y = self._validate_target(X, y)
        rng = check_random_state(self.random_state)
        base = seeded(clone(self._given()), rng)
        target = y.astype(np.int64)  # some estimators write −1 into a copy
        if self._one_target or (y.shape[1] == 1 and get_tags(base).target_tags.single_output):
            target = target.ravel()
        self.decision_ = LabelDecision(
            self.decision,
            at_least_one=self.at_least_one,
            shrinkage=self.shrinkage,
            cut=0.5 if hasattr(base, "predict_proba") else 0.0,
        )
        # Otherwise nothing is learned from the scores: any will do.
        needs_scores = self.decision not in ("fixed", "expected_f1")
        scores = self._fit_estimator(clone(base), X, target, y.shape, needs_scores, params)
        if scores is None and needs_scores and len(y) > 1:
            self.scores_from_ = "cv"
            scores = self._out_of_fold(base, X, target, y, rng, params)
        self.training_scores_ = np.full(y.shape, np.nan) if scores is None else scores
        self.decision_.fit(y, self.training_scores_)
        self.thresholds_ = self.decision_.thresholds_
        return self

    def _given(self) -> Any:
        return MLkNNClassifier() if self.estimator is None else self.estimator

    def get_metadata_routing(self) -> MetadataRouter:
        """Say who takes which metadata: the estimator takes those of ``fit``.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._given(), method_mapping=mapping)

    def _route(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what the estimator's ``fit`` is given; refuse what it does not take."""
        if params and get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params).estimator.fit
        for name in params:
            if not has_fit_parameter(self._given(), name):
                raise ValueError(
                    f"{type(self._given()).__name__} takes no {name}: fit without it, or choose "
                    "an estimator that does."
                )
        return params

    def _validate_target(self, X: Any, Y: Any) -> Array:
        """Validate the labels; the samples are the estimator's business."""
        _, labels = self._validate_fit(np.zeros((_num_samples(X), 1)), Y)
        del self.n_features_in_  # of the stand-in
        return labels

    def _fit_estimator(
        self,
        estimator: Any,
        X: Any,
        target: Array,
        shape: tuple[int, ...],
        needs_scores: bool,
        params: dict[str, Any],
    ) -> Array | None:
        """Fit on all rows; return the honest scores that come with it, if any."""
        scores = None
        self.scores_from_ = None
        known = signature(getattr(estimator, "fit_loo_proba", estimator.fit)).parameters
        if needs_scores and hasattr(estimator, "fit_loo_proba") and params.keys() <= known.keys():
            self.scores_from_ = "fit_loo_proba"
            # Where it can be had, the sample's labels say nothing at all about its scores.
            strict = {"strict": True} if "strict" in known else {}
            scores = estimator.fit_loo_proba(X, target, **strict, **params)
        else:
            estimator.fit(X, target, **_check_method_params(X, params))
            for name in ("oob_proba_", "loo_proba_"):
                if needs_scores and getattr(estimator, name, None) is not None:
                    self.scores_from_, scores = name, getattr(estimator, name)
                    break
        self.estimator_ = estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
            elif hasattr(self, name):
                delattr(self, name)
        if scores is None:
            return None
        # A column for each class after a one-dimensional target; the last is the label.
        return np.asarray(scores, dtype=np.float64).reshape(shape[0], -1)[:, -shape[1] :]

    def _out_of_fold(
        self, base: Any, X: Any, target: Array, Y: Array, rng: Any, params: dict[str, Any]
    ) -> Array:
        if isinstance(self.cv, Integral):
            seed = int(rng.randint(2**31 - 1))
            cv = IterativeStratifiedKFold(min(int(self.cv), len(Y)), random_state=seed)
        else:
            cv = check_cv(self.cv)
        (X,) = indexable(X)

        def held_out(train: Array, test: Array) -> Array:
            given = _check_method_params(X, params, indices=train)
            model = clone(base).fit(_safe_indexing(X, train), target[train], **given)
            part = estimator_scores(model, _safe_indexing(X, test), Y.shape[1])
            return part.reshape(len(test), Y.shape[1])

        splits = list(cv.split(np.zeros((len(Y), 1)), Y))
        parts = Parallel(n_jobs=self.n_jobs)(delayed(held_out)(*split) for split in splits)
        scores = np.full(Y.shape, np.nan)  # rows that no fold tests stay out
        for (_, test), part in zip(splits, parts, strict=True):
            scores[test] = part
        return scores

    def _validate_predict(self, X: Any, method: str = "predict") -> Any:
        check_is_fitted(self)
        return X

    def _proba(self, X: Any) -> Array:
        q = len(self.thresholds_)
        return estimator_scores(self.estimator_, X, q).reshape(-1, q)

    def _labels(self, X: Any) -> Array:
        return self.decision_.apply(self._proba(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probability of each label, as the estimator says it.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list
            Samples, in any form the estimator takes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), one column per label. (After a one-dimensional target: one column
            per class, as scikit-learn's binary classifiers do.)
        """
        return self._as_proba(self._proba(self._validate_predict(X)))

    @available_if(lambda self: not _has("predict_proba")(self) and _has("decision_function")(self))
    def decision_function(self, X: Any) -> Array:
        """Score of each label, of an estimator without ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list
            Samples, in any form the estimator takes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            After a one-dimensional target: (n_samples,).
        """
        scores = self._proba(self._validate_predict(X))
        return scores[:, 0] if self._one_target else scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._given()).input_tags
        return tags
