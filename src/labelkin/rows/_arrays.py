"""Functions of one array or matrix: a NumPy array, a CSR matrix, or an array on a device.

With ``sklearn.config_context(array_api_dispatch=True)`` the estimators compute where their
input lies: torch tensors and CuPy arrays stay on their device. These are "device arrays" below.
Without dispatch, and for sparse matrices, lists and DataFrames, everything is NumPy. What is
computed of a CSR matrix is dense, unless the result is named as rows.
"""

from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy
from sklearn.utils._array_api import get_namespace as _sklearn_get_namespace

Array = Any
Matrix = Any

# Entries of a temporary array that stays in the cache of a CPU: 8 MB in double precision. Larger
# ones take fresh memory from the system each time, which takes a third longer.
_CACHED_ENTRIES = 2**20
# Rows of a matrix that are added up as one.
_FOLDED = 16
# Rows of half of a matrix below which it is factorised directly.
_HALF = 64

_NUMPY = _sklearn_get_namespace(np.empty(0))[0]


def is_device_array(array: Any) -> bool:
    """Whether dispatch is on and this is an array of another library than NumPy."""
    if not get_config()["array_api_dispatch"] or isinstance(array, np.ndarray | np.generic):
        return False
    library = type(array).__module__.partition(".")[0]
    return library in ("torch", "cupy") or hasattr(array, "__array_namespace__")


def to_numpy(array: Any) -> Any:
    """Return a device array as a NumPy array, anything else unchanged."""
    if not is_device_array(array):
        return array
    if hasattr(array, "requires_grad"):
        array = array.detach()
    return _convert_to_numpy(array, _sklearn_get_namespace(array)[0])


class Place(NamedTuple):
    """Where arrays are computed: a namespace, and a device of it; NumPy's is None."""

    xp: Any
    device: Any

    def put(self, rows: Any, dtype: str | None = None) -> Any:
        """Return NumPy or SciPy rows there, dense on a device.

        Arrays that are on a device already are returned as they are, also by `HOST`.
        """
        rows = rows if dtype is None else astype(rows, dtype)
        if self.xp is _NUMPY or is_device_array(rows):
            return rows
        if sparse.issparse(rows) and self.xp.__name__.rpartition(".")[2] in ("torch", "cupy"):
            # Only the nonzero values are copied to the device; the array API cannot assign them.
            entries = rows.tocoo()
            row, column, values = (self.put(a) for a in (entries.row, entries.col, entries.data))
            dense = self.xp.zeros(rows.shape, dtype=values.dtype, device=self.device)
            dense[row, column] = values
            return dense
        # A copy: torch would share the memory.
        return self.xp.asarray(np.ascontiguousarray(as_dense(rows)), device=self.device, copy=True)


HOST = Place(_NUMPY, None)


def namespace_and_device(*arrays: Any) -> Place:
    """Return namespace and device of the first device array; `HOST` without one."""
    for array in arrays:
        if is_device_array(array):
            return Place(_sklearn_get_namespace(array)[0], array.device)
    return HOST


def namespace(*arrays: Any) -> Any:
    """Return the namespace of the first device array; NumPy's without one."""
    return namespace_and_device(*arrays)[0]


def to_device_of(array: Any, reference: Any) -> Any:
    """Return a NumPy array in the namespace and on the device of another array."""
    return namespace_and_device(reference).put(array)


def astype(array: Any, dtype: Any) -> Any:
    """Return an array in a dtype, which may be a name; no copy where it has it already."""
    xp = namespace(array)
    if xp is _NUMPY:
        return array.astype(dtype, copy=False)
    return xp.astype(array, getattr(xp, dtype) if isinstance(dtype, str) else dtype, copy=False)


def ascontiguousarray(array: Any) -> Any:
    """Return a NumPy array in C order; device arrays have no order in the standard."""
    return array if is_device_array(array) else np.ascontiguousarray(array)


