"""The datasets known by name: where they come from, and loading them."""

from labelkin.datasets.registry._known import DatasetInfo, SourceFile, dataset_info, dataset_names
from labelkin.datasets.registry._load import data_home_path, find_dataset, load_dataset

__all__ = [
    "DatasetInfo",
    "SourceFile",
    "data_home_path",
    "dataset_info",
    "dataset_names",
    "find_dataset",
    "load_dataset",
]
