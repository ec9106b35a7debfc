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
    threshold : float, (low, high) or "auto", default=0.6
        Θ: a pair whose label sets have at least this similarity is a must-link. If a range
        is given, each member draws its own value. "auto" chooses one Θ for all members by the
        out-of-bag `oob_metric` of small trial ensembles, which have fewer members in total than
        `n_estimators`, so that the fit takes at most twice as long. Θ stays at 0.6 unless
        another value is better by two standard errors over samples and draws (2.6 for the best
        of five); with fewer than nine members it always stays at 0.6. The trials draw pairs
        inside bags, with a share of 0.6 if `bag` is None; the final ensemble is the same as if
        the chosen Θ had been given.
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
    oob_metric : str, default="average_precision"
        Metric of ``oob_score_`` and of the choice of Θ, a name in
        `labelkin.metrics.METRICS`.
    vote_weights : {"equal", "oob"}, default="equal"
        Weight of a member in the vote and in the mean probability. "oob" needs a bag: the
        weight is one over the member's mean squared out-of-bag error.
    calibrate : bool, default=False
        Whether to pass the mean probabilities through one logistic curve per label, learned
        from out-of-bag probabilities; needs a bag. The curves of rare labels are shrunk towards
        the others. A label is then predicted if its calibrated probability is above one half,
        for either value of `voting`.
    max_features : int or float, default=None
        Number of features, or share of them, that a member uses; each member has its own.
        None, as in the paper: all features. Fewer features make members cheaper and more
        diverse.
    feature_draw : {"uniform", "importance"}, default="uniform"
        How the `max_features` are drawn. "importance": in proportion to their share in a
        first projection, which uses all features, so that members do not become cheaper.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        The fitted base classifiers, each on the output of the projection of the same index.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections; with `max_features`, the ``components_`` are zero for features that
        a member does not use. With more features than samples and a base classifier of
        neighbours, they are another orthonormal basis of the span of the eigenvectors.
    thresholds_ : ndarray of shape (n_estimators,)
        Θ of each member.
    threshold_ : float
        With ``threshold="auto"``: the Θ chosen.
    threshold_scores_ : dict of ndarray
        With ``threshold="auto"``: the values of Θ (``"threshold"``), the last out-of-bag
        score of each (``"score"``), and its number of trial members (``"n_members"``). Compare
        only scores of equal numbers of members.
    errors_ : ndarray of shape (n_estimators,)
        θ: the share of training samples each member misclassifies; with a bag, of those
        outside it.
    sample_weights_ : ndarray of shape (n_samples,)
        The weights after the last round; they add up to 1.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        With a bag: the mean probabilities from the members that had the sample outside their
        bag, before calibration; NaN, with a warning, for a sample that is in every bag.
    oob_score_ : float
        With a bag: the `oob_metric` of these predictions, an estimate for new samples. (It is
        slightly low, because fewer members vote than for a new sample.)
    vote_weights_ : ndarray of shape (n_estimators,)
        Weight of each member; the mean is 1.
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
    well. Pickling such a model brings its rows into memory. Under
    ``joblib.parallel_config("dask")``, members and query blocks of data in memory are computed
    on the cluster.

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
            The initial w of Table 1: samples are drawn into pairs in proportion to it, and a
            sample of weight 0 is in no pair. The base classifiers weight all samples equally.

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
