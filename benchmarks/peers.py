"""Methods that other Python libraries have too, beside theirs in the same run.

    python benchmarks/peers.py [--datasets yeast,scene,...] [--methods "ML-kNN,chain,..."]
                               [--repeats 3]

Fit and predict on one fixed fold, both sides in turn on the same matrices, with the same
parameters and, where there is a base classifier, the same one: scikit-learn's Gaussian naive
Bayes, or an idle one. The least of the repeats counts. *times* is theirs over ours.

Around a base classifier neither side can be quicker than its classifiers alone. So a stopwatch
runs inside the base's own fit and predict: *base* is what it reads in our run with one thread, and
*own* what is left of each side's time without it, theirs over ours at the end. AP is the average
precision of the probabilities, or of the label sets where a peer gives no others.

scikit-multilearn-ng and iterative-stratification are pure Python around NumPy; scikit-learn's
chains are what ours are held equal to. IBLR-ML has no Python peer known to us, and no other
library here has BOOMER's method or BOOMER ours.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from time import perf_counter

import numpy as np
from _common import PAPER, folds, load, machine, seconds
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB

from labelkin import (
    BinaryRelevanceClassifier,
    ChainClassifier,
    LabelPowersetClassifier,
    MLkNNClassifier,
    RAkELClassifier,
)
from labelkin.metrics import average_precision
from labelkin.model_selection import IterativeStratifiedKFold


class Idle(ClassifierMixin, BaseEstimator):
    """Counts the classes and predicts the same for every row.

    scikit-learn's DummyClassifier does so too, but is not idle: seeded, it makes a random
    generator in every call, which takes longer than all the rest.
    """

    def fit(self, X, y):  # noqa: D102
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / len(y)
        return self

    def predict_proba(self, X):  # noqa: D102
        return np.tile(self.shares_, (X.shape[0], 1))

    def predict(self, X):  # noqa: D102
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Stopwatch:
    """Runs while inside a class's fit or predict, in one thread; calls within calls count once."""

    def __init__(self, watched):
        self.reset()
        for name in ("fit", "predict", "predict_proba") if watched else ():
            setattr(watched, name, self._timed(getattr(watched, name)))

    def reset(self):
        """Go back to zero."""
        self.spent, self.depth = 0.0, 0

    def _timed(self, method):
        @wraps(method)
        def run(*args, **options):
            self.depth += 1
            started = perf_counter()
            try:
                return method(*args, **options)
            finally:
                self.depth -= 1
                self.spent += 0 if self.depth else perf_counter() - started

        return run


@dataclass
class Method:
    """A method here and elsewhere: functions of X, Y, queries and, ours, n_jobs."""

    ours: Callable
    theirs: Callable
    peer: str
    base: type | None = None
    wants_sparse: bool = True
    fits: bool = True  # or it splits the whole dataset


def answer(model, X, Y, Q):
    """Fit and predict."""
    model = model.fit(X, Y)
    return model.predict_proba(Q) if hasattr(model, "predict_proba") else model.predict(Q)


def skmultilearn(path, **options):
    """Return a function that fits one of scikit-multilearn-ng's classifiers and predicts."""
    module, _, name = path.rpartition(".")

    def run(X, Y, Q):
        found = getattr(__import__(f"skmultilearn.{module}", fromlist=[name]), name)
        return answer(found(**options), X, Y, Q)

    return run


def disjoint_rakel(base):
    """Return RAkEL on disjoint labelsets; their overlapping one fails on this scikit-learn."""
    return Method(
        lambda X, Y, Q, n_jobs: answer(
            RAkELClassifier(
                base(), labelset_size=3, overlapping=False, random_state=0, n_jobs=n_jobs
            ),
            *(X, Y, Q),
        ),
        skmultilearn(
            "ensemble.RakelD",
            base_classifier=base(),
            base_classifier_require_dense=[True, True],
            labelset_size=3,
        ),
        "skmultilearn-ng",
        base,
    )


def transformed(ours, theirs, base=GaussianNB):
    """Return a transformation of the problem, from one of our classes and one of theirs."""
    return Method(
        lambda X, Y, Q, n_jobs: answer(ours(base(), n_jobs=n_jobs), X, Y, Q),
        skmultilearn(f"problem_transform.{theirs}", classifier=base(), require_dense=[True, True]),
        "skmultilearn-ng",
        base,
    )


def our_folds(X, Y, Q, n_jobs):
    list(IterativeStratifiedKFold(5, random_state=0).split(X, Y))


def skmultilearn_folds(X, Y, Q):
    from skmultilearn.model_selection import IterativeStratification

    list(IterativeStratification(n_splits=5, order=1).split(X, Y))


