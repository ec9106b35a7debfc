"""C4.5: time to fit against scikit-learn's tree, and binary relevance against Mulan's J48.

The data are those of the reference figures (LABELKIN_DATA, else ../shared/datasets).
Times are the best of three after compilation, summed over a dataset's most frequent labels.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from labelkin.tree import C45TreeClassifier
from labelkin.tree._presorted import PresortedMatrix

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LABELKIN_DATA", ROOT.parent / "shared" / "datasets"))
REFERENCE = DATA.parent / "reference" / "mulan.json"
NAMES = ("yeast", "scene", "medical", "enron", "genbase")
N_LABELS = 4


def load(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return X (sparse when mostly zero) and Y."""
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as z:
        X = sp.csr_array((z["X_data"], z["X_indices"], z["X_indptr"]), shape=tuple(z["X_shape"]))
        Y = z["Y"].astype(int)
    return (X.toarray() if X.nnz > 0.5 * np.prod(X.shape) else X), Y


def best_time(action: Callable[..., object], *arguments: Any) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        action(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def compare_fit_times() -> None:
    print(f"fit, ms a tree (mean of {N_LABELS} labels); ratio to scikit-learn, target ≤ 3")
    print(f"{'':10}{'sklearn':>10}{'C4.5':>10}{'ratio':>8}{'presorted':>12}{'ratio':>8}")
    for name in NAMES:
        X, Y = load(name)
        matrix, total = PresortedMatrix.from_matrix(X), np.zeros(3)
        for j in np.argsort(-Y.sum(axis=0), kind="stable")[:N_LABELS]:
            y, ours = Y[:, j], C45TreeClassifier(nominal_features="binary")
            theirs = DecisionTreeClassifier(criterion="entropy", random_state=0)
            total += [
                best_time(theirs.fit, X, y),
                best_time(ours.fit, X, y),
                best_time(ours._fit_presorted, matrix, y),
            ]
        sk, fit, presorted = 1e3 * total / N_LABELS
        print(
            f"{name:10}{sk:>10.1f}{fit:>10.1f}{fit / sk:>8.2f}"
            f"{presorted:>12.1f}{presorted / sk:>8.2f}"
        )


def binary_relevance(name: str) -> tuple[float, float]:
    """Mean Hamming loss over the reference folds, and CPU seconds to build one of them."""
    X, Y = load(name)
    losses, seconds = [], 0.0
    for test in np.array_split(np.random.default_rng(0).permutation(len(Y)), 5):
        train = np.setdiff1d(np.arange(len(Y)), test)
        start = time.process_time()
        matrix = PresortedMatrix.from_matrix(X[train])
        trees = [
            C45TreeClassifier(nominal_features="binary")._fit_presorted(matrix, labels)
            for labels in Y[train].T
        ]
        seconds += time.process_time() - start
        # The share of the last class; of a constant label, whether that class is 1.
        shares = [t.predict_proba(X[test])[:, -1] * t.classes_[-1] for t in trees]
        losses.append(np.mean((np.column_stack(shares) >= 0.5) != Y[test]))
    return float(np.mean(losses)), seconds / 5


def compare_binary_relevance() -> None:
    if not REFERENCE.exists():
        print("no reference figures: the comparison with Mulan is left out")
        return
    reference = json.loads(REFERENCE.read_text())
    print("binary relevance: Hamming loss (%) over five folds, CPU seconds to build one")
    print(f"{'':10}{'Mulan':>10}{'ours':>10}{'Mulan s':>12}{'ours s':>10}{'faster':>10}")
    for name in NAMES:
        mulan = reference[name]["BR"]
        loss, seconds = binary_relevance(name)
        theirs = float(np.mean(mulan["build_cpu_s"]))
        print(
            f"{name:10}{100 * np.mean(mulan['HammingLoss']):>10.3f}{100 * loss:>10.3f}"
            f"{theirs:>12.2f}{seconds:>10.2f}{theirs / seconds:>9.0f}x"
        )


if __name__ == "__main__":
    if not DATA.exists():
        raise SystemExit(f"no datasets at {DATA}: set LABELKIN_DATA to their folder")
    start = time.perf_counter()
    C45TreeClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])
    print(f"compiling or loading the kernels: {time.perf_counter() - start:.1f} s")
    compare_fit_times()
    compare_binary_relevance()
