"""VPCME and Bagging_VPCP: ensembles over constraint projections (Table 1)."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from labelkin._utils.array_api import is_device_array
from labelkin._utils.parallel import map_parallel, map_threads
from labelkin.base import Array
from labelkin.ensemble._bags import bound_weights
from labelkin.ensemble._base import ConstraintEnsemble
from labelkin.ensemble._member import Member, TrainingData
from labelkin.ensemble._stacked import can_be_stacked, stack_size, train_stack

MOST_WEIGHT = 5.0
"""With a bag, no sample weighs more than so many times the mean (`reweight_outside`)."""


class VPCMEClassifier(ConstraintEnsemble):
    """Variable Pairwise Constraint projection for Multi-label Ensemble (Li, Li & Wu).

    Each member draws must-link and cannot-link pairs of samples by the sample weights,
    learns the projection that pulls must-links together and pushes cannot-links apart, and
    trains the base classifier in it. Then the weight of every sample whose label set it
    got wrong is multiplied by 1 + θ, θ being the share of such samples in the round before
    (in the first round: in the same), so that the next pairs dwell on hard samples. The
    members vote.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that takes multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``. When it offers ``fit_loo_proba``, a sample is
        misclassified by the prediction made without it; else by the training prediction.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float, (low, high) or "auto", default=0.6
        Θ: a pair whose label sets overlap by at least so much is a must-link. From a range
        each member draws its own. "auto" chooses one Θ for all members by `oob_metric` out
        of bag, among those that split the pairs differently: small trial ensembles, fewer
        members in all than `n_estimators`, so that the fit costs no more than twice as
        much. It stays at 0.6 unless another is better by two standard errors over samples
        and draws (2.6 for the best of five); with fewer than nine members it always does.
        The trials draw inside bags, of share 0.6 if `bag` is None; the ensemble is then the
        same as with this Θ given.
    n_must_link, n_cannot_link : int, default=None
        Pairs drawn for a member; None: as many as there are samples.
    voting : {"hard", "soft"}, default="hard"
        hard: a label is predicted when more than half of the members predict it (a tie
        goes by the mean probability). soft: when the mean probability is above one half.
    n_jobs : int, default=None
        Threads, within a member while fitting and over members while predicting; None: as
        many as BLAS would use. The results are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.
    verbose : int, default=0
        Above 0: a line after each member.
    bag : float, default=None
        Share of the samples inside which a member draws its pairs, anew for each member;
        0.6 is a good one. None, as in the paper: all. Of the samples outside the bag the
        projection has not seen the labels, so the member's predictions there are honest:
        they make ``oob_proba_``, and they alone decide who is misclassified. Samples in the
        bag keep their weight in that round, and none ever weighs more than five times the
        mean, so that weights cannot run away onto a few hard samples. A base whose
        ``fit_loo_proba`` has ``strict=True``, as ML-kNN's, learns from all samples, the one
        asked for left out; any other learns from the bag only.
    oob_metric : str, default="average_precision"
        Metric of ``oob_score_`` and of the choice of Θ, a name in
        `labelkin.metrics.METRICS`.
    vote_weights : {"equal", "oob"}, default="equal"
        What a member weighs in the vote and in the mean probability. oob, with a bag: one
        over its mean squared error out of bag. Members that differ little weigh much the
        same.
    calibrate : bool, default=False
        With a bag: pass the mean probabilities through a logistic curve a label, learned
        out of bag, rare labels leaning on the others. A label is then predicted when its
        calibrated probability is above one half, whatever `voting` says.
    max_features : int or float, default=None
        Features that a member sees: a number, or a share of them; anew for each member.
        None, as in the paper: all. Fewer make a member cheaper, and members that differ more.
    feature_draw : {"uniform", "importance"}, default="uniform"
        With `max_features`, how they are drawn. importance: in proportion to their share in
        a first projection, from pairs of its own; that one sees all features, so that
        nothing becomes cheaper.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        Each fitted on what the projection of the same index gives.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections, of all features; with `max_features` those that a member did not
        see have zeros in its ``components_``.
    thresholds_ : ndarray of shape (n_estimators,)
        Θ of each member.
    threshold_ : float
        With ``threshold="auto"``: the Θ chosen.
    threshold_scores_ : dict of ndarray
        With ``threshold="auto"``: the Θ tried as ``"threshold"``, the last out-of-bag
        ``"score"`` of each, and of how many trial members, ``"n_members"``. The better
        ones had more, so only scores of equally many are to be compared.
    errors_ : ndarray of shape (n_estimators,)
        θ: the share of training samples each member misclassifies; with a bag, of those
        outside it.
    sample_weights_ : ndarray of shape (n_samples,)
        The weights after the last round; they add up to 1.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        With a bag: the mean of the probabilities given by the members that had the sample
        outside their bag, before calibration; NaN, and a warning, for a sample that none
        had.
    oob_score_ : float
        With a bag: the value of `oob_metric` for these predictions, an estimate of what new
        samples will give. (A little low: fewer members speak than for a new sample.)
    vote_weights_ : ndarray of shape (n_estimators,)
        What each member weighs; the mean is 1.
    calibration_ : callable or None
        From mean to calibrated probabilities.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the value of the projections; they add up to 1. See
        `labelkin.projection._selection.feature_importances`.
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
    X and y can be Dask arrays whose rows live on different machines, with ML-kNN as the base:
    the rows stay there, in the workers' memory, and the model is the one that the same data
    give in memory. Dask arrays are then answered lazily, with Dask arrays. Blocks of some
    ten thousand rows are a good size. Pickling such a model brings its rows into memory.
    Under ``joblib.parallel_config("dask")`` members and query blocks of data in memory are
    computed on the cluster.

    With ML-kNN as the base, a fixed Θ or a range, and no bag, a sparse y stays sparse, and
    ``predict`` gives a sparse matrix: thousands of labels of a million samples fit in memory.
    ``predict_proba`` is dense: ask for a block of samples at a time.

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

    def _fit_members(self, data: TrainingData, seeds: Array) -> list[Member]:
        members: list[Member] = []
        for member, weights in self._rounds(data, seeds):
            members.append(member)
            self.sample_weights_ = weights
            self._after_member(len(members), member.error)
        return members

    def _rounds(self, data: TrainingData, seeds: Array) -> Iterator[tuple[Member, Array]]:
        n = data.Y.shape[0]
        weights = np.full(n, 1 / n)
        previous = None
        for seed in seeds:
            member = Member(self, data, seed, weights)
            theta = member.error if previous is None else previous
            previous = member.error
            if data.bag is None:
                weights = reweight(weights, member.wrong, theta)
            else:
                weights = reweight_outside(weights, member.wrong, member.outside[0], theta)
            yield member, weights


