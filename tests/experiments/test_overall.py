"""All metrics together: ranks over dataset–metric pairs, ties, published figures beaten."""

import numpy as np
import pandas as pd
import pytest

from labelkin.experiments.report.comparison import Comparison
from labelkin.experiments.report.published import MEASURES, PRINTED_METRICS
from labelkin.experiments.report.ranks import Overall, overall_sentence, overall_table
from labelkin.experiments.run.results import check_results
from support.results import cells

pytest.importorskip("scikit_posthocs")

SHIFTS = {"good": 0.02, "fair": 0.018, "poor": -0.05}


def results(shifts=SHIFTS, datasets=("yeast", "scene", "arts"), **options):
    """Return results of methods that differ from VPCME's published figures by a shift."""
    rng = np.random.default_rng(0)
    rows = [
        row
        for dataset in datasets
        for method, shift in shifts.items()
        for row in cells(dataset, method, rng, like="vpcme", shift=shift, **options)
    ]
    return check_results(pd.DataFrame(rows))


def overall(frame):
    return Overall(Comparison.of(frame, None))


def exact(values):
    """Return two folds of one dataset in which every metric of a method is one number."""
    rows = [
        {"dataset": d, "method": m, "repeat": 0, "fold": f, **dict.fromkeys(MEASURES, v)}
        for d in ("a", "b")
        for m, v in values.items()
        for f in range(2)
    ]
    return check_results(pd.DataFrame(rows))


def test_ranks_follow_each_metrics_direction():
    found = overall(exact({"high": 0.9, "mid": 0.5, "low": 0.1}))
    assert found.block.shape == (10, 3)
    # Four losses, where the lowest is first, and average precision, where the highest is.
    assert found.ranks.to_dict() == pytest.approx({"high": 2.6, "mid": 2.0, "low": 1.4})
    assert found.order == ["low", "mid", "high"]
    assert [found.best(name) for name in ("high", "mid", "low")] == [2, 0, 8]
    assert (-found.dataset_scores.loc["a"]).to_dict() == found.ranks.to_dict()


def test_only_the_papers_five_metrics_count():
    frame = results()
    frame[["f1", "recall"]] = 0.0
    frame.loc[frame["method"] == "poor", ["f1", "recall"]] = 1.0
    assert overall(frame).order[-1] == "poor"
    assert set(overall(frame).block.index.get_level_values(1)) == set(PRINTED_METRICS)


def test_tied_is_what_the_folds_cannot_tell_from_the_best():
    found = overall(results())
    n = len(found.block)
    assert n == 15
    counts = {name: found.tied(name) for name in SHIFTS}
    assert counts["good"] >= found.best("good")
    assert counts["good"] == n  # never surely behind, and mostly the best itself
    assert 0 < counts["fair"] <= n
    assert counts["poor"] < counts["fair"]


def test_a_sure_difference_in_a_single_pair_is_no_tie():
    frame = exact({"high": 0.9, "low": 0.1})
    frame["average_precision"] += np.where(frame["fold"] == 0, 1e-6, 0)
    found = overall(frame)
    assert found.tied("low") == 8  # all but average precision, in which it never ties


def test_published_figures_beaten():
    by_shift = {"above": 0.05, "below": -0.05}
    found = overall(results(by_shift))
    assert found.beaten("above") == (15, 15)
    assert found.beaten("below") == (0, 15)
    unknown = overall(results(by_shift, datasets=("mine", "yours")))
    assert unknown.beaten("above") == (0, 0)


def test_a_figure_that_prints_as_the_published_one_does_not_beat_it():
    frame = results({"same": 0.0, "other": 0.0}, datasets=("yeast",))
    frame["average_precision"] = 0.8041  # as printed
    before = overall(frame).beaten("same")[0]
    frame["average_precision"] = 0.80414
    assert overall(frame).beaten("same")[0] == before
    frame["average_precision"] = 0.80421
    assert overall(frame).beaten("same")[0] == before + 1


def test_the_table_and_what_it_says():
    frame = pd.concat([results({**SHIFTS, "krr": 0.0}), results({"gap": 0.5}, ("yeast",))])
    comparison = Comparison.of(check_results(frame), None)
    table = overall_table(comparison)
    assert next(iter(table.rows)) == "good"
    assert list(table.rows)[-1] == "gap"  # run on one dataset only: not ranked, not hidden
    assert ("gap", "rank") not in table.entries
    assert table.entries["gap", "beaten"].text == "5 of 5"
    text = overall_sentence(comparison)
    assert text.startswith("good has the best average rank in the paper's five metrics")
    assert "among 4 methods on 3 datasets" in text


def test_too_little_to_compare():
    alone = Comparison.of(results({"only": 0.0}), None)
    assert overall_table(alone) is None
    assert overall_sentence(alone) == ""
    pair = Comparison.of(results({"x": 0.0, "y": 0.1}), None)
    assert overall_table(pair) is not None
    assert overall_sentence(pair) == ""
