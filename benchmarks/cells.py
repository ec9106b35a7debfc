"""All cells of `frontier.py` side by side, each kept as soon as it is there.

    python benchmarks/cells.py cells.jsonl [--methods kin,krr] [--datasets yeast,scene] [--jobs 16]

A cell is a method on a dataset and fold. Each runs in a process of its own jobs, with one BLAS
thread, and adds a line to the file: the five metrics, seconds and CPU seconds of the fit, the
most memory its process has held. Cells that the file has are not run again, so the command can be
stopped and repeated. In the end the tables of `frontier.py` are printed for what is complete, and
how many times the CPU seconds of krr the other methods take. Needs NumPy, SciPy and
scikit-learn only.
"""

import argparse
import json
import resource
import time
from itertools import product
from pathlib import Path

import numpy as np
from _common import PAPER, folds, load, machine
from frontier import FIGURES, METHODS, SHOWN, SIGN, UNIT, cells
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from labelkin.metrics import evaluate

FOLDS = 5


def run(path, method, dataset, fold):
    """Fit and evaluate one cell; add its line to the file."""
    X, Y = load(dataset)
    train, test = list(folds(len(Y)))[fold]
    started, used = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        model = METHODS[method]().fit(X[train], Y[train])
    took, cpu = time.perf_counter() - started, time.process_time() - used
    values = evaluate(Y[test], model.predict_proba(X[test]), model.predict(X[test]))
    cell = {
        "method": method,
        "dataset": dataset,
        "fold": fold,
        **{metric: float(values[metric]) for metric in SHOWN},
        "fit_seconds": round(took, 3),
        "fit_cpu_seconds": round(cpu, 3),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    with path.open("a") as file:  # one short write: lines of several processes do not mix
        file.write(json.dumps(cell) + "\n")


def read(path):
    """Return the cells of the file by method, dataset and fold; a torn last line is none."""
    known = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            cell = json.loads(line)
        except json.JSONDecodeError:
            continue
        known[cell["method"], cell["dataset"], cell["fold"]] = cell
    return known


def summarise(known, method):
    """Print the complete datasets of a method against krr+cal and the published figures."""
    print(f"\n{method}: " + " / ".join(m.replace("_", " ") for m in SHOWN) + "\n")
    heads = ["measured", "better than krr+cal", "better than published"]
    print(f"{'dataset':14}" + "".join(f"{head:36}" for head in heads) + "  CPU s  × krr")
    gains, leads = [], []
    for name in PAPER:
        rows = [known.get((method, name, fold)) for fold in range(FOLDS)]
        if None in rows:
            continue
        published, expected = (np.array(f.split(), dtype=float) for f in FIGURES[name])
        figures = np.array([[row[m] for m in SHOWN] for row in rows]) * UNIT
        # Compared as they are written, to two places.
        measured = figures.mean(axis=0).round(2)
        gain, lead = (((measured - f) * SIGN).round(2) + 0.0 for f in (expected, published))
        gains.append(gain)
        leads.append(lead)
        cpu = np.mean([row["fit_cpu_seconds"] for row in rows])
        peers = [known.get(("krr", name, fold)) for fold in range(FOLDS)]
        times = "–"
        if None not in peers:
            times = f"{cpu / np.mean([row['fit_cpu_seconds'] for row in peers]):.1f}"
        print(
            f"{name:14}{cells(measured):36}{cells(gain, sign='+'):36}{cells(lead, sign='+'):36}"
            f"{cpu:7.1f}{times:>7}"
        )
    if gains:
        gains, leads = np.array(gains), np.array(leads)
        print(f"{'mean':14}{'':36}{cells(gains.mean(axis=0), sign='+'):36}")
        print(
            f"published cells beaten: {(leads > 0).sum()} of {leads.size}; krr+cal: better in "
            f"{(gains > 0).sum()}, worse in {(gains < 0).sum()}, by {-gains.min():.2f} at most"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON lines; made, or continued")
    parser.add_argument("--methods", default="kin,krr")
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one a core")
    options = parser.parse_args()
    print(machine(), flush=True)
    methods, names = options.methods.split(","), options.datasets.split(",")
    known = read(options.file)
    if options.file.exists() and not options.file.read_text().endswith("\n"):
        options.file.write_text(options.file.read_text() + "\n")  # end a torn line
    todo = [c for c in product(methods, names, range(FOLDS)) if c not in known]
    Parallel(options.jobs, batch_size=1, verbose=5)(delayed(run)(options.file, *c) for c in todo)
    known = read(options.file)
    for method in methods:
        summarise(known, method)


if __name__ == "__main__":
    main()
