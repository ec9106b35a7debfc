"""The rows of an ARFF file, dense or sparse, as a matrix of numbers."""

import math
import re
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, shorten
from labelkin.datasets.formats._arff_header import Attribute, split_values

_INDEX = re.compile("[0-9]{1,9}")


def read_rows(
    lines: Iterable[tuple[int, str]],
    attributes: list[Attribute],
    columns: Iterable[int],
    labels: Iterable[int],
    path: str | Path,
) -> Any:
    """Return the rows below ``@data``, given with their line numbers, as an array or CSR matrix.

    `columns` are the positions of the columns to keep, ascending; the values of others are not
    decoded. `labels` are those of them whose values must be 0 or 1.
    """
    label_columns = set(labels)
    decoders = {i: _decoder(attributes[i], i in label_columns, path) for i in columns}
    places = {column: place for place, column in enumerate(decoders)}
    # What a sparse row means by leaving out a nominal column: its first value.
    firsts = {
        i: decode(attributes[i].values[0]) for i, decode in decoders.items() if attributes[i].values
    }
    values, indices, ends = array("d"), array("q"), array("q", [0])
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
                given = _sparse_values(row, len(attributes))
                decoded = {i: decoders[i](value) for i, value in given.items() if i in decoders}
                entries = sorted((firsts | decoded).items())
                indices.extend(places[i] for i, value in entries if value)
                values.extend(value for _, value in entries if value)
            else:
                texts = split_values(row)
                if len(texts) != len(attributes):
                    raise ValueError(f"{len(texts)} values for {len(attributes)} attributes")
                values.extend([decode(texts[i]) for i, decode in decoders.items()])
        except ValueError as error:
            raise FormatError(path, str(error), at) from None
        ends.append(len(values))
    shape = len(ends) - 1, len(places)
    if not is_sparse:
        return np.array(values).reshape(shape)
    return sparse.csr_matrix((np.array(values), np.array(indices), np.array(ends)), shape=shape)


def _sparse_values(row: str, n_attributes: int) -> dict[int, str | None]:
    """Return the values of a row ``{index value, index value, …}`` by their columns."""
    if not row.endswith("}") or len(row) == 1:
        raise ValueError("the row has no closing brace")
    texts = split_values(row[1:-1].strip())
    values: dict[int, str | None] = {}
    for at in range(0, len(texts), 2):
        index = texts[at] or "?"
        if len(texts) == at + 1 or not _INDEX.fullmatch(index):
            raise ValueError(f"'index value' expected at {shorten(index)}")
        column = int(index)
        if column >= n_attributes:
            raise ValueError(
                f"index {column} is out of range: {n_attributes} attributes are declared, "
                "counted from 0"
            )
        if column in values:
            raise ValueError(f"index {column} occurs twice")
        values[column] = texts[at + 1]
    return values


def _decoder(
    attribute: Attribute, is_label: bool, path: str | Path
) -> Callable[[str | None], float]:
    """Return the function that turns the text of a value into a number."""
    name = shorten(attribute.name)
    parse: Callable[[str], float] = parse_number
    if attribute.kind == "nominal":
        codes = attribute.binary_codes if is_label else attribute.codes
        if codes is None:
            shown = shorten(", ".join(attribute.values[:6]))
            raise FormatError(
                path,
                f"label {name} takes the values {shown}: labelkin is for binary labels (0/1), "
                "not multi-target data",
                attribute.line,
            )
        parse = _nominal_parser(codes)

    def decode(text: str | None) -> float:
        try:
            value = math.nan if text is None else parse(text)
        except ValueError as error:
            raise ValueError(f"attribute {name}: {error}") from None
        if is_label and value not in (0, 1):
            found = "is missing (?)" if math.isnan(value) else f"holds {value:g}"
            raise ValueError(f"label {name} {found}; it must be 0 or 1")
        return value

    return decode


def parse_number(text: str) -> float:
    """Return the number that a text is."""
    try:
        if not text.isascii() or "_" in text:  # Python's float takes both
            raise ValueError
        return float(text)
    except ValueError:
        raise ValueError(f"{shorten(text)} is not a number") from None


def _nominal_parser(codes: dict[str, float]) -> Callable[[str], float]:
    """Return the function that finds a value's code, also written as 1.0 and declared as 1."""
    by_number: dict[float, float] = {}
    for value, code in codes.items():
        with suppress(ValueError):
            by_number.setdefault(parse_number(value), code)

    def parse(text: str) -> float:
        if text in codes:
            return codes[text]
        with suppress(ValueError, KeyError):
            return by_number[parse_number(text)]
        declared = shorten(", ".join([*codes][:6]))
        raise ValueError(f"{shorten(text)} is not one of its declared values {declared}")

    return parse
