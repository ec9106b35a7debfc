"""Claims, ties, ranks of the six columns, and equal footing."""

import numpy as np
import pytest
from scipy import stats

pd = pytest.importorskip("pandas")
pytest.importorskip("scikit_posthocs", reason="needs the extra report")

from labelkin.experiments.report.claims import Evidence, claims_table, find_claims
from labelkin.experiments.report.comparison import (
    PAPER_DATASETS,
    Comparison,
    Sweep,
    by_index,
    count_marks,
    keep_common_folds,
    units,
)
from labelkin.experiments.report.page import write_report
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.report.ranks import friedman_table
from labelkin.experiments.report.tables import (
    dataset_table,
    measure_table,
    sweep_table,
    wins_table,
)
from labelkin.experiments.run.results import check_results
from labelkin.experiments.run.store import BY_INDEX
from support.results import cells, full_results, paper_results

AP = MEASURES["average_precision"]


def with_index(frame, better="clr"):
    """Figures by index like the others, but better for one method."""
    lead = frame["method"].eq(better) * 0.2
    for column, name in BY_INDEX.items():
        sign = 1 if MEASURES[name].greater_is_better else -1
        frame[column] = frame[name] + sign * lead
    return frame


# ---------------------------------------------------------------------------- equal footing


def test_every_figure_is_over_the_folds_that_all_methods_have():
    rng = np.random.default_rng(0)
    rows = cells("yeast", "vpcme", rng, n_repeats=4) + cells("yeast", "clr", rng, n_repeats=2)
    rows += cells("scene", "vpcme", rng, n_repeats=3) + cells("scene", "clr", rng, n_repeats=3)
    frame = check_results(pd.DataFrame(rows))
    frame.loc[frame["repeat"] > 1, "average_precision"] += 0.5  # of folds that CLR may lack
    found = Comparison.of(frame)
    assert len(found.values("yeast", "vpcme", AP)) == len(found.values("yeast", "clr", AP)) == 10
    assert len(found.values("scene", "vpcme", AP)) == 15
    table = measure_table(found, AP)
    mean = frame.query("dataset == 'yeast' and method == 'vpcme' and repeat < 2")[AP.name].mean()
    assert table.entries["yeast", "vpcme"].numbers["mean"] == pytest.approx(100 * mean, abs=1e-5)
    assert "10 cells of folds that not all methods have are left out" in table.caption


def test_of_incomplete_repeats_only_whole_ones_count():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(cells("a", "x", rng, n_repeats=2) + cells("a", "y", rng, n_repeats=2))
    frame.loc[
        (frame["method"] == "y") & (frame["repeat"] == 1) & (frame["fold"] == 4), "status"
    ] = "failed"
    common = keep_common_folds(check_results(frame))
    assert set(common["repeat"]) == {0}
    alone = keep_common_folds(check_results(frame[frame["repeat"] == 1]))
    assert set(alone["fold"]) == {0, 1, 2, 3}


def test_spread_and_paired_test_are_over_runs_where_there_are_some():
    rng = np.random.default_rng(0)
    rows = [r for m in ("vpcme", "clr") for r in cells("yeast", m, rng, n_repeats=4)]
    found = Comparison.of(check_results(pd.DataFrame(rows)))
    values = found.values("yeast", "vpcme", AP)
    unit, runs = units(values)
    assert unit == "runs"
    assert len(runs) == 4
    entry = measure_table(found, AP).entries["yeast", "vpcme"]
    assert entry.numbers["std"] == pytest.approx(100 * runs.std(ddof=1), abs=1e-5)
    other = units(found.values("yeast", "clr", AP))[1]
    contrast = found.contrast("yeast", "vpcme", "clr", AP)
    assert contrast.paired == pytest.approx(stats.ttest_rel(runs, other).pvalue)
    assert (
        found.describe_test("paired") == "paired t-test over 4 runs at 1 %, as in the paper over 20"
    )
    assert "standard deviation over 4 runs" in measure_table(found, AP).caption
    assert units(values.loc[:1])[0] == "folds"


# -------------------------------------------------------------------------------------- ties


