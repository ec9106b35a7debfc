"""The VPCME column of Table 3: twelve datasets × repeats × five folds, S = 30.

    python benchmarks/protocol.py [--method vpcme|kin] [--device cpu|cuda] [--repeats 20]
                                  [--datasets yeast,scene] [--members 30]
                                  [--workers 1] [--pool threads|processes] [--cpu-workers 0]

Every fit is independent of the others. They form one row, those with the largest
eigendecomposition first. `--workers` take from its front and compute on the device: in threads,
each with its own CUDA stream, or in processes, which share a GPU best under CUDA MPS, if you have
started it. `--cpu-workers` further processes, of one BLAS thread each, take from its end, where
the eigendecompositions are small, and compute on the CPU.

The clock starts when every worker has imported what it needs and touched its device, and stops
when the last fit is done: *total*. What each worker spends on loading data counts. *seconds* are
those of all workers for a dataset, added up. *measured* is the mean over repeats and folds;
*published* is the paper's Table 3, *expected* a plain implementation of VPCME, both as in
accuracy.py. The first repeat has the fixed folds of accuracy.py. With ``--method kin`` the Kin
ensemble is measured instead, which computes fits of fewer than 4,000 rows on the host.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import multiprocessing
import threading
import time
import traceback
from contextlib import nullcontext
from queue import Empty

import numpy as np
from _common import PAPER, gpu, load, machine, wait
from accuracy import FIGURES, SHOWN

_data = {}
_lock = threading.Lock()
_thread = threading.local()


def data(name, device):
    """Return X on the device, and Y on the host and on the device; loaded once per process."""
    from labelkin.rows import move_to_device

    with _lock:
        if name not in _data:
            while len(_data) > 1:  # another thread may still be at the dataset before
                _data.pop(next(iter(_data)))
            X, Y = load(name)
            Y = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
            X, Y_there = move_to_device(X, Y, device)
            _data[name] = X, Y, Y_there
            wait(device)
        return _data[name]


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


def cell(name, repeat, fold, method, members, device):
    """Fit, predict and measure one fold of one repeat."""
    from labelkin import KinEnsembleClassifier, VPCMEClassifier
    from labelkin.metrics import METRICS, evaluate
    from labelkin.rows import array_api_dispatch, to_device_of

    with array_api_dispatch(), stream(device):
        X, Y, Y_there = data(name, device)
        train, test = split(len(Y), repeat, fold)
        there_train, there_test = to_device_of(train, X), to_device_of(test, X)
        if method == "kin":
            model = KinEnsembleClassifier(random_state=5 * repeat + fold)
            labels, proba = model.fit(X[there_train], Y[train])._predict_with_proba(X[there_test])
        else:
            model = VPCMEClassifier(n_estimators=members, random_state=5 * repeat + fold)
            model.fit(X[there_train], Y[train])
            # Probabilities and labels from one search; predict_proba and predict would make two.
            queries = model._validate_predict(X[there_test])
            proba, votes = model._mean(model._member_outputs(queries))
            labels = model._decide(proba, votes)
        figures = evaluate(Y_there[there_test], proba, labels)
        return [figures[m] * (100 if METRICS[m].percent else 1) for m in SHOWN]


def eigen_size(name):
    """Return the size of a dataset's eigendecompositions: its features, or its rank if less."""
    from labelkin.projection._pairwise import TrainingRows

    X, _ = load(name)
    return TrainingRows(X).rows.shape[1]


class Row:
    """Tasks in a row, taken from both ends by any number of processes.

    Parameters
    ----------
    context : multiprocessing context
        Of the processes.
    sizes : list of int
        Size of each task's eigendecompositions, the largest first.
    """

    def __init__(self, context, sizes):
        self.sizes = sizes
        self._lock = context.Lock()
        self._ends = context.Array("l", [0, len(sizes)], lock=False)
        self._began = context.Value("d", 0.0, lock=False)

    def start(self):
        """Start the clock."""
        self._began.value = time.time()

    def take_first(self):
        """Return the first task left; None without any."""
        with self._lock:
            first, end = self._ends
            self._ends[0] = min(first + 1, end)
            return first if first < end else None

    def take_last(self, size, seconds):
        """Return the last task left, if it can be done before the others have done the rest.

        A slow worker would otherwise delay the end: its last task, of this size, took `seconds`.
        """
        with self._lock:
            first, end = self._ends
            if first == end:
                return None
            done = first + len(self.sizes) - end
            pace = (time.time() - self._began.value) / max(done, 1)
            if done and seconds * (self.sizes[end - 1] / size) ** 3 > pace * (end - first):
                return None
            self._ends[1] = end - 1
            return end - 1


