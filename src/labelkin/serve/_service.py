"""A classifier of tables behind the application: its description, rows and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelkin import TableClassifier
from labelkin._utils.files import FormatError
from labelkin.datasets import RawTable, parse_table
from labelkin.datasets.formats._raw_table import CsvForm
from labelkin.rows import as_dense
from labelkin.tabular import table_of_records
from labelkin.tabular._predictions import identify_rows, row_confidence

_VALUES = 200  # of a category that are listed
_LABELS = 1_999  # that a page lists; more are found by `Service.find_labels`
_FOUND = 20  # labels that a search finds at most
_CANDIDATES = 50  # of thousands of labels that an answer holds
# What the sender can do, where an error names an argument of the library.
_CURES = {
    "columns": "write the year first, as in 2025-12-31",
    "encoding": "send a spreadsheet, JSON, or a CSV file in UTF-8",
    "header": "write the names of the columns in the first row",
    "sheet": "put the table on the first sheet",
}
_KINDS = {"day_first_date": "date", "raw": "any"}


class BadRows(ValueError):
    """The rows of a request cannot be predicted; the message says why, in one sentence.

    `status` is that of the answer.
    """

    def __init__(self, error: str, status: int = 422) -> None:
        super().__init__(error)
        self.status = status


@dataclass(frozen=True)
class Limits:
    """What a request may take."""

    bytes: int = 5_000_000
    """Size of the body."""
    rows: int = 10_000
    explained: int = 20
    """Rows to explain, which takes longer than to predict them."""
    seconds: float = 30.0
    waiting: int = 8
    """Requests that wait while another one is computed; further ones are turned away."""


class RequestRows(NamedTuple):
    """Rows of a request: features as the model takes them, and what identifies the rows."""

    features: Any
    shown: dict[str, list[str]]
    notes: Sequence[str] = ()
    """What the sender should know about the rows, as ``labelkin predict`` prints it."""
    csv: CsvForm | None = None
    """How a CSV file that belongs to the rows is written, if they were one."""


@dataclass(frozen=True)
class Service:
    """Predicts and explains rows by a fitted classifier of tables."""

    model: TableClassifier
    name: str
    """The name of the model, such as that of its file."""
    method: str = ""
    """The name of its method."""
    sha256: str = ""
    """Digest of its file."""
    training: RawTable | None = None
    """The training data, to show its rows in words."""

    def describe(self) -> dict[str, Any]:
        """Return name, labels (of thousands the first ones) and columns of the model.

        ``columns`` is a list of {name, kind, values, unit}: kind is number, text, category, date
        or any, values are the known categories, unit is % for percentages, or a word such as kg.
        None: rows are lists of ``n_features`` numbers.
        """
        schema, labels = self.model.schema_, self.model.label_columns_
        kinds = schema.columns or dict.fromkeys(schema.names or (), "number")
        values = {name: known[:_VALUES] for name, known in self.model.categories_.items()}
        units = {name: one.unit for name, one in (schema.measured or {}).items() if one.unit}
        columns = [
            {"name": name, "kind": _KINDS.get(kind, kind)}
            | ({"values": values[name]} if name in values else {})
            | ({"unit": units[name]} if name in units else {})
            for name, kind in kinds.items()
        ]
        return {
            "name": self.name,
            "method": self.method or type(self.model.estimator_).__name__,
            "sha256": self.sha256,
            "labels": list(labels.names[:_LABELS]),
            "n_labels": len(labels.names),
            "separator": labels.separator,
            "columns": columns or None,
            "n_features": self.model.n_features_in_,
        }

    def read(self, sent: bytes | list[Any], charset: str | None = None) -> RequestRows:
        """Return the rows of a request, for `predict`; raise `BadRows` for wrong ones.

        They are a CSV file, a spreadsheet or records in JSON as bytes, or a list of JSON values.
        `charset` is the encoding of bytes that are not UTF-8.
        """
        schema, notes = self.model.schema_, list[str]()
        try:
            if isinstance(sent, bytes):
                how = schema.reading | ({"encoding": [charset]} if charset else {})
                table = parse_table(sent, "The table", **how)
            else:
                table = table_of_records(sent, schema, source="The request")
            features = self.model.read_rows(table, notes)
            return RequestRows(features, identify_rows(table, schema), notes, table.csv)
        except ValueError as error:
            text = str(error)
            for name in _CURES.keys() & getattr(error, "arguments", ()):
                text = f"{(text.rpartition('; ')[0] or text).rstrip('.')}; {_CURES[name]}"
            raise BadRows(text) from None

    def predict(self, rows: RequestRows, part: slice = slice(None)) -> list[dict[str, Any]]:
        """Return labels, confidence and probabilities of a part of the rows.

        ``shown`` has the identifier and the start of the text, where the rows have any. Of
        thousands of labels only the most probable ones have their probabilities.
        """
        names = self.model.label_columns_.names
        try:
            labels, scores = map(as_dense, self.model.predict_with_scores(rows.features[part]))
        except FormatError as error:  # the model does not take missing values
            raise BadRows(str(error)) from None
        listed = np.broadcast_to(np.arange(len(names)), scores.shape)
        if len(names) > _LABELS:
            listed = (-scores).argsort(axis=1, kind="stable")[:, :_CANDIDATES]
        confidence, first = row_confidence(labels, scores), part.start or 0
        return [
            {
                "row": first + i + 1,
                "shown": {name: cells[first + i] for name, cells in rows.shown.items()},
                "labels": [names[j] for j in labels[i].nonzero()[0]],
                "confidence": confidence[i],
                "probabilities": {names[j]: round(float(scores[i, j]), 6) for j in listed[i]},
            }
            for i in range(len(scores))
        ]

    def find_labels(self, text: str) -> list[str]:
        """Return labels whose names contain a text, the shortest first."""
        wanted = text.casefold().strip()
        found = [name for name in self.model.label_columns_.names if wanted in name.casefold()]
        return sorted(found, key=lambda name: (len(name), name))[:_FOUND]

    def explain(self, rows: RequestRows, number: int) -> dict[str, Any]:
        """Return what counts for and against the labels of a row, counted from 0."""
        features = rows.features
        one = features.iloc[[number]] if hasattr(features, "iloc") else features[[number]]
        background = features if isinstance(features, np.ndarray) else None
        found = self.model.explain(one, background=background, training=self.training)
        shown = replace(found, first_row=1).to_dict()
        return {key: shown[key] for key in ("labels", "members", "nearest", "others")}
