"""Members that share the row space of the training samples, in which they were learned.

Where there are more features than samples, all projections are learned in the p coordinates of the
row space (`TrainingRows`). With a base classifier of neighbours, the ensemble then holds its basis
once, and of each member W alone, in these coordinates: neither its ``components_``, which are
Wᵀ · basis, nor the projected samples.

Distances between samples projected by an orthonormal W depend only on the space that it spans. W is
therefore replaced by an orthonormal basis of this space that takes fewer numbers to store: see
`Frame`. 30 members of 2,500 texts with 5,000 words take 365 MB in this way, about 2 GB without.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import ExactSearch
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._features import feature_values
from labelkin.projection._scatter import TrainingRows
from labelkin.rows import convert_arrays


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
        d = W.shape[1]
        rank, lower, _ = linalg.lu(W.astype(np.float64), p_indices=True, check_finite=False)
        ratios = _solve(lower[:d], lower[d:].T, lower=True, unit_diagonal=True, trans=1).T
        order = np.argsort(rank).astype(np.int32)
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
        rows = np.zeros((len(first), len(self.order)), dtype=projected.dtype)
        rows[:, self.order] = np.hstack([first, first @ self.ratios.T])
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {"order": self.order, "ratios": self.ratios}


def _solve(triangle: Array, B: Array, **options: Any) -> Array:
    return linalg.solve_triangular(triangle, B, check_finite=False, **options)


class RowSpaceProjection(PairwiseConstraintProjection):
    """A fitted projection whose directions are a `Frame` in a `RowSpace`.

    They are not eigenvectors, but another orthonormal basis of the same space, for which Eq. 3 has
    the same value.
    """

    frame_: Frame
    space_: RowSpace
    """Shared with the other members."""
    _stored_array = "eigenvalues_"

    @classmethod
    def of_span(
        cls, projection: PairwiseConstraintProjection, space: RowSpace, W: Array
    ) -> "RowSpaceProjection":
        """Return a fitted projection in this form; W are its directions in the row space."""
        shared = cls(**projection.get_params())
        fitted = {name: value for name, value in vars(projection).items() if name != "components_"}
        values = feature_values(projection)
        shared.__dict__.update(
            fitted, space_=space, frame_=Frame.of_span(W), _feature_values=values
        )
        return shared

    @property
    def directions_(self) -> Array:
        """W in the coordinates of the row space, (p, d)."""
        ratios = self.frame_.ratios
        return self.frame_.expand(np.eye(ratios.shape[1], dtype=ratios.dtype)).T

    @property
    def components_(self) -> Array:
        """Wᵀ as directions of features, computed from the basis."""
        return self.directions_.T @ self.space_.basis

    def _project(self, X: Matrix) -> Array:
        return self.frame_.project(self.space_.coordinates(X))

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
        fitted = {name: v for name, v in vars(self).items() if name not in ("frame_", "space_")}
        moved.__dict__.update(
            convert_arrays({**fitted, "components_": self.components_}, converter)
        )
        return moved


class RowSpaceSearch(ExactSearch):
    """The nearest of the projected samples z = Wᵀr, which are not held.

    Products with queries are those with the samples r in the row space: qᵀz = (Wq)ᵀr. `search` is
    one among the samples projected by `W`, and `frame` spans the same space. `centre` is the offset
    in the coordinates of the row space.
    """

    def __init__(self, search: ExactSearch, space: RowSpace, frame: Frame, W: Array) -> None:
        self.space, self.frame, self.n_neighbors = space, frame, search.n_neighbors
        self.centre = None if search.offset is None else W @ search.offset
        self.squared_norms, self.first_equal = search.squared_norms, search.first_equal

    @property
    def offset(self) -> Array | None:  # type: ignore[override]
        """What is subtracted from the projected samples."""
        return None if self.centre is None else self.frame.project(self.centre[None])[0]

    @property
    def X(self) -> Array:
        """The projected samples less `offset`."""
        Z = self.frame.project(self.space.rows)
        Z = Z if self.first_equal is None else Z[self.first_equal]
        return Z if self.centre is None else Z - self.offset

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.space.X.shape[0]

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse: they are not."""
        return False

    def distances(self, x: Matrix, rows: Array) -> Array:
        """Return the Euclidean distances from one sample, (1, d), to some rows."""
        return np.linalg.norm(self.frame.project(self.space.rows[rows]) - x, axis=1)

    def _products(self, Q: Matrix) -> Array:
        expanded = self.frame.expand(Q)
        products = expanded @ self.space.rows.T
        return products if self.centre is None else products - (expanded @ self.centre)[:, None]


def share_row_space(estimator: Any, projection: RowSpaceProjection, W: Array) -> None:
    """Replace the search of a classifier of neighbours that was fitted to all rows, times W."""
    counts, space = estimator._counts, projection.space_
    if type(counts.search) is ExactSearch and counts.search.n_rows == space.X.shape[0]:
        counts.search = RowSpaceSearch(counts.search, space, projection.frame_, W)


def project_all(projections: list[Any], X: Matrix) -> Callable[[Any], Array]:
    """Return a function that projects `X` by a member; coordinates of `X` are computed once."""
    spaces = [p.space_ for p in projections if isinstance(p, RowSpaceProjection)]
    coordinates = spaces[0].coordinates(X) if spaces else None

    def project(projection: Any) -> Array:
        if isinstance(projection, RowSpaceProjection):
            return projection.frame_.project(coordinates)
        return projection._project(X)

    return project
