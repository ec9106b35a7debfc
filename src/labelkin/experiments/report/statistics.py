"""The tests by which methods are compared: on one dataset, and over many.

On one dataset, two methods are compared over the same folds: by the paired t-test of
the paper (section 4.4.1), and by the corrected resampled t-test of Nadeau and Bengio,
which allows for the overlap of training sets, because of which the plain test finds
differences where there are none. Over datasets, many methods are compared by Friedman's test on
their ranks with Nemenyi's critical difference, and in pairs by Wilcoxon's signed ranks
with Holm's correction, as Demšar recommends.

References
----------
.. [1] Demšar, J. (2006). Statistical comparisons of classifiers over multiple data
       sets. Journal of Machine Learning Research 7, 1–30.
.. [2] Nadeau, C., Bengio, Y. (2003). Inference for the generalization error. Machine
       Learning 52, 239–281.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from labelkin._utils.optional import import_optional

# ----------------------------------------------------------------------- one dataset


def paired_t_test(first: Any, second: Any, n_folds: int | None = None) -> float:
    """Return the two-sided p-value of the paired t-test over the same folds, the paper's test.

    With `n_folds` it is the corrected resampled t-test: the variance of the mean difference over J
    folds is taken as (1/J + n_test/n_train) times that of the differences, since the training sets
    share samples; in k-fold cross-validation, repeated or not, n_test/n_train is 1/(k − 1). The
    value is 1 where the two agree on every fold, NaN for fewer than two folds.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    n = len(differences)
    if n < 2 or n_folds == 1:
        return float("nan")
    mean, deviation = differences.mean(), differences.std(ddof=1)
    # Differences that vary by rounding alone are equal: the answer is certain.
    if deviation <= 1e-12 * max(abs(mean), 1e-300):
        return float(mean == 0)
    overlap = 1 / (n_folds - 1) if n_folds else 0.0
    t = mean / (deviation * np.sqrt(1 / n + overlap))
    return float(2 * stats.t.sf(abs(t), n - 1))


# --------------------------------------------------------------------- many datasets


def complete_block(values: pd.DataFrame) -> pd.DataFrame:
    """Return the largest part without gaps of a table of datasets (rows) by methods (columns).

    Tests over datasets need every method on every dataset. Methods are dropped in the order of
    their gaps until most values (methods times datasets) are kept; of equally large parts the one
    with more datasets is taken.
    """
    thresholds = range(len(values), 0, -1)
    blocks = [values.dropna(axis=1, thresh=least).dropna() for least in thresholds]
    return max(blocks, key=lambda block: block.size, default=values.iloc[:0, :0])


@dataclass(frozen=True)
class Friedman:
    """Friedman's test and what follows from it; see :func:`friedman`."""

    ranks: pd.Series
    """Average rank of each method, 1 the best."""
    n_datasets: int
    n_methods: int
    chi2: float
    """Friedman's statistic, corrected for ties."""
    p: float
    cd: float
    """Nemenyi's critical difference of average ranks."""


def friedman(values: pd.DataFrame) -> Friedman:
    """Compare methods (columns) over datasets (rows, without gaps) by their ranks, more is better.

    Friedman's test needs three methods and two datasets; with fewer the statistics are NaN and only
    the ranks are valid.
    """
    n, k = values.shape
    if values.isna().to_numpy().any():
        raise ValueError("values must hold every method on every dataset: see complete_block.")
    ranks = values.rank(axis=1, ascending=False).mean()
    chi2 = p = float("nan")
    # Where all methods tie everywhere, scipy would divide by zero: there is no difference.
    if k >= 3 and n >= 2:
        varied = values.nunique(axis=1).max() > 1
        columns = [values[name].to_numpy() for name in values]
        chi2, p = stats.friedmanchisquare(*columns) if varied else (0.0, 1.0)
    cd = critical_difference(n, k) if k >= 2 and n >= 1 else float("nan")
    return Friedman(ranks, n, k, float(chi2), float(p), cd)


def critical_difference(n_datasets: int, n_methods: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference: average ranks farther apart differ at `alpha`."""
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def wilcoxon_holm(values: pd.DataFrame, control: str) -> pd.DataFrame:
    """Return p-values of Wilcoxon's signed-rank test over datasets, corrected by Holm.

    Each column is compared with `control`. One row per other column: ``p``, which is 1 where the
    two agree on every dataset, and ``p_holm``.
    """
    # Equal up to rounding is equal: a tie must not be ranked as the smallest difference.
    differences = values.drop(columns=control).rsub(values[control], axis=0).round(12)
    found = [stats.wilcoxon(d).pvalue if d.any() else 1.0 for _, d in differences.items()]
    p = np.array(found, dtype=float)
    multitest = import_optional("statsmodels.stats.multitest", "report")
    p_holm = multitest.multipletests(p, method="holm")[1] if len(p) else p
    return pd.DataFrame({"p": p, "p_holm": p_holm}, index=differences.columns)
