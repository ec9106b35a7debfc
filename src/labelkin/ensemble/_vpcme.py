"""VPCME: the boosting-like ensemble over constraint projections (Table 1)."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from labelkin.base import Array
from labelkin.ensemble._base import ConstraintEnsemble
from labelkin.ensemble._member import Member, TrainingSet
from labelkin.ensemble._weights import MOST_WEIGHT, reweight, reweight_outside


class VPCMEClassifier(ConstraintEnsemble):
    """Variable Pairwise Constraint projection for Multi-label Ensemble (Li, Li & Wu).

    Each member draws must-link and cannot-link pairs of samples by the sample weights,
    learns the projection that pulls must-links together and pushes cannot-links apart, and
    trains the base classifier in it. Then the weight of every sample whose label set it
    misclassifies is multiplied by 1 + θ, θ being the share of such samples in the previous
    round (in the first round: in the same), so that hard samples are drawn more often. The
    members vote.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that accepts multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``. When it has a method ``fit_loo_proba``, whether a
        sample is misclassified is decided by the prediction made without it; else by the
        training prediction.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float, (low, high) or "auto", default=0.6
        Θ: a pair whose label sets have at least this similarity is a must-link. From a
        range each member draws its own. "auto" chooses one Θ for all members by `oob_metric` out
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
        Above 0: one line after each member.
    bag : float, default=None
        Share of the samples inside which a member draws its pairs, anew for each member;
        0.6 is a good choice. None, as in the paper: all. The projection has not seen the
        labels of samples outside the bag, so the member's predictions there are
        out-of-sample: they make ``oob_proba_``, and they alone decide which samples are
        misclassified. Samples in the bag keep their weight in that round, and no weight
        exceeds five times the mean, so that weights cannot run away onto a few hard
        samples. A base whose ``fit_loo_proba`` has ``strict=True``, as ML-kNN's, learns from
        all samples, the predicted one left out; any other learns from the bag only.
    oob_metric : str, default="average_precision"
        Metric of ``oob_score_`` and of the choice of Θ, a name in
        `labelkin.metrics.METRICS`.
    vote_weights : {"equal", "oob"}, default="equal"
        Weight of a member in the vote and in the mean probability. oob, with a bag: one
        over its mean squared error out of bag. Similar members have similar weights.
    calibrate : bool, default=False
        With a bag: pass the mean probabilities through one logistic curve per label, learned
        out of bag, the curves of rare labels shrunk towards the others. A label is then
        predicted when its calibrated probability is above one half, for either `voting`.
    max_features : int or float, default=None
        Features that a member sees: a number, or a share of them; anew for each member.
        None, as in the paper: all. Fewer make members cheaper and more diverse.
    feature_draw : {"uniform", "importance"}, default="uniform"
        With `max_features`, how they are drawn. importance: in proportion to their share in
        a first projection, from pairs of its own; that one sees all features, so that
        nothing becomes cheaper.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        Each fitted on what the projection of the same index gives.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections, of all features; with `max_features` those that a member does not
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
        samples will give. (A little low: fewer members vote than for a new sample.)
    vote_weights_ : ndarray of shape (n_estimators,)
        Weight of each member; the mean is 1.
    calibration_ : callable or None
        From mean to calibrated probabilities.
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
    X and y can be Dask arrays whose rows live on different machines, with ML-kNN as the base:
    the rows stay there, in the workers' memory, and the model is the one that the same data
    give in memory. Predictions of Dask arrays are lazy Dask arrays. Blocks of some
    ten thousand rows are a good size. Pickling such a model brings its rows into memory.
    Under ``joblib.parallel_config("dask")`` members and query blocks of data in memory are
    computed on the cluster.

    With ML-kNN as the base, a fixed Θ or a range, and no bag, a sparse y stays sparse, and
    ``predict`` gives a sparse matrix: thousands of labels of a million samples fit in memory.
    ``predict_proba`` is dense: call it for a block of samples at a time.

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

    _most_weight = MOST_WEIGHT

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "VPCMEClassifier":
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Table 1's w at the start: samples are drawn into pairs in proportion to it, and
            one of weight 0 is in no pair. The base classifiers learn from all samples alike.

        Returns
        -------
        self
        """
        X, y = self._validate_fit(X, y)
        data, seeds, report = self._prepare(X, y, sample_weight)
        members = []
        for member, weights in self._rounds(data, seeds):
            members.append(member)
            self.sample_weights_ = weights
            report(len(members), member)
        return self._finish(data, members)

    def _rounds(self, data: TrainingSet, seeds: Array) -> Iterator[tuple[Member, Array]]:
        """Run Table 1; yield each member, and the sample weights after it."""
        weights = data.equal_weights()  # line 4, INITIALIZE: w_i = 1/n
        previous_error = None
        for seed in seeds:  # line 5, FOR l = 1, ..., S
            member_round = data.start_round(seed, weights)
            # 1. Draw must-links M and cannot-links C by the weights (lines 6-13; Eq. 1-2).
            must_link, cannot_link = member_round.draw_pairs()
            # 2. Compute the projection matrix W from M and C (line 14, a; Eq. 3-7).
            W = member_round.learn_projection(must_link, cannot_link)
            # 3. Represent the samples by z = Wᵀx (line 15, b).
            Z = member_round.rows.project(W)
            # 4. Learn the base classifier, and find the samples it misclassifies (line 16, c).
            member = member_round.train(Z)
            # 5. Raise their weights, w ← w(1 + θ), by the misclassification rate θ of the
            #    previous round (lines 16-17).
            theta = member.error if previous_error is None else previous_error
            if member.outside is None:
                weights = reweight(weights, member.wrong, theta)
            else:
                rows = member.outside[0]
                weights = reweight_outside(weights, member.wrong, rows, theta, self._most_weight)
            previous_error = member.error
            yield member, weights
