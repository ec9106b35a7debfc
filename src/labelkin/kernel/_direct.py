"""Kernel ridge regression of all labels with one ridge, by one Cholesky factorisation.

The eigenvectors of `labelkin.kernel._ridge` serve every ridge of every label, but take some
twenty times as long as a factorisation, in single precision fifty times. With one ridge for all
labels, chosen on a sample of the rows, the ensemble is as good.

With A = λI + the centred kernel matrix,

    y − ŷ = λ A⁻¹ (y − ȳ),   I − H = λ A⁻¹ − 11ᵀ/n,

so that leave-fold-out scores have the closed form of `labelkin.kernel._ridge`:
y_B − s = (I − H_BB)⁻¹ (y_B − ŷ_B). With weights, W = diag(w), and means weighted by them,
A = λW⁻¹ + the centred kernel matrix, y − ŷ = λ W⁻¹A⁻¹ (y − ȳ) and W (I − H) = λA⁻¹ − wwᵀ/Σw.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from labelkin.base import Array, Matrix
from labelkin.calibration._curves import SlopeCalibration, label_losses
from labelkin.kernel._regression import (
    KernelRidge,
    SquaredDistances,
    descend,
    distances,
    kernel_values,
    radial,
    sample_rows,
)
from labelkin.kernel._ridge import (
    RidgeSpectrum,
    centre_kernel,
    choose_ridges,
    fold_scores,
    loo_errors,
)
from labelkin.kernel._unknown import FIT, fill_unknown, scores_without_folds, some_labels
from labelkin.rows import (
    Labels,
    Place,
    Rows,
    add_to_diagonal,
    as_rows,
    astype,
    column_dots,
    inverse_cholesky,
    match,
    namespace,
    namespace_and_device,
    take,
    to_device_of,
    to_numpy,
)

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
# standard deviations of the label: most kernels of yeast, enron and arts stay below.
_CHECKED_ROWS, _CHANGE = 200, 0.002
# Root mean square of the rounding that does not matter, in standard deviations of the column.
_ROUNDING = ((np.float16, 1e-3), (np.float32, 1e-4))
# The least ridge, in units of the rounding of the largest possible eigenvalue: below, leave-fold-
# out scores would depend on rounding.
_LEAST_RIDGE = 40
# Added to the diagonal of W (I − H_BB), which may be in single precision.
_SHIFT = 1e-6


class DirectKernelRidge(KernelRidge):
    """Kernel ridge regression of many labels for thousands of rows, all of them exact.

    The width is chosen as by `KernelRidge`, on `search_rows` rows. Unless `refine_rows` is 0, width
    and ridge are refined on 2,000 rows by the log loss of calibrated leave-one-out scores;
    otherwise, where scores are combined with others, the ridge is chosen on 1,600 rows. Then the
    kernel matrix of all rows is factorised once, beyond 4,000 rows in single precision: O(n²)
    memory. Dense rows are stored in half precision where that changes values by less than 0.001
    standard deviations of their column, coefficients where it changes scores by less than 0.002
    standard deviations of the label; else in single precision. Scores are computed in single
    precision where that changes them by as little. Parameters, attributes and methods
    are those of `KernelRidge`; kernels are radial.
    """

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
        rng, place = check_random_state(random_state), rows.place
        rows = rows.apply(to_numpy)
        self.landmarks_ = None
        self._search(rows, labels, rng, counted)
        self.rows_ = _reduce_precision(self._prepare(rows.gather(), self.scale_))
        known = place.put(self.rows_, "float64")
        if self.refine_rows:
            ridge = self._refine(known, labels, rng)
        else:
            ridge = self._choose_ridge(known, labels, rng, counted)
        K = self._kernel_matrix(known, "float64" if len(labels) <= _DOUBLE_ROWS else "float32")
        ridge = max(ridge, least_ridge(K, labels.weights))
        self.ridge_ = np.full(labels.shape[1], ridge)
        solved = solve_ridge(K, labels, ridge, fold_of)
        scores, coef, self.intercept_ = (to_numpy(array) for array in solved)
        checked = take(known, rng.permutation(len(labels))[:_CHECKED_ROWS])
        columns = to_numpy(kernel_values(self.kernel, known, checked, self.width_))
        self.coef_ = _half_precision(coef, columns, labels.Y)
        # Rounded coefficients do not add up to 0: with a wide kernel, all scores shift alike.
        self.intercept_ = self.intercept_ - (columns @ (self.coef_ - coef)).mean(axis=0)
        change = self._sums([checked], place, "float32") - columns @ self.coef_
        change = np.sqrt(np.mean(change**2, axis=0))
        self.single_ = bool((change <= _CHANGE * labels.Y.std(axis=0) + 1e-9).all())
        return scores

    def scores(self, rows: Any) -> Array:
        """Return scores of queries, on the host.

        In double precision where coefficients of both signs nearly cancel, else in single.
        """
        queries = as_rows(rows)
        blocks, place = queries.batches(len(self.coef_)).blocks, queries.place
        prepared = (place.put(self._prepare(block, self.scale_)) for block in blocks)
        dtype = "float32" if self.single_ else "float64"
        return self._sums(prepared, place, dtype) + self.intercept_

    def _sums(self, queries: Iterable[Any], place: Place, dtype: str) -> Array:
        """Return kernel values of queries, which are prepared, times coefficients, on the host.

        Distances of the Gaussian kernel, which is smooth, are computed in this precision, too.
        """
        exact = dtype if self.kernel == "rbf" else "float64"
        values_of = self._kernel_of(place.put(self.rows_, exact))
        coef = place.put(self.coef_, dtype)
        found = [astype(values_of(astype(block, exact)), dtype) @ coef for block in queries]
        return np.concatenate([to_numpy(one) for one in found])

    def _kernel_of(self, known: Matrix) -> Callable[..., Any]:
        """Return kernel values as a function of queries, and of the first row that counts."""
        kernel, width = str(self.kernel), self.width_ or 1.0
        if kernel == "manhattan":
            return lambda Q, start=0: radial(distances(kernel, known[start:, :], Q), kernel, width)
        between = SquaredDistances(known)
        return lambda Q, start=0: radial(between(Q, start), kernel, width)

    def _kernel_matrix(self, known: Matrix, dtype: str) -> Array:
        """Return the kernel values among rows, of which half are computed."""
        n = known.shape[0]
        xp, device = namespace_and_device(known)
        K = xp.empty((n, n), dtype=getattr(xp, dtype), device=device)
        values_of, start = self._kernel_of(known), 0
        for block in as_rows(known).batches(n).blocks:
            stop = start + block.shape[0]
            values = astype(values_of(block, start), dtype)
            K[start:stop, start:] = values
            K[stop:, start:stop] = values[:, stop - start :].T
            start = stop
        return K

    def _refine(self, known: Matrix, labels: Labels, rng: np.random.RandomState) -> float:
        """Improve the width by the log loss of calibrated leave-one-out scores; return the ridge.

        With many rare labels the squared error hardly depends on the width, and probabilities do.
        The ridge follows, by the same loss of these rows and of half of them: it often grows with
        the rows, as the power that the two show.
        """
        n, kernel = len(labels), str(self.kernel)
        sample = sample_rows(n, rng, self.refine_rows)
        spectrum = self._spectrum(known, labels, sample)
        # By errors relative to the labels' variances: the sum of errors is dominated by frequent
        # labels, and labels with few positives would be ranked worse.
        shared, _ = choose_ridges(spectrum, some_labels(labels.take(sample)), self.ridges, np.inf)
        ridge = float(shared[0]) / spectrum.scale
        sample = sample_rows(n, rng, _WIDTH_ROWS)
        among = astype(distances(kernel, take(known, sample)), "float32")

        def scale(K: Array) -> float:
            # Mean squared norm of the centred rows, the unit of ridges: k(x, x) is 1.
            return 1.0 - float(to_numpy(K).mean(dtype=np.float64))

        def loss(width: float, ridge: float, every: int = 1) -> float:
            K, some = radial(among[::every, ::every], kernel, width), labels.take(sample[::every])
            scores, _, _ = solve_ridge(K, some, ridge * scale(K))
            curves = SlopeCalibration(1.0, "log_odds").fit(scores, some)
            losses = label_losses(curves.log_odds(scores), some)
            return float(losses.sum() / some.weights.sum())

        width = float(self.width_ or 1.0)
        if self.width is None:
            width *= 2 ** (descend(lambda e: loss(width * 2 ** (e / 2), ridge), 1.0) / 2)
            self.width_ = width
        ridge *= 2 ** descend(lambda e: loss(width, ridge * 2**e), 1.0)
        if len(sample) < n:
            fall = descend(lambda e: loss(width, ridge * 2**e, every=2), 1.0)
            ridge *= (n / len(sample)) ** float(np.clip(-fall, *_LOSS_POWERS))
        return ridge * scale(radial(among, kernel, width))

    def _choose_ridge(
        self, known: Matrix, labels: Labels, rng: np.random.RandomState, counted: Array | None
    ) -> float:
        """Return the ridge with the least leave-one-out error, extrapolated from two samples.

        The best ridge often falls with the number of rows, as the power that two samples show.
        """
        among = np.arange(len(labels)) if counted is None else counted
        n = len(among)
        large = among[sample_rows(n, rng, RIDGE_ROWS)]
        ridge = self._best_ridge(known, labels, large)
        if n <= RIDGE_ROWS:
            return ridge
        small = large[sample_rows(RIDGE_ROWS, rng, RIDGE_ROWS // _RIDGE_SHARE)]
        smaller = self._best_ridge(known, labels, small)
        power = np.log(ridge / smaller) / np.log(_RIDGE_SHARE)
        return ridge * (n / RIDGE_ROWS) ** float(np.clip(power, *_RIDGE_POWERS))

    def _spectrum(self, known: Matrix, labels: Labels, sample: Array) -> RidgeSpectrum:
        # In single precision, in half of the time: the least ridge is well above its rounding.
        K = self._kernel_matrix(take(known, sample), "float32")
        return RidgeSpectrum.of_kernel(K, labels.take(sample).weight)

    def _best_ridge(self, known: Matrix, labels: Labels, sample: Array) -> float:
        spectrum = self._spectrum(known, labels, sample)
        # By the sum of squared errors, dominated by frequent labels: errors relative to the
        # variances, where rare labels count as much, lead to much larger ridges.
        ridges = self.ridges * spectrum.scale
        some = some_labels(labels.take(sample))
        errors = loo_errors(spectrum, some, ridges).sum(axis=1)
        return float(ridges[errors.argmin()])


def solve_ridge(
    K: Array, labels: Labels, ridge: float, fold_of: Array | None = None
) -> tuple[Array, Array, Array]:
    """Fit ridge regressions of targets, (n, q), all with one λ.

    Unknown targets, see `labelkin.kernel._unknown`, are those of the fit; without folds, tenths of
    the rows are then left out in place of single rows.

    `K` is C-ordered, its type is that of the arithmetic, and it is overwritten; the other arrays
    are on the host. Returns the scores of the rows, each by a model without it or without its fold,
    on the host, and the coefficients and intercepts, where `K` lies: scores of queries are
    columns @ coef + intercept.
    """
    Y, weight = labels.Y, labels.weights
    share = weight / weight.sum()
    ridge = max(ridge, least_ridge(K, weight))
    column_mean = centre_kernel(K, share)
    K = add_to_diagonal(K, ridge / weight)
    # A block of A⁻¹ is a product of columns of L⁻¹, at half of the cost of all of it.
    root = inverse_cholesky(K)

    def smooth(Y: Array) -> Array:
        solved = to_numpy(root.T @ (root @ match(Y - share @ Y, root)))
        return Y - (ridge / weight)[:, None] * solved

    if labels.known is not None:
        single = str(root.dtype).endswith("32")
        Y, _ = fill_unknown(smooth, labels, (1e-4, 100) if single else FIT)
    mean = share @ Y
    coef = root.T @ (root @ match(Y - mean, root))
    # They add up to 0, up to rounding.
    coef = coef - namespace(coef).mean(coef, axis=0)
    intercept = to_device_of(mean, coef) - column_mean @ astype(coef, "float64")

    def left_out(fold: Array) -> tuple[Any, Any]:
        columns = take(root, fold, axis=1)
        left = ridge * astype(columns.T @ columns, "float64")
        left = left - to_device_of(np.outer(weight[fold], share[fold]), coef)
        return [left], astype(ridge * take(coef, fold), "float64")

    if labels.known is not None:
        scores = scores_without_folds(smooth, labels, fold_of)
    elif fold_of is None:
        left = ridge * column_dots(root, root, "float64") - to_device_of(weight * share, coef)
        scores = Y - to_numpy(ridge * coef / left[:, None])
    else:
        scores = fold_scores(Y, fold_of, left_out, np.zeros(Y.shape[1]), _SHIFT)
    return scores, coef, intercept


def least_ridge(K: Array, weight: Array) -> float:
    """Return the ridge below which scores would depend on the rounding of a kernel matrix.

    That of the largest eigenvalue, at most the trace: k(x, x) is 1 for radial kernels.
    """
    return _LEAST_RIDGE * float(namespace(K).finfo(K.dtype).eps) * float(weight.sum())


def _half_precision(coef: Array, columns: Array, Y: Array) -> Array:
    """Return coefficients in half precision, if that hardly changes scores; else in single.

    `columns` are the kernel values of the rows by which this is decided.
    """
    with np.errstate(over="ignore"):
        half = coef.astype(np.float16)
    if np.isfinite(half).all():
        change = (columns @ (half - coef)).std(axis=0)
        if (change <= _CHANGE * Y.std(axis=0)).all():
            return half
    return coef.astype(np.float32)


def _reduce_precision(X: Matrix) -> Matrix:
    """Return rows in the smallest type whose rounding does not matter, see `_ROUNDING`."""
    if sparse.issparse(X):
        return X.astype(np.float32)
    spread = as_rows(X).moments().spread()
    for dtype, tolerance in _ROUNDING:
        with np.errstate(over="ignore"):
            short = X.astype(dtype)
        if (np.sqrt(np.mean((short - X) ** 2, axis=0)) <= tolerance * spread).all():
            return short
    return X
