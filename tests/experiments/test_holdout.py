"""Published test rows beside folds."""

import sys
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")

from labelkin.experiments.report.comparison import Comparison
from labelkin.experiments.report.ranks import leader_phrase, overall_table
from labelkin.experiments.run.results import check_results

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from _holdout import optimism_findings, optimism_table

METRICS = ("hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision")


def compare(precisions, folds):
    """Return a comparison in which all metrics order the methods as average precision does."""
    rows = [
        {"dataset": dataset, "method": method, "repeat": 0, "fold": fold}
        | dict.fromkeys(METRICS, 1 - value)
        | {"average_precision": value}
        for dataset in ("arts", "social")
        for method, value in precisions.items()
        for fold in range(folds)
    ]
    return Comparison.of(check_results(pd.DataFrame(rows)), None, components=None)


BY_FOLDS = compare({"kin": 0.70, "krr": 0.60, "lr": 0.50, "rf": 0.40}, folds=5)
ON_TEST_ROWS = compare({"kin": 0.70, "krr": 0.48, "lr": 0.51, "rf": 0.43}, folds=1)


def test_the_change_of_each_method_beside_that_of_other_libraries():
    table = optimism_table(BY_FOLDS, ON_TEST_ROWS)
    assert list(table.rows) == ["kin", "lr", "krr", "rf"]
    assert [table.entry("krr", column).text for column in table.columns] == [
        *("2.00", "3.00"),
        *("60.00", "48.00", "−12.0"),
        "+14.0",  # LR and random forest gain 1 and 3 points, 2 on average
    ]
    assert table.entry("kin", "shortfall").text == "+2.00"


def test_in_sentences():
    first, second = optimism_findings(BY_FOLDS, ON_TEST_ROWS, ("kin",))
    assert "Kin ensemble has the best average rank over 2 × 5" in first
    assert (
        "changes by +2.00 points for the methods of other libraries and by 0.00 for Kin" in second
    )
    assert "The difference, +2.00 points, estimates by how much cross-validated figures" in second


def test_no_tests_and_no_published_figures_without_folds():
    assert ON_TEST_ROWS.is_holdout
    assert not BY_FOLDS.is_holdout
    columns = overall_table(ON_TEST_ROWS).columns
    assert list(columns) == ["rank", "best"]
    assert "tied" in overall_table(BY_FOLDS).columns


def test_nothing_in_common():
    other = compare({"kin": 0.7, "krr": 0.6}, folds=5)
    assert optimism_table(other, ON_TEST_ROWS) is None
    assert optimism_findings(other, ON_TEST_ROWS, ("kin",)) == []


def test_all_leaders_are_named():
    ranks = pd.Series({"kin": 1.5, "svm": 1.5, "rf": 3.0})
    assert leader_phrase(ranks) == "Kin ensemble and RBF SVM have the best average rank"
    assert leader_phrase(ranks[["kin", "rf"]]) == "Kin ensemble has the best average rank"
