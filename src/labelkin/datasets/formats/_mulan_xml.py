"""Mulan's XML list of labels; document type and entity declarations are refused."""

import re
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from labelkin._utils.files import FormatError, read_unpacked, reason, strip_compression
from labelkin.datasets.formats._columns import check_unique

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
            names.append(attributes["name"])

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
