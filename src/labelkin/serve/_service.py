"""What the application needs of a model, and the limits of a request."""

from dataclasses import dataclass
from typing import Any, Protocol

from labelkin.serve._work import Deadline


class BadRows(ValueError):
    """The rows of a request cannot be predicted; the message says why, in one sentence."""


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


class Service(Protocol):
    """A model that predicts rows."""

    def describe(self) -> dict[str, Any]:
        """Return name, labels and columns of the model.

        ``columns`` is a list of {name, kind, values}: kind is number, text, category, date or
        any, values are the known categories. None: rows are lists of ``n_features`` numbers.
        """

    def read_csv(self, content: bytes) -> Any:
        """Return the rows of a CSV table, for `predict`; raise `BadRows` for a wrong one."""

    def read_records(self, rows: list[Any]) -> Any:
        """Return rows given as JSON values, for `predict`; raise `BadRows` for a wrong one."""

    def count(self, rows: Any) -> int:
        """Return the number of rows."""

    def predict(self, rows: Any, deadline: Deadline) -> list[dict[str, Any]]:
        """Return labels, confidence and probabilities of each row."""

    def explain(self, rows: Any, number: int) -> dict[str, Any]:
        """Return what speaks for and against the labels of a row, counted from 0."""
