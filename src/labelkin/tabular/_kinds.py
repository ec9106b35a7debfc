"""The kind of a column: numbers, dates, a category, text, or an identifier."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names, plural
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import open_names
from labelkin.datasets.formats._nested import read_lists, spread_lists
from labelkin.datasets.formats._numbers import (
    CODED,
    MISSING,
    are_numbers,
    is_any_number,
    is_number,
    is_unknown,
    sign_of,
)
from labelkin.datasets.formats._quantities import (
    MAX_CATEGORIES,
    count_units,
    describe_numbers,
    doubt_times,
    split_unit,
    split_units,
    without_limit,
)
from labelkin.datasets.formats._raw_table import Guess
from labelkin.datasets.formats._units import in_words, is_currency, main_unit, ratio, unit_in_name
from labelkin.tabular._codes import (
    IDENTIFIER_NAME,
    find_codes,
    find_dates,
    find_sentinels,
    first_of,
    read_as_missing,
)
from labelkin.tabular._dates import (
    find_day_first,
    find_first_year,
    have_full_years,
    is_basic_date,
    is_month,
    needs_order,
    parse_date,
    parse_dates,
    write_dates,
)
from labelkin.tabular._text import count_words, has_words

# "raw": numbers or strings as the table has them, for a model that encodes its input itself.
Kind = Literal["number", "category", "text", "date", "day_first_date", "raw"]
Scale = Literal["auto", "none", "robust", "standard", "minmax"]
Embedding = Literal["auto", "none"]

# A column with more different values than MAX_CATEGORIES, most of them rare, is more likely text or
# an identifier than a category; so is one whose values are longer than a few words, or of several
# words that hardly recur.
_MAX_CATEGORY_WORDS = 3
# In columns of fewer rows than this, values are distinct by chance.
_MIN_IDENTIFIERS = 20
# Exports repeat some rows: of a column named like an identifier, one value in ten may recur, and of
# addresses and words with digits. One number in ten may be missing.
_MIN_DISTINCT = 0.9
# Of a column of numbers or dates, one filled cell in ten may hold words, which are read as missing.
_MAX_WORDS = 0.1
_SAMPLE = 1000  # different values of a column from which it is told whether they may be dates
# Characters of a date, at most: it is not sought in longer texts.
_MAX_DATE = 60
# Of equal length, these are codes, even if most have digits only.
_CODE = re.compile(r"[0-9A-Za-z-]{8,}|[0-9]{2,}")
# A letter or two beside digits, as in 136A and c168.
_LETTERED = re.compile(r"[^\W\d_]{1,2}\d+|\d+[^\W\d_]{1,2}")
# At most three words before numbers, each of which is written as 0: INV 0 or RE 0/0.
_NUMBERED = re.compile(r"(?:[^\W\d_][^\s0]*+\s*+){1,3}[\W0]*0\s*")
_ADDRESS_OR_CODE = re.compile(r"[^\s@]+@[^\s@]+|[a-z]+://\S+|(?=\S*[^\W\d_])(?=\S*\d)\S+", re.I)
# A number of at most seven digits, as in 2 kg, 152/94 or 81 x 101 cm, and not a street or a code.
_BEGINS_WITH_NUMBER = re.compile(r"\W{0,3}\d{1,7}(?:[.,]\d+)?(?:\W|[^\W\d]{1,4}\b)(?!.*[^\W\d]{5})")
# 030 123456, +49 (30) 123-456 or 555-123-4567, and not a pair of numbers such as 105000-120000.
_PHONE = re.compile(r"[+(0][\d\s()/.–-]{7,}\d|\d{3}[-. ]\d{3}[-. ]\d{4}")
_HTML = re.compile(r"</[a-z]|<br\b", re.IGNORECASE)
# Columns whose values, if they recur, are of persons or things that have several rows.
_GROUP_NAME = re.compile(r"(?i:(^|[\W_])ids?$)|[a-z](Id|ID)$")
_FOLD_NAME = re.compile(r"(?i:(^|[\W_])(fold|split)$)")
# Columns by which people know rows, in English, German, French, Spanish, Italian, Portuguese,
# Dutch, Polish, Russian, Chinese and Japanese; only a whole name is one of those of `_NAME`.
_TITLE = re.compile(
    r"(?i:(^|[\W_])(title|subject|summary|headline|heading|question|titel|betreff|überschrift|frage"
    r"|titre|sujet|objet|título|titulo|asunto|pregunta|titolo|oggetto|domanda|assunto|pergunta"
    r"|onderwerp|vraag|tytuł|temat|тема|заголовок|название)$)|标题|題名|件名|タイトル"
)
_NAME = re.compile(r"name|bezeichnung|nom|nombre|nome|naam|nazwa|имя|名称|名前", re.IGNORECASE)
_MAX_TITLE = 200  # characters of a text of moderate length
_PARTS = {*("train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout")}


def _cure(name: str, kind: str) -> str:
    """Return the argument that makes a column be of a kind; the command line translates it."""
    return f"columns={{{name!r}: {kind!r}}}"


def find_kind(table: RawTable, name: str, given: str | None) -> Kind | None:
    """Return the kind of a column, None for one to leave out.

    `given` is the user's choice. Guesses are added to the table's; a column that could be misread
    is refused with the cure.
    """
    kind = table.kind(name)
    if given == "number" and kind == "string":
        _holds_numbers(table, name, is_certain=True)
    if given in ("date", "day_first_date") and kind in ("string", "number"):
        _holds_dates(table, name, given)
    if given is not None:
        return None if given == "ignore" else given  # type: ignore[return-value]
    if table.column(name).dtype == "category":
        return "category"
    if kind == "number":
        is_written = name in table.units
        numbers = table.numbers(name)
        if name in table.units and not is_written:  # times of a DataFrame
            text = f"{name}: {in_words(table.units[name])}"
            table.guesses.append(Guess(text, ("category", "ignore")))
        if name in table.units or not _are_identifiers(name, numbers):
            find_sentinels(table, name, numbers)
            doubts = _find_doubts(name, numbers)
            table.guesses += doubts or find_codes(name, numbers) or find_dates(name, numbers)
            return "number"
        table.guesses.append(Guess(f"{name} left out: an identifier", ("number",)))
        table.guesses += find_dates(name, numbers)
        return None
    if kind == "date":
        table.guesses.append(Guess(f"{name}: dates", ("category", "ignore")))
        return "date"
    if kind == "list" and table.holds_words(name):
        if not any(map(has_words, filter(None, table.strings(name)))):
            table.guesses.append(Guess(f"{name} left out: its lists hold no words", ()))
            return None
        table.guesses.append(Guess(f"{name}: lists of words, read as text", ("ignore",)))
        return "text"
    if kind == "list":
        table.guesses.append(Guess(f"{name} left out: it holds lists", ()))
        return None
    if kind != "string":
        nested = "; labelkin.datasets.read_table reads nested JSON files" * (kind == "dict")
        raise table.error(
            f"column {shorten(name)} holds {kind} values, which are neither numbers nor text; "
            f"convert them, or leave the column out with {_cure(name, 'ignore')}{nested}",
            "columns",
        )
    return _kind_of_strings(table, name)


def spread_columns(
    table: RawTable, label_columns: Container[str], columns: Mapping[str, str]
) -> dict[str, str]:
    """Spread lists of n numbers over columns ``a_1`` to ``a_n``; return the kinds of columns.

    `columns` are those that the user chose, by name; that of an object a is the kind of all columns
    ``a.b``. Labels stay as they are, and lists of unequal length are left out.
    """
    columns, names = dict(columns), table.names or []
    for name in () if table.is_matrix else names:
        is_free = name not in label_columns and columns.get(name, "number") == "number"
        if not is_free or table.kind(name) not in ("list", "string"):
            continue
        lists = read_lists(table.column(name)) or []
        sizes = {*map(len, lists)} - {0}
        parts = [f"{name}_{i}" for i in range(1, max(sizes, default=0) + 1)]
        if len(sizes) > 1 and name not in columns:
            text = f"{name} left out: it holds lists of numbers of unequal length"
            table.guesses.append(Guess(text, ("ignore",), True))
            columns[name] = "ignore"
        if len(sizes) == 1 and {*names}.isdisjoint(parts):
            table.data = spread_lists(table.data, name, lists, parts)
            table.names = [*table.data.columns]
            if columns.pop(name, None) is None:
                text = f"{name}: lists of {plural(len(parts), 'number')}, spread over columns"
                table.guesses.append(Guess(f"{text} {join_names(parts, 2)}", ("ignore",)))
            columns |= dict.fromkeys(parts, "number")
    names = table.names or []
    return {one: kind for name, kind in columns.items() for one in open_names([name], names)}


def find_identifiers(table: RawTable, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the columns that tell rows apart, the best names of rows first.

    They have no gaps, or are named like an identifier.
    """
    found = [name for name in names if is_identifier(table, name)]
    gaps = {name: bool(table.column(name).isna().any()) for name in found}
    return tuple(sorted(found, key=lambda name: (gaps[name], not IDENTIFIER_NAME.search(name))))


