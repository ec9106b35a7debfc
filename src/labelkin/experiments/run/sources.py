"""Datasets of an experiment: known by name, bundled, or a user's file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.errors import ArgumentError
from labelkin.datasets import (
    dataset_info,
    dataset_names,
    load_dataset,
    load_digit_scenes,
    read_table,
)
from labelkin.experiments.run.groups import QUICK_DATASET
from labelkin.tabular import find_training_data
from labelkin.tabular._pipeline import make_pipeline

_N_SCENES = 600  # enough to tell methods apart, few enough for the slowest method


@dataclass(frozen=True)
class Dataset:
    """Samples and labels under the name used in the tables."""

    name: str
    X: Any
    Y: np.ndarray
    test: np.ndarray | None = None
    """Published test rows, where these are to be predicted."""
    preparation: Any = None
    """Transformer of a user's columns, which is fitted on the training rows of each fold."""
    guesses: tuple[str, ...] = ()
    """What was guessed about a user's table."""

    @property
    def fingerprint(self) -> str:
        """Hash of all values: results of different data must not mix under one name."""
        digest = hashlib.sha256()
        for part in (*_arrays(self.X), *_arrays(self.Y)):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()[:16]


def _arrays(matrix: Any) -> tuple[np.ndarray, ...]:
    if sparse.issparse(matrix):
        return (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64))
    if hasattr(matrix, "columns"):
        return (np.frombuffer(matrix.to_csv(index=False).encode(), np.uint8),)
    return (np.asarray(matrix),)


@dataclass(frozen=True)
class Source:
    """Where a dataset comes from; nothing is read before `load`."""

    name: str
    path: Path | None = None
    """The user's file; None: a dataset known by name, or the bundled scenes."""
    labels: str | None = None
    """The label columns of a file whose format does not mark them."""

    def load(self, *, with_test: bool = False) -> Dataset:
        """Read the dataset, or download it the first time.

        Without `with_test` its rows are those that the paper uses; with it, all rows, the published
        test rows noted.
        """
        if self.path is not None and not with_test:
            # Columns of a user's table are prepared as ``labelkin fit`` does.
            table = find_training_data(read_table(self.path, labels=self.labels), self.labels)
            steps = make_pipeline(table.schema, None)[:-1]
            guesses = tuple(guess.text for guess in table.guesses)
            return Dataset(
                self.name, table.X, _target(table.y), None, steps if len(steps) else None, guesses
            )
        bunch: Any = {}
        if self.name == QUICK_DATASET:
            bunch = load_digit_scenes(_N_SCENES, random_state=0)
        elif self.path is None:
            bunch = load_dataset(self.name, subset="all" if with_test else None)
        if with_test and bunch.get("split") is None:
            raise ArgumentError(
                f"{self.name} has no published test rows; leave it out, or set folds=5.", "folds"
            )
        test = np.flatnonzero(bunch.split == 1) if with_test else None
        return Dataset(self.name, bunch.data, _target(bunch.target), test)


def _target(y: Any) -> np.ndarray:
    """Return labels as a dense array of integers, or of floats if some are unknown."""
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    return y if np.isnan(y).any() else y.astype(np.int64)


def find_sources(names: list[str], files: list[str], labels: list[str]) -> tuple[Source, ...]:
    """Return the sources of datasets by name, then those of a user's files with their labels."""
    if len(labels) not in (0, 1, len(files)):
        raise ValueError("--labels: give it once for all --data, or once for each, in order.")
    if labels and not files:
        raise ValueError("--labels: it describes a --data file, and none is given.")
    columns = labels * len(files) if len(labels) == 1 else labels or [""] * len(files)
    own = [file_source(file, which or None) for file, which in zip(files, columns, strict=True)]
    return tuple(dict.fromkeys([*(find_source(name) for name in names), *own]))


def find_source(name: str) -> Source:
    """Return the source of a dataset by its name, or by the path of its file."""
    if name == QUICK_DATASET:
        return Source(name)
    if Path(name).is_file():
        return file_source(name)
    return Source(dataset_info(name).name)


def file_source(text: str, labels: str | None = None) -> Source:
    """Return the source of a user's file, given as ``path`` or ``name=path``."""
    before, equals, after = text.partition("=")
    named = bool(equals) and not Path(text).is_file()
    path = Path(after if named else text)
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file.")
    name = before if named else path.name.split(".")[0]
    if name == QUICK_DATASET or name in dataset_names():
        raise ValueError(
            f"{path}: {name!r} is the name of a known dataset; give yours another, "
            f"as in my-{name}={path}."
        )
    return Source(name, path, labels)
