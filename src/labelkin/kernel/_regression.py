"""Kernel ridge regression whose scale, width and ridges are chosen by leave-one-out error."""

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils import check_random_state, gen_batches

from labelkin.base import Array, Matrix
from labelkin.kernel._ridge import (
    COARSE,
    RIDGES,
    RidgeSpectrum,
    choose_clear_ridges,
    choose_ridges,
    fit_ridge,
)
from labelkin.kernel._unknown import some_labels, spectrum_smoother
from labelkin.rows import (
    Labels,
    Rows,
    as_dense,
    as_rows,
    concatenate,
    convert_arrays,
    is_device_array,
    namespace,
    namespace_and_device,
    scale_columns,
    squared_norms,
    take,
    to_numpy,
    unit_rows,
)

RADIAL = ("rbf", "laplacian", "manhattan")
LINEAR = ("linear", "cosine")

# Entries of the differences that are held together on a device.
_DIFFERENCES = 2**27
# Columns of sparse rows of which more than this share have a value are multiplied as dense ones.
_OFTEN = 0.05
# Scaled columns must lower the error to this share of it to be preferred.
_SCALED_IS_BETTER = 0.99
# The width's square stays within 2^±_REACH times its value at the start.
_REACH = 8
# A step must lower the error by this share: smaller ones lie on a plateau.
_WORTHWHILE = 1e-4


