"""A labelled table as it is learned from: its features, its labels, and what was found."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, _safe_indexing

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError
from labelkin._utils.labels import MANY_LABELS
from labelkin._utils.names import did_you_mean, join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._raw_table import Guess
from labelkin.hierarchy import LabelHierarchy
from labelkin.tabular._labels import LabelColumns
from labelkin.tabular._schema import Schema, default_words

# Kinds of columns, as they are named in print.
_KINDS = (
    ("text", "text"),
    ("category", "category"),
    ("date", "date", "day_first_date"),
    ("numeric", "number"),
)


@dataclass(frozen=True)
class TrainingData:
    """A labelled table: features as the pipeline takes them, labels, and what the columns are."""

    source: str
    schema: Schema
    labels: LabelColumns
    X: Any
    """A DataFrame of numbers and strings, or a matrix."""
    y: Any
    """0 and 1, of shape (n, q); NaN where a label is unknown. CSR for thousands of labels."""
    guesses: list[Guess] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What the user should know about the table."""
    kept: np.ndarray | None = None
    """The rows of the table that are used; None: all."""
    table: RawTable | None = field(default=None, repr=False)
    """The table with all its columns."""
    hierarchy: LabelHierarchy | None = None
    """Which labels are parents of which; rows have the parents of their labels."""

    def column(self, name: str, argument: str) -> Any:
        """Return a column of the table, also one that is no feature."""
        table = self.table
        if table is None or name not in (table.names or ()):
            known = () if table is None else table.names or ()
            raise ValueError(
                f"{argument} {name}: {self.source} has no such column.{did_you_mean(name, known)}"
            )
        values = table.column(name)
        return values if self.kept is None else values.iloc[self.kept]

    def summary(self) -> dict[str, Any]:
        """Return the figures that describe the table."""
        kinds: dict[str, Any] = {"numeric": self.schema.n_features}
        if self.schema.columns is not None:
            kinds = {title: self.schema.of_kind(*kinds) for title, *kinds in _KINDS}
        return {
            "data": self.source,
            "guesses": [guess.text for guess in self.guesses],
            "rows": self.y.shape[0],
            "columns": {kind: names for kind, names in kinds.items() if names},
            "labels": list(self.labels.names),
            "label_counts": dict(
                zip(self.labels.names, (self.y == 1).sum(axis=0).tolist(), strict=True)
            ),
            "labels_per_row": round(float((self.y == 1).sum(axis=1).mean()), 4),
            "rows_without_labels": self._n_without_labels(),
            **({"known_labels": known} if (known := self.n_known) < self._n_cells else {}),
        }

    def _n_without_labels(self) -> int:
        if sparse.issparse(self.y):
            return int((self.y.sum(axis=1) == 0).sum())
        return int((self.y == 0).all(axis=1).sum())

    @property
    def _n_cells(self) -> int:
        return math.prod(self.y.shape)

    @property
    def n_known(self) -> int:
        """Number of the labels of all rows that are known."""
        if sparse.issparse(self.y):
            return self._n_cells
        return int(np.count_nonzero(self.y == self.y))  # NaN is unequal to itself

    def __str__(self) -> str:
        """Return the summary in words."""
        figures = self.summary()
        kinds, empty = figures["columns"], figures["rows_without_labels"]
        columns = "; ".join(
            f"{kind}: {join_names(names)}" if isinstance(names, list) else f"{names:,} {kind}"
            for kind, names in kinds.items()
        )
        n_columns = sum(len(x) if isinstance(x, list) else x for x in kinds.values())
        return (
            f"{self.source}: {plural(figures['rows'], 'row')}, "
            f"{plural(n_columns, 'column')} ({columns}), "
            f"{plural(len(figures['labels']), 'label')}, {figures['labels_per_row']:.2g} per row"
            + (f", {plural(empty, 'row')} without any" if empty else "")
            + (f", {len(self.hierarchy.edges):,} below another" if self.hierarchy else "")
            + (
                f", {self.n_known:,} of {self.y.size:,} labels known"
                if self.n_known < self.y.size
                else ""
            )
        )

    def as_bunch(self) -> Bunch:
        """Return features and labels with their names, for figures about them."""
        guesses = [one.text for one in self.guesses if "missing_labels" in one.arguments]
        names, name = list(self.labels.names), Path(self.source).name
        return Bunch(name=name, data=self.X, target=self.y, label_names=names, guesses=guesses)

    def list_labels(self, most: int = 10) -> str:
        """Return the most frequent labels with the number of their rows."""
        counts = self.summary()["label_counts"]
        ordered = sorted(counts, key=lambda name: -counts[name])
        return join_names([f"{name} ({counts[name]:,})" for name in ordered], most)


