"""Reading by the suffix of a file's name.

`read` returns matrices of numbers. A user's table holds more: text, categories, dates,
identifiers. `read_table` returns it as it is, for `labelkin.TableClassifier`.

A new format is a module in `formats` with a reader, which is entered under its suffixes below.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, strip_compression
from labelkin._utils.names import plural
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets.formats._arff import read_arff
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._bunch import complete, make_bunch
from labelkin.datasets.formats._columns import Labels, split_names
from labelkin.datasets.formats._csv import read_csv
from labelkin.datasets.formats._dialect import Encoding
from labelkin.datasets.formats._json import read_json
from labelkin.datasets.formats._libsvm import SIZES, read_libsvm
from labelkin.datasets.formats._npz import read_arrays
from labelkin.datasets.formats._parquet import read_parquet
from labelkin.datasets.formats._raw_table import Options, RawTable
from labelkin.datasets.formats._spreadsheet import read_spreadsheet
from labelkin.datasets.known._catalogue import dataset_names
from labelkin.datasets.known._load import load_dataset

SCENES = "digit-scenes"
"""Name of the bundled dataset in experiments and on the command line."""

_READERS: dict[str, Callable[[bytes, Budget, Options], RawTable]] = {
    ".arff": read_arff,
    ".npz": read_arrays,
    ".svm": read_libsvm,
    ".libsvm": read_libsvm,
    ".svmlight": read_libsvm,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".tab": read_csv,
    ".txt": read_csv,  # or LibSVM, by the first lines
    ".parquet": read_parquet,
    ".npy": read_arrays,
    ".xlsx": read_spreadsheet,
    ".xlsm": read_spreadsheet,
    ".ods": read_spreadsheet,
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".json": read_json,
}
# What a small spreadsheet that was sent may take: with millions of empty elements, reading it would
# take longer than a request may.
_SENT_BYTES = 2**26
# A row of LibSVM: labels, then pairs of a feature's number and its value.
_LIBSVM_ROW = re.compile(rb"\s*#.*|(?!--)[-+.,\deE]*(?:\s+(?:qid|\d+):\S+)*\s*(?:#.*)?", re.DOTALL)


def _read(path: str | Path, options: Options) -> RawTable:
    """Return a file by the reader of its format, which its suffix before ``.gz`` tells."""
    suffix = strip_compression(path).suffix.lower()
    if suffix in (".xls", ".xlsb", ".numbers"):
        raise ArgumentError(f"{path}: this format cannot be read; save it as .xlsx or CSV.")
    if suffix not in _READERS:
        raise ArgumentError(
            f"{path}: the suffix gives no known format; end the name in {', '.join(_READERS)} "
            "(and .gz or .bz2 if it is compressed)."
        )
    raw, reader, labels = read_unpacked(path), _READERS[suffix], options.labels
    if suffix == ".txt":
        first, second, *_ = [*raw.split(b"\n", 2), b""]
        if _LIBSVM_ROW.fullmatch(second if SIZES.fullmatch(first) else first):
            reader = read_libsvm
    if isinstance(labels, Iterable):
        options = replace(options, expected={*options.expected, *split_names(labels)})
    return reader(raw, Budget(path), options)


def read(
    path: str | Path,
    *,
    labels: Labels | None = None,
    drop: str | Iterable[str] = (),
    xml: str | Path | None = None,
    missing_labels: str | None = None,
    **options: Any,
) -> Bunch:
    """Read a multi-label dataset of numbers from a file of any known format.

    Parameters
    ----------
    path : str or Path
        ``.arff``, ``.npz``, ``.npy``, ``.svm``/``.libsvm``, ``.csv``/``.tsv``/``.tab``,
        ``.parquet``, ``.xlsx``, ``.ods``, ``.jsonl`` or ``.json``, each optionally followed by
        ``.gz`` or ``.bz2``; ``.txt`` is LibSVM or a table, by its first lines.
    labels : names, comma-separated string, or int, optional
        The label columns, where the file does not define them: their names, in the order that
        the target is to have, or a count (positive: the first, negative: the last). An ARFF file
        defines them by the XML file of the same name, or by MEKA's ``-C n`` in the relation's
        name.
    drop : names or comma-separated string, default=()
        Columns to leave out, such as an identifier.
    xml : str or Path, optional
        Mulan's list of labels, where it has another name than the ARFF file.
    missing_labels : {"no", "unknown", "drop"}, optional
        What an empty cell of a label column means: that the label does not apply, or that it is
        unknown; "drop" leaves out its row. By default it is guessed: unknown if the labels are
        written as 0 and 1, no if they are written as 1 only. In ARFF files ? is unknown.
    **options
        How the file is written, such as ``delimiter=``; see `read_table`.

    Returns
    -------
    Bunch
        ``data``: float64, an array or a CSR matrix; missing values are NaN. ``target``: uint8 of
        shape (n, q), dense (CSR above 100 million entries of a sparse file), in the order of
        `labels`, or else of the columns; float64 with NaN where labels are unknown.
        ``feature_names`` and ``label_names``, None where unknown. ``feature_n_values``: 0 for a
        numeric feature, k for a nominal one with k values, coded by their index (for a yes/no
        pair: no is 0, yes is 1). ``split``: 0 for original training rows and 1 for test rows, None
        where unknown. ``DESCR``.

    Raises
    ------
    FormatError
        A ValueError that names the file, and the line where there is one.

    Examples
    --------
    >>> from labelkin.datasets import read
    >>> yeast = read("yeast.arff.gz")  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((2417, 103), (2417, 14))
    """
    table = _read(path, Options(labels=labels, xml=xml, **options))
    return make_bunch(table, labels, drop, missing_labels)


def parse_table(raw: bytes, source: str, **options: Any) -> RawTable:
    """Return a table that was sent or uploaded; errors name it by `source`.

    Its first bytes tell whether it is a spreadsheet, JSON or CSV. `options` are those of
    `read_table` for a CSV file.
    """
    budget, how = Budget(source, len(raw)), Options(**options, trim=True)
    if raw.startswith(b"PAR1"):
        raise FormatError(source, "a Parquet file cannot be sent; send CSV, JSON or a spreadsheet")
    if raw.startswith((b"PK", b"\xd0\xcf")):
        budget.limit = budget.left = min(budget.limit, max(_SENT_BYTES, 100 * len(raw)))
        return read_spreadsheet(raw, budget, how)
    reader = read_json if raw.lstrip()[:1] in (b"[", b"{") else read_csv
    return reader(raw, budget, how)


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: Encoding = None,
    decimal: str | Sequence[str] | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    x: str | None = None,
    y: str | None = None,
    as_strings: Iterable[str] = (),
    expected: Iterable[str] = (),
    labels: Labels | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    written: bool = False,
) -> RawTable:
    r"""Read a table with columns of any kind; needs the ``data`` extra.

    Parameters
    ----------
    source : str or Path
        A file of any format that `read` knows, or a name that `dataset_names` lists.
    delimiter, encoding, decimal : str, optional
        How a CSV file is written; guessed if not given. If spaces delimit, several count as one. An
        ARFF file has an encoding, too. A list of encodings names likely ones, for a file that is
        not UTF-8, and a list of one decimal mark a likely one.
    header : bool, optional
        Whether the first row of a CSV file or a sheet holds the names of the columns; without
        them they are c1, c2, …. By default it does, and a file whose first row looks like the
        others is refused.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first that has an expected column, else the
        first with several columns.
    x, y : str, optional
        Names of the arrays of features and labels in an ``.npz`` file, by default X and y; of an
        ``.npy`` file, or a sparse matrix that SciPy's ``save_npz`` wrote, `y` is the file with the
        labels, by default y.npy beside X.npy. Arrays of more than two dimensions, such as images,
        are flattened. For a file of any format, `y` may also be a table, such as a CSV file, with
        the labels of the same rows in the same order; what is known of how a file is written holds
        for both.
    as_strings : iterable of str, default=()
        Columns to keep as they are written, such as codes with leading zeros.
    expected : iterable of str, default=()
        Names of columns; a first row with one of them is the header.
    labels : names, comma-separated string, or int, optional
        The labels of a LibSVM file, which does not declare them; in a table, one column that it
        names is kept as it is written, since it may hold tags such as 3,10.
    n_features : int, optional
        Number of features of a LibSVM file, whose last ones may be zero in all rows.
    zero_based : bool, optional
        Whether the features of a LibSVM file count from 0; by default they do if feature 0 occurs.
    written : bool, default=False
        Whether to hold the cells of a CSV file or a sheet as they are written, too, to copy them:
        in ``written``, by the name of the column.

    Returns
    -------
    RawTable
        ``data`` is a DataFrame of all columns or, of a file that holds only numbers, a matrix;
        ``guesses`` is what was guessed, and ``label_table`` the table that `y` names, if it does.
        `TableClassifier` takes it in place of a DataFrame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from labelkin.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "films.csv"
    ...     _ = path.write_text("length;tags\n97,5;drama|crime\n121,0;comedy\n")
    ...     table = read_table(path)
    >>> table.data
       length         tags
    0    97.5  drama|crime
    1   121.0       comedy
    >>> [guess.text for guess in table.guesses]
    ["';' between columns", "',' decimal"]
    """
    path, name = Path(source), str(source)
    if not path.exists() and name in (SCENES, *dataset_names()):
        known = load_digit_scenes(600, random_state=0) if name == SCENES else load_dataset(name)
        names = known.feature_names, known.label_names
        return complete(RawTable(name, known.data, *names, known.target))
    if path.is_dir():
        text = "this is a folder, not a file; give one file, such as one of all its parts"
        raise FormatError(name, text)
    if not path.exists():
        may_be_name = not path.suffix and len(path.parts) == 1
        cure = " nor a dataset of that name; `labelkin datasets` lists those known"
        raise FileNotFoundError(f"There is no file {name}{cure if may_be_name else ''}.")
    strings = {*as_strings, *([labels] if isinstance(labels, str) else [])}
    options = Options(
        *(delimiter, encoding, decimal, header, sheet, x, y, strings, expected, labels),
        *(n_features, zero_based, written),
        trim=True,
    )
    if y is None or not _is_table(y):
        return complete(_read(path, options))
    if not Path(y).exists():
        raise FileNotFoundError(f"There is no file {y}.")
    of_labels = replace(options, x=None, y=None, expected=(), written=False)
    label_table = complete(_read(y, of_labels))
    own = replace(options, y="", as_strings={*as_strings}, labels=None)
    return _put_beside(complete(_read(path, own)), label_table)


def _is_table(y: str) -> bool:
    """Return whether `y` is the file of a table, and neither an array nor a file of arrays."""
    suffix = strip_compression(y).suffix.lower()
    return suffix not in (".npy", ".npz") and (suffix in _READERS or Path(y).is_file())


def _put_beside(table: RawTable, label_table: RawTable) -> RawTable:
    """Return a table whose labels are in another one, instead of those that it may have itself."""
    if label_table.n_rows != table.n_rows:
        text = f"it has {plural(label_table.n_rows, 'row')}, and {table.source} has "
        text += f"{table.n_rows:,}; y= takes the labels of the same rows in the same order"
        raise label_table.error(text, "y")
    known = [guess for guess in label_table.guesses if "category" not in guess.arguments]
    table.guesses += [guess for guess in known if guess not in table.guesses]  # none on features
    label_table.guesses = table.guesses
    return replace(table, target=None, label_names=None, label_table=label_table)