def work(row, tasks, device, place, barrier, results):
    """Take tasks until none is left, and say of each what came out and how long it took."""
    try:
        if place == "cpu" or multiprocessing.parent_process() is not None:
            from threadpoolctl import threadpool_limits

            threadpool_limits(1)
        # A first fit imports what is needed; what it loaded is loaded again when the clock runs.
        cell(*tasks[-1][:4], 1, device)
        with _lock:
            _data.clear()
        barrier.wait()
        index, seconds = len(tasks) - 1, 0.0
        while True:
            if place == "device":
                index = row.take_first()
            else:
                index = row.take_last(row.sizes[index], seconds)
            if index is None:
                break
            began = time.perf_counter()
            figures = cell(*tasks[index], device)
            seconds = time.perf_counter() - began
            results.put((index, place, seconds, figures))
    except threading.BrokenBarrierError:
        pass  # another worker could not start, and has reported the reason
    except Exception:
        barrier.abort()
        results.put((None, place, 0.0, traceback.format_exc()))


def start_workers(options, row, tasks, context):
    """Start all workers; return them, the barrier they wait at and the queue of results."""
    n_workers = options.workers + options.cpu_workers
    barrier, results = context.Barrier(n_workers + 1), context.Queue()
    workers = []
    for number in range(n_workers):
        on_device = number < options.workers
        place = "device" if on_device else "cpu"
        kind = context.Process
        if on_device and options.pool == "threads":
            kind = threading.Thread
        args = row, tasks, options.device if on_device else "cpu", place, barrier, results
        workers.append(kind(target=work, args=args, daemon=True))
        workers[-1].start()
    return workers, barrier, results


def warm_up(device):
    """Load the device's linear algebra, which must not happen in several threads at once."""
    if device != "cpu":
        import torch

        torch.linalg.eigh(torch.eye(2, dtype=torch.float64, device=device))


def next_result(results, workers):
    """Wait for a result; stop when a worker has failed, or died without a word."""
    while True:
        try:
            index, place, seconds, figures = results.get(timeout=5)
        except Empty:
            if any(getattr(w, "exitcode", 0) for w in workers):
                raise SystemExit("A worker died: use fewer workers if memory is short.") from None
            if not any(w.is_alive() for w in workers) and results.empty():
                raise SystemExit("All workers stopped before the work was done.") from None
            continue
        if index is None:
            raise SystemExit(f"A worker failed.\n{figures}")
        return index, place, seconds, figures


def report(name, results):
    """Print the line of a dataset whose fits are all done."""
    figures = np.mean([f for _, _, f in results], axis=0)
    taken = sum(s for _, s, _ in results)
    on_cpu = sum(place == "cpu" for place, _, _ in results)
    published, expected = (np.array(f.split(), dtype=float) for f in FIGURES[name])
    cells = ["  ".join(f"{v:5.2f}" for v in row) for row in (published, expected, figures)]
    print(
        f"{name:14}{taken:9.2f}{len(results) - on_cpu:8}{on_cpu:6}  "
        + "".join(f"{c:34}" for c in cells),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--method", choices=["vpcme", "kin"], default="vpcme")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cpu-workers", type=int, default=0)
    parser.add_argument("--pool", choices=["threads", "processes"], default="threads")
    options = parser.parse_args()
    sizes = {name: eigen_size(name) for name in options.datasets.split(",")}
    names = sorted(sizes, key=sizes.__getitem__, reverse=True)
    tasks = [
        (name, repeat, fold, options.method, options.members)
        for name in names
        for repeat in range(options.repeats)
        for fold in range(5)
    ]
    context = multiprocessing.get_context("spawn")
    row = Row(context, [sizes[name] for name, *_ in tasks])
    if options.pool == "threads":
        warm_up(options.device)
    began = time.perf_counter()
    workers, barrier, results = start_workers(options, row, tasks, context)
    print(machine() + gpu(options.device))
    try:
        barrier.wait()
    except threading.BrokenBarrierError:
        next_result(results, workers)
    ready = time.perf_counter()
    row.start()
    mps = "on" if "CUDA_MPS_PIPE_DIRECTORY" in os.environ else "off"
    print(
        f"{options.repeats} × 5 folds, "
        f"{'Kin' if options.method == 'kin' else f'VPCME, S = {options.members}'}, "
        f"{options.workers} {options.pool} on "
        f"{options.device}{'' if options.device == 'cpu' else f' (CUDA MPS {mps})'}, "
        f"{options.cpu_workers} further processes on the CPU; started in {ready - began:.1f} s"
    )
    print("Hamming loss / ranking loss / one-error / coverage / average precision\n")
    print(
        f"{'dataset':14}{'seconds':>9}{'device':>8}{'cpu':>6}  "
        f"{'published':34}{'expected':34}{'measured':34}"
    )
    done = {name: [] for name in names}
    for _ in tasks:
        index, *result = next_result(results, workers)
        name = tasks[index][0]
        done[name].append(result)
        if len(done[name]) == 5 * options.repeats:
            report(name, done[name])
    total = time.perf_counter() - ready
    everything = [result for of_name in done.values() for result in of_name]
    on_cpu = sum(place == "cpu" for place, _, _ in everything)
    print(f"{'total':14}{total:9.2f}{len(everything) - on_cpu:8}{on_cpu:6}")
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
