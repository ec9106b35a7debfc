"""Names that a user mistyped."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean …?`` with the known names nearest to a wrong one, or nothing."""
    near = difflib.get_close_matches(name.lower(), list(known), n=3)
    return f" Did you mean {' or '.join(near)}?" if near else ""
