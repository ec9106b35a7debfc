"""Thousands of text tokens to numbers at once, exactly, in NumPy.

Eight characters are loaded as one 64-bit word, so a token is decoded by a handful of
arithmetic operations on whole arrays instead of one Python call each. A decimal of at most
fifteen digits is an integer below 2**53 divided by a power of ten up to 10**22: both are
exact in float64 and the division rounds once, so the result is the one ``float`` gives.
Whatever is longer or stranger (exponents, ``?``) is passed to ``float`` itself.

Every function returns ``None`` when some token is not what was hoped for; the caller then
takes the slow path, which knows how to complain.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

_PAD = 32  # so that the two words before any token exist
_DIGITS = 15  # more might not fit in float64's 53 bits
_TEN = 10.0 ** np.arange(_DIGITS + 1)
_SHIFT = np.array([8 * max(8 - length, 0) for length in range(_DIGITS + 1)], dtype=np.uint64)
_COMMA, _DOT, _SPACE, _TAB, _PLUS, _MINUS = b",. \t+-"


def _u64(value: int) -> np.uint64:
    return np.uint64(value)


@dataclass(frozen=True)
class Tokens:
    """Where tokens start and end in a padded text, and where their decimal points are.

    Attributes
    ----------
    text : bytes
        The padded text; a token is ``text[start:end]``.
    words : ndarray of uint64
        The eight characters from each position on, as one little-endian integer.
    starts, ends : ndarray of int64
        One entry per token.
    dots : ndarray of int64
        Position of the token's only point; its end where it has none, -1 where several.

    """

    text: bytes
    words: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    dots: np.ndarray

    def __getitem__(self, which: np.ndarray | slice | tuple[slice, np.ndarray]) -> "Tokens":
        return Tokens(self.text, self.words, self.starts[which], self.ends[which], self.dots[which])

    def reshape(self, rows: int, columns: int) -> "Tokens":
        """Lay the tokens out as a table."""
        shape = (rows, columns)
        return Tokens(
            self.text,
            self.words,
            self.starts.reshape(shape),
            self.ends.reshape(shape),
            self.dots.reshape(shape),
        )

    def slices(self, which: np.ndarray) -> list[bytes]:
        """Texts of the flat-indexed tokens."""
        text = self.text
        starts, ends = self.starts.ravel()[which].tolist(), self.ends.ravel()[which].tolist()
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def tokenize(text: bytes, *, spaces: bool) -> Tokens:
    """Cut at commas (``spaces``: and at spaces); the text must end with a comma."""
    padded = b"," * _PAD + text
    buffer = np.frombuffer(padded, dtype=np.uint8)
    words = np.ndarray((buffer.size - 7,), dtype="<u8", buffer=padded, strides=(1,))
    special = buffer == _COMMA
    if b"." in text:
        special |= buffer == _DOT
    if spaces:
        special |= buffer == _SPACE
    special[:_PAD] = False
    positions = np.flatnonzero(special)
    cuts = np.flatnonzero(buffer[positions] != _DOT)
    ends = positions[cuts]
    starts = np.empty_like(ends)
    starts[:1] = _PAD
    np.add(ends[:-1], 1, out=starts[1:])
    n_dots = np.diff(cuts, prepend=-1) - 1
    dots = np.where(n_dots == 1, positions[cuts - 1], np.where(n_dots == 0, ends, -1))
    return Tokens(padded, words, starts, ends, dots)


def stripped(tokens: Tokens) -> Tokens | None:
    """Tokens without the blanks around them; None when there are long runs of blanks."""
    buffer = np.frombuffer(tokens.text, dtype=np.uint8)
    starts, ends, dots = tokens.starts, tokens.ends, tokens.dots
    dotless = dots == ends
    for _ in range(4):
        first, last = buffer[starts], buffer[ends - 1]
        left = ((first == _SPACE) | (first == _TAB)) & (starts < ends)
        right = ((last == _SPACE) | (last == _TAB)) & (starts < ends)
        if not left.any() and not right.any():
            dots = np.where(dotless, ends, dots)
            return Tokens(tokens.text, tokens.words, starts, ends, dots)
        starts, ends = starts + left, ends - (right & ~(left & (ends - starts == 1)))
    return None


def separators(tokens: Tokens) -> np.ndarray:
    """Return the character that ends each token."""
    return np.frombuffer(tokens.text, dtype=np.uint8)[tokens.ends]


def _keys(tokens: Tokens, ends: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight characters before ``ends`` as a word, and the shift that drops foreign ones."""
    return tokens.words[ends - 8], _SHIFT[lengths]


