"""A user's table: its columns and their kinds, its labels, and the pipeline made of them."""

from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._frames import predict_frame
from labelkin.tabular._kinds import ColumnOptions
from labelkin.tabular._labels import LabelColumns, join_names
from labelkin.tabular._pipeline import (
    StringConverter,
    columns_by_place,
    fit_pipeline,
    make_pipeline,
)
from labelkin.tabular._read import ReadOptions, parse_raw_table, read_raw_table
from labelkin.tabular._records import table_of_records
from labelkin.tabular._scaling import RobustLogScaler
from labelkin.tabular._schema import Schema
from labelkin.tabular._tables import ArrowTable, MatrixTable, RawTable

__all__ = [
    "ArrowTable",
    "ColumnOptions",
    "DateEncoder",
    "LabelColumns",
    "MatrixTable",
    "RawTable",
    "ReadOptions",
    "RobustLogScaler",
    "Schema",
    "StringConverter",
    "columns_by_place",
    "fit_pipeline",
    "join_names",
    "make_pipeline",
    "parse_raw_table",
    "predict_frame",
    "read_raw_table",
    "table_of_records",
]
