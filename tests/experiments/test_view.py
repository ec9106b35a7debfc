import io

import pytest

from labelkin.experiments.run.jobs import Job
from labelkin.experiments.run.protocol import Protocol
from labelkin.experiments.run.view import RunView
from labelkin.methods import METHODS

rich = pytest.importorskip("rich.console")

CELLS = list(Protocol(2, 2).cells(["yeast", "scene"], ["mlknn", "vpcme"]))


def job(cell):
    return Job((cell,), METHODS[cell.method], None, None)


def finished(cell, value=0.5):
    return [{**vars(cell), "status": "ok", "average_precision": value}]


def failed(cell, error):
    return [{**vars(cell), "status": "failed", "error": error}]


def shown_by(console):
    return console.file.getvalue()


def test_lines_without_a_terminal():
    console = rich.Console(file=io.StringIO(), width=40)
    view = RunView("Table 3 · a heading that is longer than forty characters", console)
    first = CELLS[0]
    view.begin(CELLS, {first: {"status": "ok", "average_precision": 0.25}})
    assert view.means() == {}, "no fold yet that all methods have finished"
    view.finish(finished(CELLS[1], 0.75))
    view.finish(finished(CELLS[2], 1.0))  # a fold that VPCME has not finished: left out
    assert view.means() == {"mlknn": 0.25, "vpcme": 0.75}
    view.finish(failed(CELLS[3], "ValueError: no"))
    assert str(view).startswith("4/16 cells · ")
    assert str(view).endswith("left · 1 failed")
    for cell in CELLS[4:]:
        view.finish(finished(cell))
    view.close()
    assert shown_by(console).splitlines() == [
        "Table 3 · a heading that is longer than forty characters (1 already stored)",
        "failed: vpcme yeast r0f1: ValueError: no",
        "16/16 cells · 1 failed",
    ]


def test_the_picture():
    console = rich.Console(file=io.StringIO(), force_terminal=True, width=60, highlight=False)
    view = RunView("[16] cells", console, {"mlknn": "ML-kNN", "vpcme": "VPCME"}, workers=1)
    view.begin(CELLS, {})
    for cell in CELLS[:4]:
        view.start(job(cell))
        view.finish(finished(cell, 0.8 if cell.method == "vpcme" else 0.7))
    view.start(job(CELLS[4]))
    view.start(job(CELLS[5]))
    with console.capture() as captured:
        console.print(view.picture())
    view.finish(failed(CELLS[4], "ValueError: [oh] no"))
    view.close()
    shown = captured.get()
    assert "running: mlknn scene r0f0" in " ".join(shown.split())
    assert "vpcme scene r0f0" not in shown, "queued, not running"
    assert "so far (average precision):" in shown
    assert shown.index("VPCME 80.0 ▲") < shown.index("ML-kNN 70.0")
    assert "4/8" in shown
    assert "[16] cells" in shown_by(console)
    assert "ValueError: [oh] no" in shown_by(console)
