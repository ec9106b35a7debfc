"""Kernel ridge regression of all labels with one ridge, by one Cholesky factorisation.

The eigenvectors of `labelkin.kernel._ridge` serve every ridge of every label, but take some
twenty times as long as a factorisation, in single precision fifty times. With one ridge for all
labels, chosen on a sample of the rows, the ensemble is as good.
"""

from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from labelkin._utils.array_api import astype, namespace_and_device, to_numpy
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import SlopeCalibration, odds_losses
from labelkin.kernel._distances import (
    column_spread,
    distances,
    kernel_values,
    radial,
    row_blocks,
    sample_rows,
    take,
)
from labelkin.kernel._regression import KernelRidge
from labelkin.kernel._ridge import choose_ridges, interpolate_errors
from labelkin.kernel._solve import diagonal, least_ridge, solve_ridge
from labelkin.kernel._spectrum import RidgeSpectrum
from labelkin.kernel._width import descend
from labelkin.rows import Labels, Rows, as_labels, as_rows

# Rows on which the ridge is chosen, the share of the smaller sample, and the least and largest
# power of the number of rows with which the ridge changes beyond.
RIDGE_ROWS, _RIDGE_SHARE = 1_600, 4
_RIDGE_POWERS = (-0.75, 0.0)
# The same for a ridge by the log loss.
_LOSS_POWERS = (0.0, 0.75)
# Rows on which the width and its ridge are refined.
_WIDTH_ROWS = 2_000
# Rows up to which the factorisation is in double precision, since it takes little time.
_DOUBLE_ROWS = 4_000
# Rows on which the rounding of coefficients is checked, and how far scores may change by it, in
# standard deviations of the label.
_CHECKED_ROWS, _CHANGE = 100, 0.02
# Ridge of the coefficients that make up for it, relative to the kernel's largest value.
_COMPENSATED = 0.1
# Root mean square of the rounding that does not matter, in standard deviations of the column.
_ROUNDING = ((np.float16, 1e-3), (np.float32, 1e-4))