def _digits(tokens: Tokens, ends: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value of the up to 15 digits before ``ends``, and whether they all are digits."""
    longest = lengths.max(initial=0)
    if longest <= 1:  # the 0 of 0.5 needs no word
        digit = np.frombuffer(tokens.text, dtype=np.uint8)[ends - 1] ^ 0x30
        digit = np.where(lengths == 1, digit, 0)
        return digit, digit <= 9
    word, shift = _keys(tokens, ends, lengths)
    word = ((word ^ _u64(0x3030303030303030)) >> shift) << shift  # a digit is now 0..9
    high = (word + _u64(0x0606060606060606)) | word
    valid = (high & _u64(0xF0F0F0F0F0F0F0F0)) == 0
    word = (word * _u64(10 << 8 | 1)) >> _u64(8)
    word = ((word & _u64(0x00FF00FF00FF00FF)) * _u64(100 << 16 | 1)) >> _u64(16)
    word = ((word & _u64(0x0000FFFF0000FFFF)) * _u64(10000 << 32 | 1)) >> _u64(32)
    if longest > 8:
        upper, also = _digits(tokens, ends - 8, np.maximum(lengths - 8, 0))
        word, valid = word + upper * _u64(10**8), valid & also
    return word, valid


def whole_numbers(tokens: Tokens) -> np.ndarray | None:
    """Parse unsigned integers of at most eight digits; None if some token is not one."""
    lengths = tokens.ends - tokens.starts
    if lengths.size and (lengths.min() < 1 or lengths.max() > 8):
        return None
    values, valid = _digits(tokens, tokens.ends, lengths)
    return values.astype(np.int64) if valid.all() else None


def decimals(tokens: Tokens) -> np.ndarray | None:
    """Parse numbers as ``float`` does, ``?`` as NaN; None if some token is neither."""
    text = np.frombuffer(tokens.text, dtype=np.uint8)
    first = text[tokens.starts]
    negative = first == _MINUS
    starts = tokens.starts + (negative | (first == _PLUS))
    n_whole = tokens.dots - starts
    n_fraction = np.maximum(tokens.ends - tokens.dots - 1, 0)
    n_digits = n_whole + n_fraction
    exact = (tokens.dots >= 0) & (n_whole >= 0) & (n_digits > 0) & (n_digits <= _DIGITS)
    n_fraction = np.where(exact, n_fraction, 0)
    whole, whole_valid = _digits(tokens, tokens.dots, np.where(exact, n_whole, 0))
    fraction, fraction_valid = _digits(tokens, tokens.ends, n_fraction)
    exact &= whole_valid & fraction_valid
    scale = _TEN[n_fraction]
    values = (whole.astype(np.float64) * scale + fraction.astype(np.float64)) / scale
    np.negative(values, out=values, where=negative)
    if not exact.all():
        odd = np.flatnonzero(~exact)
        pieces = tokens.slices(odd)
        if any(b"_" in piece for piece in pieces):  # Python's own, not the world's
            return None
        try:
            np.put(values, odd, [np.nan if p == b"?" else float(p) for p in pieces])
        except ValueError:
            return None
    return values


def codes(tokens: Tokens, table: Mapping[bytes, float]) -> np.ndarray | None:
    """Look words up in a table, ``?`` as NaN; None if some token is not in it."""
    table = {b"?": np.nan, **table}
    lengths = tokens.ends - tokens.starts
    if max(map(len, table)) > 8:
        try:
            found = [table[word] for word in tokens.slices(np.arange(lengths.size))]
        except KeyError:
            return None
        return np.array(found, dtype=np.float64).reshape(lengths.shape)
    if lengths.size and (lengths.min() < 1 or lengths.max() > 8):
        return None
    word, shift = _keys(tokens, tokens.ends, lengths)
    word = word >> shift
    known = np.array([int.from_bytes(key, "little") for key in table], dtype=np.uint64)
    values = np.array(list(table.values()), dtype=np.float64)
    order = np.argsort(known)
    known, values = known[order], values[order]
    at = np.minimum(np.searchsorted(known, word), known.size - 1)
    return values[at] if (known[at] == word).all() else None
