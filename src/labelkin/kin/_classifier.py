"""The Kin ensemble: kernels, constraint projections, trees and a linear model, combined."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from labelkin._utils.labels import MANY_LABELS
from labelkin._utils.parallel import effective_n_threads, limit_blas, map_threads
from labelkin._utils.progress import CallbackSupportMixin, FitProgress, with_callbacks
from labelkin.base import Array, Matrix, MultiLabelClassifier, random_seed
from labelkin.decisions import LabelDecision
from labelkin.decisions._label_decision import check_decision
from labelkin.decisions._risk import parse_guarantee
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import typical_values
from labelkin.kin._combination import fit_combination
from labelkin.kin._explain import explain_kin
from labelkin.kin._learners import Member, mean_scores
from labelkin.kin._plan import EFFORTS, Limits, Planner, limits_of
from labelkin.kin._views import View, as_floats, learn_views
from labelkin.many import LabelTreeClassifier
from labelkin.metrics import average_precision
from labelkin.rows import Labels, Rows, count_stored, to_device_of, to_numpy


class KinEnsembleClassifier(CallbackSupportMixin, ExplainMixin, MultiLabelClassifier):
    """An ensemble of kernels, constraint projections, trees and a linear model, without tuning.

    It is the method to try first: no parameter needs to be chosen, the probabilities are
    calibrated, and `oob_score_` estimates how good predictions of new samples are.

    **Views.** The rows are rescaled in several ways, without labels. For rows that look like texts
    (hardly any column is a measurement: mostly nonzero, or with negative values), the views are the
    words as given, the square roots of words weighted by log(n / rows with the word), and *topics*,
    the leading singular directions of weighted words. For tables, they are the features as given,
    their ranks, and the features divided by their standard deviations.

    **Members.** All of them use the same ten folds of the training rows, and score the rows of each
    fold after learning from other folds.

    - Kernel ridge regressions, with a width chosen by the closed-form leave-one-out error. Texts: a
      Gaussian kernel of the topics and Laplacian kernels exp(−|x − z| / c) of words and, up to
      8,000 rows, of their roots. Tables: a Gaussian kernel of the features and a Laplacian kernel
      of the ranks, with sums of absolute differences. The scores without a fold have a closed form.
    - Kernel ridge regressions on constraint projections of the topics or ranks. Pairs are drawn as
      in the paper, with Θ = 0.3, 0.5, 0.6 or 0.9, but inside a bag of 60 % of the folds, and the
      directions maximise the *ratio* of scatters, S_C w = μ (S_M + tr(S_M)/k · I) w. Only folds
      outside the bag are scored, because no pair depends on their labels.
    - Trees: a random forest for each label alone where that takes little time (tables), else
      extremely randomised trees of all labels together. Ten groups of trees, each grown on 60 % of
      the folds, score the other folds.
    - A logistic regression of all labels at once, for tables and for texts of 3,000 rows or more;
      it alone uses n-grams.

    Which of these are fitted depends on the size of the data and on `effort`: see Notes. What each
    member is worth was measured; see the user guide.

    **Combination.** By the leave-fold-out scores s of the training rows:

        ℓₘ = aₘ z(s) + bₘ             calibrate: a logistic curve for each label
        ℓ  = Σ wₘ ℓₘ                  weigh: one weight per member, and differences between labels
        P  = σ(a ℓ + b)               calibrate: one more curve for each label

    z(s) is s itself, or s on the scale of log odds, asinh(s / 2p), where p is the label's share of
    positives; the log loss of held-out folds decides, for all members. The slopes of rare labels
    are shrunk towards a slope shared by all labels. The weights are those of logistic regressions
    with a ridge: of all labels together towards equal weights, of each label towards the weights
    of all. A member whose weights are all below 1 % is dropped.

    Leave-one-out scores would not be sufficient: each is slightly biased away from the label of
    its own row. For the same reason, the estimates of the ensemble's own performance are
    cross-fitted: the curves and weights for a row are learned without its folds.

    Parameters
    ----------
    n_projections : int, default=4
        Number of regressions on constraint projections, if `effort` allows for them. 0: none.
    n_trees : int, default=None
        Number of trees in a forest, of each label alone or of all labels together. 0: no trees.
        None: 100 trees, unless their leaves would take more than a third of a gigabyte.
    n_embedding, n_ngrams : int, default=0
        Numbers of columns at the end of X that are embeddings of texts and, after these, n-grams of
        texts, whose words are the columns before: `n_embedding_` and `n_ngrams_` of
        `labelkin.tabular.TextFeatures`. Embeddings are used beside the topics of words and by
        logistic regression, n-grams by logistic regression alone, if that does not take too long.
        `TableClassifier` sets both.
    effort : {"low", "medium", "high"} or Limits, default="medium"
        How much training may cost. "medium": the members take at most about 70 seconds of one
        processor; "low": a tenth of that, "high": ten times. On small data every value gives all
        members. The first member is always fitted. A `labelkin.kin.Limits` sets single limits, as
        in ``Limits(seconds=600)``.
    decision : str, default="fixed"
        How probabilities become label sets. "fixed" predicts labels with a probability above one
        half, which is best for the Hamming loss; with "auto", "cardinality" or the name of a
        metric, such as "f1", thresholds are chosen on `oob_proba_`; with "recall:0.9" or
        "precision:0.9" they are such that new rows reach that level (all rows of positive weight
        count equally); with "cost:FN=5" a missed label costs as much as five wrong ones. See
        `labelkin.decisions.LabelDecision`.
    n_jobs : int, default=None
        Number of threads; None: as many as BLAS would use. The results do not depend on it; for
        more than about 5,000 rows they agree to rounding.
    random_state : int, RandomState instance or None, default=None
        Source of the bags, pairs and trees, and of the rows on which widths are chosen.
    verbose : int, default=0
        1: print the plan, with each member and why others are left out, and one line for every
        tenth of the learners; 2: one line per learner.

    Attributes
    ----------
    members_ : list of (str, object)
        Name and fitted member; all projections together are one. Its attribute `reason` says
        what it is.
    estimators_ : list
        The fitted members alone.
    left_out_ : dict of str to str
        Names of the members that were not fitted, and the reasons.
    weights_ : ndarray of shape (n_members,)
        Weight of each member, adding up to 1.
    label_weights_ : ndarray of shape (n_members, n_labels)
        The same for each label: the weights above, or near them.
    member_scores_ : dict of str to float
        Average precision of each member alone, of its cross-fitted probabilities.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        Cross-fitted probabilities of the training samples: the members were fitted without the
        sample's fold, and their curves and weights without two folds that contain it. (After a
        one-dimensional target: one column per class.) Widths, ridges, C, the scale of the curves
        and the slope that labels share are those of the whole training set.
    oob_indices_ : ndarray of int
        The training samples whose probabilities these are: those of positive weight, at most
        10,000 of them.
    oob_score_ : float
        Average precision of these: an estimate of its value on new samples. Other metrics follow
        from `oob_proba_`.
    combination_ : Combination
        Curves and weights by which the scores of the members become probabilities.
    decision_ : LabelDecision
        Turns probabilities into label sets.
    views_ : dict of str to callable
        The views of the features, learned without labels.
    label_tree_ : LabelTreeClassifier
        Only with 2,000 labels and more: the classifier that takes the place of all members. It has
        none of the attributes above, and decides by its own threshold.
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
    A cost model estimates the time of each member from the numbers of rows, nonzero values and
    labels. Members are planned in the order of their usefulness until `effort` is used up. With up
    to 1,000 rows, a label has a ridge of its own in a kernel where that is better by two standard
    errors of the leave-one-out error; with more, there is one ridge for all labels and one
    factorisation of all rows; beyond 10,600 rows kernels are means over parts of the rows, and
    beyond about 49,000 they are approximated from landmarks (Nyström). Out-of-sample scores exist
    for at most 10,000 rows (`oob_indices_`). If the label matrix has more than 10⁸ entries, as for
    a million rows and a thousand labels, logistic regression is the only member. Small sparse
    matrices are made dense; large ones never are. A label that is constant in training keeps its
    prior, (1 + samples with it) / (2 + samples).

    With unknown labels, kernel regressions and logistic regressions are those of each label on the
    rows where it is known. Forests of single labels are grown on these; for forests of all labels,
    unknown labels are replaced by a kernel regression on those known in the bag. Pairs of a
    projection are drawn by the labels known in both rows. Widths and ridges are chosen by known
    labels that are treated as unknown, and the scores of a fold left out are computed to about one
    hundredth. A label of which nothing is known has the probability 1/2.

    With scikit-learn's array API dispatch, X and y can be arrays of torch or CuPy. Kernels,
    projections, topics and logistic regression are then computed on the device of X, and trees and
    the combination on the host. The model equals one fitted on the host up to rounding, and its
    arrays are on the host: ``predict`` copies the rows there, and returns its result on the device
    of X.

    The rows of a Dask array, dense or sparse, stay in their blocks on the workers. The members are
    then those that are sums over blocks: logistic regression, and kernels approximated from
    landmarks. The host holds labels and out-of-sample scores, landmarks, and a sample of the rows
    for ranks and explanations.

    The design was chosen on splits inside the training parts of the paper's datasets and of others,
    see the user guide. All parameters are learned from training rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import KinEnsembleClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 4))
    >>> Y = (X[:, :2] + X[:, 2:] > 0).astype(int)
    >>> model = KinEnsembleClassifier(n_trees=50, random_state=0).fit(X, Y)
    >>> model.predict([[2, -2, 2, -2]])
    array([[1, 0]])
    >>> bool(model.oob_score_ > 0.9)
    True
    """

    _fits_blocks = _fits_unknown = _scales_columns = True
    _fewest_ngram_rows = 10_000  # with fewer texts there is time for trees, which are as good
    _parameter_constraints: dict = {
        "n_projections": [Interval(Integral, 0, None, closed="left")],
        "n_trees": [None, Interval(Integral, 0, None, closed="left")],
        "n_embedding": [Interval(Integral, 0, None, closed="left")],
        "n_ngrams": [Interval(Integral, 0, None, closed="left")],
        "effort": [StrOptions(set(EFFORTS)), Limits],
        "decision": [str],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_projections: int = 4,
        n_trees: int | None = None,
        *,
        n_embedding: int = 0,
        n_ngrams: int = 0,
        effort: str | Limits = "medium",
        decision: str = "fixed",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_projections = n_projections
        self.n_trees = n_trees
        self.n_embedding = n_embedding
        self.n_ngrams = n_ngrams
        self.effort = effort
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    @limit_blas(None)
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> "KinEnsembleClassifier":
        """Train the members, and combine them by their out-of-sample scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame, Dask array} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN, None or pandas' NA where a label is unknown. Every
            member, their combination, the decision and `oob_score_` use the known labels.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 has the same effect as repeating the sample, in the same fold, and 0 as
            removing it: in every member, their combination, the decision and `oob_score_`. Views of
            the features are learned without weights.

        Returns
        -------
        self
        """
        check_decision(self.decision)
        self.__dict__.pop("label_tree_", None)
        if len(getattr(y, "shape", ())) == 2 and y.shape[1] >= MANY_LABELS:
            return self._fit_label_tree(X, y, sample_weight)
        limits, rng = limits_of(self.effort), check_random_state(self.random_state)
        rows, labels, counted = self._prepare(*self._validate(X, y, sample_weight), limits)

        # Views: the same rows on several scales, learned without labels
        seed, last = random_seed(rng), (self.n_ngrams, self.n_embedding)
        self.views_: dict[str, View] = learn_views(rows, limits, seed, *last)
        viewed = {name: rows.apply(view) for name, view in self.views_.items()}

        # Members: which learners on which views, each with leave-fold-out scores
        # of at most `sample_rows` rows; the others are in no fold, −1
        fold_of, n_scored = np.full(len(rows), -1), min(len(rows), limits.sample_rows)
        fold_of[rng.permutation(len(rows))[:n_scored]] = np.arange(n_scored) % limits.n_folds
        scored = np.flatnonzero(fold_of >= 0)
        planner = Planner(
            viewed,
            labels.shape[1],
            fold_of,
            limits,
            self.n_projections,
            self.n_trees,
            effective_n_threads(self.n_jobs),
            # A separate generator, so that members that are left out change no other draw.
            rng=np.random.RandomState(random_seed(rng)),
        )
        members, self.left_out_ = planner.plan()
        if self.verbose:
            lines = planner.describe(members, self.left_out_)
            print("\n".join(f"[{type(self).__name__}] {line}" for line in lines))
        own = ((m.search_seconds + m.seconds / len(m.learners), m) for m in members)
        costs = [seconds for seconds, member in own for _ in member.learners]
        rest = n_scored * labels.shape[1] * len(members) / limits.combined
        progress = FitProgress(self, "learners", len(costs), self.verbose, costs, rest, True)
        scores = self._fit_members(members, viewed, labels, fold_of, limits, rng, progress)

        # Calibrate, weigh, calibrate
        labels, self.oob_indices_ = labels.take(scored), counted[scored]
        log_odds, n_jobs = [m.log_odds for m in members], effective_n_threads(self.n_jobs)
        with limit_blas(1):  # products are short: more threads would wait for each other
            self.combination_, proba, member_proba = fit_combination(
                scores, labels, fold_of[scored], log_odds, limits, n_jobs
            )
        progress.finish()
        self.oob_proba_ = self._as_proba(proba).astype(np.float32)
        self._keep_members(members)

        # Decide
        again = repeat_rows(labels)
        truth = labels.with_nan()
        once = slice(None) if parse_guarantee(self.decision) else again  # which counts rows
        self.decision_ = LabelDecision(self.decision).fit(proba[once], truth[once])
        truth, proba = truth[again], proba[again]
        self.oob_score_ = average_precision(truth, proba)
        pairs = zip(members, member_proba, strict=True)
        self.member_scores_ = {m.name: average_precision(truth, p[again]) for m, p in pairs}
        return self

    def make_label_tree(self) -> LabelTreeClassifier:
        """Return the unfitted classifier that takes the place of the members for many labels."""
        return LabelTreeClassifier(
            sparse_output=True,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        )

    def _fit_label_tree(self, X: Any, y: Any, sample_weight: Any) -> "KinEnsembleClassifier":
        """Fit one `LabelTreeClassifier`, which needs no matrix of rows times labels."""
        self._typical, self.label_tree_ = None, self.make_label_tree().fit(X, y, sample_weight)
        described = ("classes_", "n_features_in_", "feature_names_in_", "label_names_")
        for name in (*described, "_one_target", "_sparse_labels"):
            self.__dict__.pop(name, None)
            if hasattr(self.label_tree_, name):
                setattr(self, name, getattr(self.label_tree_, name))
        return self

    @available_if(lambda self: hasattr(self, "label_tree_"))
    def predict_topk(self, X: ArrayLike, k: int = 10) -> tuple[Array, Array]:
        """Return numbers and probabilities of the k most probable labels, of 2,000 and more.

        Parameters and results are those of :meth:`LabelTreeClassifier.predict_topk`.
        """
        return self.label_tree_.predict_topk(X, k)

    def _prepare(self, rows: Rows, labels: Labels, limits: Limits) -> tuple[Rows, Labels, Array]:
        """Return rows of positive weight as floats, their labels, and their numbers."""
        n, k = rows.shape
        if self.n_embedding + self.n_ngrams >= k:
            raise ValueError(
                f"n_embedding + n_ngrams must be less than the number of columns of X, {k}, got "
                f"{self.n_embedding} + {self.n_ngrams}: these are the last columns, after words."
            )
        is_large = n * labels.shape[1] > limits.large_entries
        # For explanations; with very many rows, no training rows are shown
        shown, known = slice(0 if is_large else n), labels.known
        self._label_bits = np.packbits(labels.Y[shown] > 0, axis=1)
        self._known_bits = None if known is None else np.packbits(known[shown], axis=1)
        self._row_weight = None if is_large else labels.weight
        counted = np.flatnonzero(labels.weights)
        if len(counted) < n:
            rows, labels = rows.take(counted), labels.take(counted)
        # Small rows are dense; large ones stay sparse, or become so if they are mostly zero.
        n_stored, is_sparse = rows.total(count_stored)
        self._dense = n * k <= limits.dense_entries or not (is_sparse or n_stored < n * k / 10)
        rows = rows.apply(as_floats, [self._dense]).persist()
        self._typical = typical_values(rows)
        return rows, labels, counted

    def _fit_members(
        self,
        members: list[Member],
        rows: dict[str, Rows],
        labels: Labels,
        fold_of: Array,
        limits: Limits,
        rng: np.random.RandomState,
        progress: FitProgress,
    ) -> list[Array]:
        """Fit all learners; return the leave-fold-out scores of each member."""
        learners = [(learner, member.view) for member in members for learner in member.learners]
        seeds = rng.randint(2**31 - 1, size=len(learners)).tolist()
        n_threads, scored = effective_n_threads(self.n_jobs), np.flatnonzero(fold_of >= 0)
        scores: list[Any] = [None] * len(learners)

        def fit(number: int) -> None:
            learner, view = learners[number]
            found = learner.fit_scores(rows[view], labels, seeds[number], fold_of)
            scores[number] = found if len(found) == len(scored) else found[scored]
            progress.step(number)

        # Learners that use all threads by themselves come one after the other, with all threads of
        # BLAS; the others together, as many as fit into memory.
        fits = limits.fit_memory // limits.kernel_bytes(len(labels))
        alone = [i for i, (one, _) in enumerate(learners) if getattr(one, "own_threads", False)]
        together = [i for i in range(len(learners)) if i not in alone]
        n_together = max(1, min(n_threads, int(fits))) if rows["raw"].in_threads else 1
        if n_together > n_threads // 2:
            map_threads(fit, together, n_together)
            together = []
        with limit_blas(n_threads):
            for number in together + alone:
                fit(number)
        found, some = iter(scores), labels.take(scored)
        return [
            mean_scores([next(found) for _ in member.learners], some, fold_of[scored])
            for member in members
        ]

    def _keep_members(self, members: list[Member]) -> None:
        """Keep the members that have a weight, and the views that they use."""
        kept = np.flatnonzero(np.abs(self.combination_.label_weights_).max(axis=1) >= 0.01)
        self.members_ = [(members[i].name, members[i]) for i in kept]
        used = {member.view for _, member in self.members_}
        self.views_ = {name: view for name, view in self.views_.items() if name in used}
        found = self.combination_
        found.curves_ = [found.curves_[i] for i in kept]
        found.scales = [found.scales[i] for i in kept]
        self.weights_ = found.weights_ = found.weights_[kept]
        self.label_weights_ = found.label_weights_ = found.label_weights_[kept]

    @property
    def estimators_(self) -> list[Member]:
        """The fitted members."""
        return [member for _, member in self.members_]

    def _proba(self, X: Matrix) -> Array:
        if hasattr(self, "label_tree_"):
            return self.label_tree_._proba(X)
        rows = to_numpy(X)
        batches = gen_batches(rows.shape[0], 4_096)  # which bounds the memory
        found = [self.combination_.proba(self._member_scores(rows[batch])) for batch in batches]
        return to_device_of(np.concatenate(found), X)

    def _member_scores(self, X: Matrix) -> list[Array]:
        """Return the scores of each member for rows."""
        X = as_floats(X, self._dense)
        views = {name: view(X) for name, view in self.views_.items()}
        learners = [(one, member.view) for member in self.estimators_ for one in member.learners]
        found = iter(map_threads(lambda one: one[0].scores(views[one[1]]), learners, self.n_jobs))
        return [
            sum(next(found) for _ in member.learners) / len(member.learners)
            for member in self.estimators_
        ]

    def _predict_sparse(self, X: Matrix) -> Any:
        return self.label_tree_._predict_sparse(X)

    def _labels_of(self, proba: Array) -> Array:
        if hasattr(self, "label_tree_"):
            return self.label_tree_._labels_of(proba)
        return to_device_of(self.decision_.apply(to_numpy(proba)), proba)

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        if hasattr(self, "label_tree_"):
            return self.label_tree_._explain_row(row)
        return explain_kin(self, row)


def repeat_rows(labels: Labels) -> Array | slice:
    """Return row indices in which each row occurs in proportion to its weight.

    For metrics and decisions, which do not take weights. Integer weights with a mean of at most 10
    are the numbers of repetitions. Others are scaled to a mean of 10, and their cumulative sums are
    rounded, so that sums over many rows are right.
    """
    weight = labels.weight
    if weight is None:
        return slice(None)
    most = 10 * len(weight)
    if weight.sum() > most or (weight != np.rint(weight)).any():
        ends = np.rint(np.cumsum(weight) * (most / weight.sum()))
        weight = np.diff(ends, prepend=0)
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))
