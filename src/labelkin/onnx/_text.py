r"""Texts as counts of words, and TF-IDF weights, as scikit-learn makes them.

Lower case and accents: ONNX has no operator for either that is the same on every machine. But
both go character by character, so texts are split into characters, each is looked up, and they
are joined again. Words are then found by ``[\p{L}\p{N}_]{2,}``, which is what Python's
``\b\w\w+\b`` means, and counted by ONNX's own operator. Splitting is ONNX Runtime's operator
``Tokenizer``, of every build since 2019.
"""

import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from labelkin.onnx._convert import transform, unit_rows
from labelkin.onnx._graph import Graph, Rows

# The least length of a word, by the pattern that finds words.
_LENGTHS = {r"(?u)\b\w\w+\b": 2, r"\b\w\w+\b": 2, r"(?u)\b\w+\b": 1, r"\b\w+\b": 1}
# A word with what stands around it, and the space before; long ones in several pieces.
_PIECE = r"[ \t\n\r]?[^ \t\n\r]{1,31}"
_PAD = "\x01"  # stands where a text has no more words; no word holds it


@transform.register
def _(step: CountVectorizer, graph: Graph, rows: Rows) -> Rows:
    _check(step)
    # The runtime has its own way with no text, and with no words, so there is always one more.
    texts = graph.op("Reshape", rows.name, np.array([-1]))
    texts = graph.op("Concat", texts, _strings(["one"]), axis=0)
    plain = _plain_characters(step)
    if plain:
        texts = _replace_characters(graph, texts, plain, step.strip_accents != "ascii")
    pattern = rf"[\p{{L}}\p{{N}}_]{{{_LENGTHS[step.token_pattern]},}}"
    words = _split(graph, texts, pad_value=_PAD, tokenexp=pattern)
    counts = graph.op("TfIdfVectorizer", words, mode="TF", max_skip_count=0, **_pool(step))
    counts = graph.op("Slice", counts, np.array([0]), np.array([-1]), np.array([0]))
    if step.binary:
        counts = graph.op("Greater", counts, np.float32(0))
    dtype = np.dtype(step.dtype) if np.dtype(step.dtype).kind == "f" else np.dtype(np.float64)
    return Rows(graph.cast(counts, dtype), dtype)


@transform.register
def _(step: TfidfTransformer, graph: Graph, rows: Rows) -> Rows:
    name, one = rows.name, np.array(1, dtype=rows.dtype)
    if step.sublinear_tf:
        zero = np.array(0, dtype=rows.dtype)
        logs = graph.op("Add", graph.op("Log", graph.op("Max", name, one)), one)
        name = graph.op("Where", graph.op("Greater", name, zero), logs, zero)
    if step.use_idf:
        name = graph.op("Mul", name, step.idf_.astype(rows.dtype))
    rows = rows._replace(name=name)
    return rows if step.norm is None else rows._replace(name=unit_rows(graph, rows, step.norm))


@transform.register
def _(step: TfidfVectorizer, graph: Graph, rows: Rows) -> Rows:
    counts = transform.dispatch(CountVectorizer)(step, graph, rows)
    return transform(step._tfidf, graph, counts)


def _check(step: CountVectorizer) -> None:
    """Refuse what is not said by the common parameters."""
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
    """Return the vocabulary as the operator wants it: single words first, then pairs."""
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
    """Return what lower case and the removal of accents make of each character they change.

    Only where it matters: a letter that is in no term before and after makes a word unknown
    before and after. So a model of English texts lists no Korean.
    """
    if not step.lowercase and step.strip_accents is None:
        return {}
    preprocess: Callable[[str], str] = step.build_preprocessor()
    alphabet = set("".join(step.vocabulary_))
    single = step.ngram_range[1] == 1
    plain = {}
    for code in range(sys.maxunicode + 1):
        before = chr(code)
        if unicodedata.category(before) in ("Cn", "Co", "Cs"):  # no characters
            continue
        after = preprocess(before)
        if step.strip_accents == "ascii":  # which removes all but what it lists
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

    Texts have most of their pieces in common, and each is worked on once.
    """
    pieces = _split(graph, texts, pad_value="", tokenexp=_PIECE)
    different, _, back = graph.ops("Unique", pieces, outputs=["", "", ""])
    letters = _split(graph, different, pad_value="", separators=[""])
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


def _split(graph: Graph, strings: str, **how: Any) -> str:
    """Add the parts of each string, a row each."""
    domain = "com.microsoft"
    name = graph.op("Tokenizer", strings, domain=domain, mark=0, mincharnum=1, **how)
    return graph.declare(name, object, [None, None])


def _join(graph: Graph, parts: str) -> str:
    """Add each row's strings as one, joined in pairs, then in pairs of those, to the last."""
    one, two = np.array([1]), np.array([2])
    height = graph.op("Concat", graph.op("Shape", parts, end=1), one, axis=0)
    blank = graph.op("Expand", _strings([""]), height)

    def pairs(row: str) -> tuple[str, str]:
        width = graph.op("Shape", row, start=1)
        half = graph.op("Div", graph.op("Add", width, one), two)
        end = graph.op("Mul", half, two)
        even = graph.op("Concat", row, blank, axis=1)
        left = graph.op("Slice", even, np.array([0]), end, one, two)
        right = graph.op("Slice", even, one, end, one, two)
        again = graph.op("Squeeze", graph.op("Greater", half, one))
        return again, graph.op("StringConcat", left, right)

    return graph.op("Reshape", graph.repeat(pairs, Rows(parts, np.dtype(object))), np.array([-1]))
