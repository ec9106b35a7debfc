"""Logistic regressions of all labels: in batches, with folds left out, with C chosen by them."""

from typing import Any, NamedTuple

import numpy as np

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.linear._minimise import minimise
from labelkin.linear._sums import WeightedRows, log_loss
from labelkin.rows import ColumnMoments, Labels, Rows, concatenate, namespace, take, to_numpy

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


class Weights(NamedTuple):
    """Weights and intercepts of q labels."""

    coef: Any
    """(k, q)."""
    intercept: Any
    """(q,)."""
    n_iter: Array
    """Iterations, (q,)."""

    def log_odds(self, rows: Rows) -> Array:
        """Return the log odds of rows, (m, q), on the host."""
        return to_numpy(rows.dot(self.coef) + self.intercept)


class LabelFitter:
    """Fits labels on weighted samples.

    Parameters
    ----------
    rows : Rows
        Samples.
    labels : Labels
        Their labels and weights.
    tol, max_iter
        As in `minimise`.
    n_jobs : int, optional
        Threads over batches of labels.
    """

    def __init__(
        self, rows: Rows, labels: Labels, *, tol: float, max_iter: int, n_jobs: int | None
    ) -> None:
        self.rows, self.labels = rows.persist(), labels
        self.tol, self.max_iter, self.n_jobs = tol, max_iter, n_jobs

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
        rows, n_columns = self.rows, self.rows.shape[1]
        labels = self.labels if used is None else self.labels.weigh(used)
        positives = labels.positives[numbers]
        prior = np.log((positives + 1) / (labels.total - positives + 1))
        weighted, columns = WeightedRows(rows, labels.weights), rows.moments(labels.weight)

        def fit_batch(batch: Array) -> tuple[Array, Array, Array]:
            if start is None:
                coef = rows.array(np.zeros((n_columns, len(batch))))
                intercept = rows.array(prior[batch])
            else:
                coef, intercept = (take(part, batch, axis=-1) for part in start[:2])
            return minimise(
                weighted.with_labels(labels.columns(numbers[batch])),
                coef,
                intercept,
                rows.array(C[batch]),
                columns,
                tol=self.tol if tol is None else tol,
                max_iter=self.max_iter,
            )

        # Labels of one batch are similarly frequent, and converge after similarly many steps.
        varies = np.flatnonzero(labels.varies[numbers])
        batches = self._batches(varies[np.argsort(-positives[varies], kind="stable")])
        if rows.in_threads and len(batches) > 1:
            fitted = map_threads(fit_batch, batches, self.n_jobs)
        else:
            fitted = [fit_batch(batch) for batch in batches]
        n_iter = np.zeros(len(numbers), dtype=np.intp)
        constant = np.setdiff1d(np.arange(len(numbers)), varies)
        coefs = [rows.array(np.zeros((n_columns, len(constant))))]
        intercepts = [rows.array(prior[constant])]
        for batch, (coef, intercept, steps) in zip(batches, fitted, strict=True):
            coefs.append(coef)
            intercepts.append(intercept)
            n_iter[batch] = steps
        order = np.argsort(np.concatenate([constant, *batches]))
        parts = concatenate(coefs, axis=1), concatenate(intercepts)
        coef, intercept = (take(part, order, axis=-1) for part in parts)
        return Weights(coef, intercept, n_iter)

    def _batches(self, numbers: Array) -> list[Array]:
        n, k = int(self.rows.sizes.max()), self.rows.shape[1]
        if self.rows.in_threads:
            size = int(np.clip(_BATCH_ENTRIES // (n + k), _MIN_BATCH, _MAX_BATCH))
        else:
            size = max(1, _LARGE_ENTRIES // (n + k))
        return [numbers[i : i + size] for i in range(0, len(numbers), size)]

    def fit_folds(
        self, fold: Array, C: Array, numbers: Array | None = None, tol: float | None = None
    ) -> tuple[Array, Weights]:
        """Return out-of-fold log odds, (n, q) on the host, and the mean weights of the folds.

        All samples of a fold are left out together, so that the log odds of a sample depend on
        the labels of no sample of its fold. Samples of a negative fold are never left out, and
        are missing in the log odds. `numbers` are those of the labels that are fitted, with C of
        each; None: all. `tol` None: that of the other fits.
        """
        numbers = np.arange(len(C)) if numbers is None else numbers
        scored = fold >= 0
        place = np.cumsum(scored) - 1
        scores: Any = None
        mean: Any = None
        folds = np.unique(fold[scored])
        for number in folds:
            weights = self.fit(C, numbers, tol=tol, used=fold != number)
            part = np.flatnonzero(fold == number)
            odds = weights.log_odds(self.rows.take(part))
            if scores is None:
                scores = np.empty((int(scored.sum()), len(numbers)), odds.dtype)
            scores[place[part]] = odds
            coef, intercept = weights.coef / len(folds), weights.intercept / len(folds)
            mean = (coef, intercept) if mean is None else (mean[0] + coef, mean[1] + intercept)
        return scores, Weights(mean[0], mean[1], np.zeros(len(numbers), dtype=np.intp))

    def choose_C(self, fold: Array, shrinkage: float | None = None) -> Array:
        """Return C of each label, by the log loss of samples in folds that are left out.

        C moves in the direction in which the loss falls, until it rises; each fit starts from the
        one before. With `shrinkage` None there is one C for all labels, chosen on some of them.
        """
        rows, labels = self.rows, self.labels
        smaller = np.minimum(labels.positives, labels.total - labels.positives)
        numbers = np.flatnonzero(smaller > 0)
        spread = squared_spread(rows.moments(labels.weight))
        grid = _GRID / spread if spread > 0 else np.ones(1)
        if not len(numbers):
            return np.full(len(smaller), grid[len(grid) // 2])
        if shrinkage is None and len(numbers) > _SEARCH_LABELS:
            # Evenly spaced in the order of frequency.
            order = numbers[np.argsort(-smaller[numbers], kind="stable")]
            numbers = order[np.linspace(0, len(order) - 1, _SEARCH_LABELS).astype(int)]
        share = labels.means[numbers]
        prior_loss = -labels.total * (share * np.log(share) + (1 - share) * np.log1p(-share))
        Y = labels.columns(numbers)
        parts = [np.flatnonzero(fold == number) for number in np.unique(fold)]
        starts: list[Weights | None] = [None] * len(parts)
        relative: dict[int, Array] = {}

        def mean_loss(place: int) -> float:
            """Return the loss with a C of the grid, relative to that of the priors."""
            if place not in relative:
                loss, C = np.zeros(len(numbers)), np.full(len(numbers), grid[place])
                for i, part in enumerate(parts):
                    used = np.ones(len(fold), dtype=bool)
                    used[part] = False
                    tol = max(self.tol, _SEARCH_TOL)
                    fitted = starts[i] = self.fit(C, numbers, starts[i], tol, used)
                    odds = fitted.log_odds(rows.take(part))
                    loss += labels.weights[part] @ log_loss(odds, Y[part].astype(odds.dtype))
                relative[place] = loss / prior_loss
            return relative[place].mean()

        # Downhill from the usual place; with a C per label, all that is below the best one counts.
        best = min(_USUAL, len(grid) - 1) if shrinkage is None else 0
        for way in (1, -1):
            while 0 <= best + way < len(grid) and mean_loss(best + way) < mean_loss(best):
                best += way
        chosen = np.full(len(smaller), grid[best])
        if shrinkage is not None:
            places = sorted(relative)
            losses = np.array([relative[place] for place in places])
            criterion = smaller[numbers] * losses + shrinkage * losses.mean(axis=1, keepdims=True)
            chosen[numbers] = grid[places][criterion.argmin(axis=0)]
        return chosen


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
    the same folds, and C is not chosen by samples that were seen. Where nearly all rows are
    repeated, as with a few categories, there is no such choice and folds ignore it.

    Parameters
    ----------
    rows : Rows
        Samples.
    weight : ndarray of shape (n,)
        Rows of weight 0 do not count.
    n_folds : int
        Number of folds; fewer if there are fewer rows.
    rng : RandomState
        Draws the folds.
    """
    keys = to_numpy(rows.dot(rows.array(rng.standard_normal(rows.shape[1])))).astype(np.float64)
    used = np.flatnonzero(weight > 0)
    order = used[np.argsort(keys[used], kind="stable")]
    # Sums in another order differ by rounding.
    apart = np.diff(keys[order]) > 1e-9 * max(1e-300, np.abs(keys[used]).max(initial=0.0))
    group = np.concatenate([[0], np.cumsum(apart)])
    n_groups = group[-1] + 1
    if n_groups < max(n_folds, len(used) / 10):
        order, group, n_groups = used, np.arange(len(used)), len(used)
    fold = np.zeros(len(keys), dtype=np.intp)
    fold[order] = (rng.permutation(n_groups) % n_folds)[group]
    return fold
