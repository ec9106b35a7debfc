"""The kind of a column: numbers, a category, or text."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin.tabular._tables import RawTable

# "raw": numbers or strings as the file has them, for a model that encodes its input itself.
Kind = Literal["numeric", "category", "text", "raw"]
Scale = Literal["auto", "none", "standard", "minmax"]
Missing = Literal["impute", "refuse"]

# A column with more different values than this, most of them rare, is more likely text or an
# identifier than a category; so is one whose values are longer than a few words.
_MAX_CATEGORIES = 20
_MAX_CATEGORY_WORDS = 3


@dataclass(frozen=True)
class ColumnOptions:
    """What the user specifies about columns."""

    text: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: Missing = "impute"
    scale: Scale = "auto"
    max_words: int = 5000


def find_kind(table: RawTable, name: str, options: ColumnOptions) -> Kind:
    """Return the kind of a column; one that could be misread is refused with the cure."""
    kind = table.kind(name)
    if kind == "missing":
        raise FormatError(
            table.path,
            f"column {shorten(name)} holds no value at all; leave it out with ignore={name}",
            None,
            "ignore",
        )
    if name in options.text:
        return "text"
    if name in options.category:
        return "category"
    if kind == "numeric":
        return "numeric"
    if kind != "string":
        raise FormatError(
            table.path,
            f"column {shorten(name)} holds {kind} values, which are neither numbers nor text; "
            f"leave it out with ignore={name}, or pass category={name}",
            None,
            "ignore",
            "category",
        )
    return _kind_of_strings(table, name)


def _kind_of_strings(table: RawTable, name: str) -> Kind:
    cells = table.strings(name)
    values = [cell for cell in cells if cell is not None]
    distinct = set(values)
    is_repeated = len(distinct) <= _MAX_CATEGORIES or 2 * len(distinct) <= len(values)
    if is_repeated and np.mean([len(value.split()) for value in distinct]) <= _MAX_CATEGORY_WORDS:
        return "category"
    wrong = {value for value in distinct if not _is_number(value)}
    if 2 * len(wrong) < len(distinct):
        row = next(i for i, cell in enumerate(cells) if cell in wrong)
        raise FormatError(
            table.path,
            f"column {shorten(name)} is mostly numbers but holds {shorten(cells[row], 30)} in row "
            f"{row + 1}; correct that, or pass category={name} or ignore={name}",
            None,
            "category",
            "ignore",
        )
    raise FormatError(
        table.path,
        f"column {shorten(name)} holds words, {len(distinct):,} different ones in "
        f"{len(values):,} rows; pass text={name}, category={name} or ignore={name}",
        None,
        "text",
        "category",
        "ignore",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
