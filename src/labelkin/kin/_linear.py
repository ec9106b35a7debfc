"""Logistic regression as a member of the ensemble."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.linear._fit import LabelFitter, MemoryData

# Distance of the weights to their optimum, relative to their length: metrics do not depend on
# the third digit.
_TOL = 1e-2
_MAX_ITER = 100


class LogisticLearner:
    """Logistic regressions of all labels at once, one C for all labels.

    The model of `MultiLabelLogisticRegression`, of sparse rows in single precision. Folds are
    left out in groups, each fit from zero: a start at the weights of all rows would have seen the
    labels of the fold. The fit to all rows starts at the mean of these.

    Parameters
    ----------
    n_groups : int
        Groups of folds that are left out together.
    n_jobs : int, optional
        Threads over batches of labels.

    Attributes
    ----------
    C_ : float
        Inverse strength of the regularisation, chosen by the log loss of the groups left out.
    coef_ : ndarray of shape (n_columns, n_labels)
        Weights in half precision: three digits are more than they are certain to.
    intercept_ : ndarray of shape (n_labels,)
        Intercepts.
    """

    C_: float
    coef_: Array
    intercept_: Array
    own_threads = True

    def __init__(self, n_groups: int = 5, n_jobs: int | None = None) -> None:
        self.n_groups, self.n_jobs = n_groups, n_jobs

    def fit_scores(self, rows: Matrix, Y: Array, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return leave-fold-out log odds of the rows."""
        # Dense columns are centred, so that large means cost no digits; a sparse column is not
        # far from zero.
        centre = np.zeros(rows.shape[1]) if sparse.issparse(rows) else rows.mean(axis=0)
        rows = rows.astype(np.float32) if sparse.issparse(rows) else rows - centre
        data = MemoryData(rows, Y)
        fitter = LabelFitter(data, tol=_TOL, max_iter=_MAX_ITER, n_jobs=self.n_jobs)
        weight, labels = np.ones(len(fold_of)), np.arange(Y.shape[1])
        group = fold_of % self.n_groups
        if not group.any():  # a single fold: nothing can be left out
            fitted = fitter.fit(weight, np.ones(len(labels)), labels)
            self._keep(fitted, centre)
            return np.tile(self.intercept_.astype(np.float64), (len(group), 1))
        C = fitter.choose_C(weight, group, None)
        log_odds, start = fitter.fit_folds(weight, group, C)
        self._keep(fitter.fit(weight, C, labels, start), centre)
        self.C_ = float(C[0])
        return log_odds.astype(np.float64)

    def _keep(self, fitted: Any, centre: Array) -> None:
        self.C_ = 1.0
        self.coef_ = np.ascontiguousarray(fitted.coef, dtype=np.float16)
        self.intercept_ = fitted.intercept - centre @ self.coef_.astype(np.float64)

    def scores(self, rows: Matrix) -> Array:
        """Return log odds of queries."""
        return rows @ self.coef_.astype(np.float64) + self.intercept_
