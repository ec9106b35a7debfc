"""Tables of an explanation, as text and as HTML."""

from abc import abstractmethod
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from labelkin._utils.optional import import_optional
from labelkin.base import Array

Table = tuple[str, list[str], list[list[str]]]
"""Title, header and rows, as text."""

# Rows of a printed table; the arrays hold all.
SHOWN = 10
# Features printed for each label.
SHOWN_FEATURES = 5

# Columns of words, which are flush left.
_WORDS = ("label", "labels", "features", "member", "for", "against")


class PrintedTables:
    """Base of explanations: their tables as text for ``print``, and as HTML for notebooks."""

    label_names: list[str]
    predicted: Array
    probability: Array

    @abstractmethod
    def _tables(self) -> list[Table]:
        """Return the tables."""

    def __str__(self) -> str:
        return "\n".join(
            f"{heading}\n{as_text(header, rows)}" for heading, header, rows in self._tables()
        )

    def _repr_html_(self) -> str:
        return "".join(as_html(*table) for table in self._tables())

    def _label_table(self, columns: dict[str, Callable[[int], str]]) -> Table:
        """Return the most probable labels, with more columns by functions of a label's number."""
        rows = [
            [
                self.label_names[label],
                "yes" if self.predicted[label] else "no",
                f"{self.probability[label]:.3f}",
                *(cell(label) for cell in columns.values()),
            ]
            for label in self._shown_labels()
        ]
        heading = title("labels", rows, len(self.label_names))
        return heading, ["label", "predicted", "probability", *columns], rows

    def _label_frame(self, **columns: Array) -> Any:
        """Return all labels, the most probable first, with more columns."""
        pandas = import_optional("pandas")
        index = pandas.Index(self.label_names, name="label")
        columns = {"predicted": self.predicted, "probability": self.probability, **columns}
        return pandas.DataFrame(columns, index=index).iloc[self._by_probability()]

    def _by_probability(self) -> Array:
        return np.argsort(-self.probability, kind="stable")

    def _shown_labels(self) -> Array:
        """Return the most probable labels, all predicted ones among them."""
        return self._by_probability()[: max(SHOWN, self.predicted.sum())]

    def _names(self, mask: Array) -> list[str]:
        return [name for name, present in zip(self.label_names, mask, strict=True) if present]

    def _predicted_names(self) -> str:
        return ", ".join(self._names(self.predicted)) or "no label"


def title(name: str, shown: list[list[str]], total: int) -> str:
    """Return a table's title, with the number of rows that are shown if not all are."""
    return name if len(shown) == total else f"{name} ({len(shown)} of {total})"


def as_text(header: list[str], rows: list[list[str]]) -> str:
    """Return aligned columns, the last one flush left if it holds words."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if heading in _WORDS else cell.rjust(width)
            for cell, width, heading in zip(row, widths, header, strict=True)
        ).rstrip()
        for row in [header, *rows]
    ]
    return "\n".join(f"  {line}" for line in lines) + "\n"


def as_html(title: str, header: list[str], rows: list[list[str]]) -> str:
    """Return a table in HTML."""

    def row(cells: list[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return (
        f"<table><caption>{escape(title)}</caption><thead>{row(header, 'th')}</thead>"
        f"<tbody>{body}</tbody></table>"
    )


def strongest_features(
    names: list[str], features: Array, effects: Array, n: int = SHOWN_FEATURES
) -> list[tuple[str, float]]:
    """Return the n features of largest effect on a label, by name, with their effects."""
    order = np.argsort(-np.abs(effects), kind="stable")[:n]
    return [(names[features[i]], float(effects[i])) for i in order if effects[i]]


def list_effects(effects: list[tuple[str, float]]) -> str:
    """Return names with their effects in one line."""
    return ", ".join(f"{name} {effect:+.2f}" for name, effect in effects) or "none"
