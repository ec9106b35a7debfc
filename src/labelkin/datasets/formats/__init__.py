"""Readers and writers, one module per file format."""

from labelkin.datasets.formats._arff import read_arff, write_arff
from labelkin.datasets.formats._csv import read_csv, write_csv
from labelkin.datasets.formats._dispatch import read, write
from labelkin.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelkin.datasets.formats._npz import read_npz, write_npz
from labelkin.datasets.formats._parquet import read_parquet, write_parquet

__all__ = [
    "read",
    "read_arff",
    "read_csv",
    "read_libsvm",
    "read_npz",
    "read_parquet",
    "write",
    "write_arff",
    "write_csv",
    "write_libsvm",
    "write_npz",
    "write_parquet",
]
