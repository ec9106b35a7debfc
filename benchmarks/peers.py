"""Methods that other Python libraries have too, beside theirs in the same run.

    python benchmarks/peers.py [--datasets yeast,scene,medical,arts] [--repeats 3]
                               [--methods mlknn,rakel,...]

Fit and predict on one fixed fold, both sides on the same matrices, with the same parameters and,
where there is a base classifier, the same one: Gaussian naive Bayes, which is quick, so that the
time is mostly that of the method around it. Where it is not, in RAkEL with its many small
problems, a second line has a base that does nothing. *times* is theirs over ours; AP is the
average precision of the probabilities, or of the label sets where a peer gives no others.
scikit-multilearn-ng is pure Python around NumPy; scikit-learn's chains are what ours are held
equal to. IBLR-ML has no Python peer known to us, and no other library here has BOOMER's method or
BOOMER ours.
"""

import argparse
import warnings

import numpy as np
from _common import folds, load, machine, seconds
from scipy import sparse
from sklearn.dummy import DummyClassifier
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


def estimator(make):
    """Return a function that fits and predicts."""

    def run(X, Y, Q):
        model = make(Y.shape[1]).fit(X, Y)
        return model.predict_proba(Q) if hasattr(model, "predict_proba") else model.predict(Q)

    return run


def skmultilearn(path, **options):
    """Return a maker of one of scikit-multilearn-ng's classifiers."""
    module, _, name = path.rpartition(".")

    def make(q):
        found = getattr(__import__(f"skmultilearn.{module}", fromlist=[name]), name)
        return found(**{k: v(q) if callable(v) else v for k, v in options.items()})

    return make


def folds_of(split):
    """Return a function that splits, for the table's sake of the form of an estimator's."""

    def run(X, Y, Q):
        list(split(X, Y))
        return None

    return run


def their_folds(X, Y):
    from skmultilearn.model_selection import IterativeStratification

    return IterativeStratification(n_splits=5, order=1).split(X, Y)


def base(q):
    return GaussianNB()


# Name: ours, theirs, whose, whether theirs wants sparse matrices.
METHODS = {
    "ML-kNN": (
        estimator(lambda q: MLkNNClassifier(n_neighbors=10)),
        estimator(skmultilearn("adapt.MLkNN", k=10, s=1.0)),
        "skmultilearn-ng",
        True,
    ),
    "disjoint RAkEL": (
        estimator(
            lambda q: RAkELClassifier(
                GaussianNB(), labelset_size=3, overlapping=False, random_state=0
            )
        ),
        # Their overlapping RakelO fails on the current scikit-learn.
        estimator(
            skmultilearn(
                "ensemble.RakelD",
                base_classifier=base,
                base_classifier_require_dense=lambda q: [True, True],
                labelset_size=3,
            )
        ),
        "skmultilearn-ng",
        True,
    ),
    "RAkEL idle base": (
        estimator(
            lambda q: RAkELClassifier(
                DummyClassifier(), labelset_size=3, overlapping=False, random_state=0
            )
        ),
        estimator(
            skmultilearn(
                "ensemble.RakelD",
                base_classifier=lambda q: DummyClassifier(),
                base_classifier_require_dense=lambda q: [True, True],
                labelset_size=3,
            )
        ),
        "skmultilearn-ng",
        True,
    ),
    "label powerset": (
        estimator(lambda q: LabelPowersetClassifier(GaussianNB())),
        estimator(
            skmultilearn(
                "problem_transform.LabelPowerset",
                classifier=base,
                require_dense=lambda q: [True, True],
            )
        ),
        "skmultilearn-ng",
        True,
    ),
    "binary relevance": (
        estimator(lambda q: BinaryRelevanceClassifier(GaussianNB())),
        estimator(
            skmultilearn(
                "problem_transform.BinaryRelevance",
                classifier=base,
                require_dense=lambda q: [True, True],
            )
        ),
        "skmultilearn-ng",
        True,
    ),
    "chain": (
        estimator(lambda q: ChainClassifier(GaussianNB(), order=list(range(q)))),
        estimator(
            skmultilearn(
                "problem_transform.ClassifierChain",
                classifier=base,
                require_dense=lambda q: [True, True],
            )
        ),
        "skmultilearn-ng",
        True,
    ),
    "chain ": (
        estimator(lambda q: ChainClassifier(GaussianNB(), order=list(range(q)))),
        estimator(lambda q: ClassifierChain(GaussianNB())),
        "scikit-learn",
        False,
    ),
    "stratified folds": (
        folds_of(lambda X, Y: IterativeStratifiedKFold(5, random_state=0).split(X, Y)),
        folds_of(their_folds),
        "skmultilearn-ng",
        False,
    ),
}


def measure(run, X, Y, train, test, repeats):
    """Return the best time, and the average precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [seconds(run, X[train], Y[train], X[test]) for _ in range(repeats)]
    proba = runs[0][1]
    if proba is None:
        return min(taken for taken, _ in runs), np.nan
    proba = proba.toarray() if sparse.issparse(proba) else np.asarray(proba)
    truth = Y[test].toarray() if sparse.issparse(Y) else Y[test]
    return min(taken for taken, _ in runs), 100 * average_precision(truth, proba)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="yeast,scene,medical,arts")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine() + "\n")
    print(f"{'method':18}{'dataset':12}{'labelkin':>11}{'AP':>8}  {'peer':27}{'AP':>8}{'times':>9}")
    for method in options.methods.split(","):
        ours, theirs, whose, wants_sparse = METHODS[method]
        for name in options.datasets.split(","):
            X, Y = load(name)
            Y = (Y.toarray() if sparse.issparse(Y) else np.asarray(Y)).astype(np.int64)
            train, test = next(folds(len(Y)))
            # Labels constant in the training part fail scikit-learn's chain: leave them out.
            live = (Y[train].min(axis=0) < Y[train].max(axis=0)).nonzero()[0]
            Y = Y[:, live]
            X = X if method == "ML-kNN" else (X.toarray() if sparse.issparse(X) else X)
            there = (sparse.csr_matrix(X), sparse.csr_matrix(Y)) if wants_sparse else (X, Y)
            mine, my_score = measure(ours, X, Y, train, test, options.repeats)
            try:
                other, score = measure(theirs, *there, train, test, options.repeats)
            except Exception as error:
                row = f"{method:18}{name:12}{mine:10.3f}s{my_score:8.2f}  {whose:17}"
                print(f"{row}fails: {error!r:.60}", flush=True)
                continue
            print(
                f"{method:18}{name:12}{mine:10.3f}s{my_score:8.2f}  {whose:17}{other:9.3f}s"
                f"{score:8.2f}{other / mine:8.1f}×",
                flush=True,
            )


if __name__ == "__main__":
    main()
