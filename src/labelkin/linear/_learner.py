"""Logistic regressions of all labels: in batches, with folds left out, with C chosen by them.

`LogisticLearner` is the regression as a part of larger models, to few digits.
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, gen_batches

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import label_losses
from labelkin.linear._minimise import minimise
from labelkin.rows import (
    ColumnMoments,
    Labels,
    Rows,
    as_rows,
    concatenate,
    count_stored,
    namespace,
    take,
    to_numpy,
)

# Entries of the arrays of a batch, (n + k) · b, that stay near the cache of a CPU. On 9,743 texts
# with 363 labels, half of it takes 16 % more time, since products are narrow, and twice 6 % more.
_BATCH_ENTRIES = 2**20 + 2**19
_MIN_BATCH, _MAX_BATCH = 8, 64
# The same where fewer calls matter: on a device, and on Dask workers with the rows of a block.
_LARGE_ENTRIES = 2**26
# C in units of 1 / mean squared norm of the centred samples, from much regularisation to little.
_GRID = 10.0 ** np.arange(-1, 4.5, 0.5)
# Place in the grid at which the search for one C begins: the best one is seldom far from it.
_USUAL = 3
# Labels on which one C for all is chosen.
_SEARCH_LABELS = 64
# Tolerance while C is chosen: the loss does not depend on the third digit of the weights.
_SEARCH_TOL = 1e-2
# Of `LogisticLearner`: the tolerance, since metrics do not depend on the second digit of weights,
# and the bound on the iterations.
_TOL, _MAX_ITER = 5e-2, 1000
# Below this share of values that are not zero, products of sparse rows take less time.
_SPARSE_SHARE = 0.1
# C is chosen on this many rows, in this many groups at most: with more it hardly changes.
_SEARCH_ROWS, _SEARCH_GROUPS = 20_000, 5
# Groups are left out in turn until they have this many rows together.
LEFT_OUT_ROWS = 4_000
# Labels are fitted in blocks for which columns · labels is at most this: it bounds the memory
# beside the weights themselves.
_BLOCK_ENTRIES = 2**26


class Weights(NamedTuple):
    """Weights, (k, q), intercepts, (q,), and iterations, (q,), of q labels."""

    coef: Any
    intercept: Any
    n_iter: Array


@dataclass(eq=False, repr=False)
class LabelFitter:
    """Fits labels on weighted samples, in threads over batches of labels; see `minimise`."""

    rows: Rows
    labels: Labels
    _: KW_ONLY
    tol: float
    max_iter: int
    n_jobs: int | None

    def fit(
        self,
        C: Array,
        numbers: Array,
        start: Weights | None = None,
        tol: float | None = None,
        used: Array | None = None,
    ) -> Weights:
        """Fit the labels of some numbers, each with its C, on the `used` samples; None: on all.

        A label that is constant in the samples has no weights, and the odds of its counts with
        one more sample of either class.
        """
        rows, labels = self.rows, self.labels
        kept = labels.weights > 0 if used is None else used & (labels.weights > 0)
        if not kept.all():
            kept = np.flatnonzero(kept)
            rows, labels = rows.take(kept).persist(), labels.take(kept)
        counts, columns = labels.counts, rows.moments(labels.weight)
        constant = ~counts.varies[numbers]
        prior = np.log((counts.positives + 1) / (counts.negatives + 1))[numbers]

        def fit_batch(batch: Array) -> tuple[Array, Array, Array]:
            coef = rows.array(np.zeros((rows.shape[1], len(batch))))
            intercept = rows.array(prior[batch])
            if start is not None:
                coef, known = (take(part, batch, axis=-1) for part in start[:2])
                fixed = rows.array(constant[batch]) > 0
                intercept = namespace(known).where(fixed, intercept, known)
            if constant[batch].all():  # perhaps because there is no row
                return coef, intercept, np.zeros(len(batch), dtype=np.intp)
            return minimise(
                rows,
                labels.select(numbers[batch]),
                coef,
                intercept,
                rows.array(C[batch]),
                columns,
                constant[batch],
                tol=self.tol if tol is None else tol,
                max_iter=self.max_iter,
            )

        # Labels of one batch are similarly frequent, and converge after similarly many steps.
        order = np.argsort(-counts.positives[numbers], kind="stable")
        n_entries = int(rows.sizes.max()) + rows.shape[1]
        if rows.in_threads:
            size = int(np.clip(_BATCH_ENTRIES // n_entries, _MIN_BATCH, _MAX_BATCH))
        else:
            size = max(1, _LARGE_ENTRIES // n_entries)
        batches = [order[batch] for batch in gen_batches(len(order), size)]
        if rows.in_threads and len(batches) > 1:
            fitted = map_threads(fit_batch, batches, self.n_jobs)
        else:
            fitted = [fit_batch(batch) for batch in batches]
        coefs, intercepts, n_iter = map(list, zip(*fitted, strict=True))
        place = np.argsort(order)
        coef, intercept = concatenate(coefs, axis=1), concatenate(intercepts)
        return Weights(
            take(coef, place, axis=1), take(intercept, place), np.concatenate(n_iter)[place]
        )

    def leave_out(
        self, fold: Array, C: Array, numbers: Array, starts: Any, tol: float | None
    ) -> Iterator[tuple[Array, Weights, Array]]:
        """Yield the rows of each fold, the weights without them, and the log odds of these rows.

        All samples of a fold are left out together, so that the log odds of a sample depend on
        the labels of no sample of its fold. Samples of a negative fold are never left out.
        """
        for number in np.unique(fold[fold >= 0]):
            part = np.flatnonzero(fold == number)
            fitted = self.fit(C, numbers, starts.get(number), tol, fold != number)
            odds = to_numpy(self.rows.take(part).dot(fitted.coef) + fitted.intercept)
            yield part, fitted, odds

    def fit_folds(
        self,
        fold: Array,
        C: Array,
        numbers: Array | None = None,
        tol: float | None = None,
        step: Callable[[], None] = lambda: None,
    ) -> tuple[Array, Weights]:
        """Return out-of-fold log odds, (n, q) on the host, and the mean weights of the folds.

        Samples of a negative fold are missing in the log odds. `numbers` are those of the labels
        that are fitted, with C of each; None: all. `tol` None: that of the other fits. `step` is
        called after each fold.
        """
        numbers = np.arange(len(C)) if numbers is None else numbers
        place, n_folds = np.cumsum(fold >= 0) - 1, len(np.unique(fold[fold >= 0]))
        scores = np.empty((int((fold >= 0).sum()), len(numbers)))
        coef: Any = 0.0
        intercept: Any = 0.0
        for part, fitted, odds in self.leave_out(fold, C, numbers, {}, tol):
            scores[place[part]] = odds
            coef = coef + fitted.coef / n_folds
            intercept = intercept + fitted.intercept / n_folds
            step()
        return scores, Weights(coef, intercept, np.zeros(len(numbers), dtype=np.intp))

    def choose_C(self, fold: Array) -> Array:
        """Return one C for all labels, (q,), by the log loss of samples in folds left out.

        C moves in the direction in which the loss falls, until it rises; each fit starts from the
        one before. Of many labels it is chosen on some, and of many rows only some are left out.
        """
        in_fold = fold >= 0
        sizes = np.bincount(fold[in_fold], self.labels.weights[in_fold], minlength=1)
        n_left_out = int(np.searchsorted(np.cumsum(sizes), LEFT_OUT_ROWS)) + 1
        fold = np.where(fold < n_left_out, fold, -1)
        labels, counts = self.labels, self.labels.counts
        smaller = np.minimum(counts.positives, counts.negatives)
        numbers = np.flatnonzero(smaller > 0)
        spread = squared_spread(self.rows.moments(labels.weight))
        grid = _GRID / spread if spread > 0 else np.ones(1)
        if not len(numbers):
            return np.full(len(smaller), grid[len(grid) // 2])
        if len(numbers) > _SEARCH_LABELS:
            # Evenly spaced in the order of frequency.
            order = numbers[np.argsort(-smaller[numbers], kind="stable")]
            numbers = order[np.linspace(0, len(order) - 1, _SEARCH_LABELS).astype(int)]
        labels = labels.select(numbers)
        share, total = labels.counts.means, labels.counts.total
        prior_loss = -total * (share * np.log(share) + (1 - share) * np.log1p(-share))
        starts: dict[int, Weights] = {}

        @cache
        def mean_loss(place: int) -> float:
            """Return the loss with a C of the grid, relative to that of the priors."""
            loss, C = np.zeros(len(numbers)), np.full(len(numbers), grid[place])
            for part, fitted, odds in self.leave_out(
                fold, C, numbers, starts, max(self.tol, _SEARCH_TOL)
            ):
                starts[fold[part[0]]] = fitted
                loss += label_losses(odds, labels.take(part))
            return float((loss / prior_loss).mean())

        # Downhill from the usual place
        best = min(_USUAL, len(grid) - 1)
        for way in (1, -1):
            while 0 <= best + way < len(grid) and mean_loss(best + way) < mean_loss(best):
                best += way
        return np.full(len(smaller), grid[best])


@dataclass(eq=False, repr=False)
class LogisticLearner:
    """Logistic regressions of all labels at once, one C for all labels.

    The model of `MultiLabelLogisticRegression`, of sparse rows in single precision. Folds are
    left out in `n_groups` groups, or fewer if a group has few of all rows, each fit from zero: a
    start at the weights of all rows would have seen the labels of the fold. The fit to all rows
    starts at the mean of these. `C_` has the least log loss of groups left out of 20,000 rows.

    `coef_` are the weights of rows divided by `unit_`, a power of two near the length of a centred
    row, in half precision: three digits are more than they are certain to, and in this unit none is
    too large or too small for it.
    """

    n_groups: int = 5
    n_jobs: int | None = None
    C_: float = field(init=False)
    unit_: float = field(init=False, default=1.0)
    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    own_threads: ClassVar[bool] = True

    def fit_scores(self, rows: Rows, labels: Labels, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return leave-fold-out log odds of the rows, on the host.

        Those of a fold −1 are never left out, and missing in the result.
        """
        rng, (n, k), q = check_random_state(random_state), rows.shape, labels.shape[1]
        if n * q > _BLOCK_ENTRIES:
            labels = Labels(sparse.csc_array(labels.Y), labels.weight, labels.known)
        n_stored, is_sparse = rows.total(count_stored)
        is_sparse = is_sparse or n_stored < _SPARSE_SHARE * n * k
        size = squared_spread(rows.moments(labels.weight))
        self.unit_ = 2.0 ** round(np.log2(size) / 2) if size > 0 else 1.0
        # Dense columns are centred, so that large means cost no digits; a sparse column is not
        # far from zero.
        centre = np.zeros(k) if is_sparse else to_numpy(rows.moments().mean)
        dtype = np.float32 if is_sparse else np.float64
        prepared = rows.apply(prepare_block, [centre, self.unit_, is_sparse], dtype=dtype)
        # At most a fifth (1 / n_groups) of all rows is left out, in two groups at least.
        n_groups = max(min(self.n_groups, 2), -(-self.n_groups * int((fold_of >= 0).sum()) // n))
        group = np.where(fold_of < 0, -1, fold_of % n_groups)
        left_out = np.unique(group[group >= 0])
        if len(left_out) == 1 and not (group < 0).any():  # a single fold: none can be left out
            group, left_out = np.full(n, -1), left_out[:0]
        how: Any = {"tol": _TOL, "max_iter": _MAX_ITER, "n_jobs": self.n_jobs}
        fitter, self.C_ = LabelFitter(prepared.placed().persist(), labels, **how), 1.0
        if len(left_out):
            # C with the least log loss of groups of rows left out, on a sample of them
            sample = rng.permutation(n)[:_SEARCH_ROWS]
            search = np.arange(len(sample)) % int(np.clip(len(left_out), 2, _SEARCH_GROUPS))
            order = np.argsort(sample)
            some = sample[order]
            sampled = LabelFitter(fitter.rows.take(some).persist(), labels.take(some), **how)
            self.C_ = float(sampled.choose_C(search[order])[0])
        self.coef_ = np.empty((k, q), dtype=np.float16)
        self.intercept_ = np.empty(q)
        log_odds = np.empty((int((fold_of >= 0).sum()), q))
        for block in gen_batches(q, max(1, _BLOCK_ENTRIES // k)):
            numbers = np.arange(q)[block]
            C, start = np.full(len(numbers), self.C_), None
            if len(left_out):
                log_odds[:, block], start = fitter.fit_folds(group, C, numbers)
            fitted = fitter.fit(C, numbers, start)
            self.coef_[:, block] = to_numpy(fitted.coef)
            shift = centre @ self.coef_[:, block].astype(np.float64) if centre.any() else 0.0
            intercept = to_numpy(fitted.intercept)
            self.intercept_[block] = intercept - shift / self.unit_
            if not len(left_out):
                log_odds[:, block] = intercept
        return log_odds

    def scores(self, rows: Any) -> Array:
        """Return log odds of queries."""
        queries = as_rows(rows)
        blocks = gen_batches(self.coef_.shape[1], max(1, _BLOCK_ENTRIES // len(self.coef_)))
        odds = [queries.dot(self.coef_[:, block].astype(np.float64)) for block in blocks]
        return np.hstack(odds) / self.unit_ + self.intercept_


def squared_spread(columns: ColumnMoments) -> float:
    """Return the mean squared norm of the centred rows; 0 where it is rounding."""
    xp = namespace(columns.mean)
    spread, centre = float(xp.sum(columns.variance)), float(xp.sum(columns.mean**2))
    info = xp.finfo(columns.mean.dtype)
    rounding = 10 * float(info.eps) * (spread + centre) + float(info.smallest_normal)
    return spread if spread > rounding else 0.0


def draw_folds(rows: Rows, weight: Array, n_folds: int, rng: Any) -> Array:
    """Return the fold of each sample: random, the same for equal rows.

    A row and its repetition are in one fold, whatever their order: weights and repetitions give
    the same folds, and C is not chosen by samples that were seen. Where there are more than four
    rows of each kind, as with one column of categories, the rows of a kind are in several folds: a
    kind of which no row is left has nothing that could be learned.
    Rows of weight 0 do not count.
    """
    keys = to_numpy(rows.dot(rows.array(rng.standard_normal(rows.shape[1])))).astype(np.float64)
    used = np.flatnonzero(weight > 0)
    # Sums in another order differ by rounding.
    unit = 1e-9 * max(1e-290, np.abs(keys[used]).max())
    distinct, group = np.unique(np.rint(keys[used] / unit), return_inverse=True)
    if len(distinct) < max(n_folds, len(used) / 4):
        distinct, group = used, np.arange(len(used))
    fold = np.zeros(len(keys), dtype=np.intp)
    fold[used] = (rng.permutation(len(distinct)) % n_folds)[group]
    return fold


# Functions of a block.


def prepare_block(block: Matrix, centre: Any, unit: float, is_sparse: bool) -> Matrix:
    """Return centred dense rows, or sparse rows in single precision, divided by a unit."""
    block = to_numpy(block)
    if is_sparse:
        return (sparse.csr_array(block) / unit).astype(np.float32)
    return (block - centre) / unit
