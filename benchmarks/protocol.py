"""The VPCME column of Table 3: twelve datasets × repeats × five folds, S = 30.

    python benchmarks/protocol.py [--device cpu|cuda] [--repeats 20] [--workers 1]
                                  [--pool threads|processes] [--datasets yeast,scene]

Every fit is independent of the others, and `--workers` of them run at a time: in threads, each
with its own CUDA stream, or in processes. The time of a dataset is that of all its fits,
predictions and metrics; loading it, and starting the workers, are counted apart. *measured* is
the mean over repeats and folds; *published* is the paper's Table 3, *expected* a plain
implementation, both as in accuracy.py. The first repeat has the fixed folds of accuracy.py.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
from _common import PAPER, gpu, load, machine, wait
from accuracy import FIGURES, SHOWN

_data = {}
_lock = threading.Lock()
_thread = threading.local()


def data(name, device):
    """Return X on the device, and Y on the host and on the device; loaded once a process."""
    from labelkin._array import as_device_array

    with _lock:
        if name not in _data:
            _data.clear()
            X, Y = load(name)
            Y = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
            _data[name] = (*as_device_array(X, Y, device)[::-1], Y)
            wait(device)
        Y_there, X, Y = _data[name]
    return X, Y, Y_there


def stream(device):
    """Return this thread's own CUDA stream, as a context."""
    if device == "cpu":
        return nullcontext()
    import torch

    if not hasattr(_thread, "stream"):
        _thread.stream = torch.cuda.Stream(device)
    return torch.cuda.stream(_thread.stream)


def split(n, repeat, fold):
    """Return the training and test rows."""
    order = np.random.default_rng(repeat).permutation(n)
    test = np.array_split(order, 5)[fold]
    return np.setdiff1d(np.arange(n), test), test


def cell(task):
    """Fit, predict and measure one fold of one repeat."""
    from labelkin import VPCMEClassifier
    from labelkin._array import dispatching, like
    from labelkin.metrics import METRICS, evaluate

    name, repeat, fold, members, device = task
    with dispatching(), stream(device):
        X, Y, Y_there = data(name, device)
        train, test = split(len(Y), repeat, fold)
        there_train, there_test = like(train, X), like(test, X)
        model = VPCMEClassifier(n_estimators=members, random_state=5 * repeat + fold)
        model.fit(X[there_train], Y[train])
        # Probabilities and labels from one search; predict_proba and predict would make two.
        proba, votes = model._outcome(model._validate_predict(X[there_test]))
        figures = evaluate(Y_there[there_test], proba, model._vote(proba, votes))
        return [figures[m] * (100 if METRICS[m].percent else 1) for m in SHOWN]


def start(number):
    """Let a worker import what it needs and touch its device."""
    name, device, threads = number
    if threads:
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)
    cell((name, 0, 0, 1, device))
    time.sleep(0.2)  # so that every worker gets one of these


def pool(kind, workers):
    """Return an executor; None for one worker, which is this process."""
    if workers == 1:
        return None
    if kind == "threads":
        return ThreadPoolExecutor(workers)
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pool", choices=["threads", "processes"], default="threads")
    options = parser.parse_args()
    names = options.datasets.split(",")
    executor = pool(options.pool, options.workers)
    run = map if executor is None else executor.map
    blas = 1 if executor is not None and options.pool == "processes" else 0
    began = time.perf_counter()
    list(run(start, [(names[0], options.device, blas)] * options.workers))
    print(machine() + gpu(options.device))
    print(
        f"{options.repeats} × 5 folds, S = {options.members}, {options.device}, "
        f"{options.workers} {options.pool}; started in {time.perf_counter() - began:.1f} s"
    )
    print("Hamming loss / ranking loss / one-error / coverage / average precision\n")
    print(f"{'dataset':14}{'seconds':>9}  {'published':34}{'expected':34}{'measured':34}")
    total = 0.0
    for name in names:
        # Every worker loads the dataset before the clock starts.
        list(run(start, [(name, options.device, blas)] * options.workers))
        tasks = [
            (name, repeat, fold, options.members, options.device)
            for repeat in range(options.repeats)
            for fold in range(5)
        ]
        began = time.perf_counter()
        figures = np.mean(list(run(cell, tasks)), axis=0)
        taken = time.perf_counter() - began
        total += taken
        published, expected = (np.array(f.split(), dtype=float) for f in FIGURES[name])
        cells = ["  ".join(f"{v:5.2f}" for v in row) for row in (published, expected, figures)]
        print(f"{name:14}{taken:9.2f}  " + "".join(f"{c:34}" for c in cells), flush=True)
    print(f"{'total':14}{total:9.2f}")
    if executor is not None:
        executor.shutdown()


if __name__ == "__main__":
    main()