def find_training_data(
    X: Any,
    labels: Labels | LabelColumns | None = None,
    *,
    label_column: str | None = None,
    separator: str | None = None,
    ignore_case: bool = False,
    no_label: str | Iterable[str] = (),
    missing_labels: str | None = None,
    columns: Mapping[str, str] | Schema | None = None,
    hierarchy: Any = "none",
    **options: Any,
) -> TrainingData:
    """Find labels and features in a table that holds both; the arguments of `TableClassifier`.

    `hierarchy` is the name of a file, or a form that `LabelHierarchy.of` takes; `options` are
    ``missing``, ``scale``, ``max_words``, ``embedding`` and ``trend``.
    """
    table = RawTable.of(X)
    if not table.n_rows:
        raise FormatError(table.source, "it has no rows")
    notes: list[str] = []
    found = LabelColumns.find(
        table,
        labels,
        label_column,
        separator,
        ignore_case=ignore_case,
        no_label=no_label,
        missing_labels=missing_labels,
    )
    label_columns = () if table.target is not None else found.columns
    options["max_words"] = options.get("max_words") or default_words(len(found.names))
    if len(found.names) >= MANY_LABELS:  # embeddings of all rows would take most of the time
        options["embedding"] = "none"
    schema = Schema.find(table, label_columns, columns, **options)
    y, X = found.read(table, notes), schema.read(table, notes)
    rows = found.kept_rows(y)
    if rows is not None:
        X, y = _safe_indexing(X, rows), y[rows].astype(np.uint8)
        left_out = plural(table.n_rows - len(y), "row")
        notes.append(f"{table.source}: {left_out} with empty label cells left out")
    counts = (y == 1).sum(axis=0)
    never = [name for name, count in zip(found.names, counts, strict=True) if not count]
    if len(never) == len(found.names):
        raise FormatError(table.source, "no row has any label, so there is nothing to learn")
    if never:
        notes.append(f"{table.source}: no row has the label {', '.join(never[:5])}")
    nested = _find_hierarchy(hierarchy, found.names, table)
    y = y if nested is None else nested.close(y)
    return TrainingData(
        table.source, schema, found, X, y, table.guesses, notes, rows, table, nested
    )


def _find_hierarchy(
    hierarchy: Any, names: tuple[str, ...], table: RawTable
) -> LabelHierarchy | None:
    """Return the hierarchy of the labels; a guess is added to those of the table."""
    form = hierarchy
    if isinstance(form, str) and Path(form).suffix and len(form) > 4:
        form = LabelHierarchy.from_file(form)
    try:
        found = LabelHierarchy.of(form, names)
    except ValueError as error:
        raise ArgumentError(
            str(error).replace("hierarchy ", "hierarchy= ", 1), "hierarchy"
        ) from None
    if not len(found.edges):
        return None
    if hierarchy is None:
        text = f"labels are nested, such as {found.path(found.pairs()[0][1])}"
        table.guesses.append(Guess(text, ("hierarchy",)))
    return found


def split_labels(
    data: Any,
    labels: Labels | None = None,
    *,
    label_column: str | None = None,
    separator: str | None = None,
    ignore_case: bool = False,
    no_label: str | Iterable[str] = (),
    missing_labels: str | None = None,
) -> tuple[Any, Any]:
    """Return the features and the labels of a table, for ``cross_val_score`` and the like.

    Parameters
    ----------
    data : DataFrame or RawTable
        A table with its labels, or what :func:`labelkin.datasets.read_table` returns.
    labels, label_column, separator, ignore_case, no_label, missing_labels
        As in :class:`labelkin.TableClassifier`.

    Returns
    -------
    X : DataFrame or matrix
        All columns but the labels, unchanged.
    y : DataFrame of shape (n_samples, n_labels)
        0 and 1, one column per label; NaN where a label is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelkin.tabular import split_labels
    >>> films = pd.DataFrame({"length": [97, 121], "tags": ["drama|crime", "comedy"]})
    >>> X, y = split_labels(films, "tags")
    >>> y
       comedy  crime  drama
    0       0      1      1
    1       1      0      0
    """
    table = RawTable.of(data)
    found = LabelColumns.find(
        table,
        labels,
        label_column,
        separator,
        ignore_case=ignore_case,
        no_label=no_label,
        missing_labels=missing_labels,
    )
    X = table.data
    if table.target is None:
        X = table.select([name for name in table.names or () if name not in found.columns])
    target = found.read(table, [])
    if (rows := found.kept_rows(target)) is not None:
        X, target = _safe_indexing(X, rows), target[rows].astype(np.uint8)
    y = import_optional("pandas").DataFrame(target, columns=list(found.names))
    if hasattr(X, "index"):
        y.index = X.index
    return X, y
