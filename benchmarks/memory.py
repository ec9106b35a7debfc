"""Peak memory of fitting VPCME on 50,000 × 100 dense rows.

    python benchmarks/memory.py [--rows 50000] [--features 100] [--labels 10] [--members 30]

The aim is less than 1.5 GB, the data and the interpreter included.
"""

import argparse
import resource

import numpy as np
from _common import machine, seconds

from labelkin import VPCMEClassifier


def peak():
    """Return the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--members", type=int, default=30)
    options = parser.parse_args()
    rng = np.random.RandomState(0)
    X = rng.standard_normal((options.rows, options.features))
    centres = rng.standard_normal((options.features, options.labels))
    Y = (X @ centres > 8).astype(np.uint8)
    before = peak()
    taken, model = seconds(VPCMEClassifier(n_estimators=options.members, random_state=0).fit, X, Y)
    print(machine() + "\n")
    size = f"{options.rows:,} × {options.features} dense, {options.labels} labels"
    print(f"{size}, S = {options.members}")
    print(f"before the fit   {before:8.0f} MB")
    print(f"peak of the fit  {peak():8.0f} MB")
    print(f"dimensions       {np.mean([len(p.components_) for p in model.projections_]):8.0f}")
    print(f"time             {taken:8.0f} s")


if __name__ == "__main__":
    main()
