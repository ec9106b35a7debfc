"""The header of an ARFF file, and the values that are separated by commas or blanks in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labelkin._utils.files import FormatError, shorten

# Possessive quantifiers, so that matching takes linear time on any line.
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

_KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric"}
_KINDS |= {kind: kind for kind in ("string", "date", "relational")}
_NO = ("0", "-1", "0.0", "-1.0", "no", "n", "false", "f", "off", "absent")
_YES = ("1", "+1", "1.0", "yes", "y", "true", "t", "on", "present")
_MEANINGS = dict.fromkeys(_NO, 0.0) | dict.fromkeys(_YES, 1.0)


class Attribute(NamedTuple):
    """One declared column, and the line where it is declared.

    The kind is ``numeric``, ``nominal`` (with the declared values), or one that cannot be a feature
    (``string``, ``date``, ``relational``).
    """

    name: str
    kind: str
    values: tuple[str, ...]
    line: int

    @property
    def binary_codes(self) -> dict[str, float] | None:
        """0 for no and 1 for yes; None where the values are not one of each."""
        codes = {value: _MEANINGS.get(value.casefold()) for value in self.values[:3]}
        known = {value: code for value, code in codes.items() if code is not None}
        return known if len(set(known.values())) == len(self.values) else None

    @property
    def codes(self) -> dict[str, float]:
        """The code of each nominal value: 0 and 1 for a no/yes pair, else its index."""
        binary = self.binary_codes
        if binary is not None and len(binary) == 2:
            return binary
        return {value: float(index) for index, value in enumerate(self.values)}


@dataclass(frozen=True)
class Header:
    """What precedes the rows."""

    relation: str
    attributes: list[Attribute]
    comments: str

    @property
    def names(self) -> list[str]:
        """The names of the attributes."""
        return [attribute.name for attribute in self.attributes]

    @property
    def meka_count(self) -> int | None:
        """MEKA's number of label attributes: ``-C n`` in the relation's name."""
        found = _MEKA_COUNT.search(self.relation)
        return int(found[1]) if found else None


def _unquote(quoted: str) -> str:
    """Return the text of a quoted value, escapes resolved."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), inner)
    text.encode("utf-8")  # fails for half a surrogate pair
    return text


def quote(name: str) -> str:
    """Write a name so that it reads back the same, quoted only where it must be."""
    if re.fullmatch(r"[A-Za-z0-9_.+/:;#$&*=~^|<>()\[\]-]+", name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, f"\\{letter}")
    return f"'{escaped}'"


def split_values(text: str) -> list[str | None]:
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


def _parse_type(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind and the values that an attribute declares."""
    if text.startswith("{"):
        found = _NOMINAL.fullmatch(text)
        if found is None:
            raise ValueError(f"the list of values has no closing brace: {shorten(text)}")
        values = tuple("?" if value is None else value for value in split_values(found[1]))
        if not values:
            raise ValueError("a nominal attribute declares no value")
        if len(set(values)) < len(values):
            raise ValueError(f"a nominal value occurs twice in {shorten(text)}")
        return "nominal", values
    word = text.partition("%")[0].strip().lower()
    if word.startswith("date"):  # a format may follow
        word = "date"
    if word not in _KINDS:
        raise ValueError(
            f"unknown attribute type {shorten(text)}; numeric or {{value, value, …}} expected"
        )
    return _KINDS[word], ()


def read_header(lines: Iterator[tuple[int, str]], path: str | Path) -> Header:
    """Read up to and with the ``@data`` line; errors name the line that is not ARFF."""
    relation, comments = "", []
    attributes: dict[str, Attribute] = {}
    line = 0
    for line, text in lines:
        try:
            if found := _ATTRIBUTE.match(text):
                name = _unquote(found[1]) if found[1] else found[2]
                if name in attributes:
                    raise ValueError(f"two attributes are named {shorten(name)}")
                attributes[name] = Attribute(name, *_parse_type(found[3]), line)
            elif not text or text.startswith("%"):
                comments.append(text[1:].strip())
            elif text.lower() == "@data":
                break
            elif found := _RELATION.match(text):
                relation = _unquote(found[1]) if found[1] else found[2] or found[3]
            else:
                raise ValueError(
                    f"@relation, @attribute with a name, or @data expected, found {shorten(text)}"
                )
        except ValueError as error:
            raise FormatError(path, str(error), line) from None
    else:
        raise FormatError(path, "the file ends before @data", line or None)
    if not attributes:
        raise FormatError(path, "@data comes before any @attribute", line)
    return Header(relation, list(attributes.values()), "\n".join(comments).strip())
