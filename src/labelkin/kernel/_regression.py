"""Kernel ridge regression whose scale, width and ridges are chosen by leave-one-out error."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import (
    LINEAR,
    RADIAL,
    distances,
    kernel_values,
    prepare_rows,
    radial,
    sample_rows,
    squared_distances,
)
from labelkin.kernel._ridge import RIDGES, choose_clear_ridges, choose_ridges, fit_ridge
from labelkin.kernel._spectrum import RidgeSpectrum
from labelkin.kernel._width import FoundWidth, descend_width
from labelkin.rows import (
    HOST,
    Labels,
    Place,
    Rows,
    as_dense,
    as_labels,
    as_rows,
    concatenate,
    convert_arrays,
    take,
    to_numpy,
)

# Scaled columns must lower the error to this share of it to be preferred.
_SCALED_IS_BETTER = 0.99


class KernelRidge:
    """Kernel ridge regression of many labels, tuned by leave-one-out error.

    1. Whether columns are scaled, and the width of a radial kernel, on a sample of the rows.
    2. The rows that get a coefficient: all, or landmarks (Nyström).
    3. The width once more, in smaller steps on a larger sample of these rows.
    4. One eigendecomposition; the ridge of each label; coefficients and out-of-sample scores.

    A width that is not given is found from the median distance, downhill on the error. With
    ``scale="auto"``, columns are divided by their standard deviations if that lowers the error by a
    hundredth or more; never with a given width. With `clear_ridges`, labels have a ridge of their
    own only where it is clearly better than one for all. With `landmark_means`, landmarks are moved
    to the means of the rows nearest to them. The width is sought on `search_rows` and refined on
    `refine_rows`; 0: not refined.

    `landmarks_` are the rows drawn, if they were not moved; `rows_` the prepared rows that have a
    coefficient each: None if the columns of X have, or X is a precomputed kernel.
    """

    width_: float | None
    scale_: Any
    landmarks_: Array | None
    rows_: Matrix | None
    ridge_: Array
    coef_: Any
    intercept_: Any
    on_device = False

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        width: float | None = None,
        scale: bool | str = False,
        ridges: Array = RIDGES,
        shrinkage: float = 50.0,
        clear_ridges: bool = False,
        n_landmarks: int | None = None,
        landmark_means: bool = False,
        search_rows: int = 600,
        refine_rows: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.scale = scale
        self.ridges = ridges
        self.shrinkage = shrinkage
        self.clear_ridges = clear_ridges
        self.n_landmarks = n_landmarks
        self.landmark_means = landmark_means
        self.search_rows = search_rows
        self.refine_rows = refine_rows

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
        count, where those of the others would be biased; None: all. A weight of 2 is the same as
        the row twice, both left out together. Rows on Dask stay there, and need landmarks.
        """
        rows, labels = as_rows(rows), as_labels(labels).dense()
        spectrum = self._decompose(rows, labels, check_random_state(random_state), counted)
        given = spectrum, labels.Y, self.ridges, self.shrinkage, counted
        if self.clear_ridges:
            self.ridge_ = choose_clear_ridges(*given)
        else:
            self.ridge_, _ = choose_ridges(*given, interpolate=True)
        scores, self.coef_, self.intercept_ = fit_ridge(spectrum, labels.Y, self.ridge_, fold_of)
        return to_numpy(scores)

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
        self._search(rows, labels, rng, counted, HOST)
        n, k = rows.shape
        if self.kernel in LINEAR and k < n:
            return RidgeSpectrum.of_features(self._prepare(rows.gather(), self.scale_), weight)
        exact = not rows.lazy and (self.n_landmarks or n) >= n
        drawn = rows.gather() if exact else self._draw_landmarks(rows, rng)
        self.rows_ = self._prepare(drawn, self.scale_)
        if self.kernel in RADIAL:
            among_rows = distances(str(self.kernel), self.rows_)
            # Landmarks that were moved have no labels.
            if self.width is None and self.refine_rows and (exact or not self.landmark_means):
                known = labels if self.landmarks_ is None else labels.take(self.landmarks_)
                spectrum = self._refine_width(among_rows, known, rng)
                if exact and spectrum is not None:
                    return spectrum
            K = radial(among_rows, str(self.kernel), self.width_ or 1.0)
            del among_rows  # as large as K
        else:
            K = kernel_values(self.kernel, self.rows_)
        if exact:
            return RidgeSpectrum.of_kernel(K, weight)
        columns = rows.batches(K.shape[0]).apply(_columns_of, [self], K.shape[0])
        return RidgeSpectrum.of_landmarks(K, columns, weight)

    def _search(
        self,
        rows: Rows,
        labels: Labels,
        rng: np.random.RandomState,
        counted: Array | None,
        place: Place,
    ) -> None:
        """Choose the scale and a first width on a sample of the rows."""
        seek_width = self.kernel in RADIAL and self.width is None
        self.width_ = self.width if self.kernel in RADIAL else None
        scales: list[Any] = [None]
        if not callable(self.kernel) and self.scale is True:
            scales = [rows.moments(labels.weight).spread()]
        elif not callable(self.kernel) and self.scale == "auto" and self.width is None:
            scales = [None, rows.moments(labels.weight).spread()]
        self.scale_ = scales[0]
        if len(scales) == 1 and not seek_width:
            return
        n = len(labels) if counted is None else len(counted)
        sample = sample_rows(n, rng, self.search_rows)
        sample = sample if counted is None else counted[sample]
        X, known = rows.take(sample).gather(), labels.take(sample)
        found = [self._attempt(X, known, scale, place) for scale in scales]
        best = int(len(found) > 1 and found[1].error < _SCALED_IS_BETTER * found[0].error)
        self.scale_ = scales[best]
        if seek_width:
            self.width_ = found[best].width

    def _attempt(self, X: Matrix, labels: Labels, scale: Any, place: Place) -> FoundWidth:
        """Return the error on some rows with a scale, at the best width of a radial kernel."""
        X, kernel = place.put(self._prepare(X, scale)), self.kernel
        if kernel in RADIAL:
            among_rows = distances(str(kernel), X)
            return descend_width(among_rows, labels, str(kernel), self.ridges, self.shrinkage)
        spectrum = RidgeSpectrum.of_kernel(kernel_values(kernel, X), labels.weight)
        return FoundWidth(np.nan, choose_ridges(spectrum, labels.Y, self.ridges, self.shrinkage)[1])

    def _refine_width(
        self, among_rows: Any, labels: Labels, rng: np.random.RandomState
    ) -> RidgeSpectrum | None:
        """Improve the width in smaller steps; return the decomposition if it is of all rows."""
        sample = sample_rows(len(labels), rng, self.refine_rows)
        whole = len(sample) == len(labels)
        found = descend_width(
            among_rows if whole else take(take(among_rows, sample), sample, axis=1),
            labels.take(sample),
            str(self.kernel),
            self.ridges,
            self.shrinkage,
            start=self.width_,
            step=0.5,
        )
        self.width_ = found.width
        return found.spectrum if whole else None

    def _draw_landmarks(self, rows: Rows, rng: np.random.RandomState) -> Matrix:
        """Draw the rows that get a coefficient."""
        chosen = sample_rows(len(rows), rng, int(self.n_landmarks or 0))
        drawn = rows.take(chosen).gather()
        if self.landmark_means:
            return nearest_means(rows, drawn)
        self.landmarks_ = chosen
        return drawn

    def _prepare(self, X: Matrix, scale: Any) -> Matrix:
        return prepare_rows(X, scale, unit=self.kernel == "cosine")

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

    As landmarks, such means are worth about twice as many of the rows themselves. Drawn rows
    that are equal give one mean.
    """
    batches = as_rows(rows).batches(drawn.shape[0])
    counts, sums = batches.total(_sum_nearest, shared=[drawn])
    nearest = np.flatnonzero(counts)
    return sparse.diags_array(1 / counts[nearest]) @ sums[nearest]


# Functions of a block.


def _sum_nearest(block: Matrix, drawn: Matrix) -> tuple[Array, Matrix]:
    """Return how many rows of a block are nearest to each drawn row, and their sums."""
    n, m = block.shape[0], drawn.shape[0]
    nearest = squared_distances(drawn, block).argmin(axis=1)
    members = sparse.csr_matrix((np.ones(n), (nearest, np.arange(n))), (m, n))
    return np.bincount(nearest, minlength=m), members @ block


def _columns_of(block: Matrix, regression: KernelRidge) -> Any:
    return regression._columns(block)


def _scores_of(block: Matrix, regression: KernelRidge) -> Any:
    return regression._columns(block) @ regression.coef_ + regression.intercept_
