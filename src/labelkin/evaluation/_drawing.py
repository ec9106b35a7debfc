"""The learning curve as places in a drawing."""

import math
from typing import Any

from labelkin.evaluation._growth import Growth

_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 584, 14, 218


def draw_growth(growth: Growth) -> dict[str, Any]:
    """Return places of the learning curve in a drawing of 600 × 260, sizes on a log scale."""
    ends = [*growth.low, *growth.high]
    forecast = None
    if growth.gain is not None:
        last = growth.values[-1]
        forecast = (last + growth.gain, last + growth.gain_low, last + growth.gain_high)
        ends += forecast
    first, past = growth.sizes[0], 2 * growth.sizes[-1]
    step = next(
        s for s in (1, 2, 5, 10, 20, 25) if 100 * (max(ends) - min(ends)) / s <= 5 or s == 25
    )
    low = max(math.floor(100 * min(ends) / step) * step, 0)
    high = min(math.ceil(100 * max(ends) / step) * step, 100)
    high = max(high, low + step)

    def x(size: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * math.log(size / first) / math.log(past / first), 1)

    def y(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (100 * value - low) / (high - low), 1)

    points = [
        {"x": x(size), "y": y(value), "low": y(a), "high": y(b), "size": size, "value": value}
        for size, value, a, b in zip(
            growth.sizes, growth.values, growth.low, growth.high, strict=True
        )
    ]
    found: dict[str, Any] = {
        "points": points,
        "line": " ".join(f"{p['x']},{p['y']}" for p in points),
        "ticks": [(y(tick / 100), tick) for tick in range(low, high + 1, step)],
        "forecast": None,
    }
    if forecast is not None:
        value, a, b = forecast
        found["forecast"] = {
            "x": x(past),
            "y": y(min(value, 1)),
            "low": y(max(a, 0)),
            "high": y(min(b, 1)),
            "size": past,
            "value": value,
        }
    return found
