import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("scikit_posthocs", reason="needs the extra report")

from labelkin.experiments.report.comparison import PAPER_DATASETS, Comparison, Sweep, count_marks
from labelkin.experiments.report.published import COLUMNS, MEASURES, published
from labelkin.experiments.report.ranks import friedman_table, headline, wilcoxon_table
from labelkin.experiments.report.tables import (
    agreement_table,
    measure_table,
    sweep_table,
    wins_table,
)
from labelkin.experiments.run.results import check_results
from support.results import HOSTILE, cells, full_results, paper_results

FIXTURES = Path(__file__).parents[1] / "fixtures"
AP, HL = MEASURES["average_precision"], MEASURES["hamming_loss"]


@pytest.fixture(scope="module")
def results():
    return check_results(full_results())


@pytest.fixture(scope="module")
def comparison(results):
    return Comparison.of(results)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# -------------------------------------------------------------------------- published


def test_published_figures_by_eye():
    assert published("yeast", "rakel", "hamming_loss").text() == "23.15±0.76•"
    assert published("genbase", "clr", "hamming_loss").text() == "0.21±0.07○"
    assert published("entertainment", "cchains", "ranking_loss").text() == "24.54±3.08•"
    assert published("social", "vpcme", "average_precision").text() == "77.40±1.08"
    assert published("medical", "vpcme@size=1", "coverage").text() == "2.15±0.17"
    assert published("entertainment", "vpcme@size=50", "average_precision").text() == "71.95±1.06"
    assert published("yeast", "rakel_k3", "one_error") == published("yeast", "rakel", "one_error")
    assert published("yeast", "vpcme", "f1") is None
    assert published("mine", "vpcme", "coverage") is None


def test_published_table3_is_complete():
    five = list(MEASURES)[:5]
    cells = [published(d, m, name) for d in PAPER_DATASETS for m in COLUMNS for name in five]
    assert len(cells) == 360
    assert None not in cells


def test_table4_follows_from_the_marks_of_table3():
    """The paper's counts of wins, ties and losses are those of its own marks."""
    with open(FIXTURES / "published_wins.csv", encoding="utf-8", newline="") as file:
        table4 = {
            (row["metric"], row["method"]): tuple(int(row[key]) for key in ("win", "tie", "loss"))
            for row in csv.DictReader(file)
        }
    for method in COLUMNS[:-1]:
        total = np.zeros(3, dtype=int)
        for name in list(MEASURES)[:5]:
            marks = [published(d, method, name).mark for d in PAPER_DATASETS]
            counts = marks.count("•"), marks.count(""), marks.count("○")
            assert table4[name, method] == counts, (name, method)
            total += counts
        assert table4["total", method] == tuple(total)


# ------------------------------------------------------------------------- comparison


def test_order_is_the_papers_and_users_stand_last(comparison):
    assert comparison.methods == ["rakel_k3", "iblr", "clr", "cchains", "mlknn", "vpcme", HOSTILE]
    assert comparison.datasets == [*PAPER_DATASETS, "my data"]


def test_components_are_compared_on_their_own_datasets(results):
    group = Comparison.of(results, components=True)
    assert set(group.methods) == {"adaboost_pdt", "bagging_vpcp", "mddm", "vpcme"}
    assert group.datasets == ["yeast", "scene", "entertainment"]


def test_marks_and_wins():
    rng = np.random.default_rng(0)
    frame = check_results(
        pd.DataFrame(
            cells("a", "vpcme", rng)
            + cells("a", "worse", rng, like="vpcme", shift=-0.05)
            + cells("a", "better", rng, like="vpcme", shift=0.05)
        )
    )
    same = frame[frame["method"] == "vpcme"].assign(method="same")
    found = Comparison.of(check_results(pd.concat([frame, same])))
    for measure in (AP, HL):  # whichever way the metric runs
        marks = found.marks(measure)
        assert marks.loc["a", ["worse", "better", "same"]].tolist() == ["•", "○", ""]
        assert marks["vpcme"].isna().all()
        assert count_marks(marks["worse"]) == (1, 0, 0)
        assert count_marks(marks["same"]) == (0, 1, 0)
        assert count_marks(marks["better"]) == (0, 0, 1)
        worse = found.contrast("a", "vpcme", "worse", measure)
        assert worse.corrected > worse.paired


def test_means_that_differ_by_rounding_share_a_rank():
    values = {"mlknn": (0.1, 0.2, 0.3), "vpcme": (0.3, 0.1, 0.2)}  # 0.1 + 0.2 + 0.3 > 0.6
    frame = pd.DataFrame(
        {"dataset": dataset, "method": method, "repeat": 0, "fold": fold, "one_error": value}
        for dataset in ("yeast", "scene")
        for method, folds in values.items()
        for fold, value in enumerate(folds)
    )
    found = Comparison.of(check_results(frame))
    measure = MEASURES["one_error"]
    assert found.friedman(measure).ranks.tolist() == [1.5, 1.5]
    assert found.contrast("yeast", "vpcme", "mlknn", measure).lead == 0


