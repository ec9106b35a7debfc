"""What methods that see no test labels reach on the paper's twelve datasets, five fixed folds.

    python benchmarks/frontier.py [--method krr] [--datasets yeast,scene] [--json FILE]

*measured* is the method; *krr+cal* a plain RBF kernel ridge, tuned and calibrated by leaving
one out, measured once on the same folds by other code; *better* by how much the method is
better than that, metric by metric (negative: worse); *published* the paper's Table 3 for
VPCME, and how many of its five cells the method beats. All but coverage are per cent. *fit* is
the mean time of a fit.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _common import PAPER, folds, load, machine, seconds

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.kin import KinEnsembleClassifier
from labelkin.metrics import METRICS, evaluate

SHOWN = ["hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision"]
SIGN = np.array([METRICS[m].sign for m in SHOWN])
UNIT = np.array([100 if METRICS[m].percent else 1 for m in SHOWN])

METHODS = {
    "kin": lambda: KinEnsembleClassifier(random_state=0),
    "krr": lambda: KernelRidgeLOOClassifier(random_state=0),
    "krr-laplacian": lambda: KernelRidgeLOOClassifier("laplacian", random_state=0),
    "mlknn": MLkNNClassifier,
    "vpcme": lambda: VPCMEClassifier(random_state=0),
}

# dataset: (published, krr+cal), each Hamming loss / ranking loss / one-error / coverage /
# average precision.
FIGURES = {
    "yeast": ("17.57 12.91 18.56 5.94 80.41", "18.61 15.19 21.23 6.05 78.26"),
    "scene": ("7.13 4.74 17.39 0.30 90.32", "6.81 4.80 15.37 0.32 91.06"),
    "enron": ("4.42 4.59 20.35 7.37 72.86", "4.42 7.40 21.27 11.53 71.97"),
    "genbase": ("0.47 0.20 1.09 0.27 99.32", "0.11 0.27 0.15 0.40 99.56"),
    "medical": ("1.25 1.70 16.16 1.16 89.83", "0.95 2.42 12.27 1.83 90.31"),
    "arts": ("5.89 9.14 42.74 3.69 63.41", "5.38 12.06 46.50 4.76 61.45"),
    "business": ("2.71 1.78 11.24 1.32 90.65", "2.41 3.33 10.30 2.04 89.40"),
    "education": ("3.79 5.45 45.30 2.52 65.93", "3.75 7.61 48.45 3.48 62.81"),
    "entertainment": ("5.62 7.02 39.36 2.13 71.54", "5.03 9.55 40.90 2.81 68.45"),
    "health": ("3.36 3.12 27.10 1.69 78.58", "3.19 4.13 25.70 2.55 79.27"),
    "science": ("3.42 6.60 49.52 3.70 58.83", "3.20 10.22 50.20 5.68 59.15"),
    "social": ("2.10 2.58 31.68 1.47 77.40", "1.96 5.47 29.10 3.03 77.17"),
}


def measure(name, method):
    """Return the five figures of each fold, (5, 5), and the seconds of each fit."""
    X, Y = load(name)
    figures, times = [], []
    for train, test in folds(len(Y)):
        took, model = seconds(METHODS[method]().fit, X[train], Y[train])
        values = evaluate(Y[test], model.predict_proba(X[test]), model.predict(X[test]))
        figures.append([values[m] for m in SHOWN])
        times.append(took)
    return np.array(figures) * UNIT, times


def cells(row, width=6, sign=""):
    return " ".join(f"{value:{sign}{width}.2f}" for value in row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=METHODS, default="krr")
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--json", type=Path, help="write the figures of every fold there")
    options = parser.parse_args()
    print(machine())
    print(f"{options.method}: " + " / ".join(m.replace("_", " ") for m in SHOWN) + "\n")
    heads = ["measured", "krr+cal", "better", "published"]
    print(f"{'dataset':14}" + "".join(f"{head:36}" for head in heads) + "beaten    fit")
    kept, gains, beaten = {}, [], 0
    for name in options.datasets.split(","):
        published, expected = (np.array(f.split(), dtype=float) for f in FIGURES[name])
        figures, times = measure(name, options.method)
        # Compared as they are written, to two places.
        measured = figures.mean(axis=0).round(2)
        gain = ((measured - expected) * SIGN).round(2) + 0.0
        above = int(((measured - published) * SIGN > 0).sum())
        gains.append(gain)
        beaten += above
        kept[name] = {"metrics": SHOWN, "folds": figures.tolist(), "fit_seconds": times}
        print(
            f"{name:14}{cells(measured):36}{cells(expected):36}{cells(gain, sign='+'):36}"
            f"{cells(published):36}{above:6}{np.mean(times):6.1f}s",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps({"method": options.method, "datasets": kept}))
    gains = np.array(gains)
    print(f"\n{'mean':14}{'':72}{cells(gains.mean(axis=0), sign='+')}")
    print(
        f"published cells beaten: {beaten} of {gains.size}; krr+cal: better in "
        f"{(gains > 0).sum()} cells, equal in {(gains == 0).sum()}, worse in {(gains < 0).sum()}, "
        f"by {-gains.min():.2f} at most"
    )


if __name__ == "__main__":
    main()
