"""Rows in an array of torch, CuPy or another library of the array API, on its device."""

from sklearn.utils import gen_batches

from labelkin.rows._place import concatenate, namespace, take
from labelkin.rows._rows import Array, Matrix, MemoryRows

# Rows of a batch, and the entries of their differences that are held together.
_DIFFERENCE_ROWS, _DIFFERENCES = 16, 2**27


class DeviceRows(MemoryRows, kind="device"):
    """Rows in an array of another library than NumPy, on its device."""

    @staticmethod
    def _take(X: Matrix, indices: Array) -> Matrix:
        return take(X, indices)

    def sums_of_differences(self, other: MemoryRows) -> Array:
        """Return the sums of absolute differences to other rows, (n, m).

        A column in which all rows of a batch are zero adds |z|, which is summed once. Differences
        are computed for the other columns: for texts, a few hundred among thousands.
        """
        Z = other.gather()
        xp = namespace(Z)
        lengths, found = xp.sum(xp.abs(Z), axis=1), []
        for batch in self._batches(_DIFFERENCE_ROWS):
            total = xp.zeros_like(batch[:, :1]) + lengths
            (used,) = xp.nonzero(xp.any(batch != 0, axis=0))
            size = max(1, _DIFFERENCES // (batch.shape[0] * Z.shape[0]))
            for columns in gen_batches(used.shape[0], size):
                x, z = (xp.take(A, used[columns], axis=1) for A in (batch, Z))
                differences = xp.abs(x[:, None, :] - z[None, :, :])
                total += xp.sum(differences, axis=2) - xp.sum(xp.abs(z), axis=1)
            found.append(total)
        sums = concatenate(found)
        return xp.where(sums > 0, sums, xp.zeros_like(sums))  # equal rows, up to rounding
