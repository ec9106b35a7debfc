"""The compared methods beside Mulan's, on the same folds: figures and CPU seconds.

    python benchmarks/transformations.py [--learners CLR_fixed,RAkEL_k3] [--scale]

Each cell is ours / Mulan's, means over the five fixed folds; *spread* is Mulan's standard
deviation over them. All but seconds are per cent. Ties in a ranking are broken as Mulan does,
the higher label index first; RAkEL draws other labelsets than Mulan. Seconds are the CPU
time of one thread, to fit and to predict a fold (for Mulan's IBLR-ML on most datasets only
wall seconds on a busy machine are known). ``--scale`` measures 2,000 rows with 100 labels
instead.
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

from labelkin.boosting import AdaBoostPDTClassifier
from labelkin.chains import BinaryRelevanceClassifier, ChainClassifier
from labelkin.labelsets import RAkELClassifier
from labelkin.metrics import average_precision, hamming_loss
from labelkin.neighbors import IBLRClassifier
from labelkin.ranking import CalibratedLabelRankingClassifier


def dense(X):
    """Return the rows as a dense array."""
    return X.toarray() if sparse.issparse(X) else X


LEARNERS = {
    "IBLR_ML": lambda: make_pipeline(
        FunctionTransformer(dense, accept_sparse=True), MinMaxScaler(), IBLRClassifier(n_jobs=1)
    ),
    "IBLR_ML_raw": lambda: IBLRClassifier(n_jobs=1),
    "BR": lambda: BinaryRelevanceClassifier(n_jobs=1),
    "CC": lambda: ChainClassifier(n_jobs=1),
    "CLR_fixed": lambda: CalibratedLabelRankingClassifier(n_jobs=1),
    "RAkEL_half": lambda: RAkELClassifier(n_jobs=1, random_state=0),
    "RAkEL_k3": lambda: RAkELClassifier(labelset_size=3, n_jobs=1, random_state=0),
}
REFERENCE = Path(os.environ["LABELKIN_DATA"]).parent / "reference" / "mulan.json"


def break_ties(scores):
    """Return places from the bottom; of equal scores the higher label index is better."""
    return np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1)


def run_fold(model, X, Y, train, test):
    """Return Hamming loss and average precision, per cent, and CPU seconds."""
    started = time.process_time()
    model.fit(X[train], Y[train])
    labels, scores = model.predict(X[test]), model.predict_proba(X[test])
    seconds = time.process_time() - started
    quality = hamming_loss(Y[test], labels), average_precision(Y[test], break_ties(scores))
    return 100 * quality[0], 100 * quality[1], seconds


def compare(learners):
    """Print the table."""
    reference = json.loads(REFERENCE.read_text())
    titles = "Hamming loss", "spread", "avg precision", "spread", "CPU seconds", "faster"
    print(f"{'learner':12}{'dataset':14}" + "".join(f"{title:>16}" for title in titles))
    for learner in learners:
        make = LEARNERS[learner]
        make().fit(np.arange(8.0)[:, None], np.eye(8, 4, dtype=int))  # compile
        for name in [name for name in reference if learner in reference[name]]:
            theirs = {k: np.array(v) for k, v in reference[name][learner].items()}
            X, Y = load(name)
            ours = np.mean([run_fold(make(), X, Y, *rows) for rows in folds(len(Y))], axis=0)
            cells = []
            for i, metric in enumerate(("HammingLoss", "AveragePrecision")):
                mulan = 100 * theirs[metric]
                cells += [f"{ours[i]:.2f} / {mulan.mean():.2f}", f"{mulan.std(ddof=1):.2f}"]
            clock = "cpu_s" if "build_cpu_s" in theirs else "s"
            seconds = np.mean(theirs[f"build_{clock}"] + theirs[f"eval_{clock}"])
            cells += [f"{ours[2]:.2f} / {seconds:.2f}", f"{seconds / ours[2]:.1f} x"]
            print(f"{learner:12}{name:14}" + "".join(f"{c:>16}" for c in cells), flush=True)


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
    parser.add_argument("--scale", action="store_true")
    options = parser.parse_args()
    print(machine())
    if options.scale:
        scale()
    else:
        compare(options.learners.split(","))


if __name__ == "__main__":
    main()