def is_identifier(table: RawTable, name: str) -> bool:
    """Return whether a column tells rows apart: distinct numbers, or distinct single words.

    So do texts that differ in their numbers only, as INV 1 and INV 2 do. Of one named like an
    identifier, and of addresses and words with digits, nearly all values are distinct.
    """
    kind = table.kind(name)
    if kind == "number":
        return _are_identifiers(name, table.numbers(name))
    cells = [cell for cell in table.strings(name) if cell is not None] if kind == "string" else []
    least = 2 if IDENTIFIER_NAME.search(name) else _MIN_IDENTIFIERS
    if len(cells) < least or not _are_distinct(name, cells):
        return False
    are_words = max(len(cell.split()) for cell in cells) == 1
    if are_words and np.mean([*map(count_words, cells)]) < 2:
        return True
    if all(map(_PHONE.fullmatch, cells)):
        return True
    form, *others = {re.sub(r"\d+", "0", cell) for cell in cells}
    return not others and _NUMBERED.fullmatch(form) is not None


def _find_doubts(name: str, values: Iterable[Any]) -> list[Guess]:
    """Return a guess if the name and the values, which recur, are those of groups or of folds."""
    is_group, is_fold = _GROUP_NAME.search(name), _FOLD_NAME.search(name)
    distinct = {one for one in values if one == one} if is_group or is_fold else set()  # no NaN
    if any(isinstance(value, float) and not value.is_integer() for value in distinct):
        return []
    are_many = len(distinct) > MAX_CATEGORIES
    if is_group and are_many:
        text = (
            f"{name} is kept as a feature; if new rows have others than its {len(distinct):,} "
            "values, leave it out, and keep rows of the same one together in cross-validation"
        )
        return [Guess(text, ("group", "ignore", "category"), True)]
    words = {value.casefold() for value in distinct if isinstance(value, str)}
    if is_fold and not are_many and words <= _PARTS:
        text = f"{name} is kept as a feature, although it seems to assign rows to folds or parts"
        return [Guess(text, ("ignore",), True)]
    return []


