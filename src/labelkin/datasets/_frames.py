"""The forms in which loaders return a dataset, as in scikit-learn."""

from typing import Any

from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.optional import import_optional


def present(bunch: Bunch, *, return_X_y: bool, as_frame: bool) -> Any:
    """Return a dataset as a Bunch or as the pair ``(data, target)``, of arrays or DataFrames.

    A feature or label without a name is called ``x1, x2, …`` or ``y1, y2, …`` in a DataFrame;
    the columns of sparse data are sparse.
    """
    bunch.frame = None
    if as_frame:
        pandas = import_optional("pandas")
        bunch.data = _as_frame(bunch.data, bunch.feature_names, "x")
        bunch.target = _as_frame(bunch.target, bunch.label_names, "y")
        bunch.frame = pandas.concat([bunch.data, bunch.target], axis=1)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _as_frame(matrix: Any, names: list[str] | None, prefix: str) -> Any:
    pandas = import_optional("pandas")
    if names is None:
        names = [f"{prefix}{i + 1}" for i in range(matrix.shape[1])]
    if sparse.issparse(matrix):
        return pandas.DataFrame.sparse.from_spmatrix(matrix, columns=names)
    return pandas.DataFrame(matrix, columns=names)
