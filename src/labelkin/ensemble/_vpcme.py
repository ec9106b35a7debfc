"""VPCME: the boosting-like ensemble over constraint projections (Table 1)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from labelkin._utils.progress import with_callbacks
from labelkin.base import Array
from labelkin.ensemble._base import ConstraintEnsemble
from labelkin.ensemble._member import Member

MAX_WEIGHT = 5.0
"""With a bag, the largest weight of a sample divided by the mean: weights cannot concentrate on a
few hard samples."""


class VPCMEClassifier(ConstraintEnsemble):
    """Variable Pairwise Constraint projection for Multi-label Ensemble (Li, Li & Wu).

    Each member draws must-link and cannot-link pairs of samples by the sample weights,
    learns the projection that pulls must-links together and pushes cannot-links apart, and
    trains the base classifier in it. Then the weight of every sample whose label set it
    misclassifies is multiplied by 1 + θ, so that hard samples are drawn more often; θ is the
    share of such samples in the previous round, or in the same round if it is the first. The
    members vote.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that accepts multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``. If it has a method ``fit_loo_proba``, the
        misclassified samples are found by predictions that leave each sample out; otherwise
        by the training predictions.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float or (low, high), default=0.6
        Θ: a pair whose label sets have at least this similarity is a must-link. If a range
        is given, each member draws its own value.
    n_must_link, n_cannot_link : int, default=None
        Pairs drawn for a member; None: as many as there are samples.
    voting : {"hard", "soft"}, default="hard"
        "hard": a label is predicted if more than half of the members predict it; a tie is
        decided by the mean probability. "soft": if the mean probability is above one half.
    n_jobs : int, default=None
        Number of threads, within a member in ``fit`` and over members in ``predict``; None: as
        many as BLAS would use. The results are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.
    verbose : int, default=0
        Above 0: one line after each member.
    bag : float, default=None
        Share of the samples from which a member draws its pairs; each member has its own bag.
        0.6 is a good choice. None, as in the paper: all samples. The projection does not
        depend on the labels of samples outside the bag, so the member's predictions for them
        are out-of-sample: they give ``oob_proba_``, and only they decide which samples are
        misclassified. Samples in the bag keep their weight in that round, and no weight
        exceeds five times the mean, so that the weights cannot concentrate on a few samples.
        A base whose ``fit_loo_proba`` accepts ``strict=True``, as that of ML-kNN does, learns
        from all samples except the predicted one; any other base learns from the bag only.
    calibrate : bool, default=False
        Whether to pass the mean probabilities through one logistic curve per label, learned
        from out-of-bag probabilities; needs a bag. The curves of rare labels are shrunk towards
        the others. A label is then predicted if its calibrated probability is above one half,
        for either value of `voting`.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        The fitted base classifiers, each on the output of the projection of the same index.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections.
    thresholds_ : ndarray of shape (n_estimators,)
        Θ of each member.
    errors_ : ndarray of shape (n_estimators,)
        θ: the share of training samples each member misclassifies; with a bag, of those
        outside it.
    sample_weights_ : ndarray of shape (n_samples,)
        The weights after the last round; they add up to 1.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        With a bag: the mean probabilities from the members that had the sample outside their
        bag, before calibration; NaN, with a warning, for a sample that is in every bag.
    oob_score_ : float
        With a bag: average precision of these predictions, an estimate for new samples. (It is
        slightly low, because fewer members vote than for a new sample.)
    calibration_ : callable or None
        Turns mean probabilities into calibrated ones; None unless `calibrate`.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the value of the projections; they add up to 1. See
        `labelkin.projection.feature_importances`.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    BaggingVPCPClassifier : The same without the weights.

    Notes
    -----
    With ML-kNN as the base, X and y can be Dask arrays whose rows are on different machines:
    the rows stay in the workers' memory, and the model is the same as for data in memory.
    Predictions for Dask arrays are lazy Dask arrays. Blocks of about ten thousand rows work
    well. With `bag`, and with any other base, the rows are brought into memory. Pickling such a
    model brings its rows into memory.

    With ML-kNN as the base and no bag, a sparse y stays sparse, and ``predict`` gives a sparse
    matrix: thousands of labels of a million samples fit in memory. ``predict_proba`` is dense: call
    it for a block of samples at a time.

    Labels may be unknown in some samples (NaN in y), with ML-kNN or another base that takes them.
    The similarity of two samples is then that of the labels known in both, and two samples without
    such a label are not paired. A sample is misclassified if one of its known labels is; a sample
    without known labels is in no pair and keeps its weight.

    References
    ----------
    P. Li, H. Li, M. Wu. Multi-label ensemble based on variable pairwise constraint
    projection. Information Sciences 222 (2013).

    Examples
    --------
    >>> from labelkin import VPCMEClassifier
    >>> from labelkin.datasets import load_digit_scenes
    >>> scenes = load_digit_scenes(n_samples=300, random_state=0)
    >>> model = VPCMEClassifier(n_estimators=5, random_state=0)
    >>> model.fit(scenes.data[:200], scenes.target[:200]).predict(scenes.data[200:]).shape
    (100, 10)
    """

    @_fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "VPCMEClassifier":
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown, if the base takes it.
        sample_weight : array-like of shape (n_samples,), optional
            The initial w of Table 1: samples are drawn into pairs in proportion to it, and a
            sample of weight 0 is in no pair. The base classifiers weight all samples equally.

        Returns
        -------
        self
        """
        X, y, known = self._validate_known(X, y)
        data, seeds, report = self._prepare(X, y, known, sample_weight)
        members: list[Member] = []
        n_samples = y.shape[0]
        weights = np.full(n_samples, 1 / n_samples)  # line 4, INITIALIZE
        for seed in seeds:  # line 5, FOR l = 1, ..., S
            member = Member(data, seed, weights)
            # Draw must-links M and cannot-links C by the weights (lines 6-13; Eq. 1-2).
            must_link, cannot_link = member.draw_pairs()
            # Learn the projection W from M and C, and represent the samples by z = Wᵀx
            # (lines 14-15, a and b; Eq. 3-7).
            Z = member.project(must_link, cannot_link)
            # Learn the base classifier, and find the samples that it misclassifies (line 16, c).
            wrong = member.train(Z)
            # Raise their weights, w ← w(1 + θ), by the misclassification rate θ of the previous
            # round (lines 16-17).
            theta = members[-1].error if members else member.error
            weights = reweight(weights, wrong, theta, member.outside)
            members.append(member)
            report(len(members), member)
        return self._finish(data, members, weights)