def find_title(table: RawTable, kinds: Mapping[str, Kind]) -> str:
    """Return the column by which a reader knows a row; nothing: there is no text.

    It is named like one or, of the columns of texts, has the most that differ and are not long.
    """
    whole = [name for name in kinds if _TITLE.fullmatch(name) or _NAME.fullmatch(name)]
    # Titles that recur are categories.
    found = [
        n for n in whole if kinds[n] == "category" and table.column(n).nunique() > MAX_CATEGORIES
    ]
    found += [name for name in kinds if kinds[name] == "text"]

    def rank(name: str) -> tuple[bool, bool, int, int]:
        is_list = table.kind(name) == "list"
        texts = set() if is_list else {text for text in table.strings(name) if text}
        texts = {text for text in texts if len(text.split()) > 2}
        n_short = sum(len(text) <= _MAX_TITLE for text in texts)
        return name in whole, _TITLE.search(name) is not None, n_short, len(texts)

    return max(found, key=rank, default="")


def _are_distinct(name: str, values: Collection[Any]) -> bool:
    n, n_distinct = len(values), len({*values})
    if n_distinct == n or n_distinct < _MIN_DISTINCT * n:
        return n_distinct == n
    forms = (_ADDRESS_OR_CODE, _PHONE)
    n_codes = sum(any(form.fullmatch(str(value)) for form in forms) for value in values)
    return bool(IDENTIFIER_NAME.search(name)) or n_codes >= _MIN_DISTINCT * n