def test_second_settings_of_a_column_are_not_ranked():
    frame = check_results(paper_results(methods=["rakel", "rakel_k3", "mlknn", "vpcme"]))
    found = Comparison.of(frame)
    assert found.ranked.methods == ["rakel", "mlknn", "vpcme"]
    table = friedman_table(found.ranked)
    assert "rakel_k3" not in table.columns
    assert "A second setting of a column" in table.caption
    alone = Comparison.of(check_results(paper_results(methods=["rakel_k3", "vpcme"])))
    assert alone.ranked.methods == ["rakel_k3", "vpcme"]


def test_only_shared_folds_are_paired():
    """A method with more repeats is compared on the folds the other has too."""
    rng = np.random.default_rng(0)
    many = pd.DataFrame(cells("a", "vpcme", rng, n_repeats=4))
    few = pd.DataFrame(cells("a", "few", rng, like="vpcme", shift=-0.03, n_repeats=1))
    frame = check_results(pd.concat([many, few]))
    far = frame["method"].eq("vpcme") & frame["repeat"].gt(0)
    frame.loc[far, "average_precision"] = 0.0  # must not be looked at
    assert Comparison.of(frame).marks(AP).loc["a", "few"] == "•"


def test_bad_results_get_one_sentence():
    good = paper_results(["yeast"], ["vpcme"])
    with pytest.raises(ValueError, match="no column 'fold'"):
        check_results(good.drop(columns="fold"))
    with pytest.raises(ValueError, match="no cell"):
        check_results(good[:0])
    with pytest.raises(ValueError, match="no metric"):
        check_results(good.drop(columns=list(MEASURES)))
    with pytest.raises(ValueError, match="row 1 of the results lacks its dataset"):
        check_results(good.assign(dataset=None))
    for fold in (-1, 0.5, "1st", float("inf")):
        with pytest.raises(ValueError, match="a fold that is not a whole number from 0"):
            check_results(good.assign(fold=fold))
    with pytest.raises(ValueError, match=r"more than once.*yeast.*vpcme"):
        check_results(pd.concat([good, good[:1]]))


def test_figures_of_failed_cells_do_not_count():
    frame = paper_results(["yeast"], ["vpcme"], n_repeats=1)
    frame.loc[0, ["status", "average_precision"]] = ["failed", 99.0]
    found = Comparison.of(check_results(frame))
    assert found.failed["yeast", "vpcme"] == 1
    assert len(found.values("yeast", "vpcme", AP)) == 4
    assert found.means(AP).loc["yeast", "vpcme"] < 1


# ----------------------------------------------------------------------------- tables


def test_measure_table_holds_means_marks_and_printed_figures(comparison, results):
    table = measure_table(comparison, AP)
    entry = table.entries["yeast", "rakel_k3"]
    picked = results[(results["dataset"] == "yeast") & (results["method"] == "rakel_k3")]
    values = 100 * picked["average_precision"]
    assert entry.text == f"{values.mean():.2f}±{values.std():.2f}"
    assert entry.mark == "•"
    assert entry.published == "70.82±1.54•"
    assert table.entries["yeast", "vpcme"].best
    assert not entry.best
    assert table.entries["enron", "clr"].text == "failed"
    assert table.entries["scene", HOSTILE].text == "–"
    assert table.entries["science", "clr"].text.endswith("†")


def test_markdown(comparison):
    text = measure_table(comparison, HL).to_markdown()
    lines = text.splitlines()
    assert lines[0] == "**Table 3: Hamming loss ↓ (%)**"
    assert r"\|method |" in lines[2]
    assert "<img" not in text
    yeast = next(line for line in lines if line.startswith("| yeast"))
    assert yeast.replace(r"\|", "").count("|") == len(comparison.methods) + 2
    assert "<br><small>17.57±0.18</small>" in yeast
    assert "**" in yeast
    assert "•/○: VPCME is better/worse" in lines[-1]


def test_csv_has_numbers(comparison):
    table = rows_of(measure_table(comparison, AP).to_csv())
    yeast = table[0]
    assert yeast["dataset"] == "yeast"
    assert float(yeast["vpcme mean"]) == pytest.approx(80.41, abs=1)
    assert float(yeast["vpcme published"]) == 80.41
    assert yeast["rakel_k3 mark"] == yeast["rakel_k3 published mark"] == "•"
    assert yeast["vpcme n"] == "5"
    assert table[-1]["dataset"] == "my data"
    assert next(row for row in table if row["dataset"] == "enron")["clr mean"] == ""


