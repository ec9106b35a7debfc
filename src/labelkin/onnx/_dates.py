"""Columns of dates, as `labelkin.tabular` reads them."""

import numpy as np

from labelkin.onnx._convert import transform
from labelkin.onnx._graph import Graph, Tensor
from labelkin.tabular._dates import DateEncoder

_MISSING = -1
# Days before each month, January having the number 1.
_DAYS_BEFORE = np.array([0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


@transform.register
def _date_encoder(step: DateEncoder, graph: Graph, rows: Tensor) -> Tensor:
    """Add year, month, weekday and hour of each column; NaN where a date is missing."""
    # A date begins with three numbers; hour and minute may follow. One more text, whose numbers
    # are removed below, makes five columns of numbers at least.
    texts = graph.op("Reshape", rows.name, np.array([-1]))
    texts = graph.op("Concat", texts, np.array(["1 1 1 1 1"], dtype=object), axis=0)
    tokens = graph.split(texts, pad_value=str(_MISSING), tokenexp="[0-9]+")
    numbers = graph.cast(tokens, np.int64)
    numbers = graph.op("Slice", numbers, np.array([0, 0]), np.array([-1, 5]), np.array([0, 1]))
    parts = [graph.op("Gather", numbers, np.array([i]), axis=1) for i in range(5)]
    found = _in_numbers(step.day_first, graph, *parts)
    shape = np.array([-1, 4 * step.n_features_in_])
    return Tensor(graph.op("Reshape", found, shape), np.dtype(np.float64))


def _in_numbers(
    day_first: bool, graph: Graph, first: str, second: str, third: str, hour: str, minute: str
) -> str:
    """Add four numbers in double for each date, given by integers."""

    def whole(number: int) -> np.ndarray:
        return np.array(number, dtype=np.int64)

    def real(name: str) -> str:
        return graph.cast(name, np.float64)

    year_first = graph.op("Greater", first, whole(31))
    century = graph.op("Where", graph.op("Less", third, whole(70)), whole(2000), whole(1900))
    is_short = graph.op("Less", third, whole(100))
    last = graph.op("Add", third, graph.op("Where", is_short, century, whole(0)))
    year = graph.op("Where", year_first, first, last)
    month = graph.op("Where", year_first, second, second if day_first else first)
    day = graph.op("Where", year_first, third, first if day_first else second)
    month = graph.op("Clip", month, whole(1), whole(12))  # what is no date must not end the run

    def divides(number: int) -> str:
        return graph.op("Equal", graph.op("Mod", year, whole(number)), whole(0))

    common = graph.op("Not", graph.op("Or", divides(100), graph.op("Not", divides(4))))
    leap = graph.op(
        "And", graph.op("Or", common, divides(400)), graph.op("Greater", month, whole(2))
    )
    day_of_year = graph.op("Add", day, graph.op("Gather", _DAYS_BEFORE, month))
    day_of_year = graph.op("Add", day_of_year, graph.cast(leap, np.int64))

    # The number of days since the first of January of the year 1, a Monday
    before = graph.op("Sub", year, whole(1))
    days = graph.op("Sub", day_of_year, whole(1))
    for factor, divisor in ((365, 1), (1, 4), (-1, 100), (1, 400)):
        years = graph.op("Div", before, whole(divisor))
        days = graph.op("Add", days, graph.op("Mul", years, whole(factor)))
    weekday = graph.op("Mod", days, whole(7))

    passed = real(graph.op("Sub", day_of_year, whole(1)))
    year = graph.op("Add", real(year), graph.op("Div", passed, np.float64(366)))
    minutes = graph.op("Div", real(graph.op("Max", minute, whole(0))), np.float64(60))
    hours = graph.op("Add", real(graph.op("Max", hour, whole(0))), minutes)
    numbers = graph.op("Concat", year, real(month), real(weekday), hours, axis=1)
    missing = graph.op("Equal", first, whole(_MISSING))
    return graph.op("Where", missing, np.float64(np.nan), numbers)
