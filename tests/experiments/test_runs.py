"""What was run, in words."""

import pytest

pd = pytest.importorskip("pandas")

from labelkin.experiments.report.page import count_cells


def made(*rows):
    """Return results with one row per (method, repeat, fold)."""
    columns = ["method", "repeat", "fold"]
    return pd.DataFrame(rows, columns=columns).assign(dataset="yeast", status="ok", revision="a")


PAPER = made(
    *(("mlknn", repeat, fold) for repeat in (0, 2, 3) for fold in (0, 1)),
    ("mddm", 0, 0),
    ("mddm", 0, 1),
    ("vpcme@estimator=knn", 0, 0),
    ("vpcme@size=10", 0, 0),
)


def test_cells_are_counted():
    assert count_cells(PAPER).startswith("10 cells: 1 dataset, 4 methods and variants")
