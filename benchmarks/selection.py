"""ML-kNN against the number of features kept, by several ways to choose them.

    python benchmarks/selection.py [--datasets yeast,scene] [--figure selection.png]

Five fixed folds; the features are chosen inside the training part. Figures are means over the
folds, per cent. *constraints* is SelectByConstraints;
mutual information (quintiles; words: present or not) and chi-square (features between 0 and 1)
are means over the labels; *random* is one permutation a fold.
"""

import argparse

import numpy as np
from _common import folds, load, machine
from scipy import sparse
from sklearn.feature_selection import chi2
from sklearn.preprocessing import KBinsDiscretizer, MaxAbsScaler, MinMaxScaler

from labelkin import MLkNNClassifier
from labelkin.metrics import METRICS
from labelkin.projection import SelectByConstraints

SHARES = [5, 10, 20, 40, 60, 80, 100]
SHOWN = ["average_precision", "hamming_loss"]


def by_constraints(X, Y, seed):
    return -SelectByConstraints(random_state=seed).fit(X, Y).ranking_


def by_mutual_information(X, Y, seed):
    """Mean over the labels of the mutual information with the discretised feature."""
    if sparse.issparse(X):
        present = (X > 0).toarray()
        bins = [present, ~present]
    else:
        cutter = KBinsDiscretizer(
            5, encode="ordinal", quantile_method="averaged_inverted_cdf", subsample=None
        )
        codes = cutter.fit_transform(X)
        bins = [codes == code for code in range(5)]
    total = 0
    for inside in bins:
        weight = inside.mean(axis=0)[:, None]
        for labels in (Y, 1 - Y):
            joint = inside.T.astype(float) @ labels / len(Y)
            alone = weight * labels.mean(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                total = total + np.where(joint > 0, joint * np.log(joint / alone), 0)
    return total.mean(axis=1)


def by_chi_square(X, Y, seed):
    X = (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()).fit_transform(X)
    varied = [label for label in Y.T if 0 < label.sum() < len(label)]
    return np.mean([np.nan_to_num(chi2(X, label)[0]) for label in varied], axis=0)


def at_random(X, Y, seed):
    return np.random.default_rng(seed).random(X.shape[1])


WAYS = {
    "constraints": by_constraints,
    "mutual information": by_mutual_information,
    "chi-square": by_chi_square,
    "random": at_random,
}


def measure(name):
    """Return the figures, (way, share kept, metric), means over the folds."""
    X, Y = load(name)
    runs = []
    for seed, (train, test) in enumerate(folds(len(Y))):
        figures = np.empty((len(WAYS), len(SHARES), len(SHOWN)))
        for i, score in enumerate(WAYS.values()):
            order = np.argsort(-score(X[train], Y[train], seed), kind="stable")
            for j, share in enumerate(SHARES):
                kept = np.sort(order[: max(1, round(share / 100 * X.shape[1]))])
                model = MLkNNClassifier().fit(X[train][:, kept], Y[train])
                proba = model.predict_proba(X[test][:, kept])
                given = {"score": proba, "label": proba > 0.5}
                figures[i, j] = [100 * METRICS[m](Y[test], given[METRICS[m].needs]) for m in SHOWN]
        runs.append(figures)
    return np.mean(runs, axis=0)


def draw(results, path):
    """Draw one row of panels per metric and one column per dataset."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ["#0072B2", "#D55E00", "#E69F00", "#999999"]  # safe for colour-blind
    figure, axes = plt.subplots(
        len(SHOWN),
        len(results),
        figsize=(3 * len(results), 5),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for column, (name, figures) in enumerate(results.items()):
        for row in range(len(SHOWN)):
            axis = axes[row, column]
            for way, colour, values in zip(WAYS, colours, figures[:, :, row], strict=True):
                style = "--" if way == "random" else "-"
                axis.plot(SHARES, values, style, color=colour, marker="o", ms=3, label=way)
            axis.grid(alpha=0.3)
            axis.set_title(name if row == 0 else None)
        axes[-1, column].set_xlabel("features kept, %")
    for row, metric in enumerate(SHOWN):
        axes[row, 0].set_ylabel(f"{METRICS[metric].title} {METRICS[metric].arrow}, %")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(WAYS), frameon=False)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="yeast,scene,medical,arts")
    parser.add_argument("--figure")
    options = parser.parse_args()
    print(machine())
    results = {}
    for name in options.datasets.split(","):
        results[name] = measure(name)
        for m, metric in enumerate(SHOWN):
            title = f"{name}, {METRICS[metric].title}"
            print(f"\n{title:28}" + "".join(f"{share:6} %" for share in SHARES))
            for way, values in zip(WAYS, results[name][:, :, m], strict=True):
                print(f"{way:28}" + "".join(f"{value:8.2f}" for value in values), flush=True)
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
