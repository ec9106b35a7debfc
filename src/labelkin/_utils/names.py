"""Names and texts in messages: mistyped ones, long ones, and counts."""

import json
import re
from collections.abc import Iterable, Sequence

# Characters that change a terminal instead of being shown: control characters, line separators,
# those that change the direction of writing or have no width, halves of a pair. Not the two joiners
# (U+200C, U+200D), which Persian, Hindi and emoji need.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with what would act on a terminal as escapes, those of JSON.

    Names from files are printed in this way, also their ends of lines, which would begin a line of
    their own; characters in `keep` are left.

    >>> print(printable("\x1b[31mred\n"))
    \u001b[31mred\n
    """
    return _UNPRINTABLE.sub(
        lambda found: found[0] if found[0] in keep else json.dumps(found[0])[1:-1], text
    )


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


def show_value(value: object) -> object:
    """Return a number as people write it, of six digits or without a fraction; others as they are.

    >>> show_value(1250000.4), show_value(0.1 + 0.2), show_value("red")
    ('1250000', '0.3', 'red')
    """
    if not isinstance(value, int | float):
        return value
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:g}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names for a message, and how many more there are.

    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + more
