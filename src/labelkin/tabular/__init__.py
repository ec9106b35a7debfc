"""A user's table: its columns and their kinds, its labels, and a classifier of such tables."""

from labelkin.tabular._classifier import TableClassifier
from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._labels import LabelColumns
from labelkin.tabular._pipeline import StringConverter
from labelkin.tabular._predictions import predict_frame
from labelkin.tabular._records import table_of_records
from labelkin.tabular._scaling import RobustLogScaler
from labelkin.tabular._schema import Schema
from labelkin.tabular._text import TextEmbedding, TextFeatures
from labelkin.tabular._training import TrainingData, find_training_data, split_labels

__all__ = [
    "DateEncoder",
    "LabelColumns",
    "RobustLogScaler",
    "Schema",
    "StringConverter",
    "TableClassifier",
    "TextEmbedding",
    "TextFeatures",
    "TrainingData",
    "find_training_data",
    "predict_frame",
    "split_labels",
    "table_of_records",
]
