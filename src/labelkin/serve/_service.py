"""A classifier of tables behind the application: its description, rows and predictions."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from labelkin import TableClassifier
from labelkin.datasets import RawTable, parse_table
from labelkin.tabular import table_of_records
from labelkin.tabular._frames import row_confidence
from labelkin.tabular._predictions import identify_rows

_COLUMNS = 10_000  # of a table, besides the model's
_VALUES = 200  # of a category that are listed
_LABELS = 1_999  # that a page lists; more are found by `Service.find_labels`
_FOUND = 20  # labels that a search finds at most
_CANDIDATES = 50  # of thousands of labels that an answer holds
_KINDS = {"day_first_date": "date", "raw": "any"}
_CSV, _JSON = "The table", "The request"


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

    megabytes: float = 5.0
    """Size of the body."""
    rows: int = 10_000
    explained: int = 20
    """Rows to explain, which takes longer than to predict them."""
    seconds: float = 30.0
    waiting: int = 8
    """Requests that wait while another one is computed; further ones are turned away."""

    @property
    def bytes(self) -> int:
        """Size of the body in bytes."""
        return round(1_000_000 * self.megabytes)


@dataclass(frozen=True)
class Rows:
    """Rows of a request: features as the model takes them, and columns that tell which is which."""

    features: Any
    shown: dict[str, list[str]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of features."""
        return self.features.shape

    def __getitem__(self, part: slice) -> "Rows":
        shown = {name: cells[part] for name, cells in self.shown.items()}
        return Rows(self.features[part], shown)


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

        ``columns`` is a list of {name, kind, values}: kind is number, text, category, date or
        any, values are the known categories. None: rows are lists of ``n_features`` numbers.
        """
        schema, labels = self.model.schema_, self.model.label_columns_
        kinds = schema.columns or dict.fromkeys(schema.names or (), "number")
        values = {}  # the categories that the model was fitted on, by column
        if names := schema.of_kind("category"):
            encoder = self.model.pipeline_[0].named_transformers_["category"].named_steps["encode"]
            for name, known in zip(names, encoder.categories_, strict=True):
                values[name] = [str(value) for value in known[:_VALUES]]
        columns = [
            {"name": name, "kind": _KINDS.get(kind, kind)}
            | ({"values": values[name]} if name in values else {})
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

    def read_csv(self, content: bytes) -> Rows:
        """Return the rows of a table, for `predict`; raise `BadRows` for a wrong one.

        It is a CSV file, a spreadsheet, or records in JSON.
        """
        # A column takes 7 kB, whatever its width: a small file of many would fill the memory.
        most = _COLUMNS + self.model.n_features_in_
        header = content.partition(b"\n")[0]
        is_csv = not header.lstrip().startswith((b"PK", b"[", b"{"))
        if is_csv and max(map(header.count, (b",", b";", b"\t", b"|"))) > most:
            raise BadRows(f"{_CSV} has more than {most:,} columns; leave out those not needed.")
        schema = self.model.schema_
        return self._read(
            parse_table,
            content,
            _CSV,
            as_strings=schema.string_columns,
            expected=schema.feature_names or (),
            decimal=schema.decimal_comma,
        )

    def read_records(self, rows: list[Any]) -> Rows:
        """Return rows given as JSON values, for `predict`; raise `BadRows` for a wrong one."""
        return self._read(table_of_records, rows, self.model.schema_, source=_JSON)

    def _read(self, parse: Callable[..., RawTable], *values: Any, **options: Any) -> Rows:
        schema = self.model.schema_
        try:
            table = parse(*values, **options)
            return Rows(schema.read(table), identify_rows(table, schema))
        except ValueError as error:
            raise BadRows(str(error)) from None

    def predict(self, rows: Rows, first: int = 1) -> list[dict[str, Any]]:
        """Return labels, confidence and probabilities of each row; the first has this number.

        ``shown`` has the identifier and the start of the text, where the rows have any. Of
        thousands of labels only the most probable ones have their probabilities.
        """
        names = self.model.label_columns_.names
        labels, scores = self.model.predict_with_scores(rows.features)
        found = []
        for i in range(scores.shape[0]):
            if sparse.issparse(scores):
                own, row = labels[[i]].indices, scores[[i]]
                order = np.argsort(-row.data, kind="stable")[:_CANDIDATES]
                numbers, values = row.indices[order], row.data[order].astype(float)
                confidence = round(float(values.max(initial=0.0)), 4)
            else:
                own, numbers, values = labels[i].nonzero()[0], range(len(names)), scores[i]
                [confidence] = row_confidence(labels[i : i + 1], scores[i : i + 1])
            probabilities = values.round(6).tolist()
            found.append(
                {
                    "row": first + i,
                    "shown": {name: cells[i] for name, cells in rows.shown.items()},
                    "labels": [names[j] for j in own],
                    "confidence": confidence,
                    "probabilities": dict(
                        zip((names[j] for j in numbers), probabilities, strict=True)
                    ),
                }
            )
        return found

    def find_labels(self, text: str) -> list[str]:
        """Return labels whose names contain a text, the shortest first."""
        wanted = text.casefold().strip()
        found = [name for name in self.model.label_columns_.names if wanted in name.casefold()]
        return sorted(found, key=lambda name: (len(name), name))[:_FOUND]

    def explain(self, rows: Rows, number: int) -> dict[str, Any]:
        """Return what counts for and against the labels of a row, counted from 0."""
        features = rows.features
        one = features.iloc[[number]] if hasattr(features, "iloc") else features[[number]]
        background = features if isinstance(features, np.ndarray) else None
        found = self.model.explain(one, background=background, training=self.training)
        shown = replace(found, first_row=1).to_dict()
        return {key: shown[key] for key in ("labels", "members", "nearest")}
