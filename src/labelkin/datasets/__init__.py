"""Multi-label datasets: files, datasets known by name, descriptions."""

from labelkin._utils.files import FormatError
from labelkin.datasets._describe import Description, describe
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets._files import parse_table, read, read_table
from labelkin.datasets._write import write
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
    "read",
    "read_table",
    "write",
]
