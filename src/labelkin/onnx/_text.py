r"""Converters of texts, into word counts and TF-IDF weights, and of dates.

ONNX has no operator for lower case or for removing accents that gives the same result on every
machine. Both work character by character, so texts are split into characters, each is replaced,
and they are joined again. Words are then found by ``[\p{L}\p{N}_]{2,}``, which is what Python's
``\b\w\w+\b`` means, and counted by ONNX's own operator. Texts are split by ONNX Runtime's
operator ``Tokenizer``, in every build since 2019.
"""

import sys
import unicodedata
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from labelkin.onnx._graph import Tensor, hstack, look_up
from labelkin.onnx._transformers import convert
from labelkin.tabular._dates import DateEncoder

# The least length of a word, by the pattern that finds words.
_LENGTHS = {r"(?u)\b\w\w+\b": 2, r"\b\w\w+\b": 2, r"(?u)\b\w+\b": 1, r"\b\w+\b": 1}
# A word with the punctuation around it and the space before; a long one in several pieces.
_PIECE = r"[ \t\n\r]?[^ \t\n\r]{1,31}"
_PAD = "\x01"  # not a character of words


@convert.register
def _count_vectorizer(step: CountVectorizer, rows: Tensor) -> Tensor:
    _check(step)
    texts = _with_another(rows, "one")
    if step.lowercase or step.strip_accents:
        texts = _replace_characters(texts, step)
    pattern = rf"[\p{{L}}\p{{N}}_]{{{_LENGTHS[step.token_pattern]},}}"
    words = _split(texts, pad_value=_PAD, tokenexp=pattern)
    pool = _pool(step)
    counts = words.op("TfIdfVectorizer", dtype="f4", mode="TF", max_skip_count=0, **pool)
    counts = counts.op("Slice", np.array([0]), np.array([-1]), np.array([0]))
    if step.binary:
        counts = counts > 0
    return counts.astype(step.dtype if np.dtype(step.dtype).kind == "f" else np.float64)


@convert.register
def _tfidf_transformer(step: TfidfTransformer, rows: Tensor) -> Tensor:
    if step.sublinear_tf:
        rows = (rows > 0).choose(rows.at_least(1).op("Log") + 1, 0)
    if step.use_idf:
        rows = rows * step.idf_
    return rows if step.norm is None else rows.unit_rows(step.norm)


@convert.register
def _tfidf_vectorizer(step: TfidfVectorizer, rows: Tensor) -> Tensor:
    return convert(step._tfidf, _count_vectorizer(step, rows))


def _with_another(rows: Tensor, text: str) -> Tensor:
    """Add a text at the end, since ONNX Runtime fails on no texts or on texts without a word."""
    return rows.reshape(-1).op("Concat", _strings([text]), axis=0)


def _strings(values: list[str]) -> Any:
    return np.array(values, dtype=object)


def _split(strings: Tensor, **how: Any) -> Tensor:
    """Add the parts of each string, one row per string."""
    return strings.op("Tokenizer", domain="com.microsoft", mark=0, mincharnum=1, **how)


def _check(step: CountVectorizer) -> None:
    """Raise ValueError for parameters that no graph can express."""
    own = step.preprocessor or step.tokenizer or callable(step.strip_accents)
    stops = step.get_stop_words() or ()
    in_terms = step.ngram_range != (1, 1) or not set(step.vocabulary_).isdisjoint(stops)
    reasons = {
        "a preprocessor or tokenizer of your own": own,
        f"analyzer={step.analyzer!r}": step.analyzer != "word",
        f"token_pattern={step.token_pattern!r}": step.token_pattern not in _LENGTHS,
        "stop words inside its terms": stops and in_terms,
    }
    for reason, applies in reasons.items():
        if applies:
            raise ValueError(
                f"{type(step).__name__} with {reason} cannot be exported to ONNX; keep it in "
                "Python and export the steps after it."
            )


def _pool(step: CountVectorizer) -> dict[str, Any]:
    """Return the vocabulary in the operator's order: single words first, then pairs."""
    low, high = step.ngram_range
    terms = [(term.split(" "), int(column)) for term, column in step.vocabulary_.items()]
    terms.sort(key=lambda term: (len(term[0]), term[1]))
    lengths = np.array([len(words) for words, _ in terms])
    return {
        "min_gram_length": low,
        "max_gram_length": high,
        "ngram_counts": [int(lengths[lengths < n].sum()) for n in range(1, high + 1)],
        "ngram_indexes": [column for _, column in terms],
        "pool_strings": [word for words, _ in terms for word in words],
    }