def reweight(weights: Array, wrong: Array, error: float, outside: Array | None = None) -> Array:
    """Raise the weight of `wrong` samples by 1 + error; the sum stays 1 (Table 1, c).

    With a bag, `wrong` is of the rows outside it, `outside`. Their total
    weight stays the same, and the samples in the bag keep their weight. If the misclassified ones
    were simply raised, a sample would gain weight by being outside more often: with many errors
    chance alone would soon put nearly all weight on a few. No weight exceeds `MAX_WEIGHT` times
    the mean.
    """
    if outside is None:
        raised = np.where(wrong, weights * (1 + error), weights)
        return raised / raised.sum()
    weights = weights.copy()
    weights[outside] = weights[outside].sum() * reweight(weights[outside], wrong, error)
    return bound_weights(weights, MAX_WEIGHT)


def bound_weights(weights: Array, most: float) -> Array:
    """Bound positive weights that add up to 1 by `most` ≥ 1 times their mean.

    The others share the rest, so that the sum and the order of size stay.
    """
    limit = most / len(weights)
    bounded, cut = weights, np.zeros(len(weights), dtype=bool)
    while (over := bounded > limit * (1 + 1e-12)).any():
        cut |= over
        rest = weights[~cut].sum()
        scale = (1 - limit * np.count_nonzero(cut)) / rest if rest > 0 else 0.0
        bounded = np.where(cut, limit, weights * scale)
    return bounded