@dataclass(eq=False, repr=False)
class KernelRidge:
    """Kernel ridge regression of many labels, tuned by leave-one-out error.

    1. Whether columns are scaled, and the width of a radial kernel, on a sample of the rows.
    2. The rows that get a coefficient: all, or landmarks (Nyström).
    3. The width once more, in smaller steps on a larger sample of these rows.
    4. One eigendecomposition; the ridge of each label; coefficients and out-of-sample scores.

    A width that is not given is found by descent on the error, starting at the median distance.
    With ``scale="auto"``, columns are divided by their standard deviations if that lowers the error
    by a hundredth or more; never with a given width. With `clear_ridges`, labels have a ridge of
    their own only where it is clearly better than one for all. With `landmark_means`, landmarks are
    moved to the means of the rows nearest to them. The width is chosen on `search_rows` rows and
    refined on `refine_rows`; 0: not refined.

    `landmarks_` are the rows drawn, if they were not moved; `rows_` the prepared rows that have a
    coefficient each: None if the columns of X have, or X is a precomputed kernel.
    """

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    _: KW_ONLY
    width: float | None = None
    scale: bool | str = False
    ridges: Array = field(default_factory=RIDGES.copy)
    shrinkage: float = 50.0
    clear_ridges: bool = False
    n_landmarks: int | None = None
    landmark_means: bool = False
    search_rows: int = 600
    refine_rows: int = 1000

    width_: float | None = field(init=False)
    scale_: Any = field(init=False)
    landmarks_: Array | None = field(init=False)
    rows_: Matrix | None = field(init=False)
    ridge_: Array = field(init=False)
    coef_: Any = field(init=False)
    intercept_: Any = field(init=False)

    def fit_scores(
        self,
        rows: Rows,
        labels: Labels,
        random_state: Any = None,
        fold_of: Array | None = None,
        counted: Array | None = None,
    ) -> Array:
        """Fit, and return leave-one-out or leave-fold-out scores of the training rows, on the host.

        The scale, the width and the ridges are those of all rows. `counted` are those whose errors
        count, where those of the others would be biased; None: all. A weight of 2 has the same
        effect as repeating the row, with both left out together. Rows on Dask stay there, and need
        landmarks.
        """
        spectrum = self._decompose(rows, labels, check_random_state(random_state), counted)
        given = spectrum, labels, self.ridges, self.shrinkage, counted
        if self.clear_ridges:
            self.ridge_ = choose_clear_ridges(*given)
        else:
            self.ridge_, _ = choose_ridges(*given)
        scores, self.coef_, self.intercept_ = fit_ridge(spectrum, labels, self.ridge_, fold_of)
        return to_numpy(scores)

    def fit_smoother(self, rows: Rows, labels: Labels, ridge: float) -> Callable:
        """Return the function Y → HY of fitted values; the ridge is in units of the scale."""
        spectrum = self._decompose(rows, labels, np.random.RandomState(0), None)
        return spectrum_smoother(spectrum, ridge * spectrum.scale)

    def scores(self, rows: Any) -> Any:
        """Return scores of queries, where they are."""
        batches = as_rows(rows).batches(self.coef_.shape[0])
        return concatenate(batches.collect(_scores_of, shared=[self]))

    def _decompose(
        self, rows: Rows, labels: Labels, rng: np.random.RandomState, counted: Array | None
    ) -> RidgeSpectrum:
        """Choose scale and width; decompose the smallest form: features, kernel or landmarks."""
        self.width_ = self.scale_ = self.landmarks_ = self.rows_ = None
        weight = labels.weight
        if self.kernel == "precomputed":
            return RidgeSpectrum.of_kernel(as_dense(rows.gather()), weight)
        self._search(rows, labels, rng, counted)
        n, k = rows.shape
        if self.kernel in LINEAR and k < n:
            return RidgeSpectrum.of_features(rows.apply(self._prepare, [self.scale_]), weight)
        exact = not rows.lazy and (self.n_landmarks or n) >= n
        known = labels
        if exact:
            drawn = rows.gather()
        else:
            self.landmarks_ = sample_rows(n, rng, int(self.n_landmarks or 0))
            drawn, known = rows.take(self.landmarks_).gather(), labels.take(self.landmarks_)
        moved = not exact and self.landmark_means
        if moved:
            drawn, self.landmarks_ = nearest_means(rows, drawn), None
        self.rows_ = self._prepare(drawn, self.scale_)
        # Landmarks that were moved have no labels.
        if self.kernel in RADIAL and self.width is None and self.refine_rows and not moved:
            sample = sample_rows(len(known), rng, self.refine_rows)
            among, some = distances(self.kernel, take(self.rows_, sample)), known.take(sample)
            how = self.kernel, self.ridges, self.shrinkage, self.width_, 0.5
            self.width_, _ = descend_width(among, some_labels(some), *how)
        K = kernel_values(self.kernel, self.rows_, None, self.width_)
        if exact:
            return RidgeSpectrum.of_kernel(K, weight)
        columns = rows.batches(K.shape[0]).apply(_columns_of, [self], K.shape[0])
        return RidgeSpectrum.of_landmarks(K, columns, weight)

    def _search(
        self, rows: Rows, labels: Labels, rng: np.random.RandomState, counted: Array | None
    ) -> None:
        """Choose the scale and a first width on a sample of the rows."""
        search_width = self.kernel in RADIAL and self.width is None
        self.width_ = self.width if self.kernel in RADIAL else None
        scales: list[Any] = [None]
        if not callable(self.kernel) and self.scale is True:
            scales = [rows.moments(labels.weight).spread()]
        elif not callable(self.kernel) and self.scale == "auto" and self.width is None:
            scales = [None, rows.moments(labels.weight).spread()]
        self.scale_ = scales[0]
        if len(scales) == 1 and not search_width:
            return
        among = np.arange(len(labels)) if counted is None else counted
        sample = among[sample_rows(len(among), rng, self.search_rows)]
        X, known = rows.take(sample).gather(), some_labels(labels.take(sample))
        least = np.inf
        for scale in scales:
            Z, kernel = rows.place.put(self._prepare(X, scale)), self.kernel
            how, width = (self.ridges, self.shrinkage), None
            if search_width:
                width, error = descend_width(distances(kernel, Z), known, kernel, *how)
            else:
                spectrum = RidgeSpectrum.of_kernel(kernel_values(kernel, Z), known.weight)
                error = choose_ridges(spectrum, known, *how)[1]
            if error < least:
                self.scale_, self.width_, least = scale, width, _SCALED_IS_BETTER * error

    def _prepare(self, X: Matrix, scale: Any) -> Matrix:
        """Return rows with their columns divided by a scale; for "cosine" of length 1."""
        X = X if scale is None else scale_columns(X, 1 / scale)
        return unit_rows(X) if self.kernel == "cosine" else X

    def _columns(self, X: Matrix) -> Any:
        """Return what coefficients are multiplied with: kernel values or features of queries."""
        if self.kernel == "precomputed":
            return as_dense(X)
        Q = self._prepare(X, self.scale_)
        if self.rows_ is None:
            return Q
        return kernel_values(self.kernel, self.rows_, Q, self.width_)

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "KernelRidge":
        """Return a copy whose arrays are on the device to which the estimator moves."""
        moved = copy(self)
        moved.__dict__ = convert_arrays(vars(self), converter)
        return moved


