"""What landmarks cost: accuracy, time and memory against their number.

    python benchmarks/landmarks.py [--data topics] [--rows 6000] [--marks rule 1000 krr]

Beyond 8,000 rows the kernels of `KinEnsembleClassifier` are approximated from landmarks, behind
projections beyond 5,000. The ensemble is fitted with the library's own number ("rule"), with
given numbers, and beside them the kernel learner ("krr", exact up to 20,000 rows). Data:
"topics", words of a topic model with 120 labels, 1,800 columns of zeros and ones; "scenes", digit
scenes with other handwriting in the test part; "dense" (50 columns) and "sparse" (50,000 columns)
for the memory only, with 20 labels. Each fit runs in a process of its own, one thread.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np
from _common import machine
from scipy import sparse

from labelkin.datasets import load_digit_scenes
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.kin import KinEnsembleClassifier
from labelkin.kin._plan import Limits
from labelkin.metrics import METRICS

SHOWN = {"average_precision": "AP", "hamming_loss": "Hamming", "ranking_loss": "ranking"}


def topics(n, k=1800, q=120, seed=0):
    """Return documents of words present or not, and their topics, some of them forgotten."""
    rng = np.random.RandomState(seed)
    frequency = 1 / np.arange(1, q + 1) ** 0.8
    frequency /= frequency.sum()
    related = rng.randint(0, q, (q, 3))
    common = rng.dirichlet(np.full(k, 0.3))
    words = 0.85 * rng.dirichlet(np.full(k, 0.02), (q, 4)) + 0.15 * common
    X, Y = np.zeros((n, k)), np.zeros((n, q), dtype=np.uint8)
    for i in range(n):
        first = rng.choice(q, p=frequency)
        labels = {first}
        for _ in range(rng.poisson(1.4)):
            near = rng.rand() < 0.5
            labels.add(int(rng.choice(related[first]) if near else rng.choice(q, p=frequency)))
        Y[i, list(labels)] = 1
        spoken = np.mean([words[label, rng.randint(4)] for label in labels], axis=0)
        share = 0.45 * common + 0.55 * spoken
        X[i] = rng.multinomial(max(8, rng.poisson(60)), share / share.sum()) > 0
    Y[rng.rand(n, q) < 0.3] = 0
    return sparse.csr_matrix(X), Y


def make(data, n):
    """Return training rows, their labels, test rows and theirs."""
    rng = np.random.RandomState(0)
    if data == "scenes":
        scenes = load_digit_scenes(n + n // 3)
        X, Y, train = scenes.data, scenes.target, scenes.split == 0
        return X[train], Y[train], X[~train], Y[~train]
    size = n + n // 5
    if data == "topics":
        X, Y = topics(size)
    elif data == "dense":
        X = rng.standard_normal((size, 50))
        Y = (X @ rng.standard_normal((50, 20)) > 7).astype(np.uint8)
    else:
        X = sparse.random(size, 50_000, 0.0019, "csr", random_state=rng)
        Y = (rng.rand(size, 20) < 0.1).astype(np.uint8)
    return X[:n], Y[:n], X[n:], Y[n:]


def run(data, n, marks, results):
    """Fit and evaluate one model; put its line into a queue."""
    X, Y, test, truth = make(data, n)
    model = KinEnsembleClassifier(n_jobs=1, random_state=0)
    if marks == "krr":
        model = KernelRidgeLOOClassifier(random_state=0)
    elif marks != "rule":
        size = int(marks)
        limits = Limits(exact_rows=size, part_work=0.1, landmark_work=n * size**2)
        model.set_params(effort=limits)
    start = time.process_time()
    model.fit(X, Y)
    taken = time.process_time() - start
    proba = model.predict_proba(test)
    figures = []
    for name, short in SHOWN.items():
        metric = METRICS[name]
        value = metric(truth, proba > 0.5 if metric.needs == "label" else proba)
        figures.append(f"{short} {100 * value:6.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    title = f"{data} {n}, {marks}"
    if marks == "rule":
        title += f" ({Limits().n_landmarks(n)})"
    results.put(f"{title:28s} {'  '.join(figures)}  {taken:7.1f} CPU s  {peak:5.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="topics", choices=["topics", "scenes", "dense", "sparse"])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--marks", nargs="+", default=["rule", "1000", "krr"])
    options = parser.parse_args()
    print(machine(), flush=True)
    spawn = multiprocessing.get_context("spawn")
    for marks in options.marks:
        results = spawn.Queue()
        process = spawn.Process(target=run, args=(options.data, options.rows, marks, results))
        process.start()
        print(results.get(), flush=True)
        process.join()


if __name__ == "__main__":
    main()