def iterstrat_folds(X, Y, Q):
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    list(MultilabelStratifiedKFold(5, shuffle=True, random_state=0).split(X, Y))


CHAIN = transformed(ChainClassifier, "ClassifierChain")
METHODS = {
    "ML-kNN": Method(
        lambda X, Y, Q, n_jobs: answer(MLkNNClassifier(n_neighbors=10, n_jobs=n_jobs), X, Y, Q),
        skmultilearn("adapt.MLkNN", k=10, s=1.0),
        "skmultilearn-ng",
    ),
    "RAkEL idle base": disjoint_rakel(Idle),
    "disjoint RAkEL": disjoint_rakel(GaussianNB),
    "powerset idle base": transformed(LabelPowersetClassifier, "LabelPowerset", Idle),
    "label powerset": transformed(LabelPowersetClassifier, "LabelPowerset"),
    "binary relevance": transformed(BinaryRelevanceClassifier, "BinaryRelevance"),
    "chain": CHAIN,
    "scikit-learn chain": Method(
        CHAIN.ours,
        lambda X, Y, Q: answer(ClassifierChain(GaussianNB()), X, Y, Q),
        "scikit-learn",
        GaussianNB,
        wants_sparse=False,
    ),
    "stratified folds": Method(
        our_folds, skmultilearn_folds, "skmultilearn-ng", wants_sparse=False, fits=False
    ),
    "folds of iterstrat": Method(
        our_folds, iterstrat_folds, "iterative-strat.", wants_sparse=False, fits=False
    ),
}


@dataclass
class Least:
    """The least seconds of several runs: in all, inside the base, and outside it."""

    total: float = np.inf
    base: float = np.inf
    own: float = np.inf
    precision: float = np.nan

    def time(self, stopwatch, truth, run, *args):
        """Run once."""
        stopwatch.reset()
        taken, proba = seconds(run, *args)
        self.total = min(self.total, taken)
        self.base = min(self.base, stopwatch.spent)
        self.own = min(self.own, taken - stopwatch.spent)
        if proba is not None:
            dense = proba.toarray() if sparse.issparse(proba) else np.asarray(proba)
            self.precision = 100 * average_precision(truth, dense)


def data(name, keep_sparse):
    """Return X and Y, X as it came or dense, and the training and test rows of one fold."""
    X, Y = load(name)
    Y = (Y.toarray() if sparse.issparse(Y) else np.asarray(Y)).astype(np.int64)
    train, test = next(folds(len(Y)))
    # Labels constant in the training part fail scikit-learn's chain: leave them out.
    Y = Y[:, Y[train].min(axis=0) < Y[train].max(axis=0)]
    return X if keep_sparse or not sparse.issparse(X) else X.toarray(), Y, train, test


def compare(method, stopwatch, X, Y, train, test, repeats):
    """Return the times of ours, ours in one thread, and theirs, taken in turn."""
    here = (X[train], Y[train], X[test]) if method.fits else (X, Y, X)
    there = tuple(map(sparse.csr_matrix, here)) if method.wants_sparse else here
    threads, one, peer = Least(), Least(), Least()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            threads.time(stopwatch, Y[test], method.ours, *here, None)
            one.time(stopwatch, Y[test], method.ours, *here, 1)
            peer.time(stopwatch, Y[test], method.theirs, *there)
    return threads, one, peer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine() + "; milliseconds\n")
    print(
        f"{'method':19}{'dataset':14}{'labelkin':>9}{'AP':>7}  {'peer':16}{'':>9}{'AP':>7}"
        f"{'times':>8}{'base':>9}{'own':>8}{'theirs':>9}{'times':>8}"
    )
    stopwatches = {base: Stopwatch(base) for base in (None, Idle, GaussianNB)}
    for title in options.methods.split(","):
        method = METHODS[title]
        for name in options.datasets.split(","):
            row = f"{title:19}{name:14}"
            try:
                parts = data(name, keep_sparse=method.base is None)
                ours, one, peer = compare(method, stopwatches[method.base], *parts, options.repeats)
            except Exception as error:
                print(f"{row}{method.peer} fails: {error!r:.60}", flush=True)
                continue
            row += f"{1e3 * ours.total:9.1f}{ours.precision:7.2f}  {method.peer:16}"
            row += f"{1e3 * peer.total:9.1f}{peer.precision:7.2f}{peer.total / ours.total:7.1f}×"
            if method.base is not None:
                row += f"{1e3 * one.base:9.1f}{1e3 * one.own:8.1f}{1e3 * peer.own:9.1f}"
                row += f"{peer.own / one.own:7.1f}×"
            print(row, flush=True)


if __name__ == "__main__":
    main()
