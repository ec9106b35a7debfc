"""Time and peak memory of VPCME against the number of rows, features, labels and members.

    python benchmarks/scaling.py [--device cpu|cuda] [--float32] [--rows 1000 ... 100000]
    python benchmarks/scaling.py --thousand-labels [--float32] [--members 10]
    python benchmarks/scaling.py --device cuda --million [--rows 1000000] [--members 30]

The labels depend on the rows, by a linear rule and noise. The first form varies one size at a
time and prints a table in markdown, with the exponents fitted to all sizes and to the larger
half, where fixed costs matter less: time ~ n^e.
``--thousand-labels`` fits 100,000 × 100 rows with 1,000 labels, ten to a row; the aim is ten
minutes and 4 GB on two cores. ``--million`` fits 1,000,000 × 256 rows with 50 labels and predicts
10,000; the aim is ten minutes on a GPU.

On the CPU every case has a process of its own. *wall* is the time by the clock, *CPU* that of
all threads, which other programs disturb less. Memory is what the fit adds to the data and the
interpreter, and in brackets the peak of all.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np
from _common import gpu, labelled_rows, machine, seconds, wait

from labelkin import VPCMEClassifier
from labelkin.rows import array_api_dispatch, move_to_device

BASE = {"rows": 4000, "features": 100, "labels": 20, "members": 5}
VARIED = {
    "rows": [1000, 3000, 10_000, 30_000],
    "features": [50, 100, 200, 400],
    "labels": [10, 30, 100, 300],
    "members": [2, 5, 10, 20],
}


def forget_peak(device):
    """Let the peak begin anew, so that what made the data does not count; return it, in GB."""
    if device == "cpu" and os.access("/proc/self/clear_refs", os.W_OK):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    return peak(device)


def peak(device):
    """Return the most memory held so far in GB: of the device, or of this process."""
    if device == "cpu" and os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as file:
            held = [line.split()[1] for line in file if line.startswith("VmHWM")]
        return int(held[0]) / 2**20
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    import torch

    return torch.cuda.max_memory_allocated() / 2**30


def rare_labels(n, features, labels, dtype, seed=0):
    """Return rows with about one label in a hundred, made in blocks."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features), dtype=dtype)
    rule = rng.standard_normal((features, labels), dtype=dtype) / dtype(np.sqrt(features))
    Y = np.empty((n, labels), dtype=np.uint8)
    for start in range(0, n, 10_000):
        part = X[start : start + 10_000] @ rule
        Y[start : start + 10_000] = part + 0.3 * rng.standard_normal(part.shape) > 2.4
    return X, Y


def measure(device, dtype, rows, features, labels, members, queries=1000, kind="plain"):
    """Return seconds of a fit and of a prediction, GB before and at the peak, and more."""
    if kind == "plain":
        X, Y = labelled_rows(rows + queries, features, labels)
    else:
        X, Y = rare_labels(rows + queries, features, labels, np.dtype(dtype).type)
    X, _ = move_to_device(X.astype(dtype, copy=False), None, device)
    train, test = X[:rows, :], X[rows:, :]
    model = VPCMEClassifier(n_estimators=members, random_state=0)

    def fit():
        model.fit(train, Y[:rows])
        wait(device)

    def predict():
        found = model.predict(test)
        wait(device)
        return found

    wait(device)
    before, started = forget_peak(device), time.process_time()
    fitting, _ = seconds(fit)
    processor = time.process_time() - started
    most = peak(device)
    predicting, found = seconds(predict)
    right = float((found == move_to_device(Y[rows:], None, device)[0]).sum())
    return {
        "wall": fitting,
        "cpu": processor,
        "predict": predicting,
        "before": before,
        "peak": most,
        "right": right,
    }


def measured(device, *case, **sizes):
    """Return the figures of `measure`: on the CPU, in a process of its own."""
    if device != "cpu":
        return measure(device, *case, **sizes)
    command = [sys.executable, __file__, "--case", json.dumps([[device, *case], sizes])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes, values):
    """Fit values ~ sizes^e."""
    return np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0]


def table(size, values, measure_one):
    """Measure and print one varied size, line by line."""
    print(f"\n| {size} | fit wall s | fit CPU s | predict s | memory GB |")
    print("|---:|---:|---:|---:|---:|")
    results = []
    for value in values:
        r = measure_one(value)
        results.append(r)
        memory = f"{r['peak'] - r['before']:.2f} ({r['peak']:.2f})"
        print(
            f"| {value:,} | {r['wall']:.2f} | {r['cpu']:.2f} | {r['predict']:.2f} | {memory} |",
            flush=True,
        )
    if len(values) == 1:
        return
    columns = [[r[name] for r in results] for name in ("wall", "cpu", "predict")]
    columns.append([r["peak"] - r["before"] for r in results])
    larger = -max(2, (len(values) + 1) // 2)
    for name, part in ("exponent", slice(None)), ("of the larger half", slice(larger, None)):
        slopes = [exponent(values[part], column[part]) for column in columns]
        line = " | ".join(f"{slope:.2f}" for slope in slopes)
        print(f"| *{name}* | {line} |", flush=True)


def vary(device, dtype, size, value):
    return measured(device, dtype, **{**BASE, size: value})


def sweep(options, dtype):
    varied = dict(VARIED)
    if options.rows:
        varied = {"rows": options.rows}
    measured(options.device, dtype, **{**BASE, "rows": 500})  # nothing is measured cold
    print("otherwise " + ", ".join(f"{value:,} {name}" for name, value in BASE.items()))
    for size, values in varied.items():
        table(size, values, partial(vary, options.device, dtype, size))


def single(options, dtype, rows, features, labels, queries, kind="plain"):
    print(f"{rows:,} × {features} rows of {dtype}, {labels:,} labels, S = {options.members}")
    sizes = {"rows": rows, "features": features, "labels": labels, "members": options.members}
    r = measured(options.device, dtype, **sizes, queries=queries, kind=kind)
    print(f"fit                    {r['wall']:9.1f} s, {r['cpu']:.1f} s of the processor")
    print(f"predict {queries:6,} rows    {r['predict']:9.1f} s")
    print(f"together               {r['wall'] + r['predict']:9.1f} s")
    print(f"peak memory of the fit {r['peak']:9.1f} GB")
    print(f"labels right           {100 * r['right'] / (queries * labels):9.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--thousand-labels", action="store_true")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--members", type=int)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        case, sizes = json.loads(options.case)
        print(json.dumps(measure(*case, **sizes)))
        return
    dtype = "float32" if options.float32 else "float64"
    print(machine() + gpu(options.device) + "\n")
    with array_api_dispatch():
        if options.million:
            options.members = options.members or 30
            rows = options.rows[0] if options.rows else 1_000_000
            single(options, dtype, rows, 256, 50, 10_000)
        elif options.thousand_labels:
            options.members = options.members or 10
            rows = options.rows[0] if options.rows else 100_000
            single(options, dtype, rows, 100, 1000, 1000, "rare")
        else:
            sweep(options, dtype)


if __name__ == "__main__":
    main()