def rows_per_block(width: int, device: Any, least: int = 16, most: int = 256) -> int:
    """Return the number of rows, `width` entries each, that a temporary array may have.

    On an accelerator the array fills twice scikit-learn's ``working_memory``, 2 GiB by default.
    Elsewhere it stays in cache, and below ``working_memory``.
    """
    memory = 2**20 * get_config()["working_memory"]
    torch_type = getattr(device, "type", "cpu")
    if torch_type == "cpu" and not type(device).__module__.startswith("cupy"):
        entries = min(_CACHED_ENTRIES, memory // 8)
        return int(np.clip(entries // max(width, 1), least, most))
    rows = max(int(2 * memory // (max(width, 1) * 8)), least)
    return rows if rows < 128 else rows // 128 * 128  # whole tiles of a matrix product


def match(values: Any, array: Any) -> Any:
    """Return values in the namespace, on the device and in the dtype of an array."""
    if is_device_array(values):
        return astype(values, array.dtype)
    return to_device_of(np.asarray(values, dtype=str(array.dtype).rpartition(".")[2]), array)


def take(array: Any, indices: Any, axis: int = 0) -> Any:
    """Return rows, or entries along another axis, at NumPy indices; of any matrix."""
    if sparse.issparse(array):
        return array[indices, :] if axis == 0 else array[:, indices]
    return namespace(array).take(array, to_device_of(np.asarray(indices), array), axis=axis)


def concatenate(parts: list[Any], axis: int = 0) -> Any:
    """Return arrays of one namespace, or rows of CSR matrices, as one; a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return namespace(*parts).concat(parts, axis=axis)


class ColumnMoments(NamedTuple):
    """Weighted means and variances of columns, which can be merged over blocks of rows."""

    total: float
    """Sum of the weights."""
    mean: Any
    """(k,)."""
    variance: Any
    """(k,)."""

    def spread(self) -> Array:
        """Return the standard deviation of each column, 1 where it is 0 up to rounding."""
        xp = namespace(self.mean)
        varies = self.variance > 1e-12 * (self.variance + self.mean**2)
        return xp.where(varies, self.variance**0.5, xp.ones_like(self.variance))


def column_moments(X: Matrix, weight: Array | None) -> ColumnMoments:
    """Return the moments of the columns of a matrix; without weights all rows count once."""
    total = float(X.shape[0] if weight is None else weight.sum())
    if not total:
        return ColumnMoments(0.0, 0.0, 0.0)
    if sparse.issparse(X):
        share = np.full(X.shape[0], 1.0) if weight is None else weight
        share = (share / total).astype(X.dtype)
        mean = X.T @ share
        return ColumnMoments(total, mean, np.maximum(X.multiply(X).T @ share - mean**2, 0))
    if weight is None:
        xp = namespace(X)
        return ColumnMoments(total, xp.mean(X, axis=0), xp.var(X, axis=0))
    share = match(weight / total, X)
    mean = share @ X
    return ColumnMoments(total, mean, share @ (X - mean) ** 2)


def as_dense(X: Matrix) -> Array:
    """Return a matrix as an array."""
    return X.toarray() if sparse.issparse(X) else X


def count_stored(X: Matrix) -> tuple[int, bool]:
    """Return how many values are not zero, and whether the matrix is sparse."""
    if sparse.issparse(X):
        return X.nnz, True
    return int(namespace(X).count_nonzero(X)), False


def squared_norms(X: Matrix) -> Array:
    """Return the squared length of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return namespace(X).sum(X * X, axis=1)


def scale_columns(X: Matrix, factors: Array) -> Matrix:
    """Return rows with each column multiplied by a factor."""
    return X.multiply(factors).tocsr() if sparse.issparse(X) else X * factors


def unit_rows(X: Matrix) -> Matrix:
    """Return rows of length 1; rows of zeros stay."""
    norms = squared_norms(X) ** 0.5
    xp = namespace(norms)
    factors = 1 / xp.where(norms > 0, norms, xp.ones_like(norms))
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(factors[:, None]), dtype=X.dtype)
    return X * factors[:, None]


def first_of_equals(X: Any) -> np.ndarray | None:
    """Return for each row the first one equal to it in every bit; None where no two are equal."""
    if sparse.issparse(X):
        ends = pairwise(X.indptr)
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends)
    elif isinstance(X, np.ndarray):
        contents = (row.tobytes() for row in X)
    else:
        return None
    seen: dict[bytes, int] = {}
    digests = (blake2b(content, digest_size=16).digest() for content in contents)
    first = np.array([seen.setdefault(digest, i) for i, digest in enumerate(digests)], dtype=int)
    return None if len(seen) == X.shape[0] else first


# Linear algebra. NumPy arrays go to LAPACK in place, which takes half of the memory, and a third of
# the time where a matrix is triangular: the array API has no solver for that.


def eigh_positive(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are positive beyond rounding, ascending, and their vectors."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    largest = max(float(values[-1]), 0.0) if A.shape[0] else 0.0
    tiny = A.shape[0] * float(xp.finfo(A.dtype).eps) * largest
    first = int(xp.sum(xp.astype(values <= tiny, xp.int64)))
    return values[first:], vectors[:, first:]


def inverse_cholesky(A: Array) -> Array:
    """Overwrite A = L Lᵀ by L⁻¹, lower triangular, and return it.

    By halves: of products, which run in several threads at once, where SciPy's factorisation holds
    Python's global lock. Raises ValueError if A is not positive definite, up to rounding.
    """
    xp, half = namespace(A), A.shape[0] // 2
    if half < _HALF:
        try:
            A[:, :] = xp.linalg.inv(xp.linalg.cholesky(A))
        except (np.linalg.LinAlgError, RuntimeError):  # torch's error is of the latter kind
            A[:, :] = xp.nan
        if not bool(xp.all(xp.isfinite(A))):
            raise ValueError("The kernel matrix is not positive definite, up to rounding.")
        return A
    first, second = A[:half, :half], A[half:, half:]
    below = A[half:, :half] @ inverse_cholesky(first).T
    second -= below @ below.T
    A[half:, :half] = inverse_cholesky(second) @ (below @ first)
    A[half:, :half] *= -1
    A[:half, half:] = 0
    return A


def add_to_diagonal(A: Array, values: Any) -> Array:
    """Add a number or an ndarray to the diagonal of a matrix; a NumPy array is overwritten."""
    if isinstance(A, np.ndarray):
        A[np.diag_indices(len(A))] += values
        return A
    numbers = match(np.broadcast_to(values, A.shape[:1]), A)
    return A + namespace(A).eye(A.shape[0], dtype=A.dtype, device=A.device) * numbers


def column_dots(A: Array, B: Array, dtype: Any = None) -> Array:
    """Return the products of the columns of two matrices, summed in a dtype; None: in theirs."""
    if not isinstance(A, np.ndarray):
        return namespace(A).sum(A * B if dtype is None else astype(A * B, dtype), axis=0)
    if dtype is not None:
        return np.einsum("ij,ij->j", A, B, dtype=dtype)
    n, b = A.shape
    tail = n - n % _FOLDED
    # Several rows as one: partial sums, which keep more digits in single precision.
    wide = (array[:tail].reshape(-1, _FOLDED * b) for array in (A, B))
    found = np.einsum("ij,ij->j", *wide).reshape(_FOLDED, b).sum(axis=0)
    return found + np.einsum("ij,ij->j", A[tail:], B[tail:])


def column_sums(A: Array) -> Array:
    """Return the sums of the columns of a matrix; BLAS adds rows faster than NumPy."""
    return (
        np.ones(len(A), A.dtype) @ A if isinstance(A, np.ndarray) else namespace(A).sum(A, axis=0)
    )
