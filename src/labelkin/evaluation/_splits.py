"""Folds of an evaluation: rows at random, whole groups, past and future, equal rows together."""

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, RepeatedKFold

from labelkin._utils.names import plural
from labelkin.model_selection import RepeatedIterativeStratifiedKFold
from labelkin.model_selection._groups import is_missing, number_groups
from labelkin.tabular._dates import as_times
from labelkin.tabular._fingerprint import row_hashes

Splits = list[tuple[np.ndarray, np.ndarray]]

# Fewer different rows than this per fold are those of a few features with few values.
_LEAST_DIFFERENT = 10


def make_splits(
    X: Any,
    y: np.ndarray,
    *,
    folds: int,
    repeats: int,
    stratified: bool,
    groups: Any,
    time: Any,
    random_state: int,
) -> tuple[Splits, list[str]]:
    """Return training and test rows of each fold, and how they differ from rows at random."""
    remarks: list[str] = []
    if groups is not None:
        groups = _as_groups(groups, len(y), folds, remarks)
    if time is not None:
        if repeats > 1:
            raise ValueError(
                "repeats has no effect where earlier rows predict later ones, as there is one such "
                "order; leave it out."
            )
        name = str(getattr(time, "name", None) or "time")
        times = as_times(time, name)
        if len(times) != len(y):
            raise ValueError(f"time has {len(times)} entries, but there are {len(y)} rows.")
        return _past_and_future(times, groups, folds, name, remarks), remarks
    if groups is None:
        groups = _equal_rows(X, len(y), folds, remarks)
    if stratified:
        splitter: Any = RepeatedIterativeStratifiedKFold(
            n_splits=folds, n_repeats=repeats, random_state=random_state
        )
        return list(splitter.split(y, y, groups)), remarks
    if groups is None:
        splitter = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
        return list(splitter.split(y)), remarks
    rng = np.random.RandomState(random_state)
    splits: Splits = []
    for _ in range(repeats):
        order = rng.permutation(groups.max() + 1)
        splits += GroupKFold(folds).split(y, groups=order[groups])
    return splits, remarks


def _as_groups(groups: Any, n_rows: int, folds: int, remarks: list[str]) -> np.ndarray:
    """Return the number of each row's group; a row without one is a group of its own."""
    name = str(getattr(groups, "name", None) or "group")
    cells = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    missing = [is_missing(cell) or cell == "" for cell in cells]
    rows = enumerate(zip(cells, missing, strict=True))
    numbers = number_groups([(row,) if gone else cell for row, (cell, gone) in rows], n_rows)
    sizes = np.bincount(numbers)
    if len(sizes) < folds:
        raise ValueError(
            f"{name} has {plural(len(sizes), 'group')}, which cannot fill {folds} folds: choose "
            f"at most {len(sizes)} folds, or other groups."
            if len(sizes) > 1
            else f"{name} has the same value in all rows, so that no group is left to predict: "
            "choose other groups."
        )
    remarks.append(
        f"rows with the same {name} ({plural(len(sizes), 'group')} of up to "
        f"{plural(int(sizes.max()), 'row')}) are in one fold, so these figures are for new ones; "
        "with rows at random, others of the same group would be in training, and figures usually "
        "better"
    )
    if any(missing):
        remarks.append(
            f"{name} is missing in {plural(sum(missing), 'row')}, each a group by itself"
        )
    if sizes.max() * folds > 1.5 * n_rows and sizes.max() > 1:
        remarks.append(
            f"the largest group has {sizes.max():,} of {n_rows:,} rows, more than one of {folds} "
            "folds should have: the folds differ in size, and figures vary more"
        )
    return numbers


def _past_and_future(
    times: np.ndarray, groups: np.ndarray | None, folds: int, name: str, remarks: list[str]
) -> Splits:
    """Return folds of later rows, each to be predicted from all earlier ones.

    Rows of the same time are never divided. Training rows whose group is tested are left out.
    """
    moments, moment_of = np.unique(times, return_inverse=True)
    if len(moments) <= folds:
        raise ValueError(
            f"{name} has {plural(len(moments), 'different value')}, which cannot be divided into "
            f"{folds} folds and the past of the first: "
            f"choose {'other times' if len(moments) < 3 else f'at most {len(moments) - 1} folds'}."
        )
    # The first moment of each fold: as many rows in each as possible, and at least one moment.
    before = np.concatenate([[0], np.bincount(moment_of).cumsum()])
    starts = np.searchsorted(before, np.arange(1, folds + 1) * len(times) / (folds + 1))
    for fold in range(folds):
        starts[fold] = max(starts[fold], starts[fold - 1] + 1 if fold else 1)
        starts[fold] = min(starts[fold], len(moments) - folds + fold)
    ends = [*starts[1:], len(moments)]
    splits = []
    for start, end in zip(starts, ends, strict=True):
        train = np.flatnonzero(moment_of < start)
        test = np.flatnonzero((moment_of >= start) & (moment_of < end))
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
            if not len(train):
                raise ValueError(
                    f"all rows before a fold have groups of that fold, so that none is left to "
                    f"train on: evaluate by groups or by {name}, not by both."
                )
        splits.append((train, test))
    remarks.append(
        f"each fold is predicted from earlier rows only (by {name}), and the first "
        f"{plural(len(splits[0][0]), 'row')} are for training only, so these figures are for the "
        "future; with rows at random, later rows would be in training, and figures usually better"
    )
    return splits


def _equal_rows(X: Any, n_rows: int, folds: int, remarks: list[str]) -> np.ndarray | None:
    """Return groups of equal rows, to be kept in one fold; None where all rows differ."""
    try:
        numbers = number_groups(row_hashes(X), n_rows)
    except (TypeError, ValueError, AttributeError):  # rows that cannot be compared
        return None
    sizes = np.bincount(numbers)
    repeated = int(sizes[sizes > 1].sum())
    if not repeated:
        return None
    count = f"{repeated:,} of {n_rows:,} rows are equal to another one in all features"
    if len(sizes) < _LEAST_DIFFERENT * folds:
        remarks.append(
            f"{count}, and there are only {plural(len(sizes), 'different row')}: folds are drawn "
            "as if all differed, so these figures are for rows like them"
        )
        return None
    remarks.append(
        f"{count}; equal rows are kept in one fold, because with rows at random a tested row could "
        "be among the training rows, and figures would be too good"
    )
    return numbers
