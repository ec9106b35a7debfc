"""The one to use when you just want good predictions."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.parallel import blas_threads, effective_n_threads, map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.decisions import DECISIONS, LabelDecision
from labelkin.kin._learners import (
    THRESHOLDS,
    KernelLearner,
    Member,
    ProjectionLearner,
    TreesLearner,
    affordable_threads,
    draw_bags,
    honest_mean,
)
from labelkin.kin._stacking import Stacking
from labelkin.kin._views import View, compact, is_binary, learn_views, manageable
from labelkin.metrics import METRICS
from labelkin.projection._scatter import TrainingRows

_SEEDS = 2**31 - 1
# Queries answered at a time.
_QUERIES = 4_096


class KinEnsembleClassifier(MultiLabelClassifier):
    """Kernels, constraint projections and trees together, with nothing to tune.

    The members learn the same labels in ways as different as possible, and each says
    honestly, by leave-one-out or out-of-bag scores, how well:

    - kernel ridge regressions (`KernelRidgeLOOClassifier`'s, with width and ridges by closed-
      form leave-one-out error) on several *views* of the features. Always the features as
      they are, and rows of length 1 where lengths differ. Of rows that look like texts (no
      value negative, most of them zero): words weighted by log(n / rows with the word), and
      the square roots of that; the features as they are give way to features divided by their
      standard deviation where that suits the labels better. Of others: features divided by
      their standard deviation, and their ranks. RBF kernels, and Laplacian ones exp(−|x − z|₁
      / c) on the first and last view (on the last alone if all features are 0 or 1, where
      they are the same);
    - kernel ridge regressions behind constraint projections of the last view. Pairs are drawn,
      as in the paper, by Θ = 0.3, 0.5, 0.6 or 0.9, but inside a bag of 55 % of the rows, and
      directions maximise the *ratio* of scatters, S_C w = μ (S_M + tr(S_M)/k · I) w. Only rows
      outside the bag, whose labels no pair has told, are judged;
    - extremely randomised trees with bootstrap samples.

    The members' scores s are combined on these honest scores of the training rows:

        ℓₘ = aₘ z(s) + bₘ               log odds, by a logistic curve for each label
        P  = σ(a Σ wₘ ℓₘ + b)           one weight a member, shrunk towards equal ones
        P  ← P + ½ (ℓ − mean ℓ) B       B: ridge regression of y − P on all labels' log odds

    and a last logistic curve for each label. z(s) is s, or s bent to the scale of log odds,
    asinh(s / 2p) with p the label's share of positives: for all members and labels together,
    whichever foretells better the labels of samples left out. The slopes of rare labels lean on
    those of all. Training takes three to eight times as long as `KernelRidgeLOOClassifier`.

    Parameters
    ----------
    n_projections : int, default=8
        Members behind projections. 0: none.
    n_trees : int, default=100
        Trees. 0: none. Fewer grow where their leaves would fill the memory.
    decision : str, default="fixed"
        How probabilities become label sets: "fixed" predicts what is more likely than not, which
        is best for the Hamming loss; "auto", "cardinality", "expected_f1" or the name of a
        metric, such as "f1", choose cuts on the out-of-bag probabilities. See
        `labelkin.decisions.LabelDecision`.
    oob_metric : str, default="average_precision"
        Metric of `oob_score_` and `member_scores_`, a name in `labelkin.metrics.METRICS`. It
        changes no prediction.
    n_jobs : int, default=None
        Threads; None: as many as BLAS would use. The results are the same for any number, beyond
        some 5,000 rows to rounding.
    random_state : int, RandomState instance or None, default=None
        Draws bags, pairs, trees, and the rows on which widths are sought.
    verbose : int, default=0
        1: a line for every tenth of the members; 2: for each.

    Attributes
    ----------
    members_ : list of (str, object)
        Name and fitted member; all projections together are one.
    estimators_ : list
        The fitted members alone.
    weights_ : ndarray of shape (n_members,)
        Weight of each member, adding up to 1.
    member_scores_ : dict of str to float
        `oob_metric` of each member's own calibrated honest scores: what each would be worth
        alone.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        Probabilities of the training samples from scores that did not see their labels. (After
        a one-dimensional target: one column per class.) The curves, the weights and the widths
        are those of the whole training set.
    oob_score_ : float
        `oob_metric` of these: an estimate of what new samples will have.
    decision_ : LabelDecision
        Turns probabilities into label sets.
    views_ : dict of str to callable
        The views of the features, learned without labels.
    classes_ : ndarray of shape (n_labels, 2)
        [0, 1] for each label; the two classes of a one-dimensional target if that was fitted.
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    Beyond 8,000 rows, behind projections beyond 5,000, kernels are approximated from landmarks
    (Nyström), each member from its own: rows drawn at random and moved to the mean of the rows
    nearest to them, 3,162 for 8,000 rows, 2,000 for 20,000, 671 for 100,000. Small sparse
    matrices are made dense; large ones never are. Few members are fitted at a time where all
    together would take more than some 3 GB. A label constant in training keeps its prior, (1 +
    samples with it) / (2 + samples).

    The recipe was found on the paper's twelve datasets: which members, averaging log odds, half
    of the correction. Its figures there are a little flattered by that; what is *learned*
    comes from training rows alone.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.kin._classifier import KinEnsembleClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 4))
    >>> Y = (X[:, :2] + X[:, 2:] > 0).astype(int)
    >>> model = KinEnsembleClassifier(n_trees=50, random_state=0).fit(X, Y)
    >>> model.predict([[2, -2, 2, -2]])
    array([[1, 0]])
    >>> bool(model.oob_score_ > 0.9)
    True
    """

    _parameter_constraints: dict = {
        "n_projections": [Interval(Integral, 0, None, closed="left")],
        "n_trees": [Interval(Integral, 0, None, closed="left")],
        "decision": [StrOptions(set(DECISIONS))],
        "oob_metric": [StrOptions(set(METRICS))],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_projections: int = 8,
        n_trees: int = 100,
        *,
        decision: str = "fixed",
        oob_metric: str = "average_precision",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_projections = n_projections
        self.n_trees = n_trees
        self.decision = decision
        self.oob_metric = oob_metric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any) -> "KinEnsembleClassifier":
        """Train the members, and combine them by their honest scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.

        Returns
        -------
        self
        """
        X, y = self._validate_fit(X, y)
        rng = check_random_state(self.random_state)
        X = manageable(X)
        self._dense = isinstance(X, np.ndarray)
        self.views_: dict[str, View] = learn_views(X)
        rows = {name: view(X) for name, view in self.views_.items()}
        members = self._kernels(X) + self._projections(X, rows, rng) + self._trees()
        scores = self._fit_members(members, rows, y, rng)
        self._combine(members, scores, y, int(rng.randint(_SEEDS)))
        return self

    def _kernels(self, X: Matrix) -> list[Member]:
        names = list(self.views_)
        # Where no view divides features by their standard deviations, the first kernel may.
        may_scale = "standard" not in names
        members = [
            Member(f"{name}_rbf", name, [KernelLearner("l2", may_scale and name == "raw")])
            for name in names
        ]
        # Of zeros and ones the Laplacian kernel is the RBF kernel: no second member.
        for name in names[-1:] if is_binary(X) else (names[0], names[-1]):
            members.append(Member(f"{name}_laplacian", name, [KernelLearner("l1")]))
        return members

    def _projections(
        self, X: Matrix, rows: dict[str, Matrix], rng: np.random.RandomState
    ) -> list[Member]:
        """Plan the members behind projections; add the view they need."""
        if not self.n_projections:
            return []
        last = list(self.views_)[-1]
        name, view = "compact", compact(self.views_[last], rows[last], int(rng.randint(_SEEDS)))
        if view is self.views_[last]:
            name = last
        else:
            self.views_[name] = view
            rows[name] = view(X)
        training = TrainingRows(rows[name])
        bags = draw_bags(X.shape[0], self.n_projections, rng)
        learners = [
            ProjectionLearner(training, bag, THRESHOLDS[i % len(THRESHOLDS)])
            for i, bag in enumerate(bags)
        ]
        return [Member("projections", name, learners)]

    def _trees(self) -> list[Member]:
        learners = [TreesLearner(self.n_trees, effective_n_threads(self.n_jobs))]
        return [Member("trees", "raw", learners)] if self.n_trees else []

    def _fit_members(
        self, members: list[Member], rows: dict[str, Matrix], Y: Array, rng: np.random.RandomState
    ) -> list[Array]:
        """Fit all learners; return the honest scores of each member."""
        jobs = [(member, learner) for member in members for learner in member.learners]
        seeds = rng.randint(_SEEDS, size=len(jobs))
        progress = FitProgress(self, "learners", len(jobs), self.verbose)
        scores: list[Array] = [None] * len(jobs)

        def run(i: int) -> None:
            member, learner = jobs[i]
            scores[i] = learner.fit(rows[member.view], Y, int(seeds[i]))
            progress.step()

        # Trees use all threads by themselves.
        alone = [i for i, (_, learner) in enumerate(jobs) if isinstance(learner, TreesLearner)]
        others = sorted(set(range(len(jobs))) - set(alone))
        threads = affordable_threads(len(Y), effective_n_threads(self.n_jobs))
        if threads > 1:
            map_threads(run, others, threads)
        else:
            with blas_threads(self.n_jobs):
                for i in others:
                    run(i)
        for i in alone:
            run(i)
        ends = np.cumsum([len(member.learners) for member in members])
        parts = [scores[end - len(m.learners) : end] for m, end in zip(members, ends, strict=True)]
        return [honest_mean(part, Y) for part in parts]

    def _combine(self, members: list[Member], scores: list[Array], Y: Array, seed: int) -> None:
        self._stacking = Stacking(seed)
        proba = self._stacking.fit(scores, Y)
        self.members_ = [(member.name, member) for member in members]
        self.weights_ = self._stacking.weights_
        self.decision_ = LabelDecision(self.decision).fit(proba, Y)
        metric = METRICS[self.oob_metric]

        def value(proba: Array, labels: Array) -> float:
            return float(metric(Y, labels if metric.needs == "label" else proba))

        alone = [c(s) for c, s in zip(self._stacking.calibrations_, scores, strict=True)]
        self.member_scores_ = {
            m.name: value(p, p > 0.5) for m, p in zip(members, alone, strict=True)
        }
        self.oob_score_ = value(proba, self.decision_.apply(proba))
        self.oob_proba_ = self._as_proba(proba)

    @property
    def estimators_(self) -> list[Member]:
        """The fitted members."""
        return [member for _, member in self.members_]

    def _proba(self, X: Matrix) -> Array:
        return np.concatenate(
            [self._block_proba(X[part]) for part in gen_batches(X.shape[0], _QUERIES)]
        )

    def _block_proba(self, X: Matrix) -> Array:
        X = manageable(X, self._dense)
        rows = {name: view(X) for name, view in self.views_.items()}
        members = self.estimators_
        scores = map_threads(lambda m: m.scores(rows[m.view]), members, self.n_jobs)
        return self._stacking(scores)

    def _labels(self, X: Matrix) -> Array:
        return self.decision_.apply(self._proba(X))