def nearest_means(rows: Rows, drawn: Matrix) -> Matrix:
    """Return the mean of the rows nearest to each drawn row: one step of k-means.

    As landmarks, such means are as good as about twice as many rows. Drawn rows that are equal give
    one mean.
    """
    batches = as_rows(rows).batches(drawn.shape[0])
    counts, sums = batches.total(_sum_nearest, shared=[drawn])
    nearest = np.flatnonzero(counts)
    return sparse.diags_array(1 / counts[nearest]) @ sums[nearest]


def descend_width(
    distances: Any,
    labels: Labels,
    kernel: Any,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    start: float | None = None,
    step: float = 1.0,
) -> tuple[float, float]:
    """Minimise the leave-one-out error over the width, whose square changes by factors 2^±step.

    Each step costs an eigendecomposition of a kernel matrix from the distances between rows. The
    search starts at a given width, or at the median distance. Returns the width and its error.
    """
    origin = median_distance(distances) if start is None else start

    @cache
    def evaluate(exponent: float) -> float:
        K = radial(distances, kernel, origin * 2 ** (exponent / 2))
        spectrum = RidgeSpectrum.of_kernel(K, labels.weight)
        return choose_ridges(spectrum, labels, ridges[::COARSE], shrinkage)[1]

    best = descend(evaluate, step)
    if not np.isfinite(evaluate(best)):
        raise ValueError(
            "The leave-one-out errors of the kernel are not finite: distances overflow; scale X."
        )
    return origin * 2 ** (best / 2), evaluate(best)


def descend(evaluate: Callable[[float], float], step: float) -> float:
    """Minimise a function of an exponent by descent from 0, in steps, within `_REACH`."""
    best = 0.0
    errors = {best: evaluate(best)}
    # Each round but the last moves to another exponent within reach.
    for _ in range(2 * int(_REACH / step) + 2):
        for neighbour in (best - step, best + step):
            if neighbour not in errors and abs(neighbour) <= _REACH:
                errors[neighbour] = evaluate(neighbour)
        lowest = min(errors, key=errors.__getitem__)
        if not errors[lowest] < (1 - _WORTHWHILE) * errors[best]:
            break
        best = lowest
    return best


