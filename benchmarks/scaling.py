"""Time of VPCME against the number of rows, features, labels and members; or a million rows.

    python benchmarks/scaling.py [--device cpu|cuda] [--float32]
    python benchmarks/scaling.py --device cuda --million [--rows 1000000] [--members 30]

The labels depend on the rows, by a linear rule and noise. The first form varies one size at a
time and prints the exponent fitted to the times. The second fits 1,000,000 × 256 dense rows
with 50 labels and predicts 10,000 rows; the aim is ten minutes on a GPU.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import resource

import numpy as np
from _common import gpu, labelled_rows, machine, seconds, wait

from labelkin import VPCMEClassifier
from labelkin._array import as_device_array, dispatching

BASE = {"rows": 4000, "features": 100, "labels": 20, "members": 5}
VARIED = {
    "rows": [1000, 2000, 4000, 8000, 16000],
    "features": [50, 100, 200, 400],
    "labels": [10, 20, 40, 80],
    "members": [2, 5, 10, 20],
}


def peak(device):
    """Return the most memory held so far in GB: of the device, or of this process."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    import torch

    return torch.cuda.max_memory_allocated() / 2**30


def measure(device, dtype, rows, features, labels, members, queries=1000):
    """Return the seconds of a fit and of a prediction."""
    X, Y = labelled_rows(rows + queries, features, labels)
    X, _ = as_device_array(X.astype(dtype), None, device)
    train, test = X[:rows, :], X[rows:, :]
    model = VPCMEClassifier(n_estimators=members, random_state=0)

    def fit():
        model.fit(train, Y[:rows])
        wait(device)

    def predict():
        labels = model.predict(test)
        wait(device)
        return labels

    wait(device)
    fitting, _ = seconds(fit)
    predicting, found = seconds(predict)
    return fitting, predicting, float((found == as_device_array(Y[rows:], None, device)[0]).sum())


def million(options, dtype):
    print(f"{options.rows:,} × 256 rows of {dtype}, 50 labels, S = {options.members}")
    sizes = {"rows": options.rows, "features": 256, "labels": 50, "members": options.members}
    fit, predict, right = measure(options.device, dtype, **sizes, queries=10_000)
    print(f"fit                    {fit:9.1f} s")
    print(f"predict 10,000 rows    {predict:9.1f} s")
    print(f"together               {fit + predict:9.1f} s")
    print(f"peak memory            {peak(options.device):9.1f} GB")
    print(f"labels right           {100 * right / (10_000 * 50):9.2f} %")


def sweep(options, dtype):
    measure(options.device, dtype, **{**BASE, "rows": 500})  # nothing is measured cold
    for size, values in VARIED.items():
        times = [measure(options.device, dtype, **{**BASE, size: v})[:2] for v in values]
        fit, predict = np.transpose(times)
        slopes = [np.polyfit(np.log(values), np.log(t), 1)[0] for t in (fit, predict)]
        print(f"{size:10}" + "".join(f"{v:10}" for v in values) + "  exponent")
        for name, row, slope in (("fit", fit, slopes[0]), ("predict", predict, slopes[1])):
            print(f"{name:10}" + "".join(f"{t:9.3f}s" for t in row) + f"{slope:10.2f}", flush=True)
    print(f"peak memory {peak(options.device):.1f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--members", type=int, default=30)
    options = parser.parse_args()
    dtype = "float32" if options.float32 else "float64"
    print(machine() + gpu(options.device) + "\n")
    with dispatching():
        (million if options.million else sweep)(options, dtype)


if __name__ == "__main__":
    main()
