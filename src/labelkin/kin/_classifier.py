"""The Kin ensemble: kernels, constraint projections and trees, stacked."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.array_api import HOST, Place, to_device_of, to_numpy
from labelkin._utils.parallel import blas_threads, effective_n_threads, limit_blas, map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import (
    Array,
    Matrix,
    MultiLabelClassifier,
    check_weight,
    is_dask,
    label_matrix,
    random_seed,
)
from labelkin.decisions import DECISIONS, LabelDecision
from labelkin.explain import ExplainMixin
from labelkin.explain._occlusion import typical_values
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._explain import explain_kin
from labelkin.kin._folds import draw_folds
from labelkin.kin._learners import LearnerGroup, mean_out_of_sample
from labelkin.kin._limits import EFFORTS, Limits, Shape, limits_of
from labelkin.kin._plan import Planner
from labelkin.kin._sample_weight import repeat_rows
from labelkin.kin._stacking import Stacking
from labelkin.kin._views import (
    View,
    as_float_rows,
    has_sparse_rows,
    is_binary,
    is_weighted,
    learn_views,
    rows_on_host,
    sparse_on_host,
    stored_values,
    word_view,
)
from labelkin.linear._learner import LogisticLearner
from labelkin.metrics import METRICS
from labelkin.rows import Labels, as_rows

# Queries scored at a time, which bounds the memory of ``predict``.
_QUERY_ROWS = 4_096


class KinEnsembleClassifier(ExplainMixin, MultiLabelClassifier):
    """An ensemble of kernels, linear models, constraint projections and trees, without tuning.

    It is the method to try first: no parameter needs to be chosen, the probabilities are
    calibrated, and `oob_score_` estimates how good predictions of new samples are.

    The members are of different kinds. All of them use the same 10 to 20 folds of the
    training rows, and score the rows of each fold after learning from the other folds:

    - Kernel ridge regressions on several *views* of the features, with a width chosen by the
      closed-form leave-one-out error. Two views are always used: the features as given, and rows
      scaled to length 1 if their lengths differ. Rows that look like texts (most values are zero,
      and few columns are dense or negative) have two more: words weighted by log(n / rows with
      the word), and the square roots of these weights; with many words also their leading
      singular directions, the *topics*. Other rows have features divided by their standard
      deviation, and their ranks. (Texts use features divided by their standard deviation instead
      of the features as given where that lowers the error.) The kernels are RBF, and on two of
      the views (on one if all features are 0 or 1) Laplacian, exp(−|x − z|₁ / c).
      With 100 labels or more, these have the width and ridge of the least log loss. The scores
      without a fold have a closed form.
    - A logistic regression of all labels at once, as in `MultiLabelLogisticRegression`, on
      weighted words or on features divided by their standard deviation.
    - Kernel ridge regressions on constraint projections of the last view but the topics. Pairs are
      drawn as in the paper, with Θ = 0.3, 0.5, 0.6 or 0.9, but inside a bag of 55 % of the folds,
      and the directions maximise the *ratio* of scatters, S_C w = μ (S_M + tr(S_M)/k · I) w. Only
      folds outside the bag are scored, because no pair depends on their labels.
    - On small tables, Laplacian kernel ridge regressions on ranks of the features, each multiplied
      by the importance of the feature in a small forest that is grown on such a bag.
    - Extremely randomised trees for all labels together, and a random forest for each label alone
      where that takes little time (and features are fewer than rows, or no words); else, for rows
      that are not texts, one for all labels. Ten groups of trees, each grown on 63 % of the folds,
      score the other folds.

    Which of these are fitted depends on the size of the data and on `effort`: see Notes.

    The scores s of the members are combined by their leave-fold-out scores of the training rows:

        ℓₘ = aₘ z(s) + bₘ               log odds, by a logistic curve for each label
        P  = σ(a Σ wₘ ℓₘ + b)           one weight per member, and differences between labels
        P  ← P + ½ (ℓ − mean ℓ) B       B: ridge regression of y − P on all labels' log odds

    and one more logistic curve for each label. z(s) is s itself, or s on the scale of log odds,
    asinh(s / 2p), where p is the label's share of positives; one choice is made for all
    labels and members but logistic regression, by the log loss of held-out folds. The slopes of
    rare labels are shrunk towards a slope shared by all labels. The weights are a mean of
    candidates, from equal weights of all members to the best member alone; each candidate counts by
    the share of resamples of the rows in which it predicts held-out rows best, and with few rows
    equal weights have a share of their own. A logistic regression with a ridge estimates how the
    weights of a label differ from these; half of the difference is applied, and less with few rows.
    The third line is left out if it does not predict held-out folds clearly better, or if a fold
    has fewer than 50 rows or fewer rows than there are labels.

    Leave-one-out scores would not be sufficient: each is slightly biased away from the label of
    its own row, and a regression on the scores of many labels recovers the label from this bias.
    For the same reason, the estimates of the ensemble's own performance are cross-fitted: the
    curves, the weights and the correction for a row are learned without its part of the folds.

    Parameters
    ----------
    n_projections : int, default=8
        Number of regressions on constraint projections, and of those on weighted features.
        Fewer are fitted, or none, if `effort` does not allow for them. 0: none.
    n_trees : int, default=None
        Number of trees in each forest. 0: none. None: 100, and up to 500 on small data, where
        they take little time; 100 to 200 in a forest for one label. Fewer or none are grown if
        their leaves would take more than a quarter of a gigabyte.
    effort : {"low", "medium", "high"} or Limits, default="medium"
        How much training may cost. "medium": apart from the trees, the members take at most
        about 150 seconds of one processor, and 55 MB of the fitted model. "low": a tenth of the
        time, half of the size; "high": ten times both. On small data every value gives all
        members. The first member (for texts, logistic regression) is always fitted. A
        `labelkin.kin.Limits` sets single limits, as in ``Limits(seconds=600)``.
    decision : str, default="fixed"
        How probabilities become label sets. "fixed" predicts labels with a probability above
        one half, which is best for the Hamming loss; with "auto", "cardinality", "expected_f1"
        or the name of a metric, such as "f1", cuts are chosen on `oob_proba_`. See
        `labelkin.decisions.LabelDecision`.
    oob_metric : str, default="average_precision"
        Metric of `oob_score_` and `member_scores_`, a name in `labelkin.metrics.METRICS`.
        Predictions do not depend on it.
    n_jobs : int, default=None
        Number of threads; None: as many as BLAS would use. The results do not depend on it; for
        more than about 5,000 rows they agree to rounding.
    random_state : int, RandomState instance or None, default=None
        Source of the bags, pairs and trees, and of the rows on which widths are chosen.
    verbose : int, default=0
        1: the plan, with the reason of each member that is fitted or left out, and a line for
        every tenth of the learners; 2: for each.

    Attributes
    ----------
    members_ : list of (str, object)
        Name and fitted member; all projections together are one. Its attribute `reason`
        is the reason why it is part of the ensemble.
    estimators_ : list
        The fitted members alone.
    left_out_ : dict of str to str
        Names of the members that were not fitted, and the reasons.
    weights_ : ndarray of shape (n_members,)
        Weight of each member, adding up to 1.
    label_weights_ : ndarray of shape (n_members, n_labels)
        The same for each label: the weights above, or near them.
    corrected_ : bool
        Whether the correction by other labels is part of the ensemble.
    member_scores_ : dict of str to float
        `oob_metric` of each member alone, of its cross-fitted probabilities.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        Cross-fitted probabilities of the training samples: the members were fitted without the
        sample's fold, and their curves, weights and the correction without a part of the folds
        that contains it; to three digits. (After a one-dimensional target: one column per
        class.) Widths, ridges, C, the scale of the curves, the slope that labels share, the
        shares of the candidates for weights and whether there is a correction are those of the
        whole training set.
    oob_indices_ : ndarray of int
        The training samples whose probabilities these are: all of positive weight, unless there
        are very many.
    oob_score_ : float
        `oob_metric` of these: an estimate of its value on new samples.
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
    A cost model estimates the time and the size of each member from the numbers of rows, nonzero
    values and labels. Members are planned in the order of their usefulness until `effort` is used
    up. With up to 1,000 rows, a label has a ridge of its own in a kernel where that is better by
    two standard errors of the leave-one-out error; with more, there is one ridge for all labels
    and one factorisation of all rows; beyond 10,600 rows they are means over parts of the rows,
    and beyond about 49,000 they are approximated from landmarks (Nyström). If the label
    matrix has more than 10⁸ entries, as for a million rows and a thousand labels, logistic
    regression is the only member, and out-of-sample scores exist for at most 20,000 rows
    (`oob_indices_`). Small sparse matrices are made dense; large ones never are. A label that is
    constant in training keeps its prior, (1 + samples with it) / (2 + samples).

    With scikit-learn's array API dispatch, X and y can be arrays of torch or CuPy. With 4,000 rows
    or more, logistic regression, topics and the combination of the members are then computed on the
    device of X, and so are kernels of up to about 49,000 rows and projections of up to 10,600 rows.
    Everything else, and everything on torch's mps, is computed on the host. The model is that of
    the host up to rounding, and its arrays are on the host: ``predict`` copies the rows there, and
    returns its result on the device of X. Large texts, which are dense on a device, become sparse
    on the host, and the model is that of sparse rows.

    The rows of a Dask array, dense or sparse, stay in their blocks on the workers. The members are
    then those that are sums over blocks: logistic regression, and kernels approximated from
    landmarks. The host holds labels and out-of-sample scores, landmarks, and a sample of at most
    10,000 rows for ranks and explanations. The model is the one of rows in memory with
    ``effort=Limits().for_blocks()``, ``n_projections=0`` and ``n_trees=0``: probabilities agree to
    10⁻⁸; those of sparse rows, whose logistic regression is in single precision, to 2 · 10⁻³.

    The design (the choice of members, the averaging of log odds, half of the correction) was
    chosen on the paper's twelve datasets, so figures on these are slightly optimistic. All
    parameters are learned from training rows only.

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

    _needs = None
    _parameter_constraints: dict = {
        "n_projections": [Interval(Integral, 0, None, closed="left")],
        "n_trees": [None, Interval(Integral, 0, None, closed="left")],
        "effort": [StrOptions(set(EFFORTS)), Limits],
        "decision": [StrOptions(set(DECISIONS))],
        "oob_metric": [StrOptions(set(METRICS))],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_projections: int = 8,
        n_trees: int | None = None,
        *,
        effort: str | Limits = "medium",
        decision: str = "fixed",
        oob_metric: str = "average_precision",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_projections = n_projections
        self.n_trees = n_trees
        self.effort = effort
        self.decision = decision
        self.oob_metric = oob_metric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @blas_threads(None)
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> "KinEnsembleClassifier":
        """Train the members, and combine them by their out-of-sample scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame, Dask array} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the sample twice, in the same fold, 0 as none at all:
            in every member, their combination, the decision and `oob_score_`. Views of the
            features are learned without weights.

        Returns
        -------
        self
        """
        X, y = self._validate_fit(X, y)
        limits = limits_of(self.effort)
        in_memory = not is_dask(X)
        place = Place.of(X) if X.shape[0] >= limits.device_rows else HOST
        if in_memory:
            X = rows_on_host(X, limits)
        else:  # rows stay in their blocks
            X, y = X.filled().persist(), label_matrix(y)
        weight, counted = check_weight(sample_weight, X.shape[0]), np.arange(X.shape[0])
        all_labels, all_weights = y, weight
        if weight is not None:
            counted = np.flatnonzero(weight)
            X = X[counted] if in_memory else X.take(counted)
            y, weight = y[counted], weight[counted]
        rng = check_random_state(self.random_state)
        n, k = X.shape
        self._dense = not has_sparse_rows(X) or n * k <= limits.dense_entries
        X = as_float_rows(X, self._dense)
        shape = Shape(n, k, y.shape[1], stored_values(X))
        large = limits.is_large(shape)

        # For explanations; of very many rows there is no kernel, so no row is shown
        self._typical = typical_values(X)
        self._label_bits = np.packbits(all_labels[:0] > 0 if large else all_labels > 0, axis=1)
        self._row_weight = None if large else all_weights

        # Views: the same rows on several scales, learned without labels
        self.views_: dict[str, View] = learn_views(
            X,
            random_seed(rng),
            limits,
            projected=in_memory and limits.affords_projections(shape, self.n_projections),
            topics=in_memory and not large,
            place=place,
        )
        weighted = is_weighted(X)
        if large:
            name = word_view(self.views_, weighted)
            self.views_ = {name: self.views_[name]}
        rows = {name: view(X) if in_memory else X.apply(view) for name, view in self.views_.items()}

        # Folds: each learner scores their rows by what it learned from the others
        fold_of = draw_folds(n, rng, limits.n_held_out(shape) if large else n)
        scored = np.flatnonzero(fold_of >= 0)
        self.oob_indices_ = counted[scored]

        # Plan: which learners on which view
        planner = Planner(
            {name: (r.shape[1], stored_values(r) / n) for name, r in rows.items()},
            shape,
            binary=is_binary(X),
            weighted=weighted,
            fold_of=fold_of,
            n_jobs=effective_n_threads(self.n_jobs),
            rng=rng,
            limits=limits,
            in_memory=in_memory,
        )
        plan = planner.plan(self.n_projections, self.n_trees)
        members, self.left_out_ = plan.members, plan.left_out
        used = {member.view for member in members}
        self.views_ = {name: view for name, view in self.views_.items() if name in used}
        rows = {name: rows[name] for name in used}
        if self.verbose:
            print("\n".join(f"[{type(self).__name__}] {line}" for line in plan.describe(shape)))

        # Fit, with leave-fold-out scores of the training rows
        scores = self._fit_members(members, rows, y, fold_of, weight, rng, limits, place)

        # Combine
        y, fold_of = y[scored], fold_of[scored]
        weight = None if weight is None else weight[scored]
        n_parts = limits.n_parts(len(y), y.shape[1], int(fold_of.max()) + 1)
        self._stacking = Stacking(
            random_seed(rng),
            max_entries=limits.weight_entries,
            corrected_rows=limits.corrected_rows,
        )
        log_odds = [member.log_odds for member in members]
        n_jobs = effective_n_threads(self.n_jobs)
        with limit_blas(1):  # of many short products, more threads would wait for each other
            proba, member_proba = self._stacking.fit_proba(
                scores, y, fold_of, n_parts, log_odds, weight, n_jobs, place
            )
        self.members_ = [(member.name, member) for member in members]
        self.weights_ = self._stacking.weights_
        self.label_weights_ = self._stacking.label_weights_
        self.corrected_ = self._stacking.corrected_
        self.oob_proba_ = self._as_proba(_three_digits(proba)).astype(np.float32)

        # Decide
        again = slice(None) if weight is None else repeat_rows(weight)
        y, proba = y[again], proba[again]
        self.decision_ = LabelDecision(self.decision).fit(proba, y)
        predictions = [(proba, self.decision_.apply(proba))]
        predictions += [(alone[again], alone[again] > 0.5) for alone in member_proba]
        found = map_threads(lambda one: self._score(y, *one), predictions, n_jobs)
        self.oob_score_, *member_scores = found
        names = [member.name for member in members]
        self.member_scores_ = dict(zip(names, member_scores, strict=True))
        return self

    def _fit_members(
        self,
        members: list[LearnerGroup],
        rows: dict[str, Matrix],
        y: Array,
        fold_of: Array,
        weight: Array | None,
        rng: np.random.RandomState,
        limits: Limits,
        place: Place,
    ) -> list[Array]:
        """Fit all learners; return the leave-fold-out scores of each member."""
        learners = [(learner, member.view) for member in members for learner in member.learners]
        seeds = rng.randint(2**31 - 1, size=len(learners)).tolist()
        progress = FitProgress(self, "learners", len(learners), self.verbose)
        n_threads = effective_n_threads(self.n_jobs)
        scores: list[Any] = [None] * len(learners)

        def fit(number: int, **where: Place) -> None:
            learner, view = learners[number]
            if isinstance(learner, KernelRidge | LogisticLearner):
                placed = as_rows(rows[view], where.get("place"))
                scores[number] = learner.fit_scores(
                    placed, Labels(y, weight), seeds[number], fold_of
                )
            else:
                scores[number] = learner.fit_scores(
                    rows[view], y, seeds[number], fold_of, weight=weight, **where
                )
            progress.step()

        def fit_on_device() -> None:
            for number in on_device:
                fit(number, place=place)

        def fit_on_host() -> None:
            n_concurrent = limits.n_concurrent(len(y), n_threads)
            # Where memory holds learners for half of the threads at most, they are fitted one
            # after another with all threads of BLAS (with one, while another thread uses a device);
            # also with Dask, where each worker holds the blocks of one learner.
            side_by_side = n_concurrent > max(1, n_threads // 2)
            if side_by_side and not any(map(is_dask, rows.values())):
                map_threads(fit, together, n_concurrent)
            else:
                with limit_blas(n_threads):
                    for number in together:
                        fit(number)
            for number in alone:
                fit(number)

        # Learners on the device, those on the host with threads of their own, and the rest.
        on_device, alone, together = [], [], []
        for number, (learner, _) in enumerate(learners):
            if not place.on_host and getattr(learner, "on_device", False):
                on_device.append(number)
            elif getattr(learner, "own_threads", False):
                alone.append(number)
            else:
                together.append(number)
        if on_device:
            map_threads(lambda part: part(), [fit_on_device, fit_on_host], 2)
        else:
            fit_on_host()
        found = iter(scores)
        return [
            mean_out_of_sample([next(found) for _ in member.learners], y, fold_of, weight)
            for member in members
        ]

    def _score(self, y: Array, proba: Array, labels: Array) -> float:
        metric = METRICS[self.oob_metric]
        return float(metric(y, labels if metric.needs == "label" else proba))

    @property
    def estimators_(self) -> list[LearnerGroup]:
        """The fitted members."""
        return [member for _, member in self.members_]

    def _proba(self, X: Matrix) -> Array:
        rows = to_numpy(X) if self._dense else sparse_on_host(X)
        batches = gen_batches(rows.shape[0], _QUERY_ROWS)
        proba = np.concatenate([self._batch_proba(rows[batch]) for batch in batches])
        return to_device_of(proba, X)

    def _batch_proba(self, X: Matrix) -> Array:
        X = as_float_rows(X, self._dense)
        rows = {name: view(X) for name, view in self.views_.items()}
        scores = map_threads(lambda m: m.scores(rows[m.view]), self.estimators_, self.n_jobs)
        return self._stacking.proba(scores)

    def _labels_of(self, proba: Array) -> Array:
        return to_device_of(self.decision_.apply(to_numpy(proba)), proba)

    _explain_row = explain_kin


def _three_digits(values: Array) -> Array:
    """Return values rounded to 11 bits: they take half of the space in a compressed file."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2**11) / 2**11, exponent)
