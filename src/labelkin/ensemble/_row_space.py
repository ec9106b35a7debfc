"""Members that share the row space of the training samples, in which they were learned.

Where there are more features than samples, all projections are learned in the p coordinates of the
row space (`TrainingRows`). The ensemble then holds its basis once, and of each member W alone, in
these coordinates: neither its ``components_``, which are Wᵀ · basis, nor the projected samples.

Distances between samples projected by an orthonormal W depend only on the space that it spans. For
a base classifier of neighbours, W is therefore replaced by an orthonormal basis of this space that
takes fewer numbers to store: see `Frame`.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from labelkin._utils.array_api import convert_arrays
from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import ExactSearch
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._features import feature_values
from labelkin.projection._scatter import TrainingRows


class RowSpace:
    """The row space of the training samples, with an orthonormal basis, (p, n_features).

    X are the samples, dense in the p coordinates; or a CSR matrix of all features, and then the
    basis, which is not sparse, is computed from `factor`, (n, p), as factorᵀ X.
    """

    def __init__(self, X: Matrix, basis: Any, factor: Any) -> None:
        self.X, self._basis, self.factor = X, basis, factor

    @classmethod
    def of_rows(cls, training: TrainingRows, X: Matrix) -> "RowSpace":
        """Return the row space of the training samples."""
        if not sparse.issparse(X):
            return cls(training.rows, training.basis, None)
        basis = training.basis if training.factor is None else None
        return cls(X.copy(), basis, training.factor)

    @property
    def basis(self) -> Array:
        """The orthonormal basis, (p, n_features)."""
        return self._basis if self.factor is None else (self.X.T @ self.factor).T

    @property
    def n_coordinates(self) -> int:
        """The dimension p."""
        return len(self._basis) if self.factor is None else self.factor.shape[1]

    def coordinates(self, X: Matrix) -> Array:
        """Return samples in the p coordinates."""
        if self.factor is None:
            return X @ self._basis.T
        products = X @ self.X.T
        return (products.toarray() if sparse.issparse(products) else products) @ self.factor

    @cached_property
    def rows(self) -> Array:
        """The training samples in the p coordinates."""
        return self.coordinates(self.X) if sparse.issparse(self.X) else self.X

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "_basis": self._basis, "factor": self.factor}


class Frame:
    """Orthonormal directions W of a space, (p, d), held as d · (p − d) numbers.

    With the coordinates in some `order`, the space is that of the columns of (I; B), and W is
    (I; B) C⁻ᵀ with CCᵀ = I + BᵀB. B are the `ratios`. The order is that of the pivots of an LU
    decomposition, by which B is small. C is computed when it is needed, in double precision.
    """

    def __init__(self, order: Array, ratios: Array) -> None:
        self.order, self.ratios = order, ratios

    @classmethod
    def of_span(cls, W: Array) -> "Frame":
        """Return the frame of the space that columns span, (p, d)."""
        p, d = W.shape
        wide = W.astype(np.float64)
        lu, pivots, _ = linalg.get_lapack_funcs("getrf", (wide,))(wide)
        order = np.arange(p, dtype=np.int32)
        for i, j in enumerate(pivots):
            order[[i, j]] = order[[j, i]]
        lower, rest = lu[:d], lu[d:]
        ratios = _solve(lower, rest.T, lower=True, unit_diagonal=True, trans=1).T
        return cls(order, np.ascontiguousarray(ratios, dtype=W.dtype))

    @cached_property
    def _root(self) -> Array:
        """C, a lower triangle."""
        ratios = self.ratios.astype(np.float64)
        square = ratios.T @ ratios
        square[np.diag_indices(len(square))] += 1
        return linalg.cholesky(square, lower=True, overwrite_a=True, check_finite=False)

    def project(self, rows: Array) -> Array:
        """Return rows · W, of shape (m, d)."""
        d = self.ratios.shape[1]
        sums = rows[:, self.order[:d]] + rows[:, self.order[d:]] @ self.ratios
        return np.ascontiguousarray(_solve(self._root, sums.T, lower=True).T, dtype=rows.dtype)

    def expand(self, projected: Array) -> Array:
        """Return projected · Wᵀ, of shape (m, p)."""
        first = _solve(self._root, projected.T, lower=True, trans=1).T.astype(projected.dtype)
        rows = np.empty((len(first), len(self.order)), dtype=projected.dtype)
        rows[:, self.order] = np.hstack([first, first @ self.ratios.T])
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {"order": self.order, "ratios": self.ratios}


def _solve(triangle: Array, B: Array, **options: Any) -> Array:
    return linalg.solve_triangular(triangle, B, check_finite=False, **options)


class RowSpaceProjection(PairwiseConstraintProjection):
    """A fitted projection, by its directions in a `RowSpace`.

    Those of a `Frame` are not eigenvectors, but another orthonormal basis of the same space, for
    which Eq. 3 has the same value.
    """

    span_: Frame | Array
    """W, in the coordinates of the row space, as a frame or as it is."""
    space_: RowSpace
    """Shared with the other members."""
    _stored_array = "directions_"

    @classmethod
    def share(
        cls, projection: PairwiseConstraintProjection, space: RowSpace, span: Frame | Array
    ) -> "RowSpaceProjection":
        """Return a fitted projection in this form."""
        shared = cls(**projection.get_params())
        fitted = {name: value for name, value in vars(projection).items() if name != "components_"}
        values = feature_values(projection)
        shared.__dict__.update(fitted, space_=space, span_=span, _feature_values=values)
        return shared

    @property
    def directions_(self) -> Array:
        """W in the coordinates of the row space, (p, d)."""
        if not isinstance(self.span_, Frame):
            return self.span_
        ratios = self.span_.ratios
        return self.span_.expand(np.eye(ratios.shape[1], dtype=ratios.dtype)).T

    @property
    def components_(self) -> Array:
        """Wᵀ as directions of features, computed from the basis."""
        return self.directions_.T @ self.space_.basis

    def _project(self, X: Matrix) -> Array:
        return self.project_coordinates(self.space_.coordinates(X))

    def project_coordinates(self, rows: Array) -> Array:
        """Project samples given in the coordinates of the row space."""
        return self.span_.project(rows) if isinstance(self.span_, Frame) else rows @ self.span_

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_clone__(self) -> PairwiseConstraintProjection:
        return PairwiseConstraintProjection(**self.get_params())

    def __sklearn_array_api_convert__(
        self, converter: Callable[[Any], Any]
    ) -> PairwiseConstraintProjection:
        """Return it with ``components_`` of its own: a device has no sparse samples."""
        moved = self.__sklearn_clone__()
        fitted = {
            name: value for name, value in vars(self).items() if name not in ("span_", "space_")
        }
        fitted["components_"] = self.components_
        moved.__dict__.update(convert_arrays(fitted, converter))
        return moved


class RowSpaceSearch(ExactSearch):
    """The nearest of the projected samples z = Wᵀr, which are not held.

    Products with queries are those with the samples r in the row space: qᵀz = (Wq)ᵀr. For very
    many queries it is faster to project the samples. `search` is one among the projected samples,
    `frame` stands for W.
    """

    def __init__(self, search: ExactSearch, space: RowSpace, frame: Frame) -> None:
        self.space, self.frame = space, frame
        self.offset, self.n_neighbors = search.offset, search.n_neighbors
        self.squared_norms, self.first_equal = search.squared_norms, search.first_equal

    @property
    def X(self) -> Array:
        """The projected samples less `offset`."""
        Z = self.frame.project(self.space.rows)
        Z = Z if self.first_equal is None else Z[self.first_equal]
        return Z if self.offset is None else Z - self.offset

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.space.X.shape[0]

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse: they are not."""
        return False

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find the nearest rows of each query; see `ExactSearch`."""
        if Q is None or 2 * Q.shape[0] > self.n_rows:
            return ExactSearch(self.X, self.n_neighbors, self.offset).query(Q, n_jobs)
        return super().query(Q, n_jobs)

    def distances(self, x: Matrix, rows: Array) -> Array:
        """Return the Euclidean distances from one sample, (1, d), to some rows."""
        return np.linalg.norm(self.frame.project(self.space.rows[rows]) - x, axis=1)

    def _products(self, Q: Matrix) -> Array:
        products = self.frame.expand(Q) @ self.space.rows.T
        return products if self.offset is None else products - (Q @ self.offset)[:, None]


def share_row_space(estimator: Any, projection: Any) -> None:
    """Replace the search of a classifier of neighbours that was fitted to all projected rows."""
    counts = getattr(estimator, "_counts", None)
    search = getattr(counts, "search", None)
    frame = getattr(projection, "span_", None)
    if not isinstance(frame, Frame) or type(search) is not ExactSearch:
        return
    if search.n_rows == projection.space_.X.shape[0]:
        counts.search = RowSpaceSearch(search, projection.space_, frame)  # type: ignore[union-attr]


def project_all(projections: list[Any], X: Matrix) -> Callable[[Any], Array]:
    """Return a function that projects `X` by a member; coordinates of `X` are computed once."""
    shared = next((p.space_ for p in projections if isinstance(p, RowSpaceProjection)), None)
    coordinates = None if shared is None else shared.coordinates(X)

    def project(projection: Any) -> Array:
        if coordinates is not None and isinstance(projection, RowSpaceProjection):
            return projection.project_coordinates(coordinates)
        return projection._project(X)

    return project
