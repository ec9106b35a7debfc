import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib", reason="needs the extra plot")
pytest.importorskip("scikit_posthocs", reason="needs the extra report")

from labelkin._utils.plots import ORANGE
from labelkin.experiments.report.comparison import Comparison, Sweep
from labelkin.experiments.report.figures import (
    draw_bars,
    draw_critical_difference,
    draw_overall,
    draw_sweep,
    save,
)
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.report.ranks import Overall
from labelkin.experiments.report.statistics import friedman
from labelkin.experiments.report.tables import agreement_table
from labelkin.experiments.run.results import check_results
from support.results import cells, full_results, paper_results

AP = MEASURES["average_precision"]
ODD = "数 $x_1 {0} & <b>\n" + "long" * 20


@pytest.fixture(scope="module")
def results():
    return check_results(full_results())


def drawn(figure, folder, name="figure"):
    """Return the words of a figure's SVG, after writing both files."""
    svg = save(figure, folder, name)
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    root = ET.fromstring(svg)
    assert (folder / f"{name}.svg").read_text(encoding="utf-8") == svg
    return [" ".join("".join(e.itertext()).split()) for e in root.iter() if e.tag.endswith("text")]


def test_critical_difference(results, tmp_path):
    words = drawn(draw_critical_difference(Comparison.of(results), AP), tmp_path)
    assert "Average precision ↑: average rank over 11 datasets" in words
    assert any("critical difference 2.27" in word for word in words)
    names = [word for word in words if re.search(r"\d\.\d\d", word) and "critical" not in word]
    assert len(names) == 6
    assert names[0].startswith("VPCME 1.")


def test_bars_are_drawn_from_left_to_right_in_every_process(results):
    [axes] = draw_critical_difference(Comparison.of(results), AP).axes
    bars = [line.get_xdata() for line in axes.lines if line.get_color() == ORANGE]
    assert max(map(len, bars)) > 2
    assert all((np.diff(bar) >= 0).all() for bar in bars)


def test_overall_ranks_over_datasets(results, tmp_path):
    found = Comparison.of(results)
    test = friedman(Overall(found).dataset_scores)
    words = drawn(draw_overall(found), tmp_path)
    assert any(f"over {test.n_datasets} " in word for word in words)
    assert any(f"critical difference {test.cd:.2f}" in word for word in words)
    assert f"VPCME {test.ranks['vpcme']:.2f}" in words


def test_critical_difference_needs_two_by_two():
    for datasets, methods in ((["yeast"], ["mlknn", "vpcme"]), (["yeast", "scene"], ["vpcme"])):
        found = Comparison.of(check_results(paper_results(datasets, methods)))
        assert draw_critical_difference(found, AP) is None
    assert draw_overall(found) is None


def test_sweeps_show_measured_and_published(results, tmp_path):
    threshold, *_, size = Sweep.all_of(results)
    assert "published" not in drawn(draw_sweep(threshold), tmp_path)
    words = drawn(draw_sweep(size), tmp_path)
    assert "published" in words
    assert [w for w in words if w == "Average precision ↑ (%)"]


def test_curves_pass_through_the_means(results):
    sweep = Sweep.all_of(results)[-1]
    axes = draw_sweep(sweep).axes[list(MEASURES).index("average_precision")]
    measured, printed = axes.get_lines()
    assert measured.get_xdata().tolist() == [1, 10, 20, 30, 40, 50]
    assert measured.get_ydata()[0] == pytest.approx(
        100 * sweep.values(sweep.dataset, "1", AP).mean()
    )
    assert printed.get_ydata()[0] == 86.21 if sweep.dataset == "medical" else 67.24


def test_values_that_are_not_numbers_are_not_drawn():
    rng = np.random.default_rng(0)
    names = [f"clr@estimator={base}" for base in ("c45", "knn", "svm")]
    rows = [row for name in names for row in cells("yeast", name, rng, like="clr", n_repeats=1)]
    (sweep,) = Sweep.all_of(check_results(pd.DataFrame(rows)))
    assert draw_sweep(sweep) is None


def test_bars(results, tmp_path):
    group = Comparison.of(results, components=True)
    figure = draw_bars(group)
    words = drawn(figure, tmp_path)
    assert {"yeast", "scene", "entertainment", "VPCME"} <= set(words)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    expected = 100 * group.means(MEASURES["hamming_loss"]).T.to_numpy().ravel()
    assert heights == pytest.approx(expected.tolist())


def test_differences_are_measured_minus_published():
    frame = paper_results(["yeast", "scene"], ["mlknn", "vpcme"])
    exact = frame["dataset"].eq("yeast") & frame["method"].eq("vpcme")
    frame.loc[exact, "average_precision"] = 0.7541
    found = Comparison.of(check_results(frame))
    table = agreement_table(found)
    assert table.entries["vpcme", "average_precision"].value == pytest.approx(-2.5, abs=0.5)
    assert "f1" not in table.columns


def test_names_of_users_do_no_harm(tmp_path):
    rng = np.random.default_rng(0)
    names = (ODD, ODD + "!", "vpcme")  # the first two are cut to the same text
    rows = [row for d in (ODD, "yeast") for m in names for row in cells(d, m, rng)]
    rows += cells(ODD, "mddm", rng)
    rows += [row for n in (1, 2) for row in cells(ODD, f"vpcme@{ODD}={n}", rng)]
    results = check_results(pd.DataFrame(rows))
    found = Comparison.of(results)
    words = drawn(draw_critical_difference(found, AP), tmp_path)
    assert any("2: " in word for word in words)
    drawn(draw_bars(Comparison.of(results, components=True)), tmp_path)
    drawn(draw_sweep(Sweep.all_of(results)[0]), tmp_path)


def test_figures_are_reproducible(results, tmp_path):
    sweep = Sweep.all_of(results)[0]
    assert save(draw_sweep(sweep), tmp_path, "a") == save(draw_sweep(sweep), tmp_path, "b")
