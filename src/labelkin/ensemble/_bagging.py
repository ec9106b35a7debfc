"""Bagging_VPCP: VPCME without the sample weights."""

from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from labelkin._utils.parallel import effective_n_threads, map_threads
from labelkin._utils.progress import with_callbacks
from labelkin.ensemble._base import ConstraintEnsemble
from labelkin.ensemble._member import Member
from labelkin.rows import is_device_array


class BaggingVPCPClassifier(ConstraintEnsemble):
    """Bagging over variable pairwise constraint projections: VPCME without the weights.

    All samples have equal weights in every member, so the members are independent and are
    trained in parallel.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that accepts multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float or (low, high), default=0.6
        As in `VPCMEClassifier`.
    n_must_link, n_cannot_link : int, default=None
        Pairs drawn for a member; None: as many as there are samples.
    voting : {"hard", "soft"}, default="hard"
        As in `VPCMEClassifier`.
    n_jobs : int, default=None
        Threads, over members; None: as many as BLAS would use. The results are the same
        for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.
    verbose : int, default=0
        Above 0: one line after each member.
    bag, calibrate
        As in `VPCMEClassifier`; there are no sample weights to update.

    Attributes
    ----------
    estimators_, projections_, thresholds_, errors_, oob_proba_, oob_score_, calibration_,
    feature_importances_, classes_, label_names_
        As in `VPCMEClassifier`.
    sample_weights_ : ndarray of shape (n_samples,)
        All equal; or in proportion to the weights that ``fit`` was given.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    VPCMEClassifier : The same with samples reweighted after each member.
    """

    @_fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "BaggingVPCPClassifier":
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown, if the base takes it.
        sample_weight : array-like of shape (n_samples,), optional
            Samples are drawn into pairs in proportion to it, and one of weight 0 is in no pair. The
            base classifiers use all samples equally.

        Returns
        -------
        self
        """
        X, y, known = self._validate_known(X, y)
        at_once = min(effective_n_threads(self.n_jobs), self.n_estimators)
        data, seeds, report = self._prepare(X, y, known, sample_weight, at_once)
        weights, numbers = np.ones(y.shape[0]), count(1)

        def train(seed: int) -> Member:
            member = Member(data, seed, weights)
            member.train(member.project(*member.draw_pairs()))
            return member

        n_jobs = 1 if is_device_array(X) else self.n_jobs
        members = map_threads(train, seeds, n_jobs, lambda member: report(next(numbers), member))
        return self._finish(data, members, weights / len(weights))
