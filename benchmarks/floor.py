"""VPCME's fit over its floor: the arithmetic that no implementation can avoid.

    python benchmarks/floor.py [--datasets medical,enron,arts] [--repeats 3] [--device cuda]
    python benchmarks/floor.py --member [--rows 200000] [--features 256] [--device cuda]

The floor of a member is one product Xᵀ·(sparse·X), one ``eigh`` (LAPACK's divide and conquer,
the driver "evd") of the size needed, X·W, and the blocked product of all distances; nothing
else: no draw of pairs, no selection of neighbours, no estimation. All of it is NumPy's BLAS:
SciPy's ``eigh`` brings a second one, whose idle threads slow the first, and would make the floor
nearly twice as high. Fit and floor alternate in the same process, the best of the repeats counts.
On a GPU the first product is that of the differences of the pairs, gathered beforehand.

With ``--member`` one member on synthetic rows is held against the product of all distances alone,
in blocks of the same size. One member is what each of three more than one add to a fit; what a fit
does once, for any number of members, has a line of its own.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse

import numpy as np
from _common import PAPER, folds, gpu, labelled_rows, load, machine, seconds, wait

from labelkin import VPCMEClassifier
from labelkin.projection._pairwise import TrainingRows
from labelkin.rows import (
    array_api_dispatch,
    move_to_device,
    namespace_and_device,
    rows_per_block,
)


def floor(rows, differences, directions):
    """Do the unavoidable arithmetic of every member, from the differences over all its pairs."""
    block = max(16, 2**20 // len(rows))
    for D, W in zip(differences, directions, strict=True):
        np.linalg.eigh(D.T @ D)
        Z = rows @ W
        for start in range(0, len(Z), block):
            Z[start : start + block] @ Z.T


def device_floor(rows, differences, directions):
    """Do the same on a device."""
    xp, _ = namespace_and_device(rows)
    for D, W in zip(differences, directions, strict=True):
        xp.linalg.eigh(D.T @ D)
        distances(rows @ W)
    wait("cuda")


def distances(Z):
    """Multiply all rows with each other, in blocks."""
    rows = rows_per_block(Z.shape[0], Z.device)
    for start in range(0, Z.shape[0], rows):
        Z @ Z[start : start + rows, :].T


def measure_on_device(name, repeats, device):
    """Return the seconds of the fit and of its floor, and the size of the eigenproblem."""
    X, Y = load(name)
    train, _ = next(folds(len(Y)))
    X, _ = move_to_device(X[train], None, device)
    Y = Y[train]
    xp, _ = namespace_and_device(X)

    def fit():
        model = VPCMEClassifier(random_state=0).fit(X, Y)
        wait(device)
        return model

    model, training = fit(), TrainingRows(X)
    rows = training.rows
    differences, directions = [], []
    for p in model.projections_:
        i, j = xp.concat([p.must_link_, p.cannot_link_]).T
        differences.append(xp.take(rows, i, axis=0) - xp.take(rows, j, axis=0))
        W = p.components_.T
        directions.append(W if training.basis is None else training.basis @ W)
    device_floor(rows, differences, directions)
    times = []
    for _ in range(repeats):
        taken, _ = seconds(fit)
        least, _ = seconds(device_floor, rows, differences, directions)
        times.append((taken, least))
    return *np.min(times, axis=0), rows.shape[1]


def member(options):
    """Hold one member on many rows against the product of all distances."""
    X, Y = labelled_rows(options.rows, options.features, 10)
    X, _ = move_to_device(X, None, options.device)

    def fit(members):
        model = VPCMEClassifier(n_estimators=members, random_state=0).fit(X, Y)
        wait(options.device)
        return model

    model = fit(1)
    Z = X @ model.projections_[0].components_.T
    counts = model.estimators_[0]._counts

    def product(matrix):
        distances(matrix)
        wait(options.device)

    def search():
        counts()
        wait(options.device)

    product(X)

    def best(function, *args):
        return min(seconds(function, *args)[0] for _ in range(options.repeats))

    one, four = best(fit, 1), best(fit, 4)
    each = (four - one) / 3
    times = {
        f"one member, {Z.shape[1]} dimensions": each,
        "preparation, once": one - each,
        "its neighbours and counts": best(search),
        "product in its dimensions": best(product, Z),
        "product in all dimensions": best(product, X),
    }
    print(f"{options.rows:,} × {options.features} rows")
    least = times["product in all dimensions"]
    for name, taken in times.items():
        print(f"{name:32}{taken:9.3f}s{taken / least:8.2f}")


def measure(name, repeats):
    """Return the seconds of the fit and of its floor, and the size of the eigenproblem."""
    X, Y = load(name)
    train, _ = next(folds(len(Y)))
    X, Y = X[train], Y[train]
    model = VPCMEClassifier(random_state=0).fit(X, Y)
    training = TrainingRows(X)
    pairs = [np.concatenate([p.must_link_, p.cannot_link_]).T for p in model.projections_]
    differences = [training.rows[i] - training.rows[j] for i, j in pairs]
    directions = [
        p.components_.T if training.basis is None else training.basis @ p.components_.T
        for p in model.projections_
    ]
    times = []
    for _ in range(repeats):
        fit, _ = seconds(VPCMEClassifier(random_state=0).fit, X, Y)
        least, _ = seconds(floor, training.rows, differences, directions)
        times.append((fit, least))
    return *np.min(times, axis=0), training.rows.shape[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--member", action="store_true")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=256)
    options = parser.parse_args()
    print(machine() + gpu(options.device) + "\n")
    if options.device == "cpu" and not options.member:
        report(options, measure)
        return
    with array_api_dispatch():
        if options.member:
            member(options)
        else:
            report(options, lambda *args: measure_on_device(*args, options.device))


def report(options, measure):
    """Print a line for each dataset."""
    print(f"{'dataset':15}{'eigh size':>10}{'fit':>10}{'floor':>10}{'ratio':>8}")
    for name in options.datasets.split(","):
        fit, least, size = measure(name, options.repeats)
        print(f"{name:15}{size:10}{fit:9.2f}s{least:9.2f}s{fit / least:8.2f}", flush=True)


if __name__ == "__main__":
    main()
