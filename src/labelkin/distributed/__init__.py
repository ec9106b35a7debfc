"""Rows on many machines: Dask arrays."""
