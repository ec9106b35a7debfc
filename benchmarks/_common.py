"""What the benchmarks share: data, the fixed folds, the clock, the machine."""

import os
import platform
import time
from pathlib import Path

import numpy as np

PAPER = [
    "yeast",
    "scene",
    "enron",
    "genbase",
    "medical",
    "arts",
    "business",
    "education",
    "entertainment",
    "health",
    "science",
    "social",
]

# Beside the checkout lie the paper's datasets, unless the user says where.
os.environ.setdefault(
    "LABELKIN_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "datasets")
)


def load(name):
    """Return X and Y of one of the paper's datasets."""
    from labelkin.datasets import load_dataset

    data = load_dataset(name, download=False)
    return data.data, data.target


def folds(n, repeat=0):
    """Yield the training and test rows of the five fixed folds, or of a repeat with others."""
    for test in np.array_split(np.random.default_rng(repeat).permutation(n), 5):
        yield np.setdiff1d(np.arange(n), test), test


def seconds(function, *args):
    """Return how long a call takes, and what it returns."""
    started = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - started, result


def wait(device):
    """Wait until a device has done all it was given."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize()


def gpu(device):
    """Return a phrase about the GPU; nothing on the CPU."""
    if device == "cpu":
        return ""
    import torch

    return f", {torch.cuda.get_device_name(device)}, torch {torch.__version__}"


def labelled_rows(n, features, labels, seed=0):
    """Return random rows, and labels that follow a linear rule but for noise."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, features))
    rule = rng.standard_normal((features, labels)) / np.sqrt(features)
    rare = rng.uniform(0.5, 1.5, labels)
    Y = (X @ rule + 0.3 * rng.standard_normal((n, labels)) > rare).astype(np.uint8)
    return X, Y


def machine():
    """Return a line about the machine and the versions that matter."""
    import scipy
    import sklearn

    import labelkin

    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"labelkin {labelkin.__version__}"
    )
