"""Numbers of one quantity that are written in several ways mean what they mean, in every row.

Columns are drawn at random: in an English file or in one with decimal commas, with one to three
ways of writing a quantity. What is read must be proportional to the true values, in the training
rows and in new ones, which may be in a file or in a request; and a row must not be read in another
way among others than alone.
"""

import random

import numpy as np
import pytest

from labelkin.datasets import parse_table
from labelkin.tabular import find_training_data, table_of_records

pytest.importorskip("pandas")

# How a quantity is written, "#" being a number up to a limit with so many decimals, and its size.
QUANTITIES = {
    "dollars": [
        ("$#", 90_000, 0, 1), ("$#", 9_000, 2, 1), ("#", 90_000, 0, 1), ("USD #", 9_000, 0, 1),
        ("$#M", 9, 1, 1e6), ("$#K", 900, 0, 1e3), ("#k", 900, 0, 1e3),
    ],
    "euros": [
        ("# €", 90_000, 0, 1), ("# EUR", 9_000, 2, 1), ("#", 9_000, 2, 1), ("# k€", 900, 0, 1e3),
        ("# Mio. €", 9, 1, 1e6),
    ],
    "masses": [("# kg", 90, 1, 1e3), ("# g", 900, 0, 1), ("#kg", 90, 0, 1e3), ("# t", 5, 1, 1e6)],
    "lengths": [("# km", 90, 1, 1e3), ("# m", 9_000, 0, 1), ("# cm", 90, 0, 0.01)],
    "times": [("# min", 90, 0, 1 / 60), ("# h", 9, 1, 1), ("# days", 9, 0, 24)],
    "ages": [("# years", 30, 0, 12), ("# months", 30, 0, 1), ("# Monate", 30, 0, 1)],
    "shares": [("# %", 99, 0, 0.01), ("#%", 99, 1, 0.01), ("# %", 99, 2, 0.01)],
    "numbers": [("#", 500, 0, 1), ("#", 50, 2, 1), ("#", 5_000, 2, 1), ("#", 5, 3, 1)],
}  # fmt: skip


class Column:
    """A random column of cells and of what they mean."""

    def __init__(self, quantity, seed):
        self.random = random.Random(f"{quantity} {seed}")
        is_continental = {"dollars": False, "euros": True}.get(quantity, seed % 2 == 1)
        self.marks = str.maketrans(",.", ".,") if is_continental else {}
        self.delimiter = ";" if is_continental else ","
        ways = QUANTITIES[quantity]
        self.ways = self.random.sample(ways, self.random.randint(1, 3))
        self.weights = [self.random.choice([1, 5, 20]) for _ in self.ways]

    def draw(self, n):
        """Return cells, their values, and the file that holds them."""
        cells, values = [], []
        for form, limit, decimals, size in self.random.choices(self.ways, self.weights, k=n):
            value = round(self.random.uniform(1, limit), decimals)
            number = f"{value:,.{decimals}f}".translate(self.marks)
            cells.append(form.replace("#", number))
            values.append(value * size)
        return cells, np.array(values), self.file(cells)

    def file(self, cells):
        """Return a CSV file of a column and of a label."""
        lines = [f'"{cell}"{self.delimiter}{i % 2}' for i, cell in enumerate(cells)]
        return "\n".join([f"a{self.delimiter}y", *lines]).encode()


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_is_proportional_to_what_is_meant(quantity, seed):
    column = Column(quantity, seed)
    _, values, file = column.draw(60)
    training = find_training_data(parse_table(file, "t.csv"), "y")
    schema = training.schema
    found = training.X["a"].to_numpy()
    factor = np.median(found / values)
    np.testing.assert_allclose(found, factor * values, rtol=1e-9)

    def read(cells):
        yield schema.read(parse_table(column.file(cells), "new.csv", **schema.reading))["a"]
        yield schema.read(table_of_records([{"a": cell} for cell in cells], schema))["a"]

    cells, values, _ = column.draw(4)
    for together in read(cells):
        np.testing.assert_allclose(together, factor * values, rtol=1e-9)
    for cell, value in zip(cells, values, strict=True):
        for alone in read([cell]):
            np.testing.assert_allclose(alone, [factor * value], rtol=1e-9)
