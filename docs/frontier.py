"""Add a method's measured figures to the page "Kin and kernel ridge".

    python benchmarks/frontier.py --method kin --json kin.json
    python docs/frontier.py kin.json --title "kin ensemble" [--out results/frontier.json]

Reads what the benchmark wrote: for every dataset the folds' metrics. Means over the folds go
into the file from which the page is made. A run that is not complete is refused.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured import FRONTIER  # noqa: E402


def means(run, metrics, datasets, folds):
    """Return dataset → means of the metrics, in their order; refuse what is missing."""
    cells = {}
    for dataset in datasets:
        found = run["datasets"].get(dataset, {"folds": []})
        if len(found["folds"]) != folds:
            raise SystemExit(f"{dataset} has {len(found['folds'])} folds, not {folds}.")
        order = [found["metrics"].index(metric) for metric in metrics]
        values = np.mean(found["folds"], axis=0)[order]
        cells[dataset] = [round(float(value), 2) for value in values]
    return cells


def main():
    """Merge one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="what benchmarks/frontier.py --json wrote")
    parser.add_argument("--title", help="the method's name on the page")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FRONTIER)
    options = parser.parse_args()
    data = json.loads(FRONTIER.read_text(encoding="utf-8"))
    run = json.loads(options.run.read_text(encoding="utf-8"))
    datasets = sorted(set().union(*[m["cells"] for m in data["methods"].values()]))
    cells = means(run, data["metrics"], datasets, options.folds)
    name = run["method"]
    data["methods"][name] = {"title": options.title or name, "cells": cells}
    text = json.dumps(data, indent=1, ensure_ascii=False)
    # A row a line.
    text = re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(cells)} datasets, written to {options.out}")


if __name__ == "__main__":
    main()
