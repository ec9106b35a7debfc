"""VPCME with Θ = 0.6 and with the Θ that it chooses itself, on the paper's datasets.

    python benchmarks/threshold.py [--datasets yeast,business] [--folds 5] [--members 30]

Five fixed folds, of which the first `--folds` are taken. The choice is made inside each training
part, out of bag: no test label is seen. Average precision and Hamming loss in per cent, means
over the folds; then the seconds of a fit, and the Θ chosen in each fold.
"""

import argparse
import warnings
from itertools import islice

import numpy as np
from _common import PAPER, folds, load, machine, seconds

from labelkin import VPCMEClassifier
from labelkin.metrics import evaluate


def measure(model, X, Y, train, test):
    """Return average precision, Hamming loss and the seconds of the fit."""
    taken, _ = seconds(model.fit, X[train], Y[train])
    figures = evaluate(Y[test], model.predict_proba(X[test]), model.predict(X[test]))
    return 100 * figures["average_precision"], 100 * figures["hamming_loss"], taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--members", type=int, default=30)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="No two samples")
    print(machine())
    print(f"\n{'':14}{'average precision':^24}{'Hamming loss':^18}{'seconds':^16}")
    print(
        f"{'dataset':14}{'0.6':>7}{'auto':>8}{'gain':>8}{'0.6':>10}{'auto':>8}{'0.6':>8}{'auto':>8}"
        "   chosen"
    )
    gains = []
    for name in options.datasets.split(","):
        X, Y = load(name)
        rows, chosen = [], []
        for train, test in islice(folds(len(Y)), options.folds):
            fixed, auto = (
                VPCMEClassifier(n_estimators=options.members, threshold=threshold, random_state=0)
                for threshold in (0.6, "auto")
            )
            rows.append([measure(model, X, Y, train, test) for model in (fixed, auto)])
            chosen.append(auto.threshold_)
        ap, loss, taken = np.mean(rows, axis=0).T
        gains.append(ap[1] - ap[0])
        print(
            f"{name:14}{ap[0]:7.2f}{ap[1]:8.2f}{gains[-1]:+8.2f}{loss[0]:10.2f}{loss[1]:8.2f}"
            f"{taken[0]:8.1f}{taken[1]:8.1f}   {' '.join(f'{t:.2f}' for t in chosen)}",
            flush=True,
        )
    print(f"\nmean gain in average precision {np.mean(gains):+.2f}")


if __name__ == "__main__":
    main()
