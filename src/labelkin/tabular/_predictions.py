"""Predictions of a table's rows as a person uses them: which row is which, its labels, how sure."""

import csv
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin._utils.names import abbreviate
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import find_columns
from labelkin.rows import as_dense
from labelkin.tabular._frames import escape_formulas, row_confidence
from labelkin.tabular._labels import LabelColumns
from labelkin.tabular._schema import Schema

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = "the probability that the decision on the row's least certain label is right"
"""What the column ``confidence`` holds."""

_TEXT = 60  # characters of the start of a text


def identify_rows(table: RawTable, schema: Schema) -> dict[str, list[str]]:
    """Return the columns by which a reader knows the rows: the identifier, the start of the text.

    Each is left out where the table has none.
    """
    present = set(getattr(table.data, "columns", ()))
    known = [name for name in schema.identifiers if name in present][:1]
    texts = [name for name in schema.of_kind("text") if name in present][:1]
    found = {name: as_written(table, name) for name in known}
    for name in texts:
        cells = as_written(table, name)
        found[name] = [abbreviate(" ".join(cell.split()), _TEXT) for cell in cells]
    return found


def kept_columns(
    table: RawTable, schema: Schema, id_column: str | None, wanted: list[str] | None
) -> dict[str, list[Any]]:
    """Return the columns before the predictions: what identifies a row, and those to keep.

    By default rows have their identifier or, without one, their number, and the start of the text.
    `wanted` may be ``["all"]`` or ``["none"]``.
    """
    names = table.names or []
    if wanted in (["all"], ["none"]) and wanted[0] not in names:
        wanted = names if wanted == ["all"] else []
    for option, given in (("id", [id_column] if id_column else []), ("keep", wanted or [])):
        if given and table.names is None:
            raise ValueError(f"--{option} {given[0]}: {table.source} has no column names.")
        find_columns(dict.fromkeys(given), names, table.source)
    found: dict[str, list[Any]] = identify_rows(table, schema)
    if id_column is not None:
        kept: dict[str, list[Any]] = {id_column: as_written(table, id_column)}
    else:
        kept = {name: cells for name, cells in found.items() if name in schema.identifiers}
    kept = kept or {"row": list(range(1, table.n_rows + 1))}
    if wanted is None:
        return kept | {n: cells for n, cells in found.items() if n not in schema.identifiers}
    return kept | {name: as_written(table, name) for name in wanted}


def as_written(table: RawTable, name: str) -> list[str]:
    """Return the cells of a column as strings, empty ones where missing."""
    return ["" if cell is None else str(cell) for cell in table.strings(name)]


@dataclass(frozen=True)
class PredictionForm:
    """Which columns the predictions of rows have."""

    labels: LabelColumns
    kept: dict[str, list[Any]] = field(default_factory=dict)
    """Columns of the input to be copied, of all rows."""
    nested: bool = False
    """Whether a cell may hold a list or a dict, as in JSON."""
    proba: bool = False
    """Whether each label has a column of probabilities."""
    top: int = 0
    """Number of most likely labels that have columns of their own."""
    per_label: bool = False
    """Whether each label has a column of 0 and 1."""

    def frame(self, labels: Any, scores: Any, first: int = 0) -> "pd.DataFrame":
        """Return one row per row, from the row `first` on.

        Label sets are joined by the separator of the training data, or written as lists if a label
        contains it. If true labels are kept, columns of predictions are named
        ``predicted_…``. Another column gets a "_" if a label has its name.
        """
        names, separator = list(self.labels.names), self.labels.separator
        labels, scores = as_dense(labels), as_dense(scores)  # sparse with thousands of labels
        columns = {name: cells[first : first + len(labels)] for name, cells in self.kept.items()}
        sets = [[names[j] for j in row.nonzero()[0]] for row in labels]
        likely = (-scores).argsort(axis=1, kind="stable")[:, : self.top]
        scores = scores.round(6)
        beside = "predicted_" if self._is_beside_labels() else ""
        found, confidence = f"{beside}labels", row_confidence(labels, scores)
        own: dict[str, Any] = {}
        if self.nested:
            columns |= {found: sets, "confidence": confidence}
            if self.top:
                columns["top"] = [
                    [{"label": names[j], "probability": p[j]} for j in order]
                    for p, order in zip(scores, likely, strict=True)
                ]
            if self.proba:
                columns["probabilities"] = [dict(zip(names, p, strict=True)) for p in scores]
        else:
            as_list = any(separator in name for name in names)
            joined = [json.dumps(s) if as_list else separator.join(s) for s in sets]
            columns |= {found: joined, "confidence": confidence}
            for rank, order in enumerate(likely.T, start=1):
                columns[f"{beside}label_{rank}"] = [names[j] for j in order]
                cells = [p[j] for p, j in zip(scores, order, strict=True)]
                columns[f"probability_{rank}"] = cells
            if self.proba or self.per_label:
                values = (scores if self.proba else labels).T
                own = dict(zip((beside + name for name in names), values, strict=True))
        table: dict[str, Any] = {}
        for name, cells in columns.items():
            while name in own or name in table:
                name += "_"
            table[name] = cells
        return import_optional("pandas").DataFrame(table | own)

    def _is_beside_labels(self) -> bool:
        true = {"labels", *self.labels.columns}
        true |= set(self.labels.names) if self.proba or self.per_label else set()
        return not true.isdisjoint(self.kept)


class PredictionWriter:
    """Writes predictions part by part: ``csv`` and ``jsonl`` as text, ``parquet`` as bytes."""

    def __init__(self, stream: Any, format: str, *, formulas: bool = True) -> None:
        self.format, self.formulas, self._stream = format, formulas, stream
        self._parquet: Any = None
        self._is_first = True

    def write(self, part: "pd.DataFrame") -> None:
        """Write some rows; they can be read from the file at once."""
        if self.format == "parquet":
            arrow = import_optional("pyarrow")
            parquet = import_optional("pyarrow.parquet")
            schema = None if self._parquet is None else self._parquet.schema
            rows = arrow.Table.from_pandas(part, schema, preserve_index=False)
            self._parquet = self._parquet or parquet.ParquetWriter(self._stream, rows.schema)
            self._parquet.write_table(rows)
            return
        if self.format == "jsonl":
            part.to_json(self._stream, orient="records", lines=True, force_ascii=False)
        else:
            part = part if self.formulas else escape_formulas(part)
            form: Any = {"index": False, "lineterminator": "\n", "header": self._is_first}
            text = part.to_csv(**form)
            if "\r" in text:  # which pandas does not quote, and readers take for the end of a line
                text = part.to_csv(**form, quoting=csv.QUOTE_NONNUMERIC)
            self._stream.write(text)
        self._is_first = False
        self._stream.flush()

    def close(self) -> None:
        """Finish the file; whoever opened the stream closes it."""
        if self._parquet is not None:
            self._parquet.close()
