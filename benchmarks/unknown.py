"""Unknown labels: Kin on the known ones, beside zeros in their place and one model per label.

    python benchmarks/unknown.py [--datasets yeast scene] [--rows 500] [--folds 0 1] [--inner]

A share of the cells of the training labels is hidden at random, or each label is known in a third
of the rows only, another third for each label. Figures are average precision in percent on complete
test rows and CPU seconds of training and prediction, means over fixed folds, with other cells
hidden in each:

- Kin with NaN in the hidden cells;
- Kin with 0 there;
- logistic regression of scikit-learn, one label at a time, on the rows where it is known;
- LightGBM the same way, where it is installed.

A dataset may also be an ``.npz`` file with ``X`` and ``y``, whose own unknown labels are NaN: with
``--hidden "0 %"`` nothing else is hidden. ``--metric macro_auc`` is what assays are judged by.

"ahead" is Kin's lead over zeros, with the standard error of its mean over the folds. With
``--inner`` the test rows are a fifth of the training part of a fold: for development.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _common import folds, machine
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelkin import KinEnsembleClassifier
from labelkin.metrics import METRICS

DATASETS = ["chd_49", "water_quality", "genbase", "medical", "enron", "yeast", "scene"]
HIDDEN = {"0 %": 0.0, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75, "90 %": 0.9, "labels": None}


def load(name):
    """Return X and Y of a stored dataset (Yahoo: the training documents), or of a file."""
    if name.endswith(".npz"):
        with np.load(name) as stored:
            return stored["X"], stored["y"]
    with np.load(Path(os.environ["LABELKIN_DATA"]) / f"{name}.npz") as stored:
        parts = stored["X_data"], stored["X_indices"], stored["X_indptr"]
        X, Y = sparse.csr_array(parts, shape=stored["X_shape"]).astype(float), stored["Y"]
        rows = np.flatnonzero(stored["split"] == 0) if len(Y) == 5000 else np.arange(len(Y))
    return X[rows], Y[rows].astype(int)


def hide(Y, share, seed=0):
    """Return which cells stay known; None: each label in a third of the rows of its own."""
    rng = np.random.default_rng(seed)
    if share is not None:
        return (rng.random(Y.shape) >= share) & ~np.isnan(Y)
    return rng.permuted(np.tile(np.arange(len(Y))[:, None] % 3, Y.shape[1]), axis=0) == 0


def fit_each_label(make, X, Y, known, queries):
    """Return the probabilities of one model per label, fitted to the rows where it is known."""
    proba = np.empty((queries.shape[0], Y.shape[1]))
    for label in range(Y.shape[1]):
        rows = np.flatnonzero(known[:, label])
        y = Y[rows, label]
        if len(rows) and y.min() < y.max():
            proba[:, label] = make().fit(X[rows], y).predict_proba(queries)[:, 1]
        else:  # the prior
            proba[:, label] = (1 + y.sum()) / (2 + len(y))
    return proba


def methods():
    """Return functions of training rows, labels, known cells and queries, by name."""

    def kin(X, y, queries):
        return KinEnsembleClassifier(random_state=0, n_jobs=1).fit(X, y).predict_proba(queries)

    def logistic():
        return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))

    found = {
        "Kin": lambda X, Y, known, Q: kin(X, np.where(known, Y, np.nan), Q),
        "Kin, zeros": lambda X, Y, known, Q: kin(X, np.where(known, Y, 0), Q),
        "logistic": lambda X, Y, known, Q: fit_each_label(logistic, X, Y, known, Q),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found

    def boosted():
        return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)

    found["LightGBM"] = lambda X, Y, known, Q: fit_each_label(boosted, X, Y, known, Q)
    return found


def main():
    """Print one line for each dataset and share of hidden cells."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--hidden", nargs="+", choices=HIDDEN, default=list(HIDDEN))
    parser.add_argument("--rows", type=int, default=500, help="training rows, at most")
    parser.add_argument("--folds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", choices=methods(), default=list(methods()))
    parser.add_argument("--metric", choices=METRICS, default="average_precision")
    parser.add_argument("--inner", action="store_true", help="test inside the training part")
    options = parser.parse_args()
    chosen = {name: methods()[name] for name in options.methods}
    print(machine())
    print(f"{'dataset':<16}{'hidden':<8}" + "".join(f"{name:>20}" for name in chosen))
    for name in options.datasets:
        X, Y = load(name)
        for hidden in options.hidden:
            found = [run(X, Y, fold, hidden, chosen, options) for fold in options.folds]
            figures, seconds = (np.mean(part, axis=0) for part in zip(*found, strict=True))
            cells = zip(figures, seconds, strict=True)
            line = "".join(f"{figure:11.2f}{took:7.1f} s" for figure, took in cells)
            if {"Kin", "Kin, zeros"} <= set(chosen):
                index = [list(chosen).index(one) for one in ("Kin", "Kin, zeros")]
                ahead = np.array([one[index[0]] - one[index[1]] for one, _ in found])
                error = ahead.std(ddof=1) / len(ahead) ** 0.5 if len(ahead) > 1 else np.nan
                line += f"   ahead {ahead.mean():+.2f} ± {error:.2f}"
            print(f"{name:<16}{hidden:<8}{line}", flush=True)


def run(X, Y, fold, hidden, chosen, options):
    """Return the average precision of each method on the test rows of a fold, and CPU seconds."""
    train, test = list(folds(len(Y)))[fold]
    if options.inner:
        inner, held_out = next(folds(len(train), repeat=1))
        train, test = train[inner], train[held_out]
    train = np.random.default_rng(0).permutation(train)[: options.rows]
    known = hide(Y[train], HIDDEN[hidden], seed=fold)
    figures, seconds = [], []
    for fit_and_predict in chosen.values():
        started = time.process_time()
        proba = fit_and_predict(X[train], Y[train], known, X[test])
        seconds.append(time.process_time() - started)
        figures.append(100 * METRICS[options.metric](Y[test], proba))
    return np.array(figures), np.array(seconds)


if __name__ == "__main__":
    main()
