"""Multi-label datasets: readers, writers, the registry, and the embedded data."""

from labelkin.datasets._arff import read_arff, write_arff
from labelkin.datasets._describe import Description, describe
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets._formats import read, write
from labelkin.datasets._io import FormatError
from labelkin.datasets._libsvm import read_libsvm, write_libsvm
from labelkin.datasets._load import data_home_path, find_dataset, load_dataset
from labelkin.datasets._npz import read_npz, write_npz
from labelkin.datasets._plots import plot_label_cooccurrence, plot_label_set_sizes, save_plots
from labelkin.datasets._registry import DatasetInfo, dataset_info, dataset_names
from labelkin.datasets._tables import read_csv, read_parquet, write_csv, write_parquet

__all__ = [
    "DatasetInfo",
    "Description",
    "FormatError",
    "data_home_path",
    "dataset_info",
    "dataset_names",
    "describe",
    "find_dataset",
    "load_dataset",
    "load_digit_scenes",
    "plot_label_cooccurrence",
    "plot_label_set_sizes",
    "read",
    "read_arff",
    "read_csv",
    "read_libsvm",
    "read_npz",
    "read_parquet",
    "save_plots",
    "write",
    "write_arff",
    "write_csv",
    "write_libsvm",
    "write_npz",
    "write_parquet",
]
