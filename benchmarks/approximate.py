"""Time, memory and recall of ML-kNN's approximate neighbours, as n grows.

    python benchmarks/approximate.py [--rows 20000 100000] [--features 100] [--latent 20]
        [--labels 10] [--candidates 64] [--exact]

One fit, in one thread, in a process of its own for each n. The rows have `latent` directions
and a little noise in all others; with ``--latent 0`` they fill all dimensions evenly, the
hardest case. Times are of the processor, so that other programs do not count. ``--exact``
adds exact search, up to 100,000 rows. The last line is the fitted exponent,
time ~ n^e, of all sizes and of the last three.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from _common import machine


def rows_of(n, d, latent, seed=0):
    rng = np.random.default_rng(seed)
    if not latent:
        return rng.standard_normal((n, d), dtype=np.float32)
    X = rng.standard_normal((n, latent), dtype=np.float32)
    X = X @ rng.standard_normal((latent, d), dtype=np.float32)
    X += 0.3 * rng.standard_normal((n, d), dtype=np.float32)
    return X


def one_fit(n, d, latent, labels, candidates, neighbors):
    from labelkin import MLkNNClassifier

    X = rows_of(n, d, latent)
    Y = (X @ np.random.default_rng(1).standard_normal((d, labels)) > 0).astype(np.uint8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = MLkNNClassifier(neighbors=neighbors, n_candidates=candidates, n_jobs=1)
    started = time.process_time()
    model.fit(X, Y)
    fit = time.process_time() - started
    started = time.process_time()
    model.predict(X[:1000] + np.float32(0.01))
    return {
        "fit": fit,
        "ask": time.process_time() - started,
        "recall": getattr(model, "recall_", 1.0),
        "before": before / 1024,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measured(*case):
    """Return what `one_fit` measures in a process of its own."""
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def exponent(ns, seconds):
    return np.polyfit(np.log(ns), np.log(seconds), 1)[0] if len(ns) > 1 else np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(one_fit(*json.loads(options.case))))
        return
    shape = options.features, options.latent, options.labels, options.candidates
    print(machine())
    print(
        f"\n{options.features} features, {options.latent} latent, {options.labels} labels, "
        f"float32, n_candidates={options.candidates}, processor seconds, one thread\n"
    )
    print(f"{'n':>9} {'search':>12} {'fit':>8} {'1000 asked':>11} {'recall':>7} {'peak MB':>8}")
    for neighbors in ["approximate", *["exact"] * options.exact]:
        ns = [n for n in options.rows if neighbors == "approximate" or n <= 100_000]
        taken = []
        for n in ns:
            case = measured(n, *shape, neighbors)
            taken.append(case["fit"])
            print(
                f"{n:9,} {neighbors:>12} {case['fit']:8.1f} {case['ask']:11.2f} "
                f"{case['recall']:7.3f} {case['peak']:8.0f}",
                flush=True,
            )
        last = exponent(ns[-3:], taken[-3:])
        print(f"{neighbors}: fit time ~ n^{exponent(ns, taken):.2f}, last three n^{last:.2f}\n")


if __name__ == "__main__":
    main()