def _are_identifiers(name: str, numbers: np.ndarray) -> bool:
    """Return whether numbers are identifiers.

    They are if they are distinct integers and the column is named like one, or any distinct numbers
    and it is named id. One named like it may have a few twice. So are numbers that are in order, or
    long and of equal length, and so close together that n numbers drawn from their range would have
    1 or 3 equal pairs: years of which none is missing, and not the incomes of fifty states. A few
    are missing.
    """
    n_rows, numbers = len(numbers), numbers[~np.isnan(numbers)]
    n = len(numbers)
    is_whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
    is_code = is_whole or _GROUP_NAME.search(name)  # such as 2103.17369
    if n < max(5, _MIN_DISTINCT * n_rows) or not is_code or not _are_distinct(name, numbers):
        return False
    if IDENTIFIER_NAME.search(name) or not is_whole:
        return True
    steps = np.diff(numbers)
    is_ordered = (steps > 0).all() or (steps < 0).all()
    low, high = numbers.min(), numbers.max()
    is_long = low >= 10_000 and len(str(int(low))) == len(str(int(high)))
    n_pairs = n * n / (2 * (high - low + 1))
    are_close = (is_ordered and n_pairs >= 1) or (is_long and n_pairs >= 3)
    return bool(n >= _MIN_IDENTIFIERS and are_close)


def _holds_numbers(table: RawTable, name: str, is_certain: bool = False) -> bool:
    """Return whether a column of strings holds numbers, of which there are many unless certain.

    The few words among them, and numbers in units that cannot be converted, are then missing
    values. Three numbers are enough if all words say that the number is not known, as those of a
    survey. A column most of whose different values are numbers, and that holds more words than that
    or percent signs in some cells only, is refused.
    """
    cells, decimal = table.strings(name), table.find_own_decimal(name)
    values = [cell for cell in cells if cell is not None and not is_unknown(cell)]
    unknown = [cell for cell in cells if cell is not None and is_unknown(cell)]
    unknown = [cell for cell in unknown if cell.strip() not in MISSING]
    distinct = sorted({*values})
    split = split_units(distinct)
    if is_certain:  # as the cells are read
        split = {cell: split_unit(without_limit(cell)) for cell in distinct}
    unit = main_unit(count_units(split, Counter(values)))
    if unit and not is_currency(unit) and any(not own for _, own in split.values()):
        unit = unit_in_name(unit, name) or unit
    numbers = {v: text for v, (text, own) in split.items() if ratio(own, unit) is not None}
    numbers = {value: text for value, text in numbers.items() if is_any_number(text, decimal)}
    signs = {sign_of(value) == "%": value for value in numbers}
    if len(numbers) == len(distinct) and len(signs) == 2:
        raise table.error(
            f"column {shorten(name)} holds numbers with and without a percent sign, such as "
            f"{shorten(signs[True], 30)} and {shorten(signs[False], 30)}; write all of them alike, "
            f"or pass {_cure(name, 'category')} or {_cure(name, 'ignore')}",
            "columns",
        )
    is_survey = 0 < len(unknown) <= _MAX_WORDS * (len(values) + len(unknown))
    is_survey &= 3 <= len(numbers) == len(distinct)
    are_many = is_certain or is_survey or len(distinct) > MAX_CATEGORIES
    is_marked = unit or any(sign_of(v) or without_limit(v) != v for v in numbers)
    are_many |= bool(is_marked) and 1 < len(numbers) == len(distinct)  # as in a file
    if not numbers or not are_many or (2 * len(numbers) <= len(distinct) and not is_certain):
        return False
    wrong = [row for row, cell in enumerate(cells) if cell in split and cell not in numbers]
    are_codes = wrong or _GROUP_NAME.search(name) or all(map(str.isdecimal, numbers))
    if are_codes and IDENTIFIER_NAME.search(name) and is_identifier(table, name):
        return False
    if wrong and not is_certain and all(_LETTERED.fullmatch(cells[row]) for row in wrong):
        return False
    are_few = is_certain or len(wrong) <= _MAX_WORDS * len(values)
    ways = (are_numbers(numbers.values(), decimal, unit, mixed) for mixed in (False, True))
    if are_few and any(ways):
        read_as_missing(table, name, [cells[row] for row in wrong] or unknown)
        table.units |= {name: unit} if unit else {}
        if doubt := doubt_times(numbers.values()):
            table.guesses.append(Guess(f"{name}: {doubt}", ("ignore",), True))
        if not is_certain:
            words = describe_numbers(numbers, unit)
            table.guesses.append(Guess(f"{name}: {words}", ("category", "ignore")))
        return True
    if wrong and any(map(CODED.match, numbers.values())):
        return False
    if wrong and not is_certain:
        shown = first_of(cells[row] for row in wrong)
        raise table.error(
            f"column {shorten(name)}: most different values are {in_words(unit)}, but "
            f"{len(wrong):,} of {len(values):,} cells hold others, such as {shown} "
            f"(row {wrong[0] + 1}); correct the cells, or pass {_cure(name, 'number')} to read "
            f"them as missing, {_cure(name, 'category')} or {_cure(name, 'ignore')}",
            "columns",
        )
    return False


