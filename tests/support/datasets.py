"""What the tests of formats compare."""

import numpy as np
from scipy import sparse


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def assert_same(bunch, data, target):
    np.testing.assert_array_equal(dense(bunch.data), dense(data))
    np.testing.assert_array_equal(dense(bunch.target), dense(target))
    assert bunch.target.dtype == np.uint8
    assert bunch.data.dtype == np.float64