class DirectKernelRidge(KernelRidge):
    """Kernel ridge regression of many labels for thousands of rows, all of them exact.

    The width is sought as by `KernelRidge` on `search_rows` rows. Unless `refine_rows` is 0, width
    and ridge are refined on 2,000 rows by the log loss of calibrated leave-one-out scores;
    otherwise, where scores are combined with others, the ridge is chosen on 1,600 rows. Then one
    factorisation of the kernel matrix of all rows, beyond 4,000 in single precision: n² numbers of
    memory. Dense rows are stored in half precision where that changes values by less than 0.001
    standard deviations of their column, coefficients where it changes scores by less than 0.02
    standard deviations of the label; else in single precision.
    Parameters, attributes and methods are those of `KernelRidge`; kernels are radial.
    """

    on_device = True

    def fit_scores(
        self,
        rows: Rows,
        labels: Labels,
        random_state: Any = None,
        fold_of: Array | None = None,
        counted: Array | None = None,
    ) -> Array:
        """Fit, and return leave-one-out or leave-fold-out scores of the training rows.

        They are computed at the place of the rows; all results are on the host.
        """
        rows, labels = as_rows(rows), as_labels(labels)
        X, Y, weight, place = rows.gather(), labels.Y, labels.weight, rows.place
        rng = check_random_state(random_state)
        self.landmarks_ = None
        self._search(X, Y, rng, counted, weight, place)
        self.rows_: Any = _shortened(self._prepare(X, self.scale_))
        known = place.put(self.rows_, "float64")
        if self.refine_rows:
            ridge = self._refine(known, Y, rng, weight)
        else:
            ridge = self._choose_ridge(known, Y, rng, counted, weight)
        K = self._kernel_matrix(known, "float64" if X.shape[0] <= _DOUBLE_ROWS else "float32")
        ridge = max(ridge, least_ridge(K, weight))
        self.ridge_ = np.full(Y.shape[1], ridge)
        solved = solve_ridge(K, Y, ridge, fold_of, weight)
        scores, coef, self.intercept_ = (to_numpy(array) for array in solved)
        checked = rng.permutation(len(Y))[: 2 * _CHECKED_ROWS]
        columns = to_numpy(kernel_values(self.kernel, known, take(known, checked), self.width_))
        self.coef_ = _half_precision(coef, columns, checked, Y)
        # Rounded coefficients do not add up to 0: with a wide kernel, all scores shift alike.
        self.intercept_ = self.intercept_ - (columns @ (self.coef_ - coef)).mean(axis=0)
        return scores

    def scores(self, X: Any, block_values: int = 2**22) -> Array:
        """Return scores of queries, computed in blocks of at most `block_values` kernel values.

        In double precision: coefficients of both signs cancel.
        """
        queries = as_rows(X)
        X, place = queries.gather(), queries.place
        rows, coef = (place.put(array, "float64") for array in (self.rows_, self.coef_))
        parts = []
        for block in row_blocks(X, len(self.coef_), block_values):
            queries = place.put(self._prepare(block, self.scale_))
            values = kernel_values(self.kernel, rows, queries, self.width_)
            parts.append(to_numpy(values @ coef))
        return np.concatenate(parts) + self.intercept_

    def _kernel_matrix(self, known: Matrix, dtype: str) -> Array:
        """Return the kernel values among rows, of which half are computed."""
        n = known.shape[0]
        xp, device = namespace_and_device(known)
        K = xp.empty((n, n), dtype=getattr(xp, dtype), device=device)
        start = 0
        for block in row_blocks(known, n):
            stop = start + block.shape[0]
            values = astype(kernel_values(self.kernel, known[start:, :], block, self.width_), dtype)
            K[start:stop, start:] = values
            K[stop:, start:stop] = values[:, stop - start :].T
            start = stop
        return K

    def _refine(
        self, known: Matrix, Y: Array, rng: np.random.RandomState, weight: Array | None
    ) -> float:
        """Improve the width by the log loss of calibrated leave-one-out scores; return the ridge.

        With many rare labels the squared error hardly depends on the width, and probabilities do.
        The ridge follows, by the same loss of these rows and of half of them: it often grows with
        the rows, as the power that the two show.
        """
        sample = sample_rows(len(Y), rng, self.refine_rows)
        spectrum = self._spectrum(known, sample, weight)
        # By errors relative to the labels' variances: in the sum of errors frequent labels decide,
        # and labels with few positives are then ranked worse.
        shared, _ = choose_ridges(spectrum, Y[sample], self.ridges, np.inf, interpolate=True)
        ridge = float(shared[0]) / spectrum.scale
        sample = sample_rows(len(Y), rng, _WIDTH_ROWS)
        among = distances(str(self.kernel), take(known, sample))
        among = astype(among, "float32")

        def scale(K: Array) -> float:
            # Mean squared norm of the centred rows, the unit of ridges.
            xp, _ = namespace_and_device(K)
            total = float(xp.sum(K, dtype=xp.float64))
            return float(diagonal(K).mean()) - total / K.shape[0] ** 2

        def loss(width: float, ridge: float, every: int = 1) -> float:
            K = radial(among[::every, ::every], str(self.kernel), width)
            labels = Y[sample[::every]]
            weights = None if weight is None else weight[sample[::every]]
            scores, _, _ = solve_ridge(K, labels, ridge * scale(K), None, weights)
            curves = SlopeCalibration(1.0, "log_odds").fit(scores, labels, weights)
            losses = odds_losses(curves.log_odds(scores), labels)
            return float(np.average(losses, weights=weights))

        width = float(self.width_ or 1.0)
        if self.width is None:
            width *= 2 ** (descend(lambda e: loss(width * 2 ** (e / 2), ridge), 1.0) / 2)
            self.width_ = width
        ridge *= 2 ** descend(lambda e: loss(width, ridge * 2**e), 1.0)
        if len(sample) < len(Y):
            fall = descend(lambda e: loss(width, ridge * 2**e, every=2), 1.0)
            ridge *= (len(Y) / len(sample)) ** float(np.clip(-fall, *_LOSS_POWERS))
        return ridge * scale(radial(among, str(self.kernel), width))

    def _choose_ridge(
        self,
        known: Matrix,
        Y: Array,
        rng: np.random.RandomState,
        rows: Array | None,
        weight: Array | None,
    ) -> float:
        """Return the ridge with the least leave-one-out error, extrapolated from two samples.

        The best ridge often falls with the number of rows, as the power that two samples show.
        """
        among = np.arange(len(Y)) if rows is None else rows
        n = len(among)
        large = among[sample_rows(n, rng, RIDGE_ROWS)]
        ridge = self._best_ridge(known, Y, large, weight)
        if n <= RIDGE_ROWS:
            return ridge
        small = large[sample_rows(RIDGE_ROWS, rng, RIDGE_ROWS // _RIDGE_SHARE)]
        smaller = self._best_ridge(known, Y, small, weight)
        power = np.log(ridge / smaller) / np.log(_RIDGE_SHARE)
        return ridge * (n / RIDGE_ROWS) ** float(np.clip(power, *_RIDGE_POWERS))

    def _spectrum(self, known: Matrix, sample: Array, weight: Array | None) -> RidgeSpectrum:
        # In single precision, in half of the time: the least ridge is well above its rounding.
        K = self._kernel_matrix(take(known, sample), "float32")
        return RidgeSpectrum.of_kernel(K, None if weight is None else weight[sample])

    def _best_ridge(self, known: Matrix, Y: Array, sample: Array, weight: Array | None) -> float:
        spectrum = self._spectrum(known, sample, weight)
        # By the sum of squared errors, in which frequent labels decide: errors relative to the
        # variances, where rare labels count as much, ask for much larger ridges.
        ridges = self.ridges * spectrum.scale
        errors = interpolate_errors(spectrum, Y[sample], ridges).sum(axis=1)
        return float(ridges[errors.argmin()])


def _half_precision(coef: Array, columns: Array, checked: Array, Y: Array) -> Array:
    """Return coefficients in half precision, if that hardly changes scores; else in single.

    The change of scores by rounding is a smooth function of the row where the kernel is wide, so
    that the coefficients of few rows make up for most of it: those of half of the checked rows,
    whose kernel values are `columns`. The other half decides.
    """
    with np.errstate(over="ignore"):
        half = coef.astype(np.float16)
    if not np.isfinite(half).all():
        return coef.astype(np.float32)
    rows = checked[: len(checked) // 2]
    change = columns @ (half - coef)
    among = columns[: len(rows), rows]
    among[np.diag_indices(len(rows))] += _COMPENSATED
    half[rows] = half[rows] - linalg.solve(among, change[: len(rows)], assume_a="pos")
    change = columns[len(rows) :] @ (half - coef)
    small = (change.std(axis=0) <= _CHANGE * Y.std(axis=0)).all()
    return half if small else coef.astype(np.float32)


def _shortened(X: Matrix) -> Matrix:
    """Return rows in the shortest type that does not blur their differences."""
    if sparse.issparse(X):
        return X.astype(np.float32)
    spread = column_spread(X)
    for dtype, tolerance in _ROUNDING:
        with np.errstate(over="ignore"):
            short = X.astype(dtype)
        if (np.sqrt(np.mean((short - X) ** 2, axis=0)) <= tolerance * spread).all():
            return short
    return X
