"""The header of an ARFF file: relation, attributes, and the codes of their values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from labelkin._utils.files import FormatError, shorten

# Possessive quantifiers, so that matching takes linear time on any line.
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_TOKEN = re.compile(rf"""\s*+(?:({QUOTED})|([^\s,'"][^\s,]*+))\s*+(,?)\s*+""", re.DOTALL)
_NOT_PLAIN = re.compile(r"""['"\s]""")
_NAME = rf"""(?:({QUOTED})|([^\s{{'"][^\s{{]*+))"""
_RELATION = re.compile(rf"@relation\s++(?:{_NAME}\s*+$|(.*))", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"@attribute\s++{_NAME}\s*+(.*)", re.DOTALL | re.IGNORECASE)
_NOMINAL = re.compile(r"\{(.*)\}\s*(?:%.*)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_MEKA_COUNT = re.compile(r"(?:^|[\s:])-[Cc]\s+(-?[0-9]{1,9})(?![0-9])")

_NUMERIC = {"numeric", "real", "integer"}
_NEGATIVE = {"0", "-1", "0.0", "-1.0", "no", "n", "false", "f", "off", "absent"}
_POSITIVE = {"1", "+1", "1.0", "yes", "y", "true", "t", "on", "present"}


class Attribute(NamedTuple):
    """One declared column, and the line where it is declared.

    The kind is ``numeric``, ``nominal`` (with the declared values), or one that cannot be a feature
    (``string``, ``date``).
    """

    name: str
    kind: str
    values: tuple[str, ...]
    line: int


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


def unquote(quoted: str) -> str:
    """Text of a quoted token, escapes resolved."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), inner)
    text.encode("utf-8")  # half a surrogate pair is no character
    return text


def quote(name: str) -> str:
    """Write a name so that it reads back the same, quoted only where it must be."""
    if re.fullmatch(r"[A-Za-z0-9_.+/:;#$&*=~^|<>()\[\]-]+", name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, f"\\{letter}")
    return f"'{escaped}'"


def split_values(text: str) -> Iterator[str | None]:
    """Yield the values of a comma-separated text, None for a question mark without quotes."""
    plain = text.split(",")
    if "" not in plain and not _NOT_PLAIN.search(text):  # in a fifth of the time
        yield from (None if value == "?" else value for value in plain)
        return
    position, more = 0, bool(text.strip())
    while more:
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"no value can be read at {shorten(text[position:].strip())}")
        yield unquote(found[1]) if found[1] else None if found[2] == "?" else found[2]
        position = found.end()
        more = bool(found[3]) or position < len(text)


@lru_cache(maxsize=512)
def _parse_type(text: str) -> tuple[str, tuple[str, ...]]:
    """Return kind and values of an attribute's type; cached, since thousands share one."""
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
    words = text.split("%", 1)[0].lower().split()
    kind = words[0] if words else ""
    if kind in _NUMERIC and len(words) == 1:
        return "numeric", ()
    if kind in {"string", "date", "relational"}:
        return kind, ()
    raise ValueError(
        f"unknown attribute type {shorten(text)}; numeric or {{value, value, …}} expected"
    )


def read_header(lines: Iterator[tuple[int, str]], path: str | Path) -> Header:
    """Read up to and with the ``@data`` line; errors name the line that is not ARFF."""
    relation, attributes, comments = "", [], []
    line = 0
    for line, text in lines:
        try:
            if found := _ATTRIBUTE.match(text):
                name = unquote(found[1]) if found[1] else found[2]
                attributes.append(Attribute(name, *_parse_type(found[3]), line))
            elif not text or text.startswith("%"):
                comments.append(text[1:].strip())
            elif text.lower() == "@data":
                break
            elif found := _RELATION.match(text):
                relation = unquote(found[1]) if found[1] else found[2] or found[3]
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
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            message = f"two attributes are named {shorten(attribute.name)}"
            raise FormatError(path, message, attribute.line)
        seen.add(attribute.name)
    return Header(relation, attributes, "\n".join(comments).strip())


@lru_cache(maxsize=512)
def feature_codes(values: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Return the code of each nominal value: its index, or 0 and 1 for a no/yes pair."""
    if is_binary(values):
        return binary_codes(values) or ()
    return tuple((value, float(index)) for index, value in enumerate(values))


def label_codes(attribute: Attribute, path: str | Path) -> tuple[tuple[str, float], ...]:
    """Return 0 or 1 for each value of a label; a label with other values is refused."""
    codes = binary_codes(attribute.values)
    if codes is None:
        shown = ", ".join(attribute.values[:6])
        raise FormatError(
            path,
            f"label {shorten(attribute.name)} takes the values {shorten(shown)}: labelkin is for "
            "binary labels (0/1), not multi-target data",
            attribute.line,
        )
    return codes


def is_binary(values: tuple[str, ...]) -> bool:
    """Return whether nominal values are a no/yes pair."""
    return len(values) == 2 and binary_codes(values) is not None


@lru_cache(maxsize=512)
def binary_codes(values: tuple[str, ...]) -> tuple[tuple[str, float], ...] | None:
    """Return 0 or 1 for each value by its meaning; None if two have the same, or one has none."""
    codes = []
    for value in values[:3]:
        folded = value.casefold()
        if folded in _NEGATIVE or folded in _POSITIVE:
            codes.append((value, float(folded in _POSITIVE)))
    return tuple(codes) if len({code for _, code in codes}) == len(values) else None
