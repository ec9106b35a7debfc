"""ARFF files of Mulan and MEKA."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import (
    FormatError,
    open_for_writing,
    read_unpacked,
    shorten,
    strip_compression,
)
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._arff_header import Header, quote, read_header
from labelkin.datasets.formats._arff_rows import read_rows
from labelkin.datasets.formats._columns import Labels, find_columns, find_features, find_labels
from labelkin.datasets.formats._content import (
    Content,
    check_content,
    make_bunch,
    number_text,
    sparse_rows,
)
from labelkin.datasets.formats._dialect import decode
from labelkin.datasets.formats._mulan_xml import (
    find_labels_xml,
    read_labels_xml,
    write_labels_xml,
)
from labelkin.datasets.formats._raw_table import RawTable

_ROWS = 1000  # written at once


def read_arff(
    path: str | Path,
    xml: str | Path | None = None,
    labels: Labels | None = None,
    *,
    drop: str | Iterable[str] = (),
    encoding: str | None = None,
) -> Bunch:
    """Read a multi-label ARFF file of Mulan or MEKA.

    The labels are, in this order, those given by `labels`, by `xml`, by the XML file next to it
    (``enron.xml`` for ``enron.arff`` and ``enron-train.arff``, also compressed), and by MEKA's
    ``-C n`` in the relation's name. So an XML takes precedence over a ``-C``.

    Parameters
    ----------
    path : str or Path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    xml : str or Path, optional
        Mulan's list of labels. Nested labels are flattened.
    labels : names, comma-separated string, or int, optional
        Names of the label attributes, or their count: the first n, or with a minus the last n.
    drop : names or comma-separated string, default=()
        Attributes to leave out, such as an identifier.
    encoding : str, optional
        Of the text; guessed if not given: UTF-8 if it is valid, else cp1252.

    Returns
    -------
    Bunch
        ``data``: float64, dense for dense rows and CSR for sparse rows; missing values are
        NaN. ``target``: uint8 of shape (n, q), dense (CSR above 100 million entries of a
        sparse file), in the order of the ARFF file's attributes, whatever the XML's.
        ``feature_names``, ``label_names``; ``feature_n_values``: 0 for a numeric feature, k
        for a nominal one with k values, coded by their index (for a yes/no pair: no is 0,
        yes is 1); ``split``: None; ``DESCR``: the file's comments, or its relation.

    Raises
    ------
    FormatError
        A ValueError that names the file and the line.

    Examples
    --------
    >>> from labelkin.datasets import read_arff
    >>> yeast = read_arff("yeast.arff.gz")  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((2417, 103), (2417, 14))

    """
    header, lines = _open(path, encoding)
    names = header.names
    label_columns = _label_columns(header, path, xml, labels)
    features = find_features(names, label_columns, drop, path)
    _check_kinds(header, np.concatenate([features, label_columns]), path, "drop")
    kept = np.union1d(features, label_columns)
    matrix = read_rows(lines, header.attributes, kept.tolist(), label_columns.tolist(), path)
    n_values = [len(header.attributes[column].values) for column in features.tolist()]
    return make_bunch(
        matrix[:, np.searchsorted(kept, features)],
        matrix[:, np.searchsorted(kept, label_columns)].astype(np.uint8),
        feature_names=[names[column] for column in features.tolist()],
        label_names=[names[column] for column in label_columns.tolist()],
        feature_n_values=np.array(n_values, dtype=np.int32),
        descr=header.comments or header.relation,
    )


def read_arff_table(
    path: str | Path, *, encoding: str | None = None, ignore: Iterable[str] = ()
) -> RawTable:
    """Return every attribute but those to ignore; unlike in `read_arff`, labels may be missing."""
    ignored = set(ignore)
    header, lines = _open(path, encoding)
    columns = [i for i, name in enumerate(header.names) if name not in ignored]
    if not columns:
        raise FormatError(path, "no attribute is left besides those ignored")
    _check_kinds(header, columns, path, "ignore")
    matrix = read_rows(lines, header.attributes, columns, [], path)
    xml = find_labels_xml(path)
    label_names = None
    if xml is not None:
        label_names = read_labels_xml(xml)
    elif header.meka_count is not None:
        found = find_labels(header.meka_count, header.names, path)
        label_names = [header.names[i] for i in found]
    attributes = [header.attributes[i] for i in columns]
    names = [attribute.name for attribute in attributes]
    # The codes of a no/yes pair mean the same in every file; those of other nominal values
    # depend on the order in which the file declares them, so the values themselves are kept.
    nominal = [one for one in attributes if one.values and one.codes != one.binary_codes]
    data = matrix
    if nominal and not sparse.issparse(matrix):
        by_name: dict[str, Any] = dict(zip(names, matrix.T, strict=True))
        for one in nominal:
            codes = by_name[one.name]
            by_name[one.name] = [None if np.isnan(c) else one.values[int(c)] for c in codes]
        data = import_optional("pandas").DataFrame(by_name)
    return RawTable(str(path), data, names, label_names)


def _open(path: str | Path, encoding: str | None) -> tuple[Header, Iterator[tuple[int, str]]]:
    """Return the header, and the lines below it with their numbers."""
    text, _ = decode(read_unpacked(path), path, encoding)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return read_header(numbered, path), numbered


def _label_columns(
    header: Header, path: str | Path, xml: str | Path | None, labels: Labels | None
) -> np.ndarray:
    names = header.names
    if labels is not None:
        return find_labels(labels, names, path)
    xml = xml or find_labels_xml(path)
    if xml is not None:
        listed = read_labels_xml(xml)
        unknown = sorted(set(listed) - set(names))
        if unknown:
            raise FormatError(
                path, f"no attribute {shorten(unknown[0])}, which {Path(xml).name} lists as a label"
            )
        found = find_columns(listed, names, path)
        if found.size == len(names):
            raise FormatError(path, f"{Path(xml).name} lists every attribute; no feature is left")
        return found
    if header.meka_count is not None:
        return find_labels(header.meka_count, names, path)
    raise FormatError(
        path,
        "the label attributes are unknown: there is no XML file of the same name and the relation "
        "has no -C; pass labels= (names, or a count: -3 for the last three) or xml=",
        None,
        "labels",
        "xml",
    )


def _check_kinds(header: Header, columns: Iterable[int], path: str | Path, argument: str) -> None:
    """Refuse text and dates, and name the argument that leaves a column out."""
    for column in columns:
        attribute = header.attributes[column]
        if attribute.kind not in ("numeric", "nominal"):
            raise FormatError(
                path,
                f"attribute {shorten(attribute.name)} is of type {attribute.kind}, neither "
                f"numeric nor nominal; leave it out with {argument}=, or convert the file to CSV",
                attribute.line,
                argument,
            )


def write_arff(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
    relation: str = "labelkin",
    xml: bool = True,
    meka: bool = False,
    sparse: bool | None = None,
) -> None:
    """Write a multi-label ARFF file that Mulan or MEKA, and `read_arff`, can read.

    Parameters
    ----------
    path : str or Path
        The file; ``.gz`` and ``.bz2`` are compressed. It appears whole or not at all.
    data : array-like, sparse matrix or DataFrame of shape (n, d)
        Features; NaN is written as missing.
    target : array-like, sparse matrix or DataFrame of shape (n, q)
        Labels, 0 or 1.
    feature_names, label_names : iterable of str, optional
        Otherwise the DataFrames' columns, or ``x1, …`` and ``y1, …``.
    feature_n_values : array-like of int, optional
        0 for a numeric feature, k for a nominal one, declared as ``{0,…,k-1}``.
    relation : str, default="labelkin"
        Name of the relation.
    xml : bool, default=True
        Write Mulan's XML next to the file (``yeast.xml`` for ``yeast.arff.gz``). Without
        effect when `meka`.
    meka : bool, default=False
        Write MEKA's form: labels first, ``-C q`` in the relation's name, no XML.
    sparse : bool, optional
        Sparse rows, or dense ones; otherwise as `data` is.

    """
    content = check_content(path, data, target, feature_names, label_names, feature_n_values)
    with open_for_writing(path) as file:
        for line in _lines(content, relation, meka, sparse):
            file.write(f"{line}\n".encode())
        if xml and not meka:  # inside, so that the ARFF file appears only after its XML
            xml_path = strip_compression(path).with_suffix(".xml")
            write_labels_xml(xml_path, content.label_names)


def _lines(content: Content, relation: str, meka: bool, as_sparse: bool | None) -> Iterator[str]:
    features = [
        f"@attribute {quote(name)} {_type(count)}"
        for name, count in zip(content.feature_names, content.feature_n_values, strict=True)
    ]
    labels = [f"@attribute {quote(name)} {{0,1}}" for name in content.label_names]
    table = [content.data, content.target]
    if meka:
        relation = f"{relation}: -C {len(labels)}"
        table.reverse()
    head = labels + features if meka else features + labels
    yield from [f"@relation {quote(relation)}", "", *head, "", "@data"]
    if sparse.issparse(content.data) if as_sparse is None else as_sparse:
        for row in sparse_rows(sparse.hstack(table, format="csr")):
            yield "{" + ",".join(f"{column} {number_text(value)}" for column, value in row) + "}"
    else:
        for first in range(0, content.target.shape[0], _ROWS):
            blocks = content.rows(first, first + _ROWS)
            rows = np.hstack(blocks[::-1] if meka else blocks)
            yield from (",".join(map(number_text, row)) for row in rows.tolist())


def _type(n_values: int) -> str:
    return f"{{{','.join(map(str, range(n_values)))}}}" if n_values else "numeric"
