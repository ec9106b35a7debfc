"""ARFF files of Mulan and MEKA: dense or sparse rows of numbers, nominal values and text."""

import math
import re
from array import array
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
from scipy import sparse

from labelkin._utils.files import (
    FormatError,
    read_unpacked,
    reason,
    shorten,
    strip_compression,
)
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import check_unique, find_labels, normal_form
from labelkin.datasets.formats._dialect import decode
from labelkin.datasets.formats._numbers import parse_plain_number
from labelkin.datasets.formats._raw_table import NO_YES, Options, RawTable, encoding_guess

# Possessive quantifiers, so that matching takes linear time on any line.
_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_VALUE = re.compile(rf"""\s*+(?:({_QUOTED})|([^\s,'"][^\s,]*+))\s*+(,?)\s*+""", re.DOTALL)
_NOT_PLAIN = re.compile(r"""['"\s]""")
_NAME = rf"""(?:({_QUOTED})|([^\s{{'"][^\s{{]*+))"""
_RELATION = re.compile(rf"@relation\s++(?:{_NAME}\s*+$|(.*))", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"@attribute\s++{_NAME}\s*+(.*)", re.DOTALL | re.IGNORECASE)
_NOMINAL = re.compile(r"\{(.*)\}\s*(?:%.*)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_MEKA_COUNT = re.compile(r"(?:^|[\s:])-[Cc]\s+(-?[0-9]{1,9})(?![0-9])")
_INDEX = re.compile("[0-9]{1,9}")

_NO = ("0", "-1", "0.0", "-1.0", "no", "n", "false", "f", "off", "absent")
_YES = ("1", "+1", "1.0", "yes", "y", "true", "t", "on", "present")
_MEANINGS = dict.fromkeys(_NO, 0.0) | dict.fromkeys(_YES, 1.0)


def read_arff(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a file as a matrix of numbers; those of nominal values and text are indices.

    The labels are those of the option `xml` or of the XML file beside it (``enron.xml`` for
    ``enron.arff`` and ``enron-train.arff``, also compressed), else those of MEKA's ``-C n`` in the
    relation's name.
    """
    path = budget.source
    budget.check_lines(raw)
    text, encoding = decode(raw, path, options.encoding)
    lines = enumerate((match[1].strip() for match in _LINE.finditer(text)), start=1)
    relation, attributes = _read_header(lines, path)
    data = _read_rows(lines, attributes, budget)
    names = [attribute.name for attribute in attributes]
    label_names = None
    if xml := options.xml or find_labels_xml(path):
        label_names = read_labels_xml(xml)
    elif count := _MEKA_COUNT.search(relation):
        label_names = [names[i] for i in find_labels(int(count[1]), names, path)]
    nominal = {one.name: one.values for one in attributes if one.codes is not None}
    texts = tuple(one.name for one in attributes if one.is_text)
    table = RawTable(str(path), data, names, label_names, nominal=nominal, texts=texts)
    table.guesses += encoding_guess(encoding, options)
    table.encoding = encoding
    return table


class _Attribute:
    """One declared column: its name, and the numbers that stand for its values."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.codes: dict[str, float] | None = None  # None: numbers
        self.is_text = False
        word = (kind.partition("%")[0].lower().split() or [""])[0]
        if kind.startswith("{"):
            self.codes = _parse_nominal(kind)
        elif word in ("string", "date"):
            self.is_text, self.codes = True, {"": 0.0}  # what a sparse row leaves out
        elif word not in ("numeric", "real", "integer"):
            raise ValueError(
                f"unknown attribute type {shorten(kind)}; numeric, string, date or "
                "{value, value, …} expected"
            )
        # What a sparse row means by leaving out the column: 0, or its first value.
        self.first = next(iter(self.codes.values())) if self.codes else 0.0

    @property
    def values(self) -> tuple[str, ...]:
        """The values by their codes."""
        codes = self.codes or {}
        are_no_yes = not self.is_text and codes == _find_no_yes(codes)
        return NO_YES if are_no_yes else tuple(codes)

    @cached_property
    def by_number(self) -> dict[float, float]:
        """The codes of values that are numbers, for those in another spelling, 1.0 like 1."""
        found: dict[float, float] = {}
        for value, code in (self.codes or {}).items():
            with suppress(ValueError):
                found.setdefault(parse_plain_number(value), code)
        return found

    def decode(self, text: str | None) -> float:
        """Return the number that stands for a value; NaN for a missing one."""
        if text is None:
            return math.nan
        try:
            if self.codes is None:
                return parse_plain_number(text)
        except ValueError as error:
            raise ValueError(f"attribute {shorten(self.name)}: {error}") from None
        if self.is_text:
            return self.codes.setdefault(text, float(len(self.codes)))
        if text in self.codes:
            return self.codes[text]
        with suppress(ValueError, KeyError):
            return self.by_number[parse_plain_number(text)]
        raise ValueError(
            f"attribute {shorten(self.name)}: {shorten(text)} is not one of its declared values "
            f"{shorten(', '.join([*self.codes][:6]))}"
        )


def _read_header(
    lines: Iterator[tuple[int, str]], path: str | Path
) -> tuple[str, list[_Attribute]]:
    """Read up to and with the ``@data`` line; return the relation's name and the attributes."""
    relation = ""
    attributes: dict[str, _Attribute] = {}
    line = 0
    for line, text in lines:
        try:
            if found := _ATTRIBUTE.match(text):
                name = _unquote(found[1]) if found[1] else found[2]
                if name in attributes:
                    raise ValueError(f"two attributes are named {shorten(name)}")
                attributes[name] = _Attribute(name, found[3])
            elif text.lower() == "@data":
                break
            elif found := _RELATION.match(text):
                relation = _unquote(found[1]) if found[1] else found[2] or found[3]
            elif text and not text.startswith("%"):
                raise ValueError(
                    f"@relation, @attribute with a name, or @data expected, found {shorten(text)}"
                )
        except ValueError as error:
            raise FormatError(path, str(error), line) from None
    else:
        raise FormatError(path, "the file ends before @data", line or None)
    if not attributes:
        raise FormatError(path, "@data comes before any @attribute", line)
    return relation, list(attributes.values())


def _parse_nominal(text: str) -> dict[str, float]:
    """Return the code of each declared value: 0 for no and 1 for yes, else its index."""
    found = _NOMINAL.fullmatch(text)
    if found is None:
        raise ValueError(f"the list of values has no closing brace: {shorten(text)}")
    values = ["?" if value is None else value for value in _split_values(found[1])]
    if not values:
        raise ValueError("a nominal attribute declares no value")
    if len(set(values)) < len(values):
        raise ValueError(f"a nominal value occurs twice in {shorten(text)}")
    return _find_no_yes(values) or {value: float(index) for index, value in enumerate(values)}


def _find_no_yes(values: Any) -> dict[str, float] | None:
    """Return 0 for no and 1 for yes; None where the values are not one of each."""
    known = {value: _MEANINGS.get(value.casefold(), math.nan) for value in [*values][:3]}
    meanings = {meaning for meaning in known.values() if not math.isnan(meaning)}
    return known if len(meanings) == len(values) else None


def _read_rows(
    lines: Iterator[tuple[int, str]], attributes: list[_Attribute], budget: Budget
) -> Any:
    """Return the rows below ``@data`` as an array or CSR matrix."""
    values, indices, ends = array("d"), array("q"), array("q", [0])
    firsts = {i: one.first for i, one in enumerate(attributes) if one.first}
    is_sparse = False
    for line, row in lines:
        if not row or row.startswith("%"):
            continue
        if len(ends) == 1:
            is_sparse = row.startswith("{")
        try:
            if row.startswith("{") != is_sparse:
                kinds = ("a dense row among sparse ones", "a sparse row among dense ones")
                raise ValueError(kinds[not is_sparse])
            if is_sparse:
                entries = sorted((firsts | _decode_sparse(row, attributes)).items())
                indices.extend(i for i, value in entries if value)
                values.extend(value for _, value in entries if value)
            else:
                texts = _split_values(row)
                if len(texts) != len(attributes):
                    raise ValueError(f"{len(texts)} values for {len(attributes)} attributes")
                values.extend([one.decode(t) for one, t in zip(attributes, texts, strict=True)])
        except ValueError as error:
            raise FormatError(budget.source, str(error), line) from None
        budget.take(16 * (len(values) - ends[-1] + 1))
        ends.append(len(values))
    shape = len(ends) - 1, len(attributes)
    if not is_sparse:
        return np.array(values).reshape(shape)
    return sparse.csr_matrix((np.array(values), np.array(indices), np.array(ends)), shape=shape)


def _decode_sparse(row: str, attributes: list[_Attribute]) -> dict[int, float]:
    """Return the values of a row ``{index value, index value, …}`` by their columns."""
    if not row.endswith("}") or len(row) == 1:
        raise ValueError("the row has no closing brace")
    texts = _split_values(row[1:-1].strip())
    values: dict[int, float] = {}
    for at in range(0, len(texts), 2):
        index = texts[at] or "?"
        if len(texts) == at + 1 or not _INDEX.fullmatch(index):
            raise ValueError(f"'index value' expected at {shorten(index)}")
        column = int(index)
        if column >= len(attributes):
            raise ValueError(
                f"index {column} is out of range: {len(attributes)} attributes are declared, "
                "counted from 0"
            )
        if column in values:
            raise ValueError(f"index {column} occurs twice")
        values[column] = attributes[column].decode(texts[at + 1])
    return values


def _split_values(text: str) -> list[str | None]:
    """Return the values of a line, None for a question mark without quotes."""
    plain = text.split(",")
    if "" not in plain and not _NOT_PLAIN.search(text):  # in a fifth of the time
        return [None if value == "?" else value for value in plain]
    values: list[str | None] = []
    position, more = 0, bool(text.strip())
    while more:
        found = _VALUE.match(text, position)
        if found is None:
            raise ValueError(f"no value can be read at {shorten(text[position:].strip())}")
        values.append(_unquote(found[1]) if found[1] else None if found[2] == "?" else found[2])
        position = found.end()
        more = bool(found[3]) or position < len(text)
    return values


def _unquote(quoted: str) -> str:
    """Return the text of a quoted value, escapes resolved."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), inner)
    text.encode("utf-8")  # fails for half a surrogate pair
    return text


# ------------------------------------------------------------------- Mulan's list of labels

_PART = re.compile(r"[-_.](train|test)\d*$", re.IGNORECASE)


def read_labels_xml(path: str | Path) -> list[str]:
    """Return the label names of a Mulan XML file, nested labels flattened in document order.

    A document type or entity declaration is refused where it stands: nothing is read or fetched
    for it, nothing is expanded.
    """
    names: list[str] = []
    depth = 0
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        raise ValueError(
            "the XML declares a document type or an entity, which labelkin refuses for safety; "
            "remove the declaration"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        expected = "labels" if depth == 0 else "label"
        depth += 1
        if tag.rpartition(":")[2] != expected:
            raise ValueError(
                f"not a Mulan list of labels: <{expected}> expected, found <{tag[:40]}>"
            )
        if depth > 1:
            if "name" not in attributes:
                raise ValueError("a <label> has no name")
            names.append(normal_form(attributes["name"]))

    parser.StartDoctypeDeclHandler = refuse  # entities are declared in a document type
    parser.StartElementHandler = start
    try:
        parser.Parse(read_unpacked(path), True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise FormatError(path, f"not well-formed XML ({message})", error.lineno) from None
    except (LookupError, ValueError) as error:  # an unknown encoding is a LookupError
        raise FormatError(path, reason(error), parser.CurrentLineNumber) from None
    if not names:
        raise FormatError(path, "the XML lists no label")
    check_unique(names, "label", path)
    return names


def find_labels_xml(path: str | Path) -> Path | None:
    """Return the XML beside an ARFF file: its own stem's, or that of the set it is a part of."""
    bare = strip_compression(path)
    for stem in dict.fromkeys((bare.stem, _PART.sub("", bare.stem))):
        for suffix in (".xml", ".xml.gz", ".xml.bz2"):
            candidate = bare.with_name(stem + suffix)
            if candidate.is_file():
                return candidate
    return None
