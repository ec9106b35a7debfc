"""What the dataset tests share: the real files, and equality of datasets."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

SHARED = Path(os.environ.get("LABELKIN_DATA") or Path(__file__).parents[2] / "shared" / "datasets")
needs_shared = pytest.mark.skipif(
    not (SHARED / "yeast.npz").is_file(), reason=f"the real datasets are not at {SHARED}"
)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def assert_same(bunch, data, target):
    np.testing.assert_array_equal(dense(bunch.data), dense(data))
    np.testing.assert_array_equal(dense(bunch.target), dense(target))
    assert bunch.target.dtype == np.uint8
    assert bunch.data.dtype == np.float64
