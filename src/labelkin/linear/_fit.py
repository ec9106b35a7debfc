"""Logistic regressions of all labels: in batches, with folds left out, with C chosen by them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelkin._utils.array_api import (
    astype,
    is_device_array,
    namespace_and_device,
    to_device_of,
    to_numpy,
)
from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.linear._minimise import minimise
from labelkin.linear._rows import (
    MemoryRows,
    Moments,
    log_loss,
    take_columns,
    take_rows,
)

# Entries of the arrays of a batch, (n + k) · b, that stay near the cache of a CPU. On 9,743 texts
# with 363 labels, half of it takes 16 % more time, since products are narrow, and twice 6 % more.
_BATCH_ENTRIES = 2**20 + 2**19
_MIN_BATCH, _MAX_BATCH = 8, 64
# Entries of the arrays of a batch on a device, where fewer launches matter.
_DEVICE_ENTRIES = 2**28
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


class MemoryData:
    """Samples and labels in memory or on a device.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, k)
        Samples; the arithmetic is in their type.
    Y : ndarray or CSR matrix of shape (n, q)
        Labels on the host.
    """

    def __init__(self, X: Matrix, Y: Matrix) -> None:
        self.X, self.shape = X, X.shape
        self.in_threads = not is_device_array(X)
        self._Y = Y.tocsc() if sparse.issparse(Y) else Y.astype(np.uint8, copy=False)

    def labels(self, columns: Array) -> Array:
        """Return labels as a dense ndarray."""
        if sparse.issparse(self._Y):
            return self._Y[:, columns].toarray(order="C")
        return np.take(self._Y, columns, axis=1)

    def positives(self, weight: Array) -> Array:
        """Return the weight of the samples that have each label, (q,)."""
        # Without the copy in double precision that a product makes.
        return weight @ self._Y if sparse.issparse(self._Y) else np.einsum("i,ij", weight, self._Y)

    def take(self, rows: Array) -> "MemoryData":
        """Return some samples, given by their numbers."""
        return MemoryData(take_rows(self.X, rows), self._Y[rows])

    def rows(self, weight: Array) -> MemoryRows:
        """Return the rows of positive weight, for `minimise`."""
        return MemoryRows(self.X, weight)

    def scores(self, weights: Weights, rows: Array) -> Array:
        """Return the log odds of some rows, (m, q)."""
        return take_rows(self.X, rows) @ weights.coef + weights.intercept

    def array(self, values: Array) -> Array:
        """Return an ndarray in the type of X and where X lies."""
        return astype(to_device_of(values, self.X), self.X.dtype)

    def keys(self, direction: Array) -> Array:
        """Return the products of the rows with a direction, on the host."""
        return to_numpy(self.X @ self.array(direction)).astype(np.float64)

    def moments(self, weight: Array) -> Moments:
        """Return the weighted means of the columns and of their squares."""
        total = float(weight.sum())
        return Moments.of_rows(self.X, self.array(weight / (total or 1.0)))._replace(total=total)

    def batches(self, columns: Array) -> list[Array]:
        """Split labels into batches."""
        n, k = self.shape
        if self.in_threads:
            size = int(np.clip(_BATCH_ENTRIES // (n + k), _MIN_BATCH, _MAX_BATCH))
        else:
            size = max(1, _DEVICE_ENTRIES // (n + k))
        return [columns[i : i + size] for i in range(0, len(columns), size)]


class LabelFitter:
    """Fits labels on weighted samples.

    Parameters
    ----------
    data : MemoryData or BlockData
        Samples and labels.
    tol, max_iter
        As in `minimise`.
    n_jobs : int, optional
        Threads over batches of labels.
    """

    def __init__(self, data: Any, *, tol: float, max_iter: int, n_jobs: int | None) -> None:
        self.data, self.tol, self.max_iter, self.n_jobs = data, tol, max_iter, n_jobs

    def fit(
        self,
        weight: Array,
        C: Array,
        labels: Array,
        start: Weights | None = None,
        tol: float | None = None,
    ) -> Weights:
        """Fit some labels, each with its C, on weighted samples.

        A label that is constant in the samples has no weights, and the odds of its counts with
        one more sample of either class.
        """
        data, total = self.data, weight.sum()
        positives = data.positives(weight)[labels]
        prior = np.log((positives + 1) / (total - positives + 1))
        varies = np.flatnonzero((positives > 0) & (positives < total))
        rows, columns = data.rows(weight), data.moments(weight)

        def fit_batch(batch: Array) -> tuple[Array, Array, Array]:
            if start is None:
                coef = np.zeros((data.shape[1], len(batch)))
                coef, intercept = data.array(coef), data.array(prior[batch])
            else:
                coef = take_columns(start.coef, batch)
                intercept = take_columns(start.intercept, batch)
            return minimise(
                rows.with_labels(data.labels(labels[batch])),
                coef,
                intercept,
                data.array(C[batch]),
                columns,
                tol=self.tol if tol is None else tol,
                max_iter=self.max_iter,
            )

        # Labels of one batch are similarly frequent, and converge after similarly many steps.
        batches = data.batches(varies[np.argsort(-positives[varies], kind="stable")])
        fitted = self._map(fit_batch, batches)
        n_iter = np.zeros(len(labels), dtype=np.intp)
        constant = np.setdiff1d(np.arange(len(labels)), varies)
        coefs = [data.array(np.zeros((data.shape[1], len(constant))))]
        intercepts = [data.array(prior[constant])]
        for batch, (coef, intercept, steps) in zip(batches, fitted, strict=True):
            coefs.append(coef)
            intercepts.append(intercept)
            n_iter[batch] = steps
        order = np.argsort(np.concatenate([constant, *batches]))
        xp, _ = namespace_and_device(coefs[0])
        return Weights(
            take_columns(xp.concat(coefs, axis=1), order),
            take_columns(xp.concat(intercepts), order),
            n_iter,
        )

    def _map(self, function: Callable, batches: list[Array]) -> list[Any]:
        if self.data.in_threads and len(batches) > 1:
            return map_threads(function, batches, self.n_jobs)
        return [function(batch) for batch in batches]

    def fit_folds(
        self,
        weight: Array,
        fold: Array,
        C: Array,
        labels: Array | None = None,
        tol: float | None = None,
    ) -> tuple[Array, Weights]:
        """Return out-of-fold log odds, (n, q) on the host, and the mean weights of the folds.

        All samples of a fold are left out together, so that the log odds of a sample depend on
        the labels of no sample of its fold. Samples of a negative fold are never left out, and
        are missing in the log odds. `labels` are those that are fitted, with C of each; None: all.
        `tol` None: that of the other fits.
        """
        labels = np.arange(len(C)) if labels is None else labels
        scores: Any = None
        mean: Any = None
        scored = fold >= 0
        place = np.cumsum(scored) - 1
        numbers = np.unique(fold[scored])
        for number in numbers:
            weights = self.fit(weight * (fold != number), C, labels, tol=tol)
            part = np.flatnonzero(fold == number)
            found = to_numpy(self.data.scores(weights, part))
            if scores is None:
                scores = np.empty((int(scored.sum()), len(labels)), found.dtype)
            scores[place[part]] = found
            coef, intercept = weights.coef / len(numbers), weights.intercept / len(numbers)
            mean = (coef, intercept) if mean is None else (mean[0] + coef, mean[1] + intercept)
        return scores, Weights(mean[0], mean[1], np.zeros(len(labels), dtype=np.intp))

    def choose_C(self, weight: Array, fold: Array, shrinkage: float | None) -> Array:
        """Return C of each label, by the log loss of samples in folds that are left out.

        C moves in the direction in which the loss falls, until it rises; each fit starts from the
        one before. With `shrinkage` None there is one C for all labels, chosen on some of them.
        """
        data, total = self.data, weight.sum()
        positives = data.positives(weight)
        smaller = np.minimum(positives, total - positives)
        labels = np.flatnonzero(smaller > 0)
        spread = data.moments(weight).spread()
        grid = _GRID / spread if spread > 0 else np.ones(1)
        if not len(labels):
            return np.full(len(positives), grid[len(grid) // 2])
        if shrinkage is None and len(labels) > _SEARCH_LABELS:
            # Evenly spaced in the order of frequency.
            order = labels[np.argsort(-smaller[labels], kind="stable")]
            labels = order[np.linspace(0, len(order) - 1, _SEARCH_LABELS).astype(int)]
        share = positives[labels] / total
        prior_loss = -total * (share * np.log(share) + (1 - share) * np.log1p(-share))
        Y = data.labels(labels)
        numbers = np.unique(fold)
        starts: list[Weights | None] = [None] * len(numbers)
        relative: dict[int, Array] = {}

        def mean_loss(place: int) -> float:
            """Return the loss with a C of the grid, relative to that of the priors."""
            if place not in relative:
                loss = np.zeros(len(labels))
                C = np.full(len(labels), grid[place])
                for i, number in enumerate(numbers):
                    part = np.flatnonzero(fold == number)
                    left = weight * (fold != number)
                    starts[i] = self.fit(left, C, labels, starts[i], max(self.tol, _SEARCH_TOL))
                    odds = to_numpy(data.scores(starts[i], part))
                    loss += weight[part] @ log_loss(odds, Y[part].astype(odds.dtype))
                relative[place] = loss / prior_loss
            return relative[place].mean()

        # Uphill from the middle; with a C per label, all that is below the best one counts.
        best = min(_USUAL, len(grid) - 1) if shrinkage is None else 0
        for way in (1, -1):
            while 0 <= best + way < len(grid) and mean_loss(best + way) < mean_loss(best):
                best += way
        chosen = np.full(len(positives), grid[best])
        if shrinkage is not None:
            places = sorted(relative)
            losses = np.array([relative[place] for place in places])
            criterion = smaller[labels] * losses + shrinkage * losses.mean(axis=1, keepdims=True)
            chosen[labels] = grid[places][criterion.argmin(axis=0)]
        return chosen


def draw_folds(data: Any, weight: Array, n_folds: int, rng: Any) -> Array:
    """Return the fold of each sample: random, the same for equal rows.

    A row and its repetition are in one fold, whatever their order: weights and repetitions give
    the same folds, and C is not chosen by samples that were seen. Where nearly all rows are
    repeated, as with a few categories, there is no such choice and folds ignore it.

    Parameters
    ----------
    data : MemoryData or BlockData
        Samples.
    weight : ndarray of shape (n,)
        Rows of weight 0 do not count.
    n_folds : int
        Number of folds; fewer if there are fewer rows.
    rng : RandomState
        Draws the folds.
    """
    keys = data.keys(rng.standard_normal(data.shape[1]))
    rows = np.flatnonzero(weight > 0)
    order = rows[np.argsort(keys[rows], kind="stable")]
    # Sums in another order differ by rounding.
    apart = np.diff(keys[order]) > 1e-9 * max(1e-300, np.abs(keys[rows]).max(initial=0.0))
    group = np.concatenate([[0], np.cumsum(apart)])
    n_groups = group[-1] + 1
    if n_groups < max(n_folds, len(rows) / 10):
        order, group, n_groups = rows, np.arange(len(rows)), len(rows)
    fold = np.zeros(len(keys), dtype=np.intp)
    fold[order] = (rng.permutation(n_groups) % n_folds)[group]
    return fold
