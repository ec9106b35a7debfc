"""Names and texts in messages: mistyped ones, long ones, and counts."""

from collections.abc import Iterable, Sequence


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
