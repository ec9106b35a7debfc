"""How good the out-of-bag score is, what a bag costs, and what the bound on the weights does.

    python benchmarks/oob.py [--datasets yeast,scene] [--folds 5] [--members 30]

VPCME on the first `--folds` of the five fixed folds. *out of bag* is ``oob_score_``, seen in
training; *test* the same ensemble on the test rows; *no bag* the paper's ensemble there.
*heaviest* is the largest weight over the mean at the end, with the bound and *unguarded*.
Average precision and Hamming loss in per cent.
"""

import argparse
import warnings
from itertools import islice
from unittest import mock

import numpy as np
from _common import PAPER, folds, load, machine

from labelkin import VPCMEClassifier
from labelkin.metrics import evaluate


def fit(X, Y, members, bag, most_weight=5.0):
    with mock.patch("labelkin.ensemble._vpcme.MAX_WEIGHT", most_weight):
        return VPCMEClassifier(n_estimators=members, bag=bag, random_state=0).fit(X, Y)


def figures(model, X, Y):
    values = evaluate(Y, model.predict_proba(X), model.predict(X))
    weights = model.sample_weights_
    return [
        100 * values["average_precision"],
        100 * values["hamming_loss"],
        weights.max() / weights.mean(),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--members", type=int, default=30)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="No two samples|.*no out-of-bag prediction")
    print(machine())
    print(f"\n{'':14}{'average precision':^40}{'Hamming loss':^27}{'heaviest':^20}")
    print(
        f"{'dataset':14}{'out of bag':>11}{'test':>8}{'unguarded':>11}{'no bag':>8}"
        f"{'test':>10}{'unguarded':>11}{'no bag':>8}{'guarded':>10}{'not':>6}{'no bag':>8}"
    )
    for name in options.datasets.split(","):
        X, Y = load(name)
        rows = []
        for train, test in islice(folds(len(Y)), options.folds):
            models = [
                fit(X[train], Y[train], options.members, bag, most_weight)
                for bag, most_weight in ((0.6, 5.0), (0.6, np.inf), (None, 5.0))
            ]
            measured = np.array([figures(model, X[test], Y[test]) for model in models])
            rows.append(np.append(100 * models[0].oob_score_, measured.T.ravel()))
        v = np.mean(rows, axis=0)
        print(
            f"{name:14}{v[0]:11.2f}{v[1]:8.2f}{v[2]:11.2f}{v[3]:8.2f}"
            f"{v[4]:10.2f}{v[5]:11.2f}{v[6]:8.2f}{v[7]:10.1f}{v[8]:6.1f}{v[9]:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
