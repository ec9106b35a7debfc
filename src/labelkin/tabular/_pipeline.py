"""From a table's raw columns to features: what `labelkin fit` puts before the classifier.

A :class:`Schema` says what each column is: numbers, a category, or text. :func:`make_pipeline`
turns it into one scikit-learn pipeline, so that a fitted model takes rows as they were in the
file. Numbers are imputed by the median, categories become one indicator each, texts TF-IDF
weights; nothing looks at the rows a model is tested on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import Labels, find_columns, find_labels
from labelkin.tabular._raw import ArrowTable, MatrixTable, RawTable, positions_of

__all__ = ["AsStrings", "Columns", "LabelColumns", "Schema", "make_pipeline"]

# "raw": numbers or words as the file has them, for a model that sees to its input itself.
Kind = Literal["numeric", "category", "text", "raw"]
Scale = Literal["auto", "none", "standard", "minmax"]
Missing = Literal["impute", "refuse"]
# A category with more values than this, most of them rare, is more likely text or a name;
# so is one whose values are sentences.
_MANY = 20
_SENTENCE = 3  # words


class AsStrings(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cells as strings, missing ones empty: what encoders of words can take.

    One dimension stays one (for a vectoriser of texts), two stay two.
    """

    def fit(self, X: Any, y: Any = None) -> "AsStrings":
        """Learn nothing but the width."""
        self.n_features_in_ = 1 if np.ndim(X) == 1 else np.shape(X)[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return an object array of strings."""
        cells = np.asarray(X, dtype=object)
        found = np.empty(cells.size, dtype=object)
        found[:] = ["" if _is_missing(cell) else str(cell) for cell in cells.ravel()]
        return found.reshape(cells.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def _is_missing(cell: Any) -> bool:
    """Tell None, NaN and pandas' NA, without pandas."""
    return cell is None or type(cell).__name__ == "NAType" or (cell != cell) is True


@dataclass(frozen=True)
class LabelColumns:
    """Where the labels stand: in a column each, or joined in one."""

    names: tuple[str, ...]
    """The labels, in the order of the model's outputs."""
    column: str | None = None
    """The one column that lists them; None: a column each."""
    separator: str = ";"
    """What stands between labels in that column."""

    @classmethod
    def find(
        cls,
        table: RawTable,
        labels: Labels | None = None,
        column: str | None = None,
        separator: str = ";",
    ) -> "LabelColumns":
        """Settle which columns are labels: as asked, or as the file itself says."""
        if column is not None:
            if table.names is None or table.target is not None:
                raise FormatError(table.path, "--label-column is for tables with named columns")
            (found,) = positions_of([column], table)
            names = sorted({label for row in _tags(table, found, separator) for label in row})
            if not names:
                raise FormatError(table.path, f"column {shorten(column)} lists no label at all")
            return cls(tuple(names), found, separator)
        if table.target is not None:
            return cls(tuple(table.own_labels or ()))
        names = table.names or []
        if labels is None:
            if table.own_labels is None:
                raise FormatError(
                    table.path,
                    "nothing says which columns are labels; name them with --labels a,b,c (or "
                    "--labels -3 for the last three), or one column of tags with --label-column",
                )
            labels = table.own_labels
        return cls(tuple(names[i] for i in find_labels(labels, names, table.path)))

    def read(self, table: RawTable, notes: list[str]) -> np.ndarray:
        """Return the (n, q) matrix of 0 and 1."""
        if self.column is not None and table.target is None:
            positions_of([self.column], table)
            return self._from_tags(table, notes)
        if table.target is None:
            positions_of(self.names, table)
            return np.column_stack([table.marks(name) for name in self.names])
        own = list(table.own_labels or ())
        if tuple(own) == self.names:
            return table.target
        unknown = [name for name in own if name not in self.names]
        absent = [name for name in self.names if name not in own]
        if len(absent) == len(self.names):
            find_columns(absent[:1], own, table.path)
        for names, what in ((unknown, "unknown to the model: left out"), (absent, "not in it")):
            if names:
                notes.append(f"{table.path}: labels {what}: {_few(names)}")
        place = {name: i for i, name in enumerate(own)}
        target = np.zeros((table.n_rows, len(self.names)), dtype=np.uint8)
        for i, name in enumerate(self.names):
            if name in place:
                target[:, i] = table.target[:, place[name]]
        return target

    def _from_tags(self, table: RawTable, notes: list[str]) -> np.ndarray:
        place = {name: i for i, name in enumerate(self.names)}
        target = np.zeros((table.n_rows, len(self.names)), dtype=np.uint8)
        unknown: set[str] = set()
        for row, tags in enumerate(_tags(table, str(self.column), self.separator)):
            for tag in tags:
                if tag in place:
                    target[row, place[tag]] = 1
                else:
                    unknown.add(tag)
        if unknown:
            notes.append(
                f"{table.path}: labels unknown to the model are left out: {_few(sorted(unknown))}"
            )
        return target


def _tags(table: RawTable, column: str, separator: str) -> list[list[str]]:
    if isinstance(table, ArrowTable) and table.kind(column) == "list":
        return table.lists(column)
    cells = table.strings(column)
    return [[tag.strip() for tag in (cell or "").split(separator) if tag.strip()] for cell in cells]


def _few(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@dataclass(frozen=True)
class Columns:
    """What the user says about columns, before the file is looked at."""

    text: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: Missing = "impute"
    scale: Scale = "auto"
    max_words: int = 5000


@dataclass(frozen=True)
class Schema:
    """What a model's input looks like: named columns and their kinds, or a plain matrix."""

    columns: dict[str, Kind] | None
    """Kind of each column of a table; None: a matrix of numbers."""
    names: tuple[str, ...] | None = None
    """Names of a matrix's columns, where it has any."""
    n_features: int = 0
    """Width of a matrix."""
    missing: Missing = "impute"
    scale: Scale = "none"
    max_words: int = 5000
    gaps: bool = False
    """Whether a matrix had missing values when the model was fitted."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> "Schema":
        """Read what `to_dict` gave."""
        names = said.get("names")
        return cls(**{**said, "names": None if names is None else tuple(names)})

    @property
    def worded(self) -> frozenset[str]:
        """Columns that are read as they are written."""
        return frozenset(
            name for name, kind in (self.columns or {}).items() if kind in ("category", "text")
        )

    def of_kind(self, kind: Kind) -> list[str]:
        """Names of the columns of a kind."""
        return [name for name, found in (self.columns or {}).items() if found == kind]

    # ------------------------------------------------------------------ from a table

    @classmethod
    def find(
        cls, table: RawTable, labels: LabelColumns, said: Columns, notes: list[str]
    ) -> "Schema":
        """Settle what each column is; a column that could be misread is refused by name."""
        asked = [*said.text, *said.category, *said.ignore]
        if table.names is None:
            if asked:
                raise FormatError(table.path, f"it has no column names, so none is {asked[0]!r}")
            return cls._of_matrix(table, None, said, notes)
        positions_of([name for name in asked if name not in said.ignore], table)
        for name in said.ignore:
            positions_of([name], table)
        roles = {labels.column} if labels.column else set(labels.names)
        apart = table.target is not None
        for name in asked:
            if not apart and name in roles:
                raise ValueError(f"column {name!r} is a label, so it can be nothing else.")
            if asked.count(name) > 1:
                raise ValueError(f"column {name!r} is named for two purposes; choose one.")
        taken = set(said.ignore) | (set() if apart else roles)
        names = [name for name in table.names if name not in taken]
        if not names:
            raise FormatError(table.path, "no feature column is left besides the labels")
        if isinstance(table, MatrixTable) and not (said.text or said.category):
            return cls._of_matrix(table, names, said, notes)
        kinds = {name: _kind(table, name, said) for name in names}
        schema = cls(columns=kinds, missing=said.missing, max_words=said.max_words)
        scale = said.scale
        if scale == "auto":
            scale = "standard" if len(set(kinds.values())) > 1 else "none"
            if scale == "none" and "numeric" in kinds.values():
                _hint_scale(table, names, notes)
        return replace(schema, scale=scale)

    @classmethod
    def _of_matrix(
        cls, table: RawTable, names: list[str] | None, said: Columns, notes: list[str]
    ) -> "Schema":
        assert isinstance(table, MatrixTable)
        matrix = table.matrix if names is None else table.select(names)
        values = matrix.data if sparse.issparse(matrix) else matrix
        return cls(
            columns=None,
            names=None if names is None else tuple(names),
            n_features=matrix.shape[1],
            missing=said.missing,
            scale="none" if said.scale == "auto" else said.scale,
            gaps=bool(np.isnan(values).any()),
        )

    def read(self, table: RawTable, notes: list[str]) -> Any:
        """Return a table's features in the form the pipeline takes, missing columns refused."""
        if not table.n_rows:
            raise FormatError(table.path, "it holds no rows")
        if self.columns is None:
            return self._matrix(table, notes)
        self._check_there(table, list(self.columns))
        numeric = {name: table.numbers(name) for name in self.of_kind("numeric")}
        self._check_numbers(table, numeric, notes)
        for name in self.of_kind("raw"):
            if table.kind(name) in ("numeric", "missing"):
                numeric[name] = table.numbers(name)
        words = {name: table.strings(name) for name in self.columns if name not in numeric}
        self._check_words(table, words)
        pandas = import_optional("pandas")
        series = {name: pandas.Series(cells, dtype=object) for name, cells in words.items()}
        return pandas.DataFrame({**numeric, **series})[list(self.columns)]

    def _check_there(self, table: RawTable, names: list[str]) -> None:
        """Refuse a table that lacks a column the model was fitted on."""
        if table.names is None:
            raise FormatError(
                table.path,
                f"it has no column names, and the model needs the columns {_few(names)}",
            )
        absent = [name for name in names if name not in set(table.names)]
        if absent:
            try:
                find_columns(absent[:1], table.names, table.path)
            except FormatError as error:
                more = f" ({len(absent)} of the model's columns are missing)"
                raise FormatError(
                    table.path, error.message + (more if len(absent) > 1 else "")
                ) from None

    def _check_numbers(
        self, table: RawTable, columns: dict[str, np.ndarray], notes: list[str]
    ) -> None:
        gaps = {name: int(np.isnan(values).sum()) for name, values in columns.items()}
        gaps = {name: count for name, count in gaps.items() if count}
        for name, values in columns.items():
            at = np.flatnonzero(np.isinf(values))
            if at.size:
                raise FormatError(
                    table.path, f"column {shorten(name)} holds an infinite value in row {at[0] + 1}"
                )
        if gaps and self.missing == "refuse":
            name, count = next(iter(gaps.items()))
            row = int(np.flatnonzero(np.isnan(columns[name]))[0]) + 1
            raise FormatError(
                table.path,
                f"column {shorten(name)} has no value in {count} of {table.n_rows} rows, first in "
                f"row {row}, and missing values are to be refused",
            )
        if gaps:
            cells = sum(gaps.values())
            notes.append(
                f"{table.path}: {cells:,} missing {'value' if cells == 1 else 'values'} in "
                f"{_few(list(gaps))}: each becomes its column's median in the training rows"
            )

    def _check_words(self, table: RawTable, parts: dict[str, Any]) -> None:
        if self.missing != "refuse":
            return
        for name, cells in parts.items():
            gaps = [row for row, cell in enumerate(cells) if cell is None]
            if gaps:
                raise FormatError(
                    table.path,
                    f"column {shorten(name)} has no value in {len(gaps)} of {table.n_rows} rows, "
                    f"first in row {gaps[0] + 1}, and missing values are to be refused",
                )

    def _matrix(self, table: RawTable, notes: list[str]) -> Any:
        if isinstance(table, ArrowTable):
            if self.names is None:
                raise FormatError(
                    table.path,
                    "the model was fitted on features without names; give it a file of that kind "
                    "(LibSVM or .npz)",
                )
            self._check_there(table, list(self.names))
            matrix: Any = np.column_stack([table.numbers(name) for name in self.names])
        else:
            assert isinstance(table, MatrixTable)
            if self.names is not None and table.names is not None:
                self._check_there(table, list(self.names))
                matrix = table.select(self.names)
            else:
                matrix = table.matrix
        if matrix.shape[1] != self.n_features:
            raise FormatError(
                table.path,
                f"it has {matrix.shape[1]:,} features, and the model was fitted on "
                f"{self.n_features:,}",
            )
        values = matrix.data if sparse.issparse(matrix) else matrix
        if np.isinf(values).any():
            raise FormatError(table.path, "a feature holds an infinite value")
        missing = int(np.isnan(values).sum())
        if missing and (self.missing == "refuse" or not self.gaps):
            why = "and missing values are to be refused"
            if self.missing != "refuse":
                why = "and the model was fitted on data without any"
            raise FormatError(table.path, f"{missing:,} values are missing, {why}")
        if missing:
            notes.append(
                f"{table.path}: {missing:,} missing values: each becomes its feature's median in "
                "the training rows"
            )
        return matrix


def _kind(table: RawTable, name: str, said: Columns) -> Kind:
    """Tell what a column is; text, names and numbers with a slip are not guessed at."""
    found = table.kind(name)
    if found == "missing":
        raise FormatError(
            table.path, f"column {shorten(name)} holds no value at all; leave it out with --ignore"
        )
    if name in said.text:
        return "text"
    if name in said.category:
        return "category"
    if found == "numeric":
        return "numeric"
    if found != "string":
        raise FormatError(
            table.path,
            f"column {shorten(name)} holds {found} values, which are neither numbers nor text; "
            f"leave it out with --ignore {name}, or say --category {name}",
        )
    cells = [cell for cell in table.strings(name) if cell is not None]
    distinct = set(cells)
    few = len(distinct) <= _MANY or 2 * len(distinct) <= len(cells)
    if few and np.mean([len(cell.split()) for cell in distinct]) <= _SENTENCE:
        return "category"
    wrong = [cell for cell in distinct if not _is_number(cell)]
    if 2 * len(wrong) < len(distinct):
        row = next(i for i, cell in enumerate(table.strings(name)) if cell in set(wrong))
        raise FormatError(
            table.path,
            f"column {shorten(name)} is mostly numbers but holds "
            f"{shorten(table.strings(name)[row], 30)} in row {row + 1}; correct that, or say "
            f"--category {name} or --ignore {name}",
        )
    raise FormatError(
        table.path,
        f"column {shorten(name)} holds words, {len(distinct):,} different ones in "
        f"{len(cells):,} rows; say --text {name}, --category {name} or --ignore {name}",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hint_scale(table: RawTable, names: Iterable[str], notes: list[str]) -> None:
    """Say when a few columns drown the others in every distance."""
    with np.errstate(all="ignore"):
        spread = {name: float(np.nanstd(table.numbers(name))) for name in names}
    spread = {name: s for name, s in spread.items() if np.isfinite(s) and s > 0}
    if len(spread) < 2:
        return
    low, high = min(spread, key=lambda n: spread[n]), max(spread, key=lambda n: spread[n])
    if spread[high] > 100 * spread[low]:
        notes.append(
            f"{table.path}: {high!r} varies {spread[high] / spread[low]:,.0f} times as much as "
            f"{low!r}; methods that measure distances see little else (--scale standard evens "
            "that out)"
        )


def make_pipeline(schema: Schema, classifier: Any) -> Any:
    """Return an unfitted pipeline from raw rows to predictions.

    Parameters
    ----------
    schema : Schema
        What the rows look like.
    classifier : estimator
        An unfitted multi-label classifier; it is the step ``classifier``.
    """
    from sklearn.pipeline import Pipeline

    if schema.columns is not None:
        return Pipeline([("features", _column_transformer(schema)), ("classifier", classifier)])
    steps: list[tuple[str, Any]] = []
    if schema.gaps:
        from sklearn.impute import SimpleImputer

        steps.append(("impute", SimpleImputer(strategy="median", keep_empty_features=True)))
    if schema.scale != "none":
        steps.append(("scale", _scaler(schema.scale, matrix=True)))
    return Pipeline([*steps, ("classifier", classifier)])


def _column_transformer(schema: Schema) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    parts: list[tuple[str, Any, Any]] = []
    if numeric := schema.of_kind("numeric"):
        steps: list[tuple[str, Any]] = [
            ("impute", SimpleImputer(strategy="median", keep_empty_features=True))
        ]
        if schema.scale != "none":
            steps.append(("scale", _scaler(schema.scale, matrix=False)))
        parts.append(("numeric", Pipeline(steps), numeric))
    if category := schema.of_kind("category"):
        encode = OneHotEncoder(handle_unknown="ignore")
        parts.append(
            ("category", Pipeline([("strings", AsStrings()), ("encode", encode)]), category)
        )
    for name in schema.of_kind("text"):
        words = TfidfVectorizer(
            sublinear_tf=True, strip_accents="unicode", max_features=schema.max_words
        )
        parts.append((f"text {name}", Pipeline([("strings", AsStrings()), ("tfidf", words)]), name))
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def _scaler(scale: Scale, matrix: bool) -> Any:
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if matrix:  # may be sparse: nothing is moved from zero
        return StandardScaler(with_mean=False) if scale == "standard" else MaxAbsScaler()
    return StandardScaler() if scale == "standard" else MinMaxScaler()


def fit_pipeline(pipeline: Any, X: Any, Y: np.ndarray, label_names: Sequence[str]) -> Any:
    """Fit; the classifier learns the label names where X is a DataFrame."""
    target: Any = Y
    if hasattr(X, "columns"):
        target = import_optional("pandas").DataFrame(Y, columns=list(label_names))
    try:
        return pipeline.fit(X, target)
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise ValueError("a --text column holds no words to learn from.") from error
        raise
