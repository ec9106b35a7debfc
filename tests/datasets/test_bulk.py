"""The bulk parser gives, bit for bit, what Python's float gives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelkin.datasets.formats import _bulk

plain = st.from_regex(r"\A[-+]?[0-9]{0,10}\.?[0-9]{0,10}\Z").filter(
    lambda text: any(c.isdigit() for c in text)
)
written = st.floats(allow_nan=False).map(repr)


def tokens(words):
    return _bulk.tokenize(b"".join(word.encode() + b"," for word in words), spaces=False)


@given(st.lists(plain | written | st.integers().map(str) | st.just("?"), max_size=30))
def test_decimals_equal_float(words):
    got = _bulk.decimals(tokens(words))
    expected = [math.nan if word == "?" else float(word) for word in words]
    np.testing.assert_array_equal(got, np.array(expected, dtype=float))
    assert (np.signbit(got) == np.signbit(np.array(expected, dtype=float))).all()


@pytest.mark.parametrize(
    "bad",
    ["", "-", "+", ".", "-.", "1.2.3", "1-2", "--1", "0x1", "1_0", "a", "1 2", "1;", "/", ":"],
)
def test_decimals_refuse_what_float_refuses(bad):
    assert _bulk.decimals(tokens(["1", bad, "2.5"])) is None


@given(st.lists(st.text("0123456789a./:; ", max_size=10), max_size=10))
def test_decimals_never_invent_a_number(words):
    got = _bulk.decimals(tokens(words))
    try:
        expected = [float(word) for word in words]
    except ValueError:
        assert got is None
    else:
        np.testing.assert_array_equal(got, expected)


@given(st.lists(st.integers(0, 10**8 - 1), max_size=20))
def test_whole_numbers(values):
    np.testing.assert_array_equal(_bulk.whole_numbers(tokens(map(str, values))), values)


@pytest.mark.parametrize("bad", ["", "-1", "1.0", "123456789", "1e3", "x"])
def test_whole_numbers_refuse(bad):
    assert _bulk.whole_numbers(tokens(["7", bad])) is None


@pytest.mark.parametrize("long", ["", "a long word", "ninechars"])
def test_codes(long):
    table = {b"YES": 1.0, b"NO": 0.0, b"x": 2.0}
    if long:
        table[long.encode()] = 3.0
    words = ["NO", "YES", "x", "?", "NO"]
    np.testing.assert_array_equal(_bulk.codes(tokens(words), table), [0, 1, 2, np.nan, 0])
    for unknown in ("YE", "YESS", "", "N", "x" * 9, "O"):
        assert _bulk.codes(tokens([*words, unknown]), table) is None


def test_stripped():
    got = _bulk.stripped(_bulk.tokenize(b" 1, 2.5 ,\t-3\t,4,", spaces=False))
    np.testing.assert_array_equal(_bulk.decimals(got), [1, 2.5, -3, 4])
    assert _bulk.stripped(_bulk.tokenize(b" " * 9 + b"1,", spaces=False)) is None
    empty = _bulk.stripped(_bulk.tokenize(b" ,  ,", spaces=False))
    assert _bulk.decimals(empty) is None