class BaggingVPCPClassifier(ConstraintEnsemble):
    """Bagging over variable pairwise constraint projections: VPCME without the weights.

    Every sample is as likely in a pair as any other, in every member, so the members are
    independent and are trained in parallel.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that takes multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float, (low, high) or "auto", default=0.6
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
        Above 0: a line after each member.
    bag, oob_metric, vote_weights, calibrate, max_features, feature_draw
        As in `VPCMEClassifier`; there are no sample weights to drive.

    Attributes
    ----------
    estimators_, projections_, thresholds_, threshold_, threshold_scores_, errors_, oob_proba_,
    oob_score_, vote_weights_, calibration_, feature_importances_, classes_, label_names_
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

    def _fit_members(self, data: TrainingData, seeds: Array) -> list[Member]:
        n = data.Y.shape[0]
        self.sample_weights_ = np.full(n, 1 / n)
        number = count(1)

        def train(seed: int) -> Member:
            return Member(self, data, seed)

        def tell(member: Member) -> None:
            self._after_member(next(number), member.error)

        if is_device_array(data.labels):
            members = []
            for member, _ in self._rounds(data, seeds):
                members.append(member)
                tell(member)
            return members
        run = map_threads if data.in_blocks else map_parallel
        return run(train, seeds, self.n_jobs, tell)

    def _rounds(self, data: TrainingData, seeds: Any) -> Iterator[tuple[Member, Array]]:
        equal = np.full(data.Y.shape[0], 1 / data.Y.shape[0])
        if can_be_stacked(self, data):
            for batch in gen_batches(len(seeds), stack_size(self, data)):
                yield from ((member, equal) for member in train_stack(self, data, seeds[batch]))
            return
        for seed in seeds:
            yield Member(self, data, seed), equal


def reweight(weights: Array, wrong: Array, error: float) -> Array:
    """Raise the weight of misclassified samples by 1 + error, then normalise (Table 1, c).

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Weights before.
    wrong : ndarray of bool of shape (n_samples,)
        Which samples are misclassified.
    error : float
        θ, the misclassification rate of the previous round.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that add up to 1.
    """
    raised = np.where(wrong, weights * (1 + error), weights)
    return raised / raised.sum()


def reweight_outside(weights: Array, wrong: Array, rows: Array, error: float) -> Array:
    """Reweight the samples outside the bag, which alone have a verdict.

    They share anew what they weighed together, and the samples in the bag keep their
    weight. Were the wrong ones simply raised, as all samples are without a bag, a sample
    would gain on the others by being outside more often: with many errors chance alone
    would soon put nearly all weight on a few.

    Parameters
    ----------
    weights, wrong, error
        As in `reweight`.
    rows : ndarray of int
        The samples outside the bag.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that add up to 1, none above `MOST_WEIGHT` times their mean.
    """
    weights = weights.copy()
    weights[rows] = weights[rows].sum() * reweight(weights[rows], wrong[rows], error)
    return bound_weights(weights, MOST_WEIGHT)
