"""VPCME with Θ = 0.6 and with the Θ that it chooses itself, on the paper's datasets.

    python benchmarks/threshold.py [--datasets yeast,business] [--folds 5] [--members 30]
                                   [--jobs 16] [--out threshold.json]

Five fixed folds, of which the first `--folds` are taken; the same seed for both. The choice is
made inside each training part, out of bag: no test label is seen. `--jobs` processes, of one
thread each. With `--out` every fold is kept as soon as it is measured, and what the file holds
already is not measured again. Then five metrics (all but coverage in per cent), means over the
folds, for 0.6 and by how much "auto" is better (negative: worse); the CPU seconds of a fit with
0.6, and how many times that "auto" takes; and the Θ chosen in each fold.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from _common import PAPER, folds, load, machine
from joblib import Parallel, delayed, parallel_config

from labelkin import VPCMEClassifier
from labelkin.metrics import METRICS, evaluate

SHOWN = ["hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision"]
SIGN = np.array([METRICS[m].sign for m in SHOWN])
UNIT = np.array([100 if METRICS[m].percent else 1 for m in SHOWN])


def measure(name, fold, members):
    """Return the figures, the CPU seconds and the Θ of both fits in one fold."""
    warnings.filterwarnings("ignore", message="No two samples")
    X, Y = load(name)
    train, test = list(folds(len(Y)))[fold]
    cell = {"dataset": name, "fold": fold, "members": members}
    for threshold in (0.6, "auto"):
        model = VPCMEClassifier(n_estimators=members, threshold=threshold, n_jobs=1, random_state=0)
        started = time.process_time()
        model.fit(X[train], Y[train])
        taken = time.process_time() - started
        values = evaluate(Y[test], model.predict_proba(X[test]), model.predict(X[test]))
        cell[str(threshold)] = {
            "seconds": taken,
            "threshold": float(model.thresholds_[0]),
            **{m: values[m] for m in SHOWN},
        }
    return cell


def read(path):
    """Return the cells that a file holds."""
    return json.loads(path.read_text()) if path is not None and path.exists() else []


def write(path, cells):
    """Write the cells, whole or not at all."""
    if path is not None:
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(cells, indent=1) + "\n")
        os.replace(part, path)


def key(cell):
    return cell["dataset"], cell["fold"], cell["members"]


def show(cells, names):
    """Print one row per dataset, then the means."""
    heads = " ".join(f"{head:>6}" for head in ("HL", "RL", "1-err", "cov", "AP"))
    print(f"\n{'dataset':14}{'0.6':^36}{'auto better by':^36}{'seconds':>9}{'times':>7}   chosen")
    print(f"{'':14}{heads:36}{heads:36}")
    gains, ratios = [], []
    for name in names:
        mine = sorted((c for c in cells if c["dataset"] == name), key=key)
        if not mine:
            continue
        fixed, auto = (
            UNIT * np.mean([[c[t][m] for m in SHOWN] for c in mine], axis=0)
            for t in ("0.6", "auto")
        )
        taken = [sum(c[t]["seconds"] for c in mine) for t in ("0.6", "auto")]
        chosen = [f"{c['auto']['threshold']:.2f}" for c in mine]
        gains.append(SIGN * (auto - fixed) + 0.0)  # no negative zeros
        ratios.append(taken[1] / taken[0])
        print(
            f"{name:14}{row(fixed):36}{row(gains[-1], '+'):36}{taken[0] / len(mine):9.1f}"
            f"{ratios[-1]:7.2f}   {' '.join(chosen)}"
        )
    if gains:
        print(f"{'mean':14}{'':36}{row(np.mean(gains, axis=0), '+'):36}")
        print(f"{'worst':14}{'':36}{row(np.min(gains, axis=0), '+'):36}{'':9}{max(ratios):7.2f}")


def row(values, sign=""):
    return " ".join(f"{value:{sign}6.2f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(PAPER))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="keep every fold there, and go on from there")
    options = parser.parse_args()
    print(machine())
    names = options.datasets.split(",")
    asked = [(name, fold, options.members) for fold in range(options.folds) for name in names]
    cells = read(options.out)
    known = {key(c) for c in cells}
    missing = [cell for cell in asked if cell not in known]
    # Processes, even if one: its CPU seconds are then those of the fit alone.
    with parallel_config(backend="loky", n_jobs=options.jobs, inner_max_num_threads=1):
        done = Parallel(return_as="generator_unordered")(delayed(measure)(*c) for c in missing)
        for number, cell in enumerate(done, start=len(asked) - len(missing) + 1):
            cells.append(cell)
            write(options.out, cells)
            print(f"{cell['dataset']} {cell['fold']}: {number} of {len(asked)}", flush=True)
    show([c for c in cells if key(c) in asked], names)


if __name__ == "__main__":
    main()
