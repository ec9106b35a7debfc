"""The bar on a terminal: steps, learners of fits, the time left, the announcement of long fits."""

import io
import sys
import time

import pytest

pytest.importorskip("rich")

from labelkin import KinEnsembleClassifier, MultiLabelLogisticRegression, VPCMEClassifier
from labelkin._utils import progress_bar as bars
from labelkin._utils.progress import FitProgress, counted, observe_fits
from labelkin._utils.progress_bar import progress_bar
from support.data import make_data


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(bars, "_PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")

    def begin():  # in the test itself: pytest changes stderr before each test
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return begin


def test_learners_and_the_time_left_are_shown(terminal):
    stream = terminal()
    with progress_bar("fitting", 1, hidden=False):
        progress = FitProgress(object(), "learners", 4, 0)
        for _ in range(3):
            time.sleep(0.15)
            progress.step()
        time.sleep(0.3)
    shown = stream.getvalue()
    assert "fitting" in shown
    assert "3 of 4 learners" in shown
    assert " left" in shown


def test_nothing_is_shown_but_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(bars, "_PATIENCE", 0.0)
    for hidden in (True, False):
        with progress_bar("fitting", 1, hidden=hidden) as update:
            VPCMEClassifier(n_estimators=2, random_state=0).fit(*make_data(40))
            update(completed=1, description="more")
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_a_quick_block_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(bars, "_PATIENCE", 60.0)
    stream = terminal()
    with progress_bar("fitting", 1, hidden=False):
        pass
    assert stream.getvalue() == ""


def test_long_fits_are_announced_once_by_their_own_speed(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def run(total, seconds, hidden=False, preparing=0.0):
        """Fit twice, each half of a fit in `seconds`, whatever the cost model says."""
        with progress_bar("", total, hidden=hidden, faster="--model logistic") as update:
            for done in range(2):
                update(completed=done)
                now[0] += preparing
                fit = FitProgress(object(), "learners", 2, 0, [3e6, 3e6])
                for number in range(2):
                    now[0] += seconds
                    fit.step(number)
        return capsys.readouterr().err

    assert run(5, 20) == "note: this will take about 3 more min; --model logistic is faster\n"
    assert "about 5 more min" in run(5, 20, preparing=30)
    assert run(2, 2) == run(5, 20, hidden=True) == ""


def test_long_fits_with_a_cost_model_are_announced_before_they_begin(capsys):
    def run(seconds, hidden=False):
        with progress_bar("", 5, hidden=hidden, faster="--model logistic") as update:
            for done in range(5):
                update(completed=done)
                fit = FitProgress(object(), "learners", 2, 0, [seconds, seconds], 1.0, True)
                announced = capsys.readouterr().err
                fit.step()
                fit.step()
                fit.finish()
                if done == 0:
                    first = announced
        assert capsys.readouterr().err == ""
        return first

    assert run(19) == "note: this may take up to about 3 min; --model logistic is faster\n"
    assert run(5) == run(19, hidden=True) == ""


def test_the_first_part_of_a_short_fit_does_not_tell_how_long_it_takes(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with progress_bar("", 5, hidden=False) as update:
        for done in range(5):
            update(completed=done)
            fit = FitProgress(object(), "fits", 7, 0, [3.0, *[1.0] * 5, 2.0])
            for number in range(7):
                now[0] += 0.1 if number else 6.0
                fit.step(number)
    assert capsys.readouterr().err == ""


def test_long_blocks_of_other_steps_are_announced_after_the_first(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars, "perf_counter", lambda: now[0])
    with progress_bar("", 5, hidden=False, faster="--model logistic") as update:
        for done in range(5):
            update(completed=done)
            now[0] += 50
    expected = "note: this will take about 3 more min; --model logistic is faster\n"
    assert capsys.readouterr().err == expected


def test_the_fits_of_a_regression_are_observed():
    shares = []
    with observe_fits(lambda fit: shares.append((fit.unit, round(fit.share, 1)))):
        MultiLabelLogisticRegression(n_folds=3, random_state=0).fit(*make_data(40))
    seen = [("fits", share) for share in (0.0, 0.5, 0.6, 0.7, 0.8, 1.0)]
    assert list(dict.fromkeys(shares)) == seen


def test_only_the_outermost_fit_is_observed():
    seen = []
    with observe_fits(lambda fit: seen.append((fit.unit, fit.done, round(fit.share, 3)))):
        outer = FitProgress(object(), "learners", 2, 0, [1.0, 2.0], rest=1.0)
        inner = FitProgress(object(), "labels", 1, 0)
        inner.step()
        outer.step(1)
        outer.step(0)
        outer.finish()
        FitProgress(object(), "members", 1, 0)
    steps = [(0, 0.0), (1, 0.5), (2, 0.75), (2, 1.0)]
    assert seen == [*(("learners", *step) for step in steps), ("members", 0, 0.0)]


def test_the_parts_of_an_explanation_are_observed():
    X, Y = make_data(40, 150)
    model = KinEnsembleClassifier(random_state=0).fit(X, Y)
    seen = []
    with observe_fits(lambda fit: seen.append((fit.unit, fit.done, fit.total))):
        model.explain(X[:1])
    assert [one for one in seen if one[0] == "blocks"][-1] == ("blocks", 3, 3)


def test_counted_items_that_are_left_early_do_not_hide_later_ones():
    seen = []
    with observe_fits(lambda fit: seen.append((fit.unit, fit.done))):
        for item in counted([1, 2, 3], "blocks"):
            if item == 2:
                break
        list(counted([1], "rows"))
    assert ("blocks", 1) in seen
    assert seen[-2:] == [("rows", 1), ("rows", 1)]


def test_callbacks_of_scikit_learn():
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")

    class Count:
        def __init__(self):
            self.begun, self.ended, self.torn_down = [], 0, 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.begun.append((context.task_name, context.max_subtasks))

        def on_fit_task_end(self, estimator, context):
            self.ended += 1

        def teardown(self, estimator, context):
            self.torn_down += 1

    assert isinstance(Count(), callback.FitCallback)
    X, Y = make_data(60)
    for model in (
        VPCMEClassifier(n_estimators=3, random_state=0),
        KinEnsembleClassifier(n_projections=2, n_trees=5, random_state=0),
    ):
        count = Count()
        plain = model.fit(X, Y).predict_proba(X)
        assert (model.set_callbacks(count).fit(X, Y).predict_proba(X) == plain).all()
        (name, total), *steps = count.begun
        assert (name, len(steps), count.ended) == ("fit", total, total + 1)
        assert count.torn_down == 1
    with pytest.raises(ValueError, match="samples"):  # a failed fit ends the callback too
        model.fit(X, Y[:3])
    assert count.torn_down <= 2