def test_the_rule_for_ties_decides_who_wins():
    frame = check_results(with_index(paper_results(PAPER_DATASETS[:5])))
    rules = {"against": Comparison.of(frame), "index": Comparison.of(by_index(frame))}
    win, _, loss = count_marks(rules["against"].marks(AP)["clr"])
    assert win > loss
    win, _, loss = count_marks(rules["index"].marks(AP)["clr"])
    assert loss > win
    table = wins_table(rules["index"], rule="index")
    assert table.name == "table4_index"
    assert table.entries["average_precision", "clr"].numbers["loss"] == loss
    assert friedman_table(rules["against"]).entries["average_precision", "vpcme"].best
    assert friedman_table(rules["index"]).entries["average_precision", "clr"].best


def test_variants_are_ranked_apart():
    few = PAPER_DATASETS[:5]
    frame = check_results(
        pd.concat([paper_results(few), paper_results(few, ["rakel"], seed=1)], ignore_index=True)
    )
    found = Comparison.of(frame)
    text = friedman_table(found.ranked)
    assert list(text.columns)[:6] == ["rakel", "iblr", "clr", "cchains", "mlknn", "vpcme"]


def test_cells_without_figures_by_index_are_left_out():
    frame = check_results(paper_results(["yeast"]))
    assert len(by_index(frame)) == 0


# ------------------------------------------------------------------------------------ claims


def test_claims_follow_from_the_results():
    frame = check_results(full_results())
    found = find_claims({"against": Evidence.of(frame)})
    claims = {claim["claim"]: claim for claim in found}
    better = claims["VPCME is better than the compared methods"]
    assert better["verdict"] in ("holds", "holds partly")
    main = Evidence.of(frame).main
    pairs = [
        main.contrast(d, "vpcme", m, MEASURES[name]).lead
        for d in main.datasets
        for m in ("iblr", "clr", "cchains", "mlknn")
        for name in list(MEASURES)[:5]
    ]
    pairs = [lead for lead in pairs if not np.isnan(lead)]
    assert better["figure"] == f"{sum(lead > 0 for lead in pairs)} of {len(pairs)}"
    assert claims["The datasets have the statistics of Table 2"]["figure"] == "71 of 72"
    assert claims["KNN as base learner is worse than C4.5 (CChains, CLR)"]["verdict"] == "not run"
    beats = claims["Boosting beats bagging: VPCME is better than Bagging_VPCP (seven metrics)"]
    assert beats["figure"].endswith("of 21")
    fall = claims["Average precision, F1 and recall fall as Θ nears 1 (0.7 is better than 1.0)"]
    assert fall["verdict"] == "holds"  # the cells are drawn so


def test_a_claim_that_depends_on_ties_has_two_verdicts():
    frame = check_results(with_index(paper_results()))
    both = {"against": Evidence.of(frame), "index": Evidence.of(by_index(frame))}
    claim = next(c for c in find_claims(both) if c["section"] == "4.4.1 (4)")
    assert "ties against: " in claim["figure"]
    assert "ties by index: " in claim["figure"]
    assert claims_table(both).entries["6", "claim"].text.startswith("On text, CLR is better")


def test_table_2_has_all_six_statistics_of_both():
    table = dataset_table(list(PAPER_DATASETS))
    assert len(table.entries) == 72
    assert table.entries["genbase", "features"].text == "1185"
    assert table.entries["genbase", "features"].published == "1186"
    assert "71 of 72 figures agree" in table.caption
    assert dataset_table(["mine"]) is None


def test_base_learners_are_one_table():
    rng = np.random.default_rng(0)
    rows = [
        r
        for base in ("mlknn", "knn", "svm")
        for r in cells("yeast", f"vpcme@estimator={base}", rng)
    ]
    (sweep,) = Sweep.all_of(check_results(pd.DataFrame(rows)))
    assert list(sweep_table(sweep).columns) == ["knn", "mlknn", "svm"]


# -------------------------------------------------------------------------------- newcomers


def test_the_report_on_a_newcomer(tmp_path):
    rng = np.random.default_rng(0)
    rows = paper_results(PAPER_DATASETS[:4], n_repeats=3).to_dict("records")
    for dataset in PAPER_DATASETS[:4]:
        rows += cells(dataset, "my_method", rng, like="vpcme", shift=0.05, n_repeats=3)
    frame = check_results(pd.DataFrame(rows))
    write_report(frame.drop(columns=[*MEASURES][2:]), tmp_path)  # two metrics: fewer figures
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "my\\_method has the best average rank" in summary
    assert "| 4.4.1 (1) | VPCME is better than the compared methods" in summary
