"""Columns of a DataFrame that hold objects or lists of numbers, as columns of their parts."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelkin._utils.optional import import_optional

_NUMBERS = re.compile(r"\s*\[[-+.,\deE\s]*\]\s*")  # [1.5, 2], or [1.5 2.] as NumPy writes it


def open_objects(frame: Any) -> Any:
    """Return a DataFrame with a column ``a.b`` for each field b of the objects in a column a.

    The column itself holds what its other cells do, if there are any.
    """
    pandas, objects = import_optional("pandas"), dict[int, Any]()
    for at in [at for at, dtype in enumerate(frame.dtypes) if dtype.kind == "O"]:
        cells = frame.iloc[:, at]
        is_object = np.array([isinstance(cell, dict) for cell in cells])
        if is_object.any():
            fields = pandas.json_normalize([c if isinstance(c, dict) else {} for c in cells])
            fields = fields.set_axis(frame.index).add_prefix(f"{frame.columns[at]}.")
            rest = frame.iloc[:, [at]].copy()
            rest.iloc[is_object, 0] = None
            objects[at] = pandas.concat([rest.dropna(axis=1, how="all"), fields], axis=1)
    parts = (objects.get(at, frame.iloc[:, [at]]) for at in range(frame.shape[1]))
    return pandas.concat(parts, axis=1) if objects else frame


def read_lists(column: Any) -> list[np.ndarray] | None:
    """Return the lists of numbers in a column, empty where missing; None: it holds others.

    They may be written as text, but are then of one length.
    """
    found, is_text = [], False
    for cell in column:
        if isinstance(cell, str):
            if not _NUMBERS.fullmatch(cell):
                return None
            is_text, cell = True, re.split(r"[,\s]+", cell.strip("[], \r\n\t"))
            try:
                cell = [float(number) for number in cell if number]
            except ValueError:
                return None
        is_list = isinstance(cell, list | tuple | np.ndarray)
        try:
            numbers = np.asarray(cell if is_list else ())
        except ValueError:  # lists of unequal length in a list
            return None
        if numbers.dtype == object and all(
            isinstance(n, int | float | np.number | None) for n in cell
        ):
            numbers = numbers.astype(np.float64)  # None is NaN
        if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
            return None
        found.append(numbers)
    return None if is_text and len({*map(len, found)} - {0}) > 1 else found


def spread_lists(frame: Any, name: str, lists: Sequence[Any], names: Sequence[str]) -> Any:
    """Return a DataFrame with the columns `names` for a column of lists, NaN for an empty one."""
    numbers = np.full((len(frame), len(names)), np.nan)
    for row, one in enumerate(lists):
        numbers[row] = one if len(one) else np.nan
    pandas = import_optional("pandas")
    spread = pandas.DataFrame(numbers, frame.index, list(names))
    return pandas.concat([frame.drop(columns=name), spread], axis=1)
