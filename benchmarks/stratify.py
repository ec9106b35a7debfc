"""Iterative stratification: time and evenness beside the iterative-stratification package.

    python benchmarks/stratify.py [--rows 100000] [--labels 100] [--repeats 3]

Both split the same labels into the same number of folds in one run. LD is the label
distribution measure of Sechidis et al. (2011): the mean over labels and folds of how far the
odds of a label in a fold are from its odds in the data. "worst" is the largest number of rows
by which a label in a fold misses its share, "sizes" the largest minus the smallest fold. All
are means over the repeats, smaller is better; a plain shuffled KFold shows the scale.
"""

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from labelkin.model_selection import IterativeStratifiedKFold


def unevenness(Y, tests):
    """Return LD, the worst miss of a label's share, and the spread of fold sizes."""
    total, n = Y.sum(axis=0), len(Y)
    used = (total > 0) & (total < n)
    odds, misses = [], []
    for test in tests:
        count = Y[test].sum(axis=0)
        # A fold where every row has the label has no finite odds: half a row stands in.
        rest = np.maximum(len(test) - count, 0.5)
        odds.append(np.abs(count[used] / rest[used] - total[used] / (n - total[used])))
        misses.append(np.abs(count - total * len(test) / n))
    sizes = [len(test) for test in tests]
    return np.mean(odds), np.max(misses), max(sizes) - min(sizes)


def measure(make_splitter, Y, repeats):
    """Return the best time and the mean unevenness over seeds."""
    times, figures = [], []
    for seed in range(repeats):
        started = time.perf_counter()
        tests = [test for _, test in make_splitter(seed).split(np.zeros(len(Y)), Y)]
        times.append(time.perf_counter() - started)
        figures.append(unevenness(Y, tests))
    return min(times), *np.mean(figures, axis=0)


def random_labels(n, q):
    """Yield independent labels of one frequency, then of very different ones."""
    rng = np.random.default_rng(0)
    yield f"random {n:,} × {q}, density 0.05", (rng.random((n, q)) < 0.05).astype(np.int8)
    shares = np.geomspace(0.0005, 0.3, q)
    yield f"random {n:,} × {q}, imbalanced", (rng.random((n, q)) < shares).astype(np.int8)


def real_labels(names=("yeast", "enron", "medical")):
    """Yield the labels of the datasets that are present."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    home = Path(os.environ.get("LABELKIN_DATA", beside))
    for name in names:
        path = home / f"{name}.npz"
        if path.exists():
            with np.load(path) as stored:
                yield name, np.asarray(stored["Y"], dtype=np.int8)
        else:
            print(f"{name}: skipped, set LABELKIN_DATA to the folder that holds {name}.npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if importlib.util.find_spec("iterstrat") is None:
        sys.exit("the comparison needs: pip install 'labelkin[bench]'")
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    splitters = {
        "labelkin": IterativeStratifiedKFold,
        "iterative-stratification": MultilabelStratifiedKFold,
        "KFold": KFold,
    }
    met = True
    for source in (random_labels(options.rows, options.labels), real_labels()):
        for title, Y in source:
            print(f"\n{title}: {len(Y):,} rows, {Y.shape[1]} labels, {options.folds} folds")
            print(f"  {'':26}{'seconds':>9}{'LD':>12}{'worst':>8}{'sizes':>7}")
            results = {}
            for name, splitter in splitters.items():

                def make(seed, splitter=splitter):
                    return splitter(options.folds, shuffle=True, random_state=seed)

                results[name] = measure(make, Y, options.repeats)
                seconds, ld, worst, sizes = results[name]
                print(f"  {name:26}{seconds:9.3f}{ld:12.2e}{worst:8.1f}{sizes:7.1f}")
            ours, theirs = results["labelkin"], results["iterative-stratification"]
            print(
                f"  {theirs[0] / ours[0]:.1f} times as fast, LD {ours[1] / theirs[1]:.2f} of theirs"
            )
            met &= ours[0] <= theirs[0] and ours[1] <= theirs[1]
    print(f"\ntarget (at least as fast, at least as even): {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
