"""Columns of Arrow tables as arrays of NumPy."""

from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from labelkin.datasets.formats._arrow import column_numbers


@pytest.mark.parametrize(
    "chunks",
    [
        [[1.5, None], [], [-2.0]],
        [[1, 2], [3]],
        [[True, None], [False]],
        [[Decimal("1.25")], [None, Decimal("3.50")]],
        [[None, None]],
        [[]],
        [],
    ],
    ids=str,
)
@pytest.mark.parametrize("encoded", [False, True])
def test_numbers(chunks, encoded):
    cells = [cell for chunk in chunks for cell in chunk]
    kind = pa.array(cells).type
    column = pa.chunked_array(chunks, kind)
    if encoded and not pa.types.is_null(kind):
        column = column.dictionary_encode()
    found = column_numbers(column)
    expected = np.array([np.nan if cell is None else float(cell) for cell in cells])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    found[:] = 0  # memory of its own


def test_the_slice_of_a_column():
    column = pa.table({"x": [1.0, None, 3.0, 4.0]}).slice(1, 2).column("x")
    np.testing.assert_array_equal(column_numbers(column), [np.nan, 3.0])
