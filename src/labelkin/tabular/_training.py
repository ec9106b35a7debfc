"""A labelled table as it is learned from: its features, its labels, and what was found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, _safe_indexing

from labelkin._utils.errors import ArgumentError
from labelkin._utils.labels import count_without_labels
from labelkin._utils.names import did_you_mean, join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import Labels, normal_form, open_start, repeats_name
from labelkin.datasets.formats._raw_table import Guess
from labelkin.hierarchy import LabelHierarchy
from labelkin.tabular._labels import (
    TRUTH,
    LabelColumns,
    count_labels,
    names_columns,
    pair_findings,
    read_target,
)
from labelkin.tabular._schema import Schema

# Kinds of columns, as they are named in print.
_KINDS = (
    ("text", "text"),
    ("category", "category"),
    ("date", "date", "day_first_date"),
    ("numeric", "number"),
)
# In fewer rows than this, a column may be like a label by chance.
_MIN_COPIED = 10
_LABEL_OPTIONS = ("separator", "ignore_case", "no_label", "missing_labels")


@dataclass(frozen=True)
class TrainingData:
    """A labelled table: features as the pipeline takes them, labels, and what the columns are."""

    table: RawTable = field(repr=False)
    """The table with all its columns."""
    schema: Schema
    labels: LabelColumns
    X: Any
    """A DataFrame of numbers and strings, or a matrix."""
    y: Any
    """0 and 1, of shape (n, q); NaN where a label is unknown. CSR for thousands of labels."""
    notes: list[str]
    """What the user should know about the table."""
    kept: np.ndarray | None
    """The rows of the table that are used; None: all."""
    hierarchy: LabelHierarchy | None
    """Which labels are parents of which; rows have the parents of their labels."""

    @property
    def source(self) -> str:
        """The file, as errors name it."""
        return self.table.source

    @property
    def guesses(self) -> list[Guess]:
        """What was guessed about the table."""
        return self.table.guesses

    def column(self, name: str, argument: str) -> Any:
        """Return a column of the table, also one that is not a feature."""
        known = self.table.names or ()
        if name not in known:
            raise ValueError(
                f"{argument} {name}: {self.source} has no such column.{did_you_mean(name, known)}"
            )
        return _safe_indexing(self.table.column(name), self.kept)

    def summary(self) -> dict[str, Any]:
        """Return the figures that describe the table."""
        kinds: dict[str, Any] = {"numeric": self.schema.n_features}
        if self.schema.columns is not None:
            kinds = {title: self.schema.of_kind(*kinds) for title, *kinds in _KINDS}
        n_cells = math.prod(self.y.shape)
        is_sparse = sparse.issparse(self.y)
        n_known = n_cells if is_sparse else int(np.count_nonzero(self.y == self.y))  # not NaN
        sizes = (self.y == 1).sum(axis=1)
        counts = (self.y == 1).sum(axis=0).tolist()
        return {
            "data": self.source,
            "guesses": [guess.text for guess in self.guesses],
            "rows": self.y.shape[0],
            "columns": {kind: names for kind, names in kinds.items() if names},
            "labels": list(self.labels.names),
            "label_counts": dict(zip(self.labels.names, counts, strict=True)),
            "labels_per_row": round(float(sizes.mean()), 4),
            "rows_without_labels": count_without_labels(self.y),
            **({"known_labels": n_known} if n_known < n_cells else {}),
        }

    def __str__(self) -> str:
        """Return the summary in words."""
        figures = self.summary()
        kinds, empty = figures["columns"], figures["rows_without_labels"]
        known = figures.get("known_labels")
        columns = "; ".join(
            f"{kind}: {join_names(names)}" if isinstance(names, list) else f"{names:,} {kind}"
            for kind, names in kinds.items()
        )
        n_columns = sum(len(x) if isinstance(x, list) else x for x in kinds.values())
        text = (
            f"{self.source}: {plural(figures['rows'], 'row')}, "
            f"{plural(n_columns, 'column')} ({columns}), "
            f"{plural(len(figures['labels']), 'label')}, {figures['labels_per_row']:.2g} per row"
        )
        if empty:
            text += (
                f", {plural(empty, 'row')} without any{' among the known ones' if known else ''}"
            )
        if self.hierarchy:
            pairs, names = self.hierarchy.pairs(), {*self.labels.names}
            parent, child = next((pair for pair in pairs if names.issuperset(pair)), pairs[0])
            text += f", {plural(len(pairs), 'parent–child pair')}, for example {parent} > {child}"
            if absent := [name for name in self.hierarchy.names if name not in names]:
                text += f" (not predicted, as no row has it: {join_names(absent)})"
        if known:
            text += f", {known:,} of {self.y.size:,} labels known"
        return text

    def as_bunch(self) -> Bunch:
        """Return features and labels with what `labelkin.datasets.write` needs to know of them.

        Categories are of pandas' type, with all values that the file declares.
        """
        X, names, table = self.X, self.schema.feature_names, self.table
        is_matrix = self.schema.columns is None
        if not is_matrix:
            X, pandas = X.copy(), import_optional("pandas")
            for name in self.schema.columns or ():
                if name in table.nominal and name not in table.texts:
                    cells = _safe_indexing(table.strings(name), self.kept)
                    values = dict.fromkeys(value.strip() for value in table.nominal[name])
                    X[name] = pandas.Categorical([c and c.strip() for c in cells], [*values])
                elif name in self.schema.of_kind("category"):
                    X[name] = X[name].astype("category")
        return Bunch(
            name=Path(self.source).name,
            data=X,
            target=self.y,
            feature_names=names,
            label_names=list(self.labels.names),
            feature_n_values=table.count_values(names, X.shape[1]) if is_matrix else None,
            split=None if table.split is None else _safe_indexing(table.split, self.kept),
        )

    def list_labels(self) -> str:
        """Return the most frequent labels with the number of their rows."""
        counts = self.summary()["label_counts"]
        ordered = sorted(counts, key=lambda name: -counts[name])
        return join_names([f"{name} ({counts[name]:,})" for name in ordered], 10)


def find_training_data(
    X: Any,
    labels: Labels | LabelColumns | None = None,
    *,
    y: Any = None,
    columns: Mapping[str, str] | Schema | None = None,
    hierarchy: Any = "none",
    **options: Any,
) -> TrainingData:
    """Find features and labels in a table that holds both, or beside `y`.

    Names of columns as `y` are the same as `labels`. `hierarchy` is the name of a file, or a form
    that `LabelHierarchy.of` takes; `options` are those of `LabelColumns.find` and of `Schema.find`,
    as in `TableClassifier`.
    """
    table, notes = RawTable.of(X), list[str]()
    if not table.n_rows:
        raise table.error("it has no rows")
    of_labels = {key: options.pop(key) for key in _LABEL_OPTIONS if key in options}
    labels, y = (y, None) if names_columns(y, table) else (labels, y)
    if columns and not isinstance(columns, Schema):
        pairs = ((open_start(str(name), table.names or []), kind) for name, kind in columns.items())
        columns = {name: kind for names, kind in pairs for name in names}
    if y is None:
        others = {} if isinstance(columns, Schema) else columns or {}
        of_labels["others"] = {normal_form(str(name)) for name in others}
        found = _find_labels(table, labels, **of_labels)
        y, rows = found.drop_unknown(found.read(table.labelled, notes))
        counts = (y == 1).sum(axis=0)
        never = [name for name, count in zip(found.names, counts, strict=True) if not count]
        if len(never) == len(found.names):
            raise table.error("no row has any label, so there is nothing to learn")
        if never:
            notes.append(f"{table.source}: no row has the label {', '.join(never[:5])}")
        named = {*found.columns} if table.target is None else set()
        named = named if table.label_table is None else named & {*(table.names or ())}
    else:
        y, found, rows = read_target(y, table.guesses, **of_labels)
        found = labels if isinstance(labels, LabelColumns) else found
        named = {*found.columns} & {*(table.names or ())}
    schema = Schema.find(table, named, columns, count_labels(y), **options)
    X = schema.read(replace(table, decimal=schema.decimal or "."), notes)
    X = _safe_indexing(X, rows)
    if rows is not None:
        left_out = plural(table.n_rows - len(rows), "row")
        notes.append(f"{table.source}: {left_out} with empty label cells left out")
    copies = [] if schema is columns else _find_copies(table, schema, found, X, y)
    if copies:
        text = f"{join_names(copies)}: kept as a feature; leave out what new rows do not have"
        table.guesses.append(Guess(text, ("ignore",), True))
    features = list[str]() if schema is columns else [*(schema.columns or ())]
    for label in named:  # a tracker repeats the name of a column of tags
        if twins := [name for name in features if repeats_name(name, [label])]:
            text = f"{join_names(twins)} kept as a feature, although the labels are in {label}; if "
            text += f"all of them hold labels, name {join_names([label, *twins])}"
            table.guesses.append(Guess(text, ("labels", "ignore"), True))
    if found.column is not None and hasattr(X, "columns") and (n_alike := _count_split(X, y)):
        notes.append(
            f"{table.source}: {n_alike:,} rows have one label each and differ from others by it "
            "only: if they are labels of one item, join them into one row"
        )
    texts = [name for name in features if (schema.columns or {})[name] == "text"]
    texts = [name for name in texts if table.kind(name) != "list"]  # which may be empty
    if texts and found.column is not None and found.missing is None:
        is_bare = X[texts].isna().to_numpy().all(axis=1) & (np.asarray(y.sum(axis=1)) == 0)
        if 10 * is_bare.sum() > len(X):
            text = (
                f"{is_bare.sum():,} rows have neither text nor label and are learned as rows of no "
            )
            text += "label; if they belong to the rows above them, leave them out with 'drop'"
            table.guesses.append(Guess(text, ("missing_labels",), True))
    nested = _find_hierarchy(hierarchy, found.names, table)
    if nested is not None:
        y = nested.close(y)
        decided = [one for one in table.guesses if one.doubtful and "hierarchy" in one.arguments]
        table.guesses[:] = [one for one in table.guesses if one not in decided]
    return TrainingData(table, schema, found, X, y, notes, rows, nested)


def _find_labels(table: RawTable, labels: Any, **options: Any) -> LabelColumns:
    """Find the labels; in a table of their own, by default its columns of 0 and 1, or only one."""
    own = table.labelled
    if labels is None and own is not table and own.label_names is None and own.names:
        labels = [name for name in own.names if _is_binary(own, name)] or None
        labels = own.names if len(own.names) == 1 else labels
        if labels and (others := [name for name in own.names if name not in labels]):
            text = f"labels {join_names(labels)}; other columns of {Path(own.source).name} left out"
            table.guesses.append(Guess(f"{text}: {join_names(others)}", ("labels",)))
    return LabelColumns.find(own, labels, **options)


def _is_binary(table: RawTable, name: str) -> bool:
    """Return whether the cells of a column that are not empty are 0 and 1, or yes and no."""
    if table.kind(name) not in ("number", "string"):
        return False
    words = {cell.strip().lower() for cell in table.strings(name) if cell}
    return words <= TRUTH.keys() or bool(pair_findings(words))


def _count_split(X: Any, y: Any) -> int:
    """Return the number of rows like others but for their one label, if a table is full of them."""
    n_alike = int(X.duplicated(keep=False).sum())
    if 4 * n_alike <= len(X) or ((y == 1).sum(axis=1) > 1).any():
        return 0
    with_label = X.assign(**{"": np.asarray(y.argmax(axis=1)).ravel()})
    return 0 if with_label.duplicated().any() else n_alike


def _find_copies(
    table: RawTable, schema: Schema, labels: LabelColumns, X: Any, y: Any
) -> list[str]:
    """Return, in words, the features that are copies of a label, of the tags, or summaries of them.

    Numbers and words such as yes may be those of a label, other words those of the tags, if they
    are equal in the same rows. Of any kind are those that tell which rows have labels, or how many,
    but for a few rows.
    """
    is_numeric = not sparse.issparse(y) and np.asarray(y).dtype.kind in "biuf"
    if schema.columns is None or not is_numeric or len(y) < _MIN_COPIED:
        return []
    columns = np.asarray(y, dtype=np.float64).reshape(len(y), -1).T
    names = labels.names or [f"y{j + 1}" for j in range(len(columns))]
    of_labels = {
        _find_groups(column).tobytes(): f"is a copy of the label {name}"
        for name, column in zip(names, columns, strict=False)
    }
    of_columns = {
        _find_groups(table.strings(name)).tobytes(): f"is a copy of {name}"
        for name in {*labels.columns} & {*(table.names or ())}
        if table.kind(name) == "string"
    }
    sets = _find_groups(np.unique(columns.T, axis=0, return_inverse=True)[1].ravel())
    sizes = (columns == 1).sum(axis=0)
    summaries = {"tells which rows have any label": _find_groups(sizes > 0)}
    summaries["is a copy of the number of labels of a row"] = _find_groups(sizes)
    found = []
    for name, kind in schema.columns.items():
        is_truth = kind in ("number", "raw") or {*X[name].dropna().str.casefold()} <= TRUTH.keys()
        known = of_labels | of_columns if is_truth else of_columns
        if len(groups := _find_groups(X[name].to_numpy())):
            alike = (text for text, others in summaries.items() if _are_alike(groups, others))
            text = known.get(groups.tobytes()) or next(alike, "")
            if not text and kind == "text" and len(columns) > 1:  # maybe the labels by number
                cells = [", ".join(sorted(cell.split(", "))) for cell in X[name].fillna("")]
                is_list = np.array_equal(_find_groups(np.array(cells, dtype=object)), sets)
                text = "lists the labels by other names" if is_list else ""
            found += [f"{name} {text}"] if text else []
    return found


def _find_groups(cells: Any) -> np.ndarray:
    """Return numbers of equal cells; none if nearly all, or nearly none, of the cells are equal."""
    groups, values = import_optional("pandas").factorize(cells, use_na_sentinel=False)
    is_telling = 2 * len(values) <= len(groups) >= np.bincount(groups).max() + 2
    return groups if is_telling else groups[:0]


def _are_alike(groups: np.ndarray, others: np.ndarray) -> bool:
    """Return whether two columns are equal in the same rows.

    One row in 100 may be an exception, and one in ten of those without the most frequent value.
    """
    if not len(others):
        return False
    shape = groups.max() + 1, others.max() + 1
    counts = np.bincount(groups * shape[1] + others, minlength=shape[0] * shape[1]).reshape(shape)
    n_wrong = len(groups) - min(counts.max(axis=0).sum(), counts.max(axis=1).sum())
    return 10 * n_wrong <= min(len(groups) / 10, len(groups) - counts.max())


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
        text = f"labels are nested, such as {' > '.join(found.pairs()[0])}"
        table.guesses.append(Guess(text, ("hierarchy",)))
    return found


def split_labels(data: Any, labels: Labels | None = None, **options: Any) -> tuple[Any, Any]:
    """Return the features and the labels of a table, for ``cross_val_score`` and the like.

    Parameters
    ----------
    data : DataFrame or RawTable
        A table with its labels, or what :func:`labelkin.datasets.read_table` returns.
    labels : str, list of str or int, default=None
        Where it holds them, as in :class:`labelkin.TableClassifier`.
    **options
        ``separator``, ``ignore_case``, ``no_label`` and ``missing_labels``, as there.

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
    found = _find_labels(table, labels, **options)
    X = table.data
    if table.target is None and not {*found.columns}.isdisjoint(table.names or ()):
        X = table.select([name for name in table.names or () if name not in found.columns])
    target, rows = found.drop_unknown(found.read(table.labelled))
    X = _safe_indexing(X, rows)
    index = getattr(X, "index", None)
    frame, names = import_optional("pandas").DataFrame, list(found.names)
    if sparse.issparse(target):  # thousands of tags
        return X, frame.sparse.from_spmatrix(target, index, names)
    return X, frame(target.astype(np.int64) if target.dtype == np.uint8 else target, index, names)
