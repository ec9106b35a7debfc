"""Numbers as text that reads back to the same number."""

import math


def number_text(value: float, missing: str = "?") -> str:
    """Write the shortest text that ``float`` reads back exactly; ``missing`` for NaN.

    >>> number_text(1.0), number_text(0.1), number_text(float("nan"))
    ('1', '0.1', '?')
    """
    text = repr(float(value))
    if text.endswith(".0"):
        return text[:-2]
    if math.isfinite(value):
        return text
    return missing if math.isnan(value) else text.replace("inf", "Infinity")
