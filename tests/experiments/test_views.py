import io

import pytest

from labelkin.experiments.run.jobs import Job, Outcome, failed
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.views import LiveView, PlainView, RunStatus, format_seconds
from labelkin.methods import METHODS

CELLS = list(Protocol(2, 2).cells(["yeast", "scene"], ["mlknn", "vpcme"]))


def job(cell):
    return Job((cell,), METHODS[cell.method])


def finished(cell, value=0.5):
    return Outcome(job(cell), ({"status": "ok", "average_precision": value},))


def test_counts_and_means():
    first = CELLS[0]
    status = RunStatus(CELLS, set(CELLS[1:]), {first: 0.25, Cell("far", "off", 0, 0): 1.0})
    assert (status.done, status.total, status.computed) == (1, 16, 0)
    assert status.seconds_left is None
    assert status.means() == {}, "no fold yet that all methods have finished"
    status.start(job(CELLS[1]))
    status.start(job(CELLS[2]))
    assert status.running() == [job(CELLS[1]), job(CELLS[2])]
    status.finish(finished(CELLS[1], 0.75))
    assert status.running() == [job(CELLS[2])]
    status.finish(finished(CELLS[2], 1.0))  # a fold that VPCME has not finished: left out
    assert status.means() == {"mlknn": 0.25, "vpcme": 0.75}
    status.finish(failed(job(CELLS[3]), "E"))
    assert status.failed == 1
    assert status.finished["yeast"] == 4
    assert str(status).startswith("4/16 cells · ")
    assert str(status).endswith("left · 1 failed")
    assert status.seconds_left == pytest.approx(12 / status.rate, rel=0.5)


def test_clock():
    assert [format_seconds(s) for s in (5, 65.4, 3725)] == ["0:05", "1:05", "1:02:05"]


def test_plain_lines():
    lines = []
    view = PlainView("Table 3 · 16 cells", lines.append, seconds=1000)
    status = RunStatus(CELLS, set(CELLS[1:]), {})
    with view:
        view.begin(status)
        for number, cell in enumerate(CELLS[1:]):
            outcome = failed(job(cell), "ValueError: no") if number == 3 else finished(cell)
            status.finish(outcome)
            view.update(outcome)
    assert lines[0] == "Table 3 · 16 cells (1 already stored)"
    assert lines[1] == "failed: mlknn scene r0f0: ValueError: no"
    assert lines[2:] == ["16/16 cells · 1 failed"]


def test_the_picture():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(file=io.StringIO(), force_terminal=True, width=60, highlight=False)
    titles = {"mlknn": "ML-kNN", "vpcme": "VPCME"}
    view = LiveView("Table 3 · [16] cells", console, titles, workers=1)
    status = RunStatus(CELLS, set(CELLS), {})
    with view:
        view.begin(status)
        for cell in CELLS[:4]:
            status.start(job(cell))
            status.finish(finished(cell, 0.8 if cell.method == "vpcme" else 0.7))
            view.update(finished(cell))
        status.start(job(CELLS[4]))
        status.start(job(CELLS[5]))
        with console.capture() as captured:
            console.print(view.picture())
        view.update(failed(job(CELLS[4]), "ValueError: [oh] no"))
    shown = captured.get()
    assert "running: mlknn scene r0f0" in " ".join(shown.split())
    assert "vpcme scene r0f0" not in shown, "queued, not running"
    assert "so far (average precision):" in shown
    assert shown.index("VPCME 80.0 ▲") < shown.index("ML-kNN 70.0")
    assert "4/8" in shown
    written = console.file.getvalue()
    assert "Table 3 · [16] cells" in written
    assert "ValueError: [oh] no" in written
