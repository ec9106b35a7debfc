r"""Converters of texts: word counts and TF-IDF weights.

ONNX has no operator for lower case or for removing accents that gives the same result on every
machine. Both work character by character, so texts are split into characters, each is replaced,
and they are joined again. Words are then found by ``[\p{L}\p{N}_]{2,}``, which is what Python's
``\b\w\w+\b`` means, and counted by ONNX's own operator. Texts are split by ONNX Runtime's
operator ``Tokenizer``, in every build since 2019.
"""

import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from labelkin.onnx._convert import transform
from labelkin.onnx._graph import Graph, Tensor

# The least length of a word, by the pattern that finds words.
_LENGTHS = {r"(?u)\b\w\w+\b": 2, r"\b\w\w+\b": 2, r"(?u)\b\w+\b": 1, r"\b\w+\b": 1}
# A word with the punctuation around it and the space before; a long one in several pieces.
_PIECE = r"[ \t\n\r]?[^ \t\n\r]{1,31}"
_PAD = "\x01"  # after the last word of a text; not a character of words


@transform.register
def _count_vectorizer(step: CountVectorizer, graph: Graph, rows: Tensor) -> Tensor:
    _check(step)
    # ONNX Runtime fails on no texts, or on texts without a word: one more text is added, and its
    # row removed below.
    texts = graph.op("Reshape", rows.name, np.array([-1]))
    texts = graph.op("Concat", texts, _strings(["one"]), axis=0)
    plain = _plain_characters(step)
    if plain:
        texts = _replace_characters(graph, texts, plain, step.strip_accents != "ascii")
    pattern = rf"[\p{{L}}\p{{N}}_]{{{_LENGTHS[step.token_pattern]},}}"
    words = graph.split(texts, pad_value=_PAD, tokenexp=pattern)
    counts = graph.op("TfIdfVectorizer", words, mode="TF", max_skip_count=0, **_pool(step))
    counts = graph.op("Slice", counts, np.array([0]), np.array([-1]), np.array([0]))
    if step.binary:
        counts = graph.op("Greater", counts, np.float32(0))
    dtype = np.dtype(step.dtype) if np.dtype(step.dtype).kind == "f" else np.dtype(np.float64)
    return Tensor(graph.cast(counts, dtype), dtype)


@transform.register
def _tfidf_transformer(step: TfidfTransformer, graph: Graph, rows: Tensor) -> Tensor:
    name, one = rows.name, np.array(1, dtype=rows.dtype)
    if step.sublinear_tf:
        zero = np.array(0, dtype=rows.dtype)
        logs = graph.op("Add", graph.op("Log", graph.op("Max", name, one)), one)
        name = graph.op("Where", graph.op("Greater", name, zero), logs, zero)
    if step.use_idf:
        name = graph.op("Mul", name, step.idf_.astype(rows.dtype))
    rows = rows._replace(name=name)
    return rows if step.norm is None else graph.unit_rows(rows, step.norm)


@transform.register
def _tfidf_vectorizer(step: TfidfVectorizer, graph: Graph, rows: Tensor) -> Tensor:
    counts = _count_vectorizer(step, graph, rows)
    return transform(step._tfidf, graph, counts)


def _check(step: CountVectorizer) -> None:
    """Raise ValueError for parameters that no graph can express."""
    stops = step.get_stop_words() or ()
    own = [name for name in ("preprocessor", "tokenizer") if getattr(step, name) is not None]
    if callable(step.strip_accents):
        own.append("strip_accents")
    if own:
        why = f"a {own[0]} of your own"
    elif step.analyzer != "word":
        why = f"analyzer={step.analyzer!r}"
    elif step.token_pattern not in _LENGTHS:
        why = f"token_pattern={step.token_pattern!r}"
    elif stops and (step.ngram_range != (1, 1) or not set(step.vocabulary_).isdisjoint(stops)):
        why = "stop words inside its terms"
    else:
        return
    raise ValueError(
        f"{type(step).__name__} with {why} cannot be exported to ONNX; keep it in Python and "
        "export the steps after it."
    )