# ----------------------------------------------------------------------------- characters


def _replace_characters(texts: Tensor, step: CountVectorizer) -> Tensor:
    """Add texts in lower case or without accents, and with white space shortened.

    Each distinct piece is processed once: texts have most of their pieces in common.
    """
    preprocess = step.build_preprocessor()
    removes = step.strip_accents == "ascii"  # what has no ASCII letters
    plain = {}
    for letter in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(letter) not in ("Cn", "Co", "Cs"):  # not characters of texts
            replaced = preprocess(letter)
            if replaced if removes else replaced != letter:
                plain[letter] = replaced
    pieces = _split(texts, pad_value="", tokenexp=_PIECE)
    different, _, back = texts.graph.ops("Unique", pieces, dtypes=[object, np.int64, np.int64])
    letters = _split(different, pad_value="", separators=[""])
    after = look_up(letters, plain, "" if removes else _PAD)
    after = after if removes else after.equals(_PAD).choose(letters, after)
    together = back.take_from(_join(after))
    return _join(together.op("Reshape", pieces.op("Shape", dtype=np.int64)))


def _join(parts: Tensor) -> Tensor:
    """Add each row's strings joined into one, in pairs until one is left."""
    zero, one, two = np.array([0]), np.array([1]), np.array([2])
    height = parts.op("Shape", dtype=np.int64, end=1).op("Concat", one, axis=0)
    blank = parts.graph.constant(_strings([""])).op("Expand", height)

    def pairs(_: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        half = (row.op("Shape", dtype=np.int64, start=1) + 1) / 2
        even = hstack([row, blank])
        left, right = (even.op("Slice", first, half * 2, one, two) for first in (zero, one))
        return (half > 1).op("Squeeze"), left.op("StringConcat", right)

    return parts.graph.loop(pairs, parts).reshape(-1)


# ---------------------------------------------------------------------------------- dates

# Days before each month, January having the number 1.
_DAYS_BEFORE = np.array([0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


@convert.register
def _date_encoder(step: DateEncoder, rows: Tensor) -> Tensor:
    """Add the numbers of each column; NaN where a date is missing."""
    # A date begins with three numbers; hour and minute may follow. The last text, which is
    # removed, makes five columns of numbers at least.
    texts = _with_another(rows, "1 1 1 1 1")
    numbers = _split(texts, pad_value="-1", tokenexp="[0-9]+").astype(np.int64)
    numbers = numbers.op("Slice", np.array([0, 0]), np.array([-1, 5]), np.array([0, 1]))
    first, second, third, hour, minute = (numbers.columns([i]) for i in range(5))
    year_first = first > 31
    # 70 is 1970, and 69 is 2069.
    century = (third < 100).astype(np.int64) * 1900 + (third < 70).astype(np.int64) * 100
    year = year_first.choose(first, third + century)
    month = year_first.choose(second, second if step.day_first else first)
    day = year_first.choose(third, first if step.day_first else second)
    month = month.at_least(1).at_most(12)  # what is no date must not end the run

    is_leap = ((year % 4).equals(0) & ((year % 100) > 0)) | (year % 400).equals(0)
    leap_day = (is_leap & (month > 2)).astype(np.int64)
    passed = month.take_from(_DAYS_BEFORE) + leap_day + day - 1  # days of the year
    # The first of January of the year 1 was a Monday.
    years = year - 1
    weekday = (years * 365 + years / 4 - years / 100 + years / 400 + passed) % 7

    year_part = passed.astype(np.float64) / 366 + year.astype(np.float64)
    hours = minute.at_least(0).astype(np.float64) / 60 + hour.at_least(0).astype(np.float64)
    # A date outside of the range of training has the year and the month of its end.
    n = step.n_features_in_
    year_part, months = year_part.reshape(-1, n), month.astype(np.float64).reshape(-1, n)
    for outside, end in (
        (year_part < step.first_[:, 0], step.first_),
        (year_part > step.last_[:, 0], step.last_),
    ):
        year_part, months = (
            outside.choose(end[:, i], part) for i, part in enumerate((year_part, months))
        )
    parts = [year_part.reshape(-1, 1)] if step.trend else []
    parts += [months.reshape(-1, 1), weekday, hours]
    return first.equals(-1).choose(np.nan, hstack(parts)).reshape(-1, len(parts) * n)
