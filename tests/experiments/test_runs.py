"""What was run, in words."""

import pytest

pd = pytest.importorskip("pandas")

from labelkin.experiments.report.page import count_cells, count_repeats


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


def test_repeats_of_each_group():
    assert count_repeats(PAPER) == (
        "Repeats of the cross-validation, 20 in the paper: 3 for Table 3, 1 for Table 5, "
        "1 for Figure 2 and 1 for Section 4.3.1."
    )
    assert count_cells(PAPER).startswith("10 cells: 1 dataset, 4 methods and variants")