def _strings(values: list[str]) -> Any:
    return np.array(values, dtype=object)


def _pool(step: CountVectorizer) -> dict[str, Any]:
    """Return the vocabulary in the operator's order: single words first, then pairs."""
    low, high = step.ngram_range
    terms = sorted(
        ((term.split(" "), column) for term, column in step.vocabulary_.items()),
        key=lambda item: (len(item[0]), item[1]),
    )
    lengths = np.array([len(parts) for parts, _ in terms])
    starts = [int(lengths[lengths < n].sum()) for n in range(1, high + 1)]
    return {
        "min_gram_length": low,
        "max_gram_length": high,
        "ngram_counts": starts,
        "ngram_indexes": [int(column) for _, column in terms],
        "pool_strings": [part for parts, _ in terms for part in parts],
    }


# ----------------------------------------------------------------------------- characters


def _plain_characters(step: CountVectorizer) -> dict[str, str]:
    """Return the characters that lower case and the removal of accents change, and the results.

    A letter that occurs in no term, neither before nor after the change, is left out, because
    its word is unknown in either case: a model of English texts lists no Korean.
    """
    if not step.lowercase and step.strip_accents is None:
        return {}
    preprocess: Callable[[str], str] = step.build_preprocessor()
    alphabet = set("".join(step.vocabulary_))
    single = step.ngram_range[1] == 1
    plain = {}
    for code in range(sys.maxunicode + 1):
        before = chr(code)
        if unicodedata.category(before) in ("Cn", "Co", "Cs"):  # not characters of texts
            continue
        after = preprocess(before)
        if step.strip_accents == "ascii":  # characters not listed are removed
            if after:
                plain[before] = after
            continue
        if after == before:
            continue
        was, now = _is_word(before), [_is_word(letter) for letter in after]
        if was and all(now) and now and (single or len(after) == 1):
            if before not in alphabet and not alphabet.issuperset(after):
                continue
        elif not was and now and not any(now):
            continue
        plain[before] = after
    return plain


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _replace_characters(graph: Graph, texts: str, plain: dict[str, str], keep: bool) -> str:
    """Add texts with characters replaced, others kept or removed, and white space shortened.

    Each distinct piece is processed once: texts have most of their pieces in common.
    """
    pieces = graph.split(texts, pad_value="", tokenexp=_PIECE)
    different, _, back = graph.ops("Unique", pieces, outputs=["", "", ""])
    letters = graph.split(different, pad_value="", separators=[""])
    replacements = sorted(set(plain.values()))
    place = {after: number for number, after in enumerate(replacements, start=1)}
    found = graph.op(
        "LabelEncoder",
        letters,
        domain="ai.onnx.ml",
        keys_strings=list(plain),
        values_int64s=[place[after] for after in plain.values()],
        default_int64=0,
    )
    replaced = graph.op("Gather", _strings(["", *replacements]), found)
    if keep:
        replaced = graph.op("Where", graph.op("Equal", found, np.array(0)), letters, replaced)
    together = graph.op("Gather", _join(graph, replaced), back)
    return _join(graph, graph.op("Reshape", together, graph.op("Shape", pieces)))


def _join(graph: Graph, parts: str) -> str:
    """Add each row's strings joined into one, in pairs until one is left."""
    one, two = np.array([1]), np.array([2])
    height = graph.op("Concat", graph.op("Shape", parts, end=1), one, axis=0)
    blank = graph.op("Expand", _strings([""]), height)

    def pairs(_: str, row: str) -> tuple[str, str]:
        width = graph.op("Shape", row, start=1)
        half = graph.op("Div", graph.op("Add", width, one), two)
        end = graph.op("Mul", half, two)
        even = graph.op("Concat", row, blank, axis=1)
        left = graph.op("Slice", even, np.array([0]), end, one, two)
        right = graph.op("Slice", even, one, end, one, two)
        again = graph.op("Squeeze", graph.op("Greater", half, one))
        return again, graph.op("StringConcat", left, right)

    return graph.op("Reshape", graph.loop(pairs, Tensor(parts, np.dtype(object))), np.array([-1]))