def test_wins_table(comparison):
    table = wins_table(comparison)
    assert table.entries["hamming_loss", "mlknn"].published == "5/7/0"
    assert table.entries["total", "cchains"].published == "54/5/1"
    assert table.entries["hamming_loss", "clr"].published == "7/3/1"  # enron, a tie, failed here
    assert table.entries["f1", "mlknn"].published == ""
    win, tie, loss = count_marks(comparison.marks(AP)["mlknn"])
    assert table.entries["average_precision", "mlknn"].text == f"{win}/{tie}/{loss}"
    assert win + tie + loss == 13
    marks = [comparison.marks(MEASURES[name])["iblr"] for name in list(MEASURES)[:5]]
    five = count_marks(pd.concat(marks))
    assert table.entries["total", "iblr"].text == "/".join(map(str, five))
    row = rows_of(table.to_csv())[0]
    assert row["mlknn loss"] == "0"  # a zero is a number, not a gap
    fair = wins_table(comparison, "corrected")
    assert fair.name != table.name
    assert fair.entries["total", "iblr"].value <= table.entries["total", "iblr"].value


def test_printed_marks_and_wins_stand_only_beside_vpcmes(results):
    other = Comparison.of(results, "mlknn")
    assert other.reference == "mlknn"
    assert not any(entry.published for entry in wins_table(other).entries.values())
    assert measure_table(other, HL).entries["yeast", "iblr"].published == "19.37±1.04"


def test_sweep_tables(results):
    names = [sweep_table(sweep).name for sweep in Sweep.all_of(results)]
    assert names == [
        "figure1_yeast", "figure1_business", "table5_medical", "table5_entertainment",
    ]  # fmt: skip
    first, _, medical, _ = Sweep.all_of(results)
    assert first.methods[0] == "0.1"
    assert first.methods[-1] == "1.0"
    table = sweep_table(medical)
    assert list(table.columns.values())[:2] == ["S = 1", "S = 10"]  # by value, not by text
    assert table.entries["average_precision", "1"].published == "86.21±1.09"
    best = [s for s in medical.methods if table.entries["hamming_loss", s].best]
    assert best
    assert "1" not in best


def test_sweep_of_a_users_own_parameter():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        cells("a", "own@depth=deep", rng, like="vpcme") + cells("a", "own@depth=2", rng)
    )
    (sweep,) = Sweep.all_of(check_results(frame))
    assert sweep.methods == ["2", "deep"]
    assert sweep_table(sweep).name == "sweep_own_depth_a"


# --------------------------------------------------------------------------- findings


def test_headline_over_datasets(comparison):
    text = headline(comparison)
    assert text.startswith("VPCME has the best average rank in average precision, 1.")
    assert "among 6 methods on 11 datasets" in text
    assert "Friedman" in text
    assert "Nemenyi" in text


@pytest.mark.parametrize(
    ("datasets", "methods", "words"),
    [
        (["yeast"], ["vpcme"], "VPCME was run on 1 dataset, with no other"),
        (["yeast"], ["mlknn", "vpcme"], "On yeast, VPCME ("),
        (PAPER_DATASETS, ["mlknn", "vpcme"], "a significant lead over ML-kNN (Wilcoxon"),
    ],
)
def test_headline_of_little(datasets, methods, words):
    frame = check_results(paper_results(datasets, methods))
    assert words in headline(Comparison.of(frame))


def test_headline_of_a_tie():
    frame = check_results(paper_results(["yeast"], ["mlknn", "vpcme", "clr"]))
    frame.loc[frame["method"] != "clr", "average_precision"] = 1.0
    words = r"On yeast, (VPCME and ML-kNN|ML-kNN and VPCME) \(100.00\) are best in .*, before CLR"
    assert re.match(words, headline(Comparison.of(frame)))


def test_headline_of_methods_without_a_common_dataset():
    rng = np.random.default_rng(1)
    frame = [r for d, m in ("ax", "by") for r in cells(d, m, rng, n_repeats=1)]
    text = headline(Comparison.of(check_results(pd.DataFrame(frame))).ranked)
    assert text.startswith("No two methods have results on the same dataset")


def test_headline_where_nothing_can_be_told_apart():
    rng = np.random.default_rng(1)
    frame = [r for d in "abc" for m in ("x", "y", "z") for r in cells(d, m, rng, n_repeats=1)]
    text = headline(Comparison.of(check_results(pd.DataFrame(frame))))
    assert "cannot be told apart" in text


def test_agreement_with_the_paper(comparison):
    """The cells are drawn around the printed figures, so nearly all agree."""
    table = agreement_table(comparison)
    assert sum(entry.numbers["of"] for entry in table.entries.values()) == 355
    assert sum(entry.numbers["within"] for entry in table.entries.values()) >= 340
    assert list(table.rows) == ["rakel_k3", "iblr", "clr", "cchains", "mlknn", "vpcme"]
    assert abs(table.entries["mlknn", "average_precision"].value) < 0.5


def test_wilcoxon_marks_follow_the_direction():
    frame = check_results(paper_results())
    table = wilcoxon_table(Comparison.of(frame))
    for name in ("ranking_loss", "average_precision"):
        assert table.entries[name, "cchains"].mark == "•"
    turned = wilcoxon_table(Comparison.of(frame, "cchains"))
    for name in ("ranking_loss", "average_precision"):
        assert turned.entries[name, "vpcme"].mark == "○"
