import io

import pytest

from labelkin.experiments.run.cell import Job, Outcome, failed
from labelkin.experiments.run.live import LiveView, PlainView
from labelkin.experiments.run.progress import Progress, clock
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.registry import METHODS

CELLS = list(Protocol(2, 2).cells(["yeast", "scene"], ["mlknn", "vpcme"]))


def job(cell):
    return Job((cell,), METHODS[cell.method])


def finished(cell, value=0.5):
    return Outcome(job(cell), ({"status": "ok", "average_precision": value},))


def test_counts_and_means():
    first = CELLS[0]
    progress = Progress(CELLS, set(CELLS[1:]), {first: 0.25, Cell("far", "off", 0, 0): 1.0})
    assert (progress.done, progress.total, progress.stored) == (1, 16, 0)
    assert progress.seconds_left is None
    assert progress.means() == {}, "no fold yet that all methods have finished"
    progress.start(job(CELLS[1]))
    progress.start(job(CELLS[2]))
    assert progress.running() == [job(CELLS[1]), job(CELLS[2])]
    progress.store(finished(CELLS[1], 0.75))
    assert progress.running() == [job(CELLS[2])]
    progress.store(finished(CELLS[2], 1.0))  # a fold that VPCME has not finished: left out
    assert progress.means() == {"mlknn": 0.25, "vpcme": 0.75}
    progress.store(failed(job(CELLS[3]), "E"))
    assert progress.failed == 1
    assert progress.finished["yeast", "mlknn"] == 2
    assert progress.sentence().startswith("4/16 cells · ")
    assert progress.sentence().endswith("left · 1 failed")
    assert progress.seconds_left == pytest.approx(12 / progress.rate, rel=0.5)


def test_clock():
    assert [clock(s) for s in (5, 65.4, 3725)] == ["0:05", "1:05", "1:02:05"]


def test_plain_lines():
    lines = []
    view = PlainView("Table 3 · 16 cells", lines.append, seconds=1000)
    progress = Progress(CELLS, set(CELLS[1:]), {})
    with view:
        view.show(progress)
        for number, cell in enumerate(CELLS[1:]):
            outcome = failed(job(cell), "ValueError: no") if number == 3 else finished(cell)
            progress.store(outcome)
            view.stored(outcome)
    assert lines[0] == "Table 3 · 16 cells (1 already there)"
    assert lines[1] == "failed: mlknn scene r0f0: ValueError: no"
    assert lines[2:] == ["16/16 cells · 1 failed"]


@pytest.mark.parametrize("width", [60, 140])
def test_the_picture(width):
    rich = pytest.importorskip("rich.console")
    console = rich.Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False)
    titles = {"mlknn": "ML-kNN", "vpcme": "VPCME"}
    view = LiveView("Table 3 · [16] cells", console, titles, workers=1)
    progress = Progress(CELLS, set(CELLS), {})
    with view:
        view.show(progress)
        for cell in CELLS[:4]:
            progress.start(job(cell))
            progress.store(finished(cell, 0.8 if cell.method == "vpcme" else 0.7))
            view.stored(finished(cell))
        progress.start(job(CELLS[4]))
        progress.start(job(CELLS[5]))
        with console.capture() as captured:
            console.print(view.picture())
        view.stored(failed(job(CELLS[4]), "ValueError: [oh] no"))
    shown = captured.get()
    assert "running: mlknn scene r0f0" in " ".join(shown.split())
    assert "vpcme scene r0f0" not in shown, "queued, not running"
    assert "so far (average precision):" in shown
    assert shown.index("VPCME 80.0 ▲") < shown.index("ML-kNN 70.0")
    assert "2/4" in shown
    written = console.file.getvalue()
    assert "Table 3 · [16] cells" in written
    assert "ValueError: [oh] no" in written
