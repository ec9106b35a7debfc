import io

import pytest

from labelkin.experiments.run.plan import Cell
from labelkin.experiments.run.runner import RunView

rich = pytest.importorskip("rich.console")

CELLS = [
    Cell(dataset, method, repeat, fold)
    for repeat in (0, 1)
    for dataset in ("yeast", "scene")
    for fold in (0, 1)
    for method in ("mlknn", "vpcme")
]


def row(cell, error=None):
    return {**vars(cell), "status": "failed" if error else "ok", "error": error}


def test_lines_without_a_terminal():
    console = rich.Console(file=io.StringIO(), width=40)
    view = RunView("Table 3 · a heading that is longer than forty characters", console)
    view.begin(16, 1)
    for cell in CELLS[1:3]:
        view.finish([row(cell)])
    view.finish([row(CELLS[3], "ValueError: no")])
    assert str(view).startswith("4/16 cells · ")
    assert str(view).endswith("left · 1 failed")
    for cell in CELLS[4:]:
        view.finish([row(cell)])
    view.close()
    assert console.file.getvalue().splitlines() == [
        "Table 3 · a heading that is longer than forty characters (1 already stored)",
        "failed: vpcme yeast r0f1: ValueError: no",
        "16/16 cells · 1 failed",
    ]


def test_a_live_line_on_a_terminal():
    console = rich.Console(file=io.StringIO(), force_terminal=True, width=60, highlight=False)
    view = RunView("[16] cells", console)
    view.begin(16, 0)
    view.finish([row(CELLS[0])])
    view.finish([row(CELLS[1], "ValueError: [oh] no")])
    view.close()
    shown = console.file.getvalue()
    assert "[16] cells" in shown
    assert "2/16 cells" in shown
    assert "ValueError: [oh] no" in shown
