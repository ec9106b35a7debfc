"""Multi-label datasets: readers and writers of files, datasets known by name, descriptions."""

from labelkin._utils.files import FormatError
from labelkin.datasets._describe import Description, describe
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets._files import read, read_table, write
from labelkin.datasets._plots import plot_label_cooccurrence, plot_label_set_sizes, save_plots
from labelkin.datasets.formats._arff import read_arff, write_arff
from labelkin.datasets.formats._csv import parse_table, read_csv, write_csv
from labelkin.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelkin.datasets.formats._npz import read_npz, write_npz
from labelkin.datasets.formats._parquet import read_parquet, write_parquet
from labelkin.datasets.formats._raw_table import RawTable
from labelkin.datasets.known._catalogue import (
    DatasetInfo,
    SourceFile,
    dataset_info,
    dataset_names,
)
from labelkin.datasets.known._load import data_home_path, find_dataset, load_dataset

__all__ = [
    "DatasetInfo",
    "Description",
    "FormatError",
    "RawTable",
    "SourceFile",
    "data_home_path",
    "dataset_info",
    "dataset_names",
    "describe",
    "find_dataset",
    "load_dataset",
    "load_digit_scenes",
    "parse_table",
    "plot_label_cooccurrence",
    "plot_label_set_sizes",
    "read",
    "read_arff",
    "read_csv",
    "read_libsvm",
    "read_npz",
    "read_parquet",
    "read_table",
    "save_plots",
    "write",
    "write_arff",
    "write_csv",
    "write_libsvm",
    "write_npz",
    "write_parquet",
]
