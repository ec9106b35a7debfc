"""The rows of an ARFF file, dense or sparse, as a matrix of numbers."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, shorten
from labelkin.datasets.formats._arff_header import (
    QUOTED,
    Attribute,
    feature_codes,
    label_codes,
    split_values,
    unquote,
)
from labelkin.datasets.formats._content import overflows

# A pair of a sparse row; possessive quantifiers, so that matching takes linear time on any line.
_PAIR = re.compile(rf"""\s*+([0-9]{{1,9}})\s++(?:({QUOTED})|([^\s,'"][^\s,]*+))\s*+(,|\Z)""")


class RowReader:
    """Decode the rows below ``@data``.

    `columns` are the positions of the columns to keep, ascending; the values of others are not
    decoded. `labels` are those of them whose values must be 0 or 1.
    """

    def __init__(
        self,
        attributes: list[Attribute],
        columns: Sequence[int],
        labels: Sequence[int],
        path: str | Path,
    ) -> None:
        self.attributes, self.path = attributes, path
        self.labels = set(labels)
        self.place = {column: place for place, column in enumerate(columns)}
        self.codes: dict[int, _Codes] = {}  # of the nominal columns
        for column in columns:
            attribute = attributes[column]
            if attribute.kind == "nominal" and column in self.labels:
                self.codes[column] = _Codes(label_codes(attribute, path))
            elif attribute.kind == "nominal":
                self.codes[column] = _Codes(feature_codes(attribute.values))
        # What a sparse row means by leaving out a nominal column: its first value.
        first = {column: next(iter(codes.values())) for column, codes in self.codes.items()}
        self.defaults = {column: value for column, value in first.items() if value}

    def read(self, lines: Iterable[tuple[int, str]]) -> Any:
        """Return all rows, given with their line numbers, as an array or as a CSR matrix."""
        values, places, ends = array("d"), array("q"), array("q", [0])
        is_sparse = False
        for at, row in lines:
            if not row or row.startswith("%"):
                continue
            if len(ends) == 1:
                is_sparse = row.startswith("{")
            try:
                if row.startswith("{") != is_sparse:
                    kinds = ("a dense row among sparse ones", "a sparse row among dense ones")
                    raise ValueError(kinds[not is_sparse])
                if is_sparse:
                    entries = self._sparse_row(row)
                    places.extend(entries.keys())
                    values.extend(entries.values())
                else:
                    values.extend(self._dense_row(row))
            except ValueError as error:
                raise FormatError(self.path, str(error), at) from None
            ends.append(len(values))
        shape = len(ends) - 1, len(self.place)
        if not is_sparse:
            return np.array(values).reshape(shape)
        return sparse.csr_matrix((np.array(values), np.array(places), np.array(ends)), shape=shape)

    def _dense_row(self, text: str) -> list[float]:
        tokens = list(split_values(text))
        if len(tokens) != len(self.attributes):
            raise ValueError(f"{len(tokens)} values for {len(self.attributes)} attributes")
        return [self._decode(column, tokens[column]) for column in self.place]

    def _sparse_row(self, text: str) -> dict[int, float]:
        """Return the values that are not 0 by their places, in order."""
        if not text.endswith("}") or len(text) == 1:
            raise ValueError("the row has no closing brace")
        text = text[1:-1].strip()
        entries = dict(self.defaults)
        seen = set()
        position, more = 0, bool(text)
        while more:
            found = _PAIR.match(text, position)
            if found is None:
                raise ValueError(f"'index value' expected at {shorten(text[position:].strip())}")
            column = int(found[1])
            if column >= len(self.attributes):
                raise ValueError(
                    f"index {column} is out of range: {len(self.attributes)} attributes are "
                    "declared, counted from 0"
                )
            if column in seen:
                raise ValueError(f"index {column} occurs twice")
            seen.add(column)
            token = unquote(found[2]) if found[2] else None if found[3] == "?" else found[3]
            entries[column] = self._decode(column, token) if column in self.place else 0.0
            position, more = found.end(), found[4] == ","
        return {self.place[column]: value for column, value in sorted(entries.items()) if value}

    def _decode(self, column: int, token: str | None) -> float:
        name = shorten(self.attributes[column].name)
        try:
            if token is None:
                value = math.nan
            elif column in self.codes:
                value = self.codes[column].find(token)
            else:
                value = _number(token)
        except ValueError as error:
            raise ValueError(f"attribute {name}: {error}") from None
        if column in self.labels and value not in (0, 1):
            found = "is missing (?)" if math.isnan(value) else f"holds {value:g}"
            raise ValueError(f"label {name} {found}; it must be 0 or 1")
        return value


def _number(token: str) -> float:
    try:
        if not token.isascii() or "_" in token:  # Python's float takes both
            raise ValueError
        value = float(token)
    except ValueError:
        raise ValueError(f"{shorten(token)} is not a number") from None
    if math.isinf(value) and overflows(token):
        raise ValueError(f"{shorten(token)} is beyond the range of numbers")
    return value


class _Codes(dict[str, float]):
    """The code of each value of a nominal attribute, as it is declared."""

    @cached_property
    def by_number(self) -> dict[float, float]:
        """The codes of values that are one number each, if all are numbers."""
        try:
            numbers = [_number(value) for value in self]
        except ValueError:
            return {}
        counts = Counter(numbers)
        pairs = zip(numbers, self.values(), strict=True)
        return {number: code for number, code in pairs if counts[number] == 1}

    def find(self, token: str) -> float:
        """Return the code of a value, also where it is written as 1.0 and declared as 1."""
        if token in self:
            return self[token]
        try:
            return self.by_number[_number(token)]
        except (KeyError, ValueError):
            declared = shorten(", ".join(islice(self, 6)))
            raise ValueError(
                f"{shorten(token)} is not one of its declared values {declared}"
            ) from None
