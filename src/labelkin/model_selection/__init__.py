"""Stratified splits of multi-label data."""

from labelkin.model_selection._splitters import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
    train_test_split,
)

__all__ = [
    "IterativeStratifiedKFold",
    "IterativeStratifiedShuffleSplit",
    "RepeatedIterativeStratifiedKFold",
    "train_test_split",
]
