"""Kin on large synthetic tables: seconds, memory and accuracy.

    python benchmarks/large.py [--data delicious million] [--rows N] [--peer N]

delicious : 16,000 rows × 500 words, 983 labels, about 19 of them per row; topics with words and
    labels of their own, as in the dataset of bookmarks of that name.
million : 1,000,000 rows × 2¹⁸ hashed words, 1,000 labels. Of the 45 words of a row, 15 belong to
    its one to eight labels (20 words per label), the others to none.

``--rows`` takes fewer training rows. ``--peer`` also fits scikit-learn's
`LogisticRegression(solver="liblinear")`, with the C of Kin's logistic regression, to N evenly
spaced labels, and prints its CPU seconds extrapolated to all labels.
"""

import argparse
import resource
import time

import numpy as np
from _common import machine
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from labelkin import KinEnsembleClassifier
from labelkin.metrics import METRICS


def million(n, rng, k=2**18, q=1_000, own=20, other=30, of_labels=15):
    """Return hashed words in rows of length 1, and labels, both sparse."""
    words = rng.integers(k, size=(q, own))
    frequency = 1 / (1 + np.arange(q)) ** 0.6
    per_row = rng.poisson(3, n).clip(1, 8)
    starts = np.concatenate([[0], np.cumsum(per_row)])
    drawn = rng.choice(q, p=frequency / frequency.sum(), size=starts[-1])
    Y = sparse.csr_matrix((np.ones(len(drawn), np.uint8), drawn, starts), shape=(n, q))
    Y.sum_duplicates()
    Y.data[:] = 1
    # Words of no label with lower numbers are more frequent.
    noise = (k * rng.random((n, other)) ** 3).astype(np.int32)
    of = drawn[starts[:-1, None] + (rng.random((n, of_labels)) * per_row[:, None]).astype(int)]
    columns = np.hstack([noise, words[of, rng.integers(own, size=of.shape)].astype(np.int32)])
    ends = np.arange(0, columns.size + 1, columns.shape[1])
    X = sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), ends), shape=(n, k))
    X.sum_duplicates()
    return normalize(X, copy=False), Y


def delicious(n, rng, k=500, q=983, topics=30):
    """Return words, 0 or 1, and labels of rows that mix few topics."""
    mix = rng.dirichlet(np.full(topics, 0.15), size=n)
    words = rng.dirichlet(np.full(k, 0.08), size=topics)
    labels = rng.dirichlet(np.full(q, 0.05), size=topics)
    X = rng.poisson(18 * mix @ words) > 0
    return sparse.csr_matrix(X.astype(np.float64)), rng.poisson(19 * mix @ labels) > 0


TABLES = {"delicious": (delicious, 16_000, 2_000), "million": (million, 1_000_000, 5_000)}


def measure(name, rows, n_peer):
    """Fit Kin to one table and print what it takes."""
    make, n, n_test = TABLES[name]
    n = rows or n
    X, Y = make(n + n_test, np.random.default_rng(0))
    X, test, Y, truth = X[:n], X[n:], Y[:n], Y[n:]
    truth = truth.toarray() if sparse.issparse(truth) else truth
    started, cpu = time.perf_counter(), time.process_time()
    model = KinEnsembleClassifier(random_state=0, verbose=1).fit(X, Y)
    taken, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    proba = model.predict_proba(test)
    found = {key: 100 * METRICS[key](truth, proba) for key in ("average_precision", "ranking_loss")}
    print(
        f"{name}, {n:,} × {X.shape[1]:,}, {Y.shape[1]:,} labels: fit {taken:.0f} s "
        f"({cpu:.0f} CPU s), peak memory with the data {peak:.1f} GB, average precision "
        f"{found['average_precision']:.2f} (out-of-sample estimate {100 * model.oob_score_:.2f}), "
        f"ranking loss {found['ranking_loss']:.2f}",
        flush=True,
    )
    if n_peer:
        C = dict(model.members_)["linear"].learners[0].C_
        labels = np.linspace(0, Y.shape[1] - 1, n_peer).astype(int)
        started = time.process_time()
        for label in labels:
            y = Y[:, [label]].toarray().ravel() if sparse.issparse(Y) else Y[:, label]
            LogisticRegression(C=C, solver="liblinear").fit(X, y)
        one = (time.process_time() - started) / n_peer
        print(
            f"one-vs-rest, from {n_peer} labels: {one:.1f} CPU s per label, {one * Y.shape[1]:.0f} "
            f"for all, {one * Y.shape[1] / cpu:.1f} times those of Kin"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--rows", type=int, help="training rows; default: those of the table")
    parser.add_argument("--peer", type=int, default=0, help="labels for one-vs-rest; 0: none")
    options = parser.parse_args()
    print(machine())
    for name in options.data:
        measure(name, options.rows, options.peer)


if __name__ == "__main__":
    main()
