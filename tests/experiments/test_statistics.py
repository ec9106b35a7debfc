import numpy as np
import pytest
from scipy import stats

pd = pytest.importorskip("pandas")
pytest.importorskip("scikit_posthocs", reason="needs the extra report")

from labelkin.experiments.report.statistics import (
    complete_block,
    critical_difference,
    friedman,
    paired_t_test,
    wilcoxon_holm,
)

# Demšar (2006), Table 6: AUC of C4.5 and its variants on 14 datasets. Two values of one
# row are equal in print but ranked 2 and 3, so one is set apart behind the third digit.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


def test_friedman_on_demsars_example():
    result = friedman(DEMSAR)
    assert result.ranks.round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    assert result.cd == pytest.approx(1.25, abs=0.005)
    # He prints 9.28, by the formula without ties; scipy divides by the share left by them.
    ties = DEMSAR.apply(lambda row: (row.value_counts() ** 3 - row.value_counts()).sum(), axis=1)
    share = 1 - ties.sum() / (14 * 4 * (16 - 1))
    assert share < 1
    assert result.chi2 * share == pytest.approx(9.28, abs=0.005)


def test_friedman_with_ties_on_hollander_and_wolfe():
    """Rounding first base, three ways, 22 players: R's friedman.test prints 11.143, 0.003805."""
    times = [
        5.40, 5.50, 5.55, 5.85, 5.70, 5.75, 5.20, 5.60, 5.50, 5.55, 5.50, 5.40, 5.90, 5.85, 5.70,
        5.45, 5.55, 5.60, 5.40, 5.40, 5.35, 5.45, 5.50, 5.35, 5.25, 5.15, 5.00, 5.85, 5.80, 5.70,
        5.25, 5.20, 5.10, 5.65, 5.55, 5.45, 5.60, 5.35, 5.45, 5.05, 5.00, 4.95, 5.50, 5.50, 5.40,
        5.45, 5.55, 5.50, 5.55, 5.55, 5.35, 5.45, 5.50, 5.55, 5.50, 5.45, 5.25, 5.65, 5.60, 5.40,
        5.70, 5.65, 5.55, 6.30, 6.30, 6.25,
    ]  # fmt: skip
    values = pd.DataFrame(np.reshape(times, (22, 3)), columns=["out", "narrow", "wide"])
    result = friedman(-values)
    assert result.chi2 == pytest.approx(11.143, abs=5e-4)
    assert result.p == pytest.approx(0.003805, abs=5e-7)
    assert result.ranks.idxmin() == "wide"


@pytest.mark.parametrize(
    ("k", "alpha", "q"),
    [(2, 0.05, 1.960), (4, 0.05, 2.569), (10, 0.05, 3.164), (2, 0.1, 1.645), (6, 0.1, 2.589)],
)
def test_critical_values_of_demsars_table(k, alpha, q):
    assert critical_difference(14, k, alpha) == pytest.approx(
        q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4
    )


def test_direction_of_ranks():
    values = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": [3.0, 4.0]})
    assert friedman(values).ranks.tolist() == [3, 2, 1]
    assert friedman(-values).ranks.tolist() == [1, 2, 3]


def test_friedman_of_too_little_or_nothing():
    two = friedman(pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]}))
    assert np.isnan(two.p)
    assert two.ranks.tolist() == [2, 1]
    same = friedman(pd.DataFrame(np.ones((4, 3)), columns=list("abc")))
    assert (same.chi2, same.p) == (0, 1)
    assert same.ranks.tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="complete_block"):
        friedman(pd.DataFrame({"a": [1.0, np.nan], "b": [2.0, 3.0]}))


def test_complete_block():
    nan = np.nan
    values = pd.DataFrame(
        {"a": [1, 2, 3, 4], "b": [1, 2, 3, nan], "user": [nan, 1, nan, nan], "none": [nan] * 4},
        index=["w", "x", "y", "z"],
    )
    block = complete_block(values)
    assert list(block.columns) == ["a", "b"]
    assert list(block.index) == ["w", "x", "y"]
    assert complete_block(values[["none"]]).empty


# ----------------------------------------------------------------------- one dataset


def test_paired_t_test_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    assert paired_t_test(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_corrected_t_test_by_hand():
    """d = 1, 2, 3, 4, 5 on five folds: t = 3 / √(2.5 · (1/5 + 1/4)) = 2.828, 4 degrees."""
    p = paired_t_test([1, 2, 3, 4, 5], [0] * 5, n_folds=5)
    t = 3 / np.sqrt(2.5 * 0.45)
    assert t == pytest.approx(2 * np.sqrt(2))
    # Student's distribution function with 4 degrees of freedom, in closed form.
    x = t / np.sqrt(4 + t * t)
    assert p == pytest.approx(1 - 1.5 * x * (1 - x * x / 3))
    assert p > 3 * paired_t_test([1, 2, 3, 4, 5], [0] * 5)


def test_t_tests_at_their_limits():
    assert paired_t_test([1, 2], [1, 2]) == 1
    assert paired_t_test([0.3, 0.4, 0.7], [0.2, 0.3, 0.6]) == 0  # a constant lead, but for rounding
    assert np.isnan(paired_t_test([1], [2]))
    assert np.isnan(paired_t_test([1, 2], [2, 4], n_folds=1))


# --------------------------------------------------------------------------- in pairs


def test_wilcoxon_on_demsars_example():
    """Of C4.5 and C4.5+m the smaller sum of ranks is 12 with the zeros split, p < 0.02."""
    difference = (DEMSAR["C4.5+m"] - DEMSAR["C4.5"]).round(12)
    assert stats.wilcoxon(difference, zero_method="zsplit").statistic == 12
    table = wilcoxon_holm(DEMSAR, control="C4.5")
    assert table.index.tolist() == ["C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    assert table["p"].tolist()[0] == pytest.approx(stats.wilcoxon(difference).pvalue)
    assert table["p"].tolist()[0] < 0.02
    # Holm: the smallest times 3, the next times 2 but not less, the largest as it is.
    low, middle, high = sorted(table["p"])
    expected = np.minimum(np.maximum.accumulate([3 * low, 2 * middle, high]), 1)
    assert sorted(table["p_holm"]) == pytest.approx(expected.tolist())


def test_wilcoxon_without_differences_and_without_others():
    same = wilcoxon_holm(pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 3]}), "a")
    assert same["p_holm"].tolist() == [1]
    alone = wilcoxon_holm(pd.DataFrame({"a": [1.0, 2, 3]}), "a")
    assert alone.empty
