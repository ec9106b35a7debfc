"""Results to test the report with: cells drawn around the paper's printed figures."""

import numpy as np
import pandas as pd

from labelkin.experiments.report.comparison import PAPER_DATASETS
from labelkin.experiments.report.published import MEASURES, published

PAPER_METHODS = ("rakel_k3", "iblr", "clr", "cchains", "mlknn", "vpcme")
COMPONENTS = {"adaboost_pdt": -0.03, "bagging_vpcp": -0.006, "mddm": -0.02}
HOSTILE = "<img src=x onerror=alert(1)> & 'my' \"own\"|method"


def _mean(dataset, method, name):
    printed = published(dataset, method, name)
    if printed is None:
        return 0.6 if MEASURES[name].greater_is_better else 0.2
    return printed.mean / MEASURES[name].scale


def cells(dataset, method, rng, *, like=None, shift=0.0, n_repeats=2, n_folds=5):
    """Return the rows of one method on one dataset; `shift` is a gain in every metric."""
    rows = []
    for repeat in range(n_repeats):
        for fold in range(n_folds):
            row = {"dataset": dataset, "method": method, "repeat": repeat, "fold": fold}
            for name, measure in MEASURES.items():
                sign = 1 if measure.greater_is_better else -1
                value = _mean(dataset, like or method, name) + sign * shift
                row[name] = max(value + 0.004 * rng.standard_normal(), 0.0)
            cost = {"fit_s": 2 + rng.random(), "predict_s": 0.2 * rng.random()}
            rows.append(row | cost | {"status": "ok", "error": ""})
    return rows


def paper_results(datasets=PAPER_DATASETS, methods=PAPER_METHODS, seed=0, **options):
    """Return results of the paper's comparison."""
    rng = np.random.default_rng(seed)
    rows = [row for d in datasets for m in methods for row in cells(d, m, rng, **options)]
    return pd.DataFrame(rows)


def full_results(seed=0):
    """Return results of all four groups, with a user's method, failures and gaps."""
    rng = np.random.default_rng(seed)
    rows = paper_results(seed=seed, n_repeats=1).to_dict("records")
    for dataset in ("yeast", "scene", "entertainment"):
        for method, shift in COMPONENTS.items():
            rows += cells(dataset, method, rng, like="vpcme", shift=shift, n_repeats=1)
    for dataset in ("yeast", "business"):
        for step in range(1, 11):
            method = f"vpcme@threshold={step / 10}"
            shift = -0.2 * (step / 10 - 0.55) ** 2
            rows += cells(dataset, method, rng, like="vpcme", shift=shift, n_repeats=1)
    for dataset in ("medical", "entertainment"):
        for size in (1, 10, 20, 30, 40, 50):
            rows += cells(dataset, f"vpcme@size={size}", rng, n_repeats=1)
    rows += cells("yeast", HOSTILE, rng, like="mlknn", shift=0.01, n_repeats=1)
    rows += cells("my data", "mlknn", rng, n_repeats=1)
    rows += cells("my data", "vpcme", rng, shift=0.02, n_repeats=1)
    frame = pd.DataFrame(rows)
    clr = frame["method"] == "clr"
    lost = clr & (frame["dataset"] == "enron")
    lost |= clr & (frame["dataset"] == "science") & (frame["fold"] == 3)
    frame.loc[lost, "status"] = "failed"
    frame.loc[lost, "error"] = "MemoryError: <b>no room</b>\n  in fit"
    frame.loc[lost, [*MEASURES, "fit_s", "predict_s"]] = np.nan
    return frame


ENVIRONMENT = {
    "labelkin": "0.1.0",
    "python": "3.11.9",
    "packages": {"numpy": "2.4.6", "scipy": "1.17.1", "scikit-learn": "1.9.1"},
    "cpu": "some <CPU> with 8 cores",
    "blas_threads": 1,
    "git": "67d571f",
}