def median_distance(distances: Any) -> float:
    """Return the root of the median between two rows, 1 if no two rows differ."""
    pairs = to_numpy(distances)
    pairs = pairs[np.triu_indices(len(pairs), 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    if median == 0:  # many duplicates
        pairs = pairs[pairs > 0]
        median = float(np.median(pairs)) if len(pairs) else 1.0
    return median**0.5


# Kernels between rows: distances once, kernels of any width from them. Rows are arrays of any
# namespace or CSR matrices; distances and kernel values are dense.


def kernel_values(
    kernel: str | Callable[[Any, Any], Any],
    X: Matrix,
    Q: Matrix | None = None,
    width: float | None = None,
) -> Any:
    """Return kernel values of queries (None: of the rows) and the rows.

    Radial kernels have a width; linear ones are inner products of rows prepared already.
    """
    if kernel in RADIAL:
        return radial(distances(kernel, X, Q), kernel, width or 1.0)
    Q = X if Q is None else Q
    if callable(kernel):
        return as_dense(kernel(Q, X))
    return as_dense(Q @ X.T)


def radial(distances: Any, kernel: Any, width: float) -> Any:
    """Return the values of a radial kernel from the distances on which it depends.

    - ``"rbf"``: exp(−d² / 2·width²) from squared Euclidean distances d²;
    - ``"laplacian"``: exp(−d / width) from d²;
    - ``"manhattan"``: exp(−d / 2·width²) from sums of absolute differences d.
    """
    xp = namespace(distances)
    if kernel == "laplacian":
        return xp.exp(xp.sqrt(distances) * (-1 / width))
    return xp.exp(distances * (-0.5 / width**2))


def distances(kernel: Any, X: Matrix, Q: Matrix | None = None) -> Any:
    """Return the distances on which a radial kernel depends, of queries (None: rows) to rows.

    For ``"manhattan"`` these are sums of absolute differences, else squared Euclidean distances.
    """
    if kernel != "manhattan":
        return SquaredDistances(X)(Q)
    Q = X if Q is None else Q
    if not is_device_array(X):
        return manhattan_distances(Q, X)
    xp = namespace(X)
    batches = gen_batches(Q.shape[0], max(1, _DIFFERENCES // (X.shape[0] * X.shape[1])))
    return concatenate([xp.sum(xp.abs(Q[b, None, :] - X[None, :, :]), axis=2) for b in batches])


class SquaredDistances:
    """Squared Euclidean distances to rows; what depends on the rows alone is computed once."""

    def __init__(self, X: Matrix) -> None:
        self.offset = self.often = None
        if sparse.issparse(X):
            # All products of 9,743 texts take a third of the time.
            n, k = X.shape
            self.often = np.bincount(X.indices, minlength=k) > _OFTEN * n
            parts = [X[:, self.often].toarray(), X[:, ~self.often]]
        else:
            # |x|² − 2x·z + |z|² loses digits when the data lie far from the origin.
            self.offset = namespace(X).mean(X, axis=0)
            X = X - self.offset
            parts = [X]
        self.rows, self.columns = X, [part.T for part in parts]
        self.squares = squared_norms(X)[None, :]

    def __call__(self, Q: Matrix | None = None, start: int = 0) -> Any:
        """Return the distances of queries to all rows from `start` on; None: among all rows."""
        among_rows = Q is None
        if Q is None:
            Q = self.rows
        elif self.offset is not None:
            Q = as_dense(Q) - self.offset
        parts = [Q] if self.often is None else [as_dense(Q[:, self.often]), Q[:, ~self.often]]
        found = as_dense(parts[0] @ self.columns[0][:, start:])
        for part, columns in zip(parts[1:], self.columns[1:], strict=True):
            found += as_dense(part @ columns[:, start:])
        found *= -2
        found += squared_norms(Q)[:, None]
        found += self.squares[:, start:]
        xp, device = namespace_and_device(found)
        found = xp.where(found > 0, found, xp.zeros_like(found))
        if among_rows:  # exactly 0, without rounding
            diagonal = xp.arange(found.shape[0], device=device)
            found = xp.where(diagonal[:, None] == diagonal[None, :], 0.0, found)
        return found


def sample_rows(n: int, rng: np.random.RandomState, size: int) -> Array:
    """Return the indices of all rows, or of a random sample of `size`, in order."""
    return np.arange(n) if n <= size else np.sort(rng.permutation(n)[:size])


# Functions of a block.


def _sum_nearest(block: Matrix, drawn: Matrix) -> tuple[Array, Matrix]:
    """Return how many rows of a block are nearest to each drawn row, and their sums."""
    n, m = block.shape[0], drawn.shape[0]
    nearest = distances("rbf", drawn, block).argmin(axis=1)
    members = sparse.csr_matrix((np.ones(n), (nearest, np.arange(n))), (m, n))
    return np.bincount(nearest, minlength=m), members @ block


def _columns_of(block: Matrix, regression: KernelRidge) -> Any:
    return regression._columns(block)


def _scores_of(block: Matrix, regression: KernelRidge) -> Any:
    return regression._columns(block) @ regression.coef_ + regression.intercept_
