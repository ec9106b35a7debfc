"""Logistic regression as a part of larger models: with leave-fold-out log odds, to few digits."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.array_api import HOST, Place, astype, to_numpy
from labelkin.base import Array, Matrix
from labelkin.distributed import as_blocks
from labelkin.linear._blocks import label_data
from labelkin.linear._fit import LabelFitter, MemoryData
from labelkin.linear._rows import count_stored

_MAX_ITER = 1000
# Below this share of values that are not zero, products of sparse rows take less time.
SPARSE_SHARE = 0.1
# C is chosen in this many groups at most: with more it hardly changes.
_SEARCH_GROUPS = 5
# Labels are fitted in blocks for which columns · labels is at most this, on Dask workers with the
# rows of a worker's block: it bounds the memory beside the weights themselves.
_BLOCK_ENTRIES = 2**26
# With more sparse columns than this, the weights of a batch of labels exceed the cache.
_CACHED_COLUMNS = 2**16


class LogisticLearner:
    """Logistic regressions of all labels at once, one C for all labels.

    The model of `MultiLabelLogisticRegression`, of sparse rows in single precision. Folds are
    left out in `n_groups` groups, each fit from zero: a start at the weights of all rows would have
    seen the labels of the fold. The fit to all rows starts at the mean of these. `C_` has the least
    log loss of groups left out of `search_rows` rows. `tol` bounds the distance of the weights to
    their optimum, relative to their length: metrics do not depend on the second digit. Rows in
    blocks on Dask workers stay there.

    `coef_` are the weights of rows divided by `unit_`, a power of two near the length of a centred
    row, in half precision: three digits are more than they are certain to, and in this unit none is
    too large or too small for it.
    """

    C_: float
    unit_: float = 1.0
    coef_: Array
    intercept_: Array
    own_threads = on_device = True

    def __init__(
        self,
        n_groups: int = 5,
        n_jobs: int | None = None,
        tol: float = 5e-2,
        search_rows: int = 20_000,
    ) -> None:
        self.n_groups, self.n_jobs, self.tol = n_groups, n_jobs, tol
        self.search_rows = search_rows

    def fit_scores(
        self,
        rows: Any,
        Y: Array,
        random_state: int,
        fold_of: Array,
        *,
        weight: Array | None = None,
        place: Place = HOST,
    ) -> Array:
        """Fit, and return leave-fold-out log odds of the rows, but for those of a fold −1."""
        (n, k), q = rows.shape, Y.shape[1]
        weight = np.ones(n) if weight is None else weight
        targets = sparse.csc_array(Y) if n * q > _BLOCK_ENTRIES else Y
        blocks = as_blocks(rows)
        n_sparse, stored = blocks.total(_count_stored)
        is_sparse = bool(n_sparse) or stored < SPARSE_SHARE * n * k
        # Dense columns are centred, so that large means cost no digits; a sparse column is not
        # far from zero.
        centre = np.zeros(k) if is_sparse else blocks.total(_sum_columns) / n
        dtype = np.float32 if is_sparse else np.float64
        # The weights of frequent columns, side by side, stay in the cache.
        order = np.arange(k)
        if is_sparse and k > _CACHED_COLUMNS:
            order = np.argsort(-blocks.total(_count_in_columns), kind="stable")
        moved_to = np.argsort(order)
        blocks = blocks.apply(_prepare, [centre, is_sparse, moved_to], dtype=dtype)
        if not place.on_host:
            blocks = blocks.apply(place.put)
        size = label_data(blocks, targets).moments(weight).spread()
        self.unit_ = 2.0 ** round(np.log2(size) / 2) if size > 0 else 1.0
        data = label_data(blocks.apply(_divide, [self.unit_], dtype=dtype), targets)
        fitter = self._fitter(data)
        group = np.where(fold_of < 0, -1, fold_of % self.n_groups)
        left_out = np.unique(group[group >= 0])
        if len(left_out) == 1 and not (group < 0).any():  # a single fold: none can be left out
            group, left_out = np.full(n, -1), left_out[:0]
        self.C_ = self._choose_C(data, weight, np.random.RandomState(random_state), left_out)
        self.coef_ = np.empty((k, q), dtype=np.float16)
        self.intercept_ = np.empty(q)
        log_odds = np.empty((int((fold_of >= 0).sum()), q))
        on_worker = 0 if isinstance(data, MemoryData) else int(np.diff(blocks.starts).max())
        for block in gen_batches(q, max(1, _BLOCK_ENTRIES // (on_worker + k))):
            labels = np.arange(q)[block]
            C, start = np.full(len(labels), self.C_), None
            if len(left_out):
                log_odds[:, block], start = fitter.fit_folds(weight, group, C, labels)
            fitted = fitter.fit(weight, C, labels, start)
            self.coef_[order, block] = to_numpy(fitted.coef)
            shift = centre @ self.coef_[:, block].astype(np.float64) if centre.any() else 0.0
            intercept = to_numpy(fitted.intercept)
            self.intercept_[block] = intercept - shift / self.unit_
            if not len(left_out):
                log_odds[:, block] = intercept
        return log_odds

    def _fitter(self, data: Any) -> LabelFitter:
        return LabelFitter(data, tol=self.tol, max_iter=_MAX_ITER, n_jobs=self.n_jobs)

    def _choose_C(
        self, data: Any, weight: Array, rng: np.random.RandomState, left_out: Array
    ) -> float:
        """Return C with the least log loss of groups of rows left out, on a sample of them."""
        if not len(left_out):
            return 1.0
        sample = rng.permutation(len(weight))[: self.search_rows]
        group = np.arange(len(sample)) % int(np.clip(len(left_out), 2, _SEARCH_GROUPS))
        order = np.argsort(sample)  # rows on workers are taken in their order
        sample, group = sample[order], group[order]
        return float(self._fitter(data.take(sample)).choose_C(weight[sample], group, None)[0])

    def stretch(self, slope: Array, intercept: Array) -> None:
        """Turn the log odds of each label into slope · log odds + intercept."""
        self.coef_ = (self.coef_ * slope).astype(np.float16)
        self.intercept_ = slope * self.intercept_ + intercept

    def scores(self, rows: Matrix) -> Array:
        """Return log odds of queries."""
        k, q = self.coef_.shape
        blocks = gen_batches(q, max(1, _BLOCK_ENTRIES // k))
        odds = [rows @ self.coef_[:, block].astype(np.float64) for block in blocks]
        return np.hstack(odds) / self.unit_ + self.intercept_


def _count_stored(block: Matrix) -> tuple[int, int]:
    """Return whether rows are sparse, and how many values are not zero."""
    return int(sparse.issparse(block)), count_stored(block)


def _count_in_columns(block: Matrix) -> Array:
    """Return how many values of each column are not zero."""
    return np.bincount(sparse.csr_array(block).indices, minlength=block.shape[1])


def _sum_columns(block: Array) -> Array:
    return block.sum(axis=0)


def _prepare(block: Matrix, centre: Array, is_sparse: bool, moved_to: Array) -> Matrix:
    """Return centred dense rows, or sparse rows with each column at its place."""
    if not is_sparse:
        return block - centre
    rows = sparse.csr_array(block).astype(np.float32)
    if (np.diff(moved_to) != 1).any():
        indices = moved_to.astype(rows.indices.dtype)[rows.indices]
        rows = sparse.csr_array((rows.data, indices, rows.indptr), shape=rows.shape)
        rows.sort_indices()
    return rows


def _divide(block: Matrix, unit: float) -> Matrix:
    # SciPy divides sparse rows in double precision.
    return astype(block / unit, block.dtype)
