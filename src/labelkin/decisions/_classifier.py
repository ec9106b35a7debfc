"""A multi-label classifier whose label sets are chosen for a metric."""

from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_method_params

from labelkin._utils.labels import label_names, named_if_single
from labelkin._utils.names import did_you_mean
from labelkin.base import Array, random_seed, set_random_states
from labelkin.decisions._label_decision import (
    LabelDecision,
    check_decision,
    is_fixed,
    out_of_sample_scores,
    parse_costs,
)
from labelkin.decisions._wrapper import WrappingClassifier
from labelkin.metrics._estimators import estimator_scores
from labelkin.model_selection import IterativeStratifiedKFold


class DecisionClassifier(WrappingClassifier):
    """A multi-label classifier whose label sets are chosen for a metric.

    The scores of the wrapped classifier do not change; only ``predict`` does. Thresholds are
    learned on out-of-sample scores of the training rows:

    - of a fitted classifier in scikit-learn's ``FrozenEstimator``: its scores of the rows in
      ``fit``, which it must not have seen; else
    - those that the classifier itself offers: ``fit_loo_proba(X, y)`` (with ``strict=True``,
      where it has that), or ``oob_proba_``, ``oof_proba_`` or ``loo_proba_`` after ``fit``; else
    - out-of-fold scores, at the cost of `cv` more fits.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier of this library, or any scikit-learn classifier that accepts multi-label
        targets and has ``predict_proba`` or ``decision_function``, pipelines included. None:
        ``MLkNNClassifier()``.
    decision : str, default="auto"
        "fixed", "cardinality" or the metric to optimise: "f1", "jaccard", "subset_accuracy",
        "hamming_loss", "micro_f1", "macro_f1"; or a level that new rows are to reach:
        "recall:0.9", "precision:0.9", or "macro_recall:0.9" and "macro_precision:0.9" for each
        label; or costs, such as "cost:FN=5", where a missed label costs as much as five wrong ones.
        See `LabelDecision` for what is guaranteed, and for costs.
    cv : int or splitter, default=5
        Folds for the out-of-fold scores; an int: stratified by the labels.
    at_least_one, shrinkage
        As in `LabelDecision`.
    cut : float, array-like of shape (n_labels,) or dict, default=None
        As in `LabelDecision`; None: 0.5, or 0 for an estimator without ``predict_proba``. A dict
        gives thresholds of single labels, by their name in `label_names_` or their number, such as
        ``{"obesity": 0.2}``; the other labels are decided as without it.
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
        Out-of-sample scores of the training rows, for another `LabelDecision` or for
        calibration. NaN where there are none.
    scores_from_ : {"frozen", "fit_loo_proba", "oob_proba_", "oof_proba_", "loo_proba_", "cv", None}
        Source of `training_scores_`. None: none were needed, or there was a single row.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, if the estimator has them.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : The same for one binary label.

    Examples
    --------
    >>> from labelkin.datasets import load_digit_scenes
    >>> from labelkin import DecisionClassifier
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
        "cut": [None, Real, "array-like", dict],
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
        cut: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.cv = cv
        self.at_least_one = at_least_one
        self.shrinkage = shrinkage
        self.cut = cut
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **params: Any) -> "DecisionClassifier":
        """Fit the estimator on all rows, and the decision on their out-of-sample scores.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list, of n_samples rows
            Training samples, in any form the estimator takes.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown, if the estimator takes it.
        **params : dict
            Passed to the estimator's ``fit``, such as ``sample_weight``; with metadata routing,
            what the estimator requests. All rows count equally for the thresholds.

        Returns
        -------
        self
        """
        check_decision(self.decision)
        params = self._route(params)
        y = self._validate_target(X, y)
        by_hand = self._thresholds_by_hand(y.shape[1])
        rng = check_random_state(self.random_state)
        base = set_random_states(clone(self._estimator), rng)
        has_proba = hasattr(base, "predict_proba")
        if parse_costs(self.decision) is not None and not has_proba:
            name = type(base).__name__
            raise ValueError(
                f"decision={self.decision!r} needs probabilities, and {name} has no predict_proba."
            )
        target = self._as_fitted(base, y)
        self.estimator_ = clone(base)
        with named_if_single(base):
            scores = self._fit_estimator(X, target, y.shape, params)
        if scores is None and not is_fixed(self.decision) and len(y) > 1:
            self.scores_from_ = "cv"
            scores = self._out_of_fold(base, X, target, y, rng, params)
        self.training_scores_ = np.full(y.shape, np.nan) if scores is None else scores
        usual = 0.5 if has_proba else 0.0
        self.decision_ = LabelDecision(
            self.decision,
            at_least_one=self.at_least_one,
            shrinkage=self.shrinkage,
            cut=usual if isinstance(self.cut, dict | None) else self.cut,
        ).fit(self.training_scores_, y)
        self.thresholds_ = self.decision_.thresholds_
        for number, threshold in by_hand.items():
            self.thresholds_[number] = threshold
        return self

    def _thresholds_by_hand(self, n_labels: int) -> dict[int, float]:
        """Return the thresholds of a dict by the numbers of the labels."""
        if not isinstance(self.cut, dict):
            return {}
        names, found = label_names(self), {}
        # A number is that of a label unless it is the name of one.
        keys = range(n_labels), names, getattr(self, "label_names_", ())
        numbers = {key: number for some in keys for number, key in enumerate(some)}
        for label, threshold in self.cut.items():
            if label not in numbers:
                raise ValueError(
                    f"cut has a threshold for the label {label!r}, which y does not have."
                    f"{did_you_mean(str(label), names)}"
                )
            if not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
                raise ValueError(f"cut[{label!r}] must be a number, got {threshold!r}.")
            if hasattr(self._estimator, "predict_proba") and not 0 <= float(threshold) <= 1:
                raise ValueError(f"cut[{label!r}] must be a probability, got {threshold!r}.")
            found[numbers[label]] = float(threshold)
        return found

    def _fit_estimator(
        self, X: Any, target: Array, shape: tuple[int, ...], params: dict[str, Any]
    ) -> Array | None:
        """Fit on all rows; return the out-of-sample scores that come with it, if any."""
        estimator, (n, q), needed = self.estimator_, shape, not is_fixed(self.decision)
        known = signature(getattr(estimator, "fit_loo_proba", estimator.fit)).parameters
        self.scores_from_, scores = None, None
        if isinstance(estimator, FrozenEstimator):
            # Its scores of these rows are out-of-sample: it was fitted to others.
            self.scores_from_, scores = "frozen", estimator_scores(estimator, X, q)
        elif needed and hasattr(estimator, "fit_loo_proba") and params.keys() <= known.keys():
            self.scores_from_ = "fit_loo_proba"
            # Strict: the scores of a row do not depend on its labels in any way.
            strict = {"strict": True} if "strict" in known else {}
            scores = estimator.fit_loo_proba(X, target, **strict, **params)
        else:
            estimator.fit(X, target, **_check_method_params(X, params))
            if needed:
                self.scores_from_, scores = out_of_sample_scores(estimator)
        self._adopt_features()
        if scores is None:
            return None
        scores = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
        if len(scores) < n:  # Kin scores some of very many rows
            some, scores = scores, np.full((n, scores.shape[1]), np.nan)
            scores[estimator.oob_indices_] = some
        # One column per class after a one-dimensional target; the last is the label.
        return scores[:, -q:]

    def _out_of_fold(
        self, base: Any, X: Any, target: Array, Y: Array, rng: Any, params: dict[str, Any]
    ) -> Array:
        """Return scores of each row by a model fitted without its fold."""
        cv = self.cv
        if isinstance(cv, Integral):
            cv = IterativeStratifiedKFold(min(int(cv), len(Y)), random_state=random_seed(rng))
        cv = check_cv(cv)
        (X,) = indexable(X)

        def fold_scores(train: Array, test: Array) -> Array:
            fold_params = _check_method_params(X, params, indices=train)
            model = clone(base).fit(
                _safe_indexing(X, train), _safe_indexing(target, train), **fold_params
            )
            scores = estimator_scores(model, _safe_indexing(X, test), Y.shape[1])
            return scores.reshape(len(test), Y.shape[1])

        splits = list(cv.split(np.zeros((len(Y), 1)), Y))
        parts = Parallel(n_jobs=self.n_jobs)(delayed(fold_scores)(*split) for split in splits)
        scores = np.full(Y.shape, np.nan)  # rows that are in no test fold have none
        for (_, test), part in zip(splits, parts, strict=True):
            scores[test] = part
        return scores

    def _proba(self, X: Any) -> Array:
        q = len(self.thresholds_)
        return estimator_scores(self.estimator_, X, q).reshape(-1, q)

    def _labels_of(self, proba: Array) -> Array:
        sets = self.decision_.apply(proba)
        hierarchy = getattr(self.estimator_, "hierarchy_", None)
        return sets if hierarchy is None else hierarchy.close(sets)
