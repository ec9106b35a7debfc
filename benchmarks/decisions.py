"""What a decision for a metric gains over one half, on the five fixed folds.

    python benchmarks/decisions.py [--datasets yeast,scene] [--members 10]

ML-kNN (leave-one-out scores) and VPCME (five-fold out-of-fold scores, inside the training
part). *own* is the model's own predict. The scores are the same in every row; all figures are
per cent. The decision is learned without the test part.
"""

import argparse

import numpy as np
from _common import folds, load, machine

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.decisions import DECISIONS, DecisionClassifier, LabelDecision
from labelkin.metrics import METRICS

SHOWN = ["hamming_loss", "f1", "jaccard", "micro_f1", "macro_f1", "subset_accuracy"]


def measure(name, model):
    """Return the figures of every decision, means over the folds."""
    X, Y = load(name)
    rows = {}
    for train, test in folds(len(Y)):
        fitted = DecisionClassifier(model, random_state=0).fit(X[train], Y[train])
        scores = fitted.predict_proba(X[test])
        sets = {"own": fitted.estimator_.predict(X[test])}
        for decision in DECISIONS:
            learned = LabelDecision(decision).fit(fitted.training_scores_, Y[train])
            sets[decision] = learned.apply(scores)
        for decision, labels in sets.items():
            figures = [100 * METRICS[m](Y[test], labels) for m in SHOWN]
            rows.setdefault(decision, []).append(figures)
    return {decision: np.mean(figures, axis=0) for decision, figures in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="yeast,scene,enron,medical,arts")
    parser.add_argument("--members", type=int, default=10)
    options = parser.parse_args()
    print(machine())
    models = {
        "ML-kNN": MLkNNClassifier(),
        "VPCME": VPCMEClassifier(n_estimators=options.members, random_state=0),
    }
    for name in options.datasets.split(","):
        for title, model in models.items():
            print(f"\n{f'{name}, {title}':20}" + "".join(f"{METRICS[m].title:>16}" for m in SHOWN))
            for decision, figures in measure(name, model).items():
                print(f"{decision:20}" + "".join(f"{v:16.2f}" for v in figures), flush=True)


if __name__ == "__main__":
    main()
