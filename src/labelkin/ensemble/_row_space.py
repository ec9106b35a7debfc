"""Members that share the row space of the training samples, in which they were learned.

Where there are more features than samples, all projections are learned in the p coordinates of the
row space (`TrainingRows`). The ensemble then holds its basis once, and of each member W alone, in
these coordinates: neither its ``components_``, which are Wᵀ · basis, nor the projected samples.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.array_api import convert_arrays
from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import ExactSearch
from labelkin.projection import PairwiseConstraintProjection


class RowSpace:
    """The row space of the training samples, with an orthonormal basis, (p, n_features).

    X are the samples: a CSR matrix of all features, or dense ones in the p coordinates.
    """

    def __init__(self, basis: Array, X: Matrix) -> None:
        self.basis, self.X = basis, X

    def coordinates(self, X: Matrix) -> Array:
        """Return samples in the p coordinates."""
        return X @ self.basis.T

    @cached_property
    def rows(self) -> Array:
        """The training samples in the p coordinates."""
        return self.coordinates(self.X) if sparse.issparse(self.X) else self.X

    def __getstate__(self) -> dict[str, Any]:
        return {"basis": self.basis, "X": self.X}


class RowSpaceProjection(PairwiseConstraintProjection):
    """A fitted projection, by its directions in a `RowSpace`."""

    directions_: Array
    """W in the coordinates of the row space, (p, d)."""
    space_: RowSpace
    """Shared with the other members."""
    _stored_array = "directions_"

    @classmethod
    def share(
        cls, projection: PairwiseConstraintProjection, space: RowSpace, directions: Array
    ) -> "RowSpaceProjection":
        """Return a fitted projection in this form."""
        shared = cls(**projection.get_params())
        fitted = {name: value for name, value in vars(projection).items() if name != "components_"}
        shared.__dict__.update(fitted, space_=space, directions_=directions)
        return shared

    @property
    def components_(self) -> Array:
        """Wᵀ as directions of features, computed from the basis."""
        return self.directions_.T @ self.space_.basis

    def _project(self, X: Matrix) -> Array:
        return self.space_.coordinates(X) @ self.directions_

    @property
    def _n_features_out(self) -> int:
        return self.directions_.shape[1]

    def __sklearn_clone__(self) -> PairwiseConstraintProjection:
        return PairwiseConstraintProjection(**self.get_params())

    def __sklearn_array_api_convert__(
        self, converter: Callable[[Any], Any]
    ) -> PairwiseConstraintProjection:
        """Return it with ``components_`` of its own: a device has no sparse samples."""
        moved = self.__sklearn_clone__()
        fitted = {
            name: value
            for name, value in vars(self).items()
            if name not in ("directions_", "space_")
        }
        fitted["components_"] = self.components_
        moved.__dict__.update(convert_arrays(fitted, converter))
        return moved


class RowSpaceSearch(ExactSearch):
    """The nearest of the projected samples z = Wᵀr, which are not held.

    Products with queries are those with the samples r in the row space: qᵀz = (Wq)ᵀr. For very
    many queries it is faster to project the samples. `search` is one among the projected samples,
    `directions` are W.
    """

    def __init__(self, search: ExactSearch, space: RowSpace, directions: Array) -> None:
        self.space, self.directions = space, directions
        self.offset, self.n_neighbors = search.offset, search.n_neighbors
        self.squared_norms, self.first_equal = search.squared_norms, search.first_equal

    @property
    def X(self) -> Array:
        """The projected samples less `offset`."""
        Z = self.space.rows @ self.directions
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
        return np.linalg.norm(self.space.rows[rows] @ self.directions - x, axis=1)

    def _products(self, Q: Matrix) -> Array:
        products = (Q @ self.directions.T) @ self.space.rows.T
        return products if self.offset is None else products - (Q @ self.offset)[:, None]


def share_row_space(estimator: Any, projection: Any) -> None:
    """Replace the search of a classifier of neighbours that was fitted to all projected rows."""
    counts = getattr(estimator, "_counts", None)
    search = getattr(counts, "search", None)
    if not isinstance(projection, RowSpaceProjection) or type(search) is not ExactSearch:
        return
    if search.n_rows == projection.space_.X.shape[0]:
        counts.search = RowSpaceSearch(search, projection.space_, projection.directions_)  # type: ignore[union-attr]


def project_all(projections: list[Any], X: Matrix) -> Callable[[Any], Array]:
    """Return the projection of `X` by each member; its coordinates are computed once."""
    shared = next((p.space_ for p in projections if isinstance(p, RowSpaceProjection)), None)
    coordinates = None if shared is None else shared.coordinates(X)

    def project(projection: Any) -> Array:
        if coordinates is not None and isinstance(projection, RowSpaceProjection):
            return coordinates @ projection.directions_
        return projection._project(X)

    return project
