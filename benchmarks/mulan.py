"""The compared methods beside Mulan's, on the same folds: figures and CPU seconds.

    python benchmarks/mulan.py [--learners CLR_fixed,RAkEL_k3] [--datasets yeast] [--scale]

Each figure is ours, in brackets how far from Mulan's, means over the five fixed folds; all but
coverage and seconds are per cent. *spread* is the standard deviation of Mulan's average precision
over the folds. Ties in a ranking are broken as Mulan does, the higher label index first; ties
between neighbours are not (ours go to the first row, WEKA's to an accident of its heap), and
RAkEL draws other labelsets. Seconds are the CPU time of one thread, to fit and to predict a
fold (for Mulan's ML-kNN and IBLR-ML on most datasets only wall seconds on a busy machine are
known, marked w). ``--scale`` measures 2,000 rows with 100 labels instead.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np
from _common import folds, load, machine
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from labelkin.metrics import METRICS, evaluate
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.transformation import (
    AdaBoostPDTClassifier,
    BinaryRelevanceClassifier,
    CalibratedLabelRankingClassifier,
    ChainClassifier,
    RAkELClassifier,
)


def dense(X):
    """Return the rows as a dense array."""
    return X.toarray() if sparse.issparse(X) else X


def scaled(model):
    """Return the model behind WEKA's scaling by the range of the training rows."""
    return make_pipeline(FunctionTransformer(dense, accept_sparse=True), MinMaxScaler(), model)


LEARNERS = {
    "MLkNN": lambda: scaled(MLkNNClassifier(n_jobs=1)),
    "MLkNN_raw": lambda: MLkNNClassifier(n_jobs=1),
    "IBLR_ML": lambda: scaled(IBLRClassifier(n_jobs=1)),
    "IBLR_ML_raw": lambda: IBLRClassifier(n_jobs=1),
    "BR": lambda: BinaryRelevanceClassifier(n_jobs=1),
    "CC": lambda: ChainClassifier(n_jobs=1),
    "CLR_fixed": lambda: CalibratedLabelRankingClassifier(n_jobs=1),
    "RAkEL_half": lambda: RAkELClassifier(n_jobs=1, random_state=0),
    "RAkEL_k3": lambda: RAkELClassifier(labelset_size=3, n_jobs=1, random_state=0),
}
MULAN = {
    "hamming_loss": "HammingLoss",
    "ranking_loss": "RankingLoss",
    "one_error": "OneError",
    "coverage": "Coverage",
    "average_precision": "AveragePrecision",
}
SHOWN = tuple(MULAN)
REFERENCE = Path(os.environ["LABELKIN_DATA"]).parent / "reference" / "mulan.json"


def break_ties(scores):
    """Return places from the bottom; of equal scores the higher label index is better."""
    return np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1)


def run_fold(model, X, Y, train, test):
    """Return the five figures and the CPU seconds."""
    started = time.process_time()
    model.fit(X[train], Y[train])
    labels, scores = model.predict(X[test]), model.predict_proba(X[test])
    seconds = time.process_time() - started
    figures = evaluate(Y[test], break_ties(scores), labels, metrics=SHOWN)
    return [*(_scaled(m, figures[m]) for m in SHOWN), seconds]


def _scaled(metric, value):
    return value * (100 if METRICS[metric].percent else 1)


def compare(learners, datasets):
    """Print the table."""
    reference = json.loads(REFERENCE.read_text())
    titles = [METRICS[m].title for m in SHOWN]
    print(f"{'learner':12}{'dataset':14}" + "".join(f"{title:>18}" for title in titles), end="")
    print(f"{'spread':>8}{'ours / Mulan, s':>20}{'faster':>9}")
    for learner in learners:
        make = LEARNERS[learner]
        make().fit(np.arange(8.0)[:, None], np.eye(8, 4, dtype=int))  # compile
        for name in [name for name in reference if learner in reference[name]]:
            if datasets and name not in datasets:
                continue
            theirs = {k: np.array(v) for k, v in reference[name][learner].items()}
            X, Y = load(name)
            *ours, taken = np.mean(
                [run_fold(make(), X, Y, *rows) for rows in folds(len(Y))], axis=0
            )
            cells = []
            for metric, value in zip(SHOWN, ours, strict=True):
                mulan = _scaled(metric, theirs[MULAN[metric]].mean())
                cells.append(f"{value:.2f} ({value - mulan:+.2f})")
            spread = 100 * theirs["AveragePrecision"].std(ddof=1)
            clock, mark = ("cpu_s", "") if "build_cpu_s" in theirs else ("s", "w")
            seconds = np.mean(theirs[f"build_{clock}"] + theirs[f"eval_{clock}"])
            print(f"{learner:12}{name:14}" + "".join(f"{c:>18}" for c in cells), end="")
            times = f"{taken:.2f} / {seconds:.2f}{mark}"
            print(f"{spread:8.2f}{times:>20}{seconds / taken:8.1f}x", flush=True)


def scale():
    """Print seconds and memory for 2,000 rows with 100 labels."""
    X, Y = make_multilabel_classification(2000, 100, n_classes=100, n_labels=5, random_state=0)
    models = [make() for make in LEARNERS.values()] + [AdaBoostPDTClassifier(n_jobs=1)]
    for model in models:
        started = time.process_time()
        model.fit(X, Y)
        fitted = time.process_time()
        model.predict(X)
        ended = time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{model!s:60} fit {fitted - started:6.1f} s, predict {ended - fitted:5.1f} s, "
            f"peak of the process so far {peak:.0f} MB",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--datasets", default="", help="default: all with figures")
    parser.add_argument("--scale", action="store_true")
    options = parser.parse_args()
    print(machine())
    if options.scale:
        scale()
    else:
        compare(options.learners.split(","), list(filter(None, options.datasets.split(","))))


if __name__ == "__main__":
    main()
