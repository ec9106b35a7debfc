r"""Converters of texts, into TF-IDF weights of their words, and of dates.

ONNX has no operator for lower case or for removing accents that gives the same result on every
machine. Both work character by character, so texts are split into characters, each is replaced,
and they are joined again. Words are then found, where ``[\p{L}\p{N}_]`` is Python's ``\w``, and
counted by ONNX's own operator. Texts are split by ONNX Runtime's operator ``Tokenizer``, in every
build since 2019.
"""

import re
import sys
import unicodedata
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelkin.onnx._graph import Tensor, hstack, look_up
from labelkin.onnx._transformers import convert
from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._text import TOKENS

# A word with the punctuation around it and the space before; a long one in several pieces.
_PIECE = r"[ \t\n\r]?[^ \t\n\r]{1,31}"
_PAD = "\x01"  # not a character of words
# Patterns of words that can be exported, as ONNX Runtime takes them.
_PATTERNS = {
    r"(?u)\b\w\w+\b": r"[\p{L}\p{N}_]{2,}",
    TOKENS: re.sub(
        r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})",
        lambda code: chr(int(code[1] or code[2], 16)),
        TOKENS.replace(r"\w", r"\p{L}\p{N}_").replace(r"\s", r"\s\p{Z}"),
    ),
}
# Parameters that must have their defaults.
_DEFAULTS = ("analyzer", "ngram_range", "preprocessor", "tokenizer", "vocabulary")


@convert.register
def _tfidf_vectorizer(step: TfidfVectorizer, rows: Tensor) -> Tensor:
    usual = TfidfVectorizer()
    unusual = [name for name in _DEFAULTS if getattr(step, name) != getattr(usual, name)]
    unusual += ["strip_accents"] if step.strip_accents not in (None, "unicode") else []
    unusual += ["token_pattern"] if step.token_pattern not in _PATTERNS else []
    unusual += ["norm"] if step.norm not in (None, "l2") else []
    for name in unusual:
        raise ValueError(
            f"TfidfVectorizer with {name}={getattr(step, name)!r} cannot be exported to ONNX; keep "
            "it in Python and export the steps after it, or leave the column of texts out when the "
            "model is fitted."
        )
    texts = _with_another(rows, "one")
    if step.lowercase or step.strip_accents:
        texts = _replace_characters(texts, step)
    words = _split(texts, pad_value=_PAD, tokenexp=_PATTERNS[step.token_pattern])
    counts = words.op(
        "TfIdfVectorizer",
        dtype="f4",
        mode="TF",
        max_skip_count=0,
        min_gram_length=1,
        max_gram_length=1,
        ngram_counts=[0],
        ngram_indexes=[int(column) for column in step.vocabulary_.values()],
        pool_strings=list(step.vocabulary_),
    )
    counts = counts.op("Slice", np.array([0]), np.array([-1]), np.array([0]))
    counts = counts.at_most(1) if step.binary else counts
    weights = counts.astype(step.dtype if np.dtype(step.dtype).kind == "f" else np.float64)
    if step.sublinear_tf:
        weights = (weights > 0).choose(weights.at_least(1).op("Log") + 1, 0)
    if step.use_idf:
        weights = weights * step.idf_
    return weights if step.norm is None else weights.unit_rows()


def _with_another(rows: Tensor, text: str) -> Tensor:
    """Add a text at the end, since ONNX Runtime fails on no texts or on texts without a word."""
    return rows.reshape(-1).op("Concat", _strings([text]), axis=0)


def _strings(values: list[str]) -> Any:
    return np.array(values, dtype=object)


def _split(strings: Tensor, **how: Any) -> Tensor:
    """Add the parts of each string, one row per string."""
    return strings.op("Tokenizer", domain="com.microsoft", mark=0, mincharnum=1, **how)


# ----------------------------------------------------------------------------- characters


def _replace_characters(texts: Tensor, step: TfidfVectorizer) -> Tensor:
    """Add texts in lower case or without accents, and with white space shortened.

    Each distinct piece is processed once: texts have most of their pieces in common.
    """
    preprocess = step.build_preprocessor()
    plain = {}
    for letter in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(letter) not in ("Cn", "Co", "Cs"):  # not characters of texts
            replaced = preprocess(letter)
            if replaced != letter:
                plain[letter] = replaced
    pieces = _split(texts, pad_value="", tokenexp=_PIECE)
    different, _, back = texts.graph.ops("Unique", pieces, dtypes=[object, np.int64, np.int64])
    letters = _split(different, pad_value="", separators=[""])
    after = look_up(letters, plain, _PAD)
    after = after.equals(_PAD).choose(letters, after)
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
    if getattr(step, "has_words_", False):
        raise ValueError(
            "Dates with names of months or AM and PM cannot be exported to ONNX; write them as "
            "2025-03-14 14:05 and fit the model again."
        )
    # A date begins with three numbers; hour and minute may follow. The last text, which is
    # removed, makes five columns of numbers at least.
    texts = _with_another(rows, "1 1 1 1 1")
    numbers = _split(texts, pad_value="-1", tokenexp="[0-9]+").astype(np.int64)
    numbers = numbers.op("Slice", np.array([0, 0]), np.array([-1, 5]), np.array([0, 1]))
    first, second, third, hour, minute = (numbers.columns([i]) for i in range(5))
    year_first = first > 31
    lowest = np.array(step.first_years_, dtype=np.int64)
    since = (third.reshape(-1, len(lowest)) + (10_000 - lowest)) % 100
    full_year = (third < 100).choose((since + lowest).reshape(-1, 1), third)
    year = year_first.choose(first, full_year)
    month = year_first.choose(second, second if step.day_first else first)
    day = year_first.choose(third, first if step.day_first else second)
    month = month.at_least(1).at_most(12)  # what is not a date must not end the run

    is_leap = ((year % 4).equals(0) & ((year % 100) > 0)) | (year % 400).equals(0)
    leap_day = (is_leap & (month > 2)).astype(np.int64)
    passed = month.take_from(_DAYS_BEFORE) + leap_day + day - 1  # days of the year
    # The first of January of the year 1 was a Monday.
    years = year - 1
    weekday = (years * 365 + years / 4 - years / 100 + years / 400 + passed) % 7

    year_part = passed.astype(np.float64) / 366 + year.astype(np.float64)
    hours = minute.at_least(0).astype(np.float64) / 60 + hour.at_least(0).astype(np.float64)
    # A date outside of the range of training has the year of its end, and the month if it is new.
    n = step.n_features_in_
    year_part, months = year_part.reshape(-1, n), month.reshape(-1, n)
    since = (months + (12 - np.nan_to_num(step.first_[:, 1]).astype(np.int64))) % 12
    is_new = since > np.nan_to_num(step.n_months()).astype(np.int64)
    written, months = year_part, months.astype(np.float64)
    for outside, end in (
        (written < step.first_[:, 0], step.first_),
        (written > step.last_[:, 0], step.last_),
    ):
        year_part = outside.choose(end[:, 0], year_part)
        months = (outside & is_new).choose(end[:, 1], months)
    parts = [year_part.reshape(-1, 1)] if step.trend else []
    parts += [months.reshape(-1, 1), weekday, hours]
    return first.equals(-1).choose(np.nan, hstack(parts)).reshape(-1, len(parts) * n)
