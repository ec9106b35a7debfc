"""Logistic regression as a part of larger models: with leave-fold-out log odds, to few digits."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, gen_batches

from labelkin.base import Array, Matrix
from labelkin.linear._fit import LabelFitter, draw_folds, squared_spread
from labelkin.rows import Labels, Rows, as_labels, as_rows, astype, to_numpy

_MAX_ITER = 1000
# Below this share of values that are not zero, products of sparse rows take less time.
SPARSE_SHARE = 0.1
# C is chosen in this many groups at most: with more it hardly changes.
_SEARCH_GROUPS = 5
# Labels are fitted in blocks for which columns · labels is at most this: it bounds the memory
# beside the weights themselves.
_BLOCK_ENTRIES = 2**26


class LogisticLearner:
    """Logistic regressions of all labels at once, one C for all labels.

    The model of `MultiLabelLogisticRegression`, of sparse rows in single precision. Folds are
    left out in `n_groups` groups, each fit from zero: a start at the weights of all rows would have
    seen the labels of the fold. The fit to all rows starts at the mean of these. `C_` has the least
    log loss of groups left out of `search_rows` rows. `tol` bounds the distance of the weights to
    their optimum, relative to their length: metrics do not depend on the second digit.

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
        rows: Rows,
        labels: Labels,
        random_state: Any = None,
        fold_of: Array | None = None,
        counted: Array | None = None,
    ) -> Array:
        """Fit, and return leave-fold-out log odds of the rows, on the host.

        Those of a fold −1 are never left out, and missing in the result. Without `fold_of`, folds
        are drawn; `counted` has no effect.
        """
        rows, labels, rng = as_rows(rows), as_labels(labels), check_random_state(random_state)
        (n, k), q = rows.shape, labels.shape[1]
        if n * q > _BLOCK_ENTRIES:
            labels = Labels(sparse.csc_array(labels.Y), labels.weight)
        if fold_of is None:
            fold_of = draw_folds(rows, labels.weights, self.n_groups, rng)
        is_sparse = rows.is_sparse() or rows.n_stored() < SPARSE_SHARE * n * k
        # Dense columns are centred, so that large means cost no digits; a sparse column is not
        # far from zero.
        centre = np.zeros(k) if is_sparse else to_numpy(rows.moments().mean)
        dtype = np.float32 if is_sparse else np.float64
        prepared = rows.apply(_prepare, [centre, is_sparse], dtype=dtype)
        size = squared_spread(prepared.moments(labels.weight))
        self.unit_ = 2.0 ** round(np.log2(size) / 2) if size > 0 else 1.0
        prepared = prepared.apply(_divide, [self.unit_], dtype=dtype)
        prepared = prepared.to_compute_at(rows.place).placed()
        group = np.where(fold_of < 0, -1, fold_of % self.n_groups)
        left_out = np.unique(group[group >= 0])
        if len(left_out) == 1 and not (group < 0).any():  # a single fold: none can be left out
            group, left_out = np.full(n, -1), left_out[:0]
        fitter = self._fitter(prepared, labels)
        self.C_ = self._choose_C(fitter, rng, left_out)
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

    def _fitter(self, rows: Rows, labels: Labels) -> LabelFitter:
        return LabelFitter(rows, labels, tol=self.tol, max_iter=_MAX_ITER, n_jobs=self.n_jobs)

    def _choose_C(self, fitter: LabelFitter, rng: np.random.RandomState, left_out: Array) -> float:
        """Return C with the least log loss of groups of rows left out, on a sample of them."""
        if not len(left_out):
            return 1.0
        sample = rng.permutation(len(fitter.rows))[: self.search_rows]
        group = np.arange(len(sample)) % int(np.clip(len(left_out), 2, _SEARCH_GROUPS))
        order = np.argsort(sample)
        sample, group = sample[order], group[order]
        sampled = self._fitter(fitter.rows.take(sample), fitter.labels.take(sample))
        return float(sampled.choose_C(group)[0])

    def stretch(self, slope: Array, intercept: Array) -> None:
        """Turn the log odds of each label into slope · log odds + intercept."""
        self.coef_ = (self.coef_ * slope).astype(np.float16)
        self.intercept_ = slope * self.intercept_ + intercept

    def scores(self, rows: Any) -> Array:
        """Return log odds of queries."""
        queries = as_rows(rows)
        blocks = gen_batches(self.coef_.shape[1], max(1, _BLOCK_ENTRIES // len(self.coef_)))
        odds = [queries.dot(self.coef_[:, block].astype(np.float64)) for block in blocks]
        return np.hstack(odds) / self.unit_ + self.intercept_


# Functions of a block.


def _prepare(block: Matrix, centre: Array, is_sparse: bool) -> Matrix:
    """Return centred dense rows, or sparse rows in single precision."""
    block = to_numpy(block)
    return sparse.csr_array(block).astype(np.float32) if is_sparse else block - centre


def _divide(block: Matrix, unit: float) -> Matrix:
    # SciPy divides sparse rows in double precision.
    return astype(block / unit, block.dtype)