def _holds_dates(table: RawTable, name: str, given: str | None = None) -> Kind | None:
    """Return the kind of a column of dates; None: it holds others.

    A few words among many dates are missing values, and so is one word, such as open, in at most
    half of the cells. Months without a day are dates beside others that have one. If the kind is
    `given`, so are months alone, all words are missing, and numbers may be dates.
    """
    cells = write_dates(table.strings(name)) if given else table.strings(name)
    values = [v for v in cells if v is not None and not is_unknown(v)]
    short = {value for value in values if len(value) <= _MAX_DATE}
    dates = {value for value in short if parse_date(value, True) or parse_date(value, False)}
    others = [value for value in values if value not in dates]
    day_first = find_day_first(dates)
    share = 0.5 if len({*others}) == 1 else _MAX_WORDS
    if day_first is None or (len(others) > share * len(values) and not given):
        return None
    if not given and all(map(is_month, dates)):  # they may be categories
        return None
    unknown = [v for v in cells if v and is_unknown(v) and v.strip() not in MISSING]
    read_as_missing(table, name, [*others, *unknown])
    if given:
        return None
    order, arguments = ", day first" if day_first else ", month first", ["category", "ignore"]
    if not needs_order(dates):
        order = ""
    elif not day_first:
        arguments.insert(0, "day_first_date")
    if not have_full_years(dates):
        first_year = find_first_year(dates, day_first)
        years = {one.year for one in parse_dates(dates, day_first, None, first_year) if one}
        order += f", of {min(years)}" + f" to {max(years)}" * (len(years) > 1)
    table.guesses.append(Guess(f"{name}: dates{order}", tuple(arguments)))
    return "day_first_date" if day_first else "date"


def _kind_of_strings(table: RawTable, name: str) -> Kind | None:
    if kind := _holds_dates(table, name):
        return kind
    cells = table.strings(name)
    values = [cell for cell in cells if cell is not None]
    distinct = set(values)
    are_codes = len({*map(len, distinct)}) == 1 and all(map(_CODE.fullmatch, distinct))
    are_many = len(distinct) > MAX_CATEGORIES
    first = sorted(distinct)[:_SAMPLE]
    dates = [v for v in first if len(v) <= _MAX_DATE and (is_basic_date(v) or parse_date(v, True))]
    if may_be_dates := len(dates) > 2 and 2 * len(dates) > len(first):
        table.guesses.append(Guess(f"{name} may be dates such as {dates[0]}", ("date",)))
    if not are_codes and _holds_numbers(table, name):
        return "number"
    words = [*map(count_words, distinct)]
    n_numbers = sum(_BEGINS_WITH_NUMBER.match(value) is not None for value in distinct)
    are_measured = are_many and n_numbers >= 0.9 * len(distinct) and not are_codes
    are_measured &= not may_be_dates
    remark = ", though it holds numbers; write one number in each cell, in one unit"
    remark = remark if are_measured and np.mean(words) <= 2 * _MAX_CATEGORY_WORDS else ""
    are_few = len(distinct) <= MAX_CATEGORIES and max(words) == 1
    is_repeated = are_few or 2 * len(distinct) <= len(values)
    if is_repeated and np.mean(words) <= _MAX_CATEGORY_WORDS:
        doubts = _find_doubts(name, distinct)
        if are_many and not doubts:
            text = f"{name}: {len(distinct):,} categories{remark}"
            doubts = [Guess(text, ("text", "ignore", "group"), bool(remark))]
        numbers = [value for value in distinct if is_any_number(value, ".")]
        if not are_codes and not doubts and 3 <= len(numbers) < len(distinct) < 2 * len(numbers):
            text = f"{name}: categories, though most different values are numbers"
            doubts = [Guess(text, ("number",))]
        table.guesses += doubts
        return "category"
    if is_identifier(table, name):
        table.guesses.append(Guess(f"{name} left out: an identifier", ("category", "text")))
        return None
    if are_codes and all(is_number(value, table.decimal or ".") for value in distinct):
        table.guesses.append(Guess(f"{name}: codes", ("text", "ignore")))
        return "category"
    has_tags = 10 * sum(_HTML.search(value) is not None for value in distinct) > len(distinct)
    tags = " with HTML tags, which are read as words" if has_tags else ""
    table.guesses.append(Guess(f"{name}: text{tags}{remark}", ("category", "ignore"), bool(remark)))
    return "text"
