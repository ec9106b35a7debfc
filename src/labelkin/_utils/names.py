"""Names and texts in messages: mistyped ones, long ones, and counts."""

from collections.abc import Iterable, Sequence

# Control characters but tab and line feed, and those that change the direction of text.
_HIDDEN = {*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)} - {9, 10}
_ESCAPES = {code: f"\\u{code:04x}" for code in _HIDDEN}  # as in JSON, which stays valid


def printable(text: str) -> str:
    r"""Return a text with control characters as escapes: a terminal would obey them.

    >>> print(printable("\x1b[31mred"))
    \u001b[31mred
    """
    return text.translate(_ESCAPES)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean …?`` with the known names nearest to a wrong one, or nothing."""
    import difflib  # needed for messages only

    near = difflib.get_close_matches(name.lower(), list(known), n=3)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def abbreviate(text: str, most: int) -> str:
    """Return a text with at most `most` characters, the last one … where it is cut.

    >>> abbreviate("labels", 6), abbreviate("features", 6)
    ('labels', 'featu…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names for a message, and how many more there are.

    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
