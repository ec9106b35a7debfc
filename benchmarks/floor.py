"""VPCME's fit over its floor: the arithmetic that no implementation can avoid.

    python benchmarks/floor.py [--datasets medical,enron,arts] [--repeats 3]

The floor of a member is one product Xᵀ·(sparse·X), one ``eigh`` (LAPACK's divide and conquer,
the driver "evd") of the size needed, X·W, and the blocked product of all distances; nothing
else: no draw of pairs, no selection of neighbours, no estimation. All of it is NumPy's BLAS:
SciPy's ``eigh`` brings a second one, whose idle threads slow the first, and would make the floor
nearly twice as high. Fit and floor alternate in the same process, the best of the repeats counts.
"""

import argparse

import numpy as np
from _common import PAPER, folds, load, machine, seconds

from labelkin import VPCMEClassifier
from labelkin.projection import TrainingRows, _laplacian


def floor(rows, laplacians, directions):
    """Do the unavoidable arithmetic of every member."""
    block = max(16, 2**20 // len(rows))
    for L, W in zip(laplacians, directions, strict=True):
        difference = rows.T @ (L @ rows)
        np.linalg.eigh(difference)
        Z = rows @ W
        for start in range(0, len(Z), block):
            Z[start : start + block] @ Z.T


def measure(name, repeats):
    """Return the seconds of the fit and of its floor, and the size of the eigenproblem."""
    X, Y = load(name)
    train, _ = next(folds(len(Y)))
    X, Y = X[train], Y[train]
    model = VPCMEClassifier(random_state=0).fit(X, Y)
    training = TrainingRows(X)
    laplacians = [
        _laplacian(p.cannot_link_, training.rows)
        - p.scaling_ * _laplacian(p.must_link_, training.rows)
        for p in model.projections_
    ]
    directions = [
        p.components_.T if training.basis is None else training.basis @ p.components_.T
        for p in model.projections_
    ]
    times = []
    for _ in range(repeats):
        fit, _ = seconds(VPCMEClassifier(random_state=0).fit, X, Y)
        least, _ = seconds(floor, training.rows, laplacians, directions)
        times.append((fit, least))
    return *np.min(times, axis=0), training.rows.shape[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine() + "\n")
    print(f"{'dataset':15}{'eigh size':>10}{'fit':>10}{'floor':>10}{'ratio':>8}")
    for name in options.datasets.split(","):
        fit, least, size = measure(name, options.repeats)
        print(f"{name:15}{size:10}{fit:9.2f}s{least:9.2f}s{fit / least:8.2f}", flush=True)


if __name__ == "__main__":
    main()
