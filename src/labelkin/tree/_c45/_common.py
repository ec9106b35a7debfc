"""Constants of C4.5 and the types that the kernels' signatures are written in.

numba's cache looks only at the file a kernel is in: no function that a kernel calls may be
put here.
"""

from __future__ import annotations

from numba import types

SMALL = 1e-6  # two weights, gains or ratios closer than this are equal

INT, LONG, REAL, FLAG = types.int32, types.int64, types.float64, types.boolean


def frozen(dtype: types.Type, ndim: int = 1) -> types.Array:
    """Type of an input array: read-only, so that memory-mapped arrays fit as well."""
    return types.Array(dtype, ndim, "C", readonly=True)
