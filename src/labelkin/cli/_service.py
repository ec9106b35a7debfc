"""A saved model as the service behind ``labelkin serve``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin.cli._data import SavedModel
from labelkin.cli._decisions import Decision
from labelkin.cli._predictions import Predictions
from labelkin.cli.explain import explain_row
from labelkin.datasets import RawTable
from labelkin.methods import METHODS
from labelkin.serve import BadRows, Deadline
from labelkin.tabular import table_of_records

_CHUNK = 500  # rows predicted between two checks of the deadline
_COLUMNS = 10_000  # of a table, besides the model's
_VALUES = 200  # of a category that are listed
_KINDS = {"day_first_date": "date", "raw": "any"}
_CSV, _JSON = "The table", "The request"


class ModelService:
    """Predicts and explains rows by a saved model; without a decision, by its own."""

    def __init__(self, saved: SavedModel, decision: Decision | None) -> None:
        self._saved, self._decision = saved, decision

    def describe(self) -> dict[str, Any]:
        """Return name, method, labels and columns of the model."""
        saved, schema = self._saved, self._saved.schema
        kinds = schema.columns
        if kinds is None and schema.names is not None:
            kinds = dict.fromkeys(schema.names, "number")
        values = _known_values(saved)
        columns = None
        if kinds is not None:
            columns = [
                {
                    "name": name,
                    "kind": _KINDS.get(kind, kind),
                    **({"values": values[name]} if name in values else {}),
                }
                for name, kind in kinds.items()
            ]
        return {
            "name": saved.path.name,
            "method": _method_of(saved),
            "sha256": saved.info.sha256,
            "labels": list(saved.labels.names),
            "separator": saved.labels.separator,
            "columns": columns,
            "n_features": schema.n_features if columns is None else len(columns),
        }

    def read_csv(self, content: bytes) -> Any:
        """Return the rows of a CSV table."""
        # A column takes 7 kB, whatever its width: a small file of many would fill the memory.
        most = _COLUMNS + self.describe()["n_features"]
        header = content.partition(b"\n")[0]
        if max(map(header.count, (b",", b";", b"\t", b"|"))) > most:
            raise BadRows(f"{_CSV} has more than {most:,} columns; leave out those not needed.")
        return self._read(lambda: self._saved.parse(content, _CSV))

    def read_records(self, rows: list[Any]) -> Any:
        """Return rows given as JSON values."""
        return self._read(lambda: table_of_records(rows, self._saved.schema, source=_JSON))

    def _read(self, make: Callable[[], RawTable]) -> Any:
        try:
            return self._saved.schema.read(make(), [])
        except ValueError as error:
            raise BadRows(str(error)) from None

    def count(self, rows: Any) -> int:
        """Return the number of rows."""
        return rows.shape[0]

    def predict(self, rows: Any, deadline: Deadline) -> list[dict[str, Any]]:
        """Return labels, confidence and probabilities of each row."""
        names = list(self._saved.labels.names)
        found: list[dict[str, Any]] = []
        for first in range(0, self.count(rows), _CHUNK):
            deadline.check()
            part = rows[first : first + _CHUNK]
            labels, scores, _ = self._saved.predict(part, self._decision)
            numbers = list(range(first + 1, first + 1 + len(labels)))
            separator = self._saved.labels.separator
            found += Predictions(
                numbers, "row", {}, names, labels, scores, proba=True, top=0, separator=separator
            ).objects()
        return found

    def explain(self, rows: Any, number: int) -> dict[str, Any]:
        """Return what speaks for and against the labels of a row."""
        found = explain_row(self._saved, rows, number, self._decision).to_dict()
        return {key: found[key] for key in ("labels", "members", "nearest")}


def _method_of(saved: SavedModel) -> str:
    """Return the name of the method in print, or of the class for a model from Python."""
    name = saved.info.details.get("model")
    if isinstance(name, str) and name in METHODS:
        return METHODS[name].title
    return type(saved.classifier.estimator_).__name__


def _known_values(saved: SavedModel) -> dict[str, list[str]]:
    """Return the categories that the model was fitted on, by column."""
    names = saved.schema.of_kind("category")
    if not names:
        return {}
    try:
        encoder = (
            saved.classifier.pipeline_[0].named_transformers_["category"].named_steps["encode"]
        )
    except (TypeError, LookupError, AttributeError):  # not a pipeline that `labelkin fit` makes
        return {}
    return {
        name: [str(value) for value in values[:_VALUES]]
        for name, values in zip(names, encoder.categories_, strict=True)
    }


def check_decision(saved: SavedModel, decision: Decision) -> None:
    """Refuse a decision for which the model file holds no thresholds, before any request."""
    names = saved.labels.names
    decision.apply(np.full((1, len(names)), 0.5), names, saved.info.details.get("decisions"))
