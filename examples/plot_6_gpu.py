"""
On a GPU, if there is one
=========================

scikit-learn lets array libraries do the work: with ``array_api_dispatch`` on, what is given as a
torch tensor is computed where it lies. This script takes torch on a GPU if it finds one, torch on
the processor if not, and NumPy alone where there is no torch; it prints what it used. The
projection and the nearest neighbours are matrix products and one eigendecomposition, which is what
GPUs do well.
"""

# %%
# What is here?
# -------------
# SciPy wants to know before it is imported.
import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import time

import numpy as np
import sklearn

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import evaluate

try:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    print("torch on", device)
except ImportError:
    torch = None
    print("no torch here: NumPy does the work")


def to_device(array):
    """Return the array where the work will be done."""
    return array if torch is None else torch.tensor(array, device=device)


def to_numpy(array):
    """Return a NumPy array, from wherever."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


# %%
# The same code for both
# ----------------------
# Fitted arrays and predictions are tensors on the same device. Pairs are drawn from the seed by the
# same code everywhere, so that the model is the same, too.
scenes = load_digit_scenes(n_samples=1200, random_state=0)
train, test = scenes.split == 0, scenes.split == 1
X_train, Y_train = scenes.data[train], scenes.target[train]
X_test, Y_test = scenes.data[test], scenes.target[test]


def fit_and_ask(model, X, Y, X_new):
    """Return probabilities as a NumPy array, and print how long it took."""
    started = time.perf_counter()
    proba = model.fit(X, Y).predict_proba(X_new)
    found = to_numpy(proba)
    seconds = time.perf_counter() - started
    precision = evaluate(Y_test, found)["average_precision"]
    kind = type(proba).__module__
    print(f"{type(model).__name__:16} {kind:6} {seconds:5.2f} s  average precision {precision:.4f}")
    return found


for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=5, random_state=0)):
    here = fit_and_ask(model, X_train, Y_train, X_test)
    if torch is not None:
        with sklearn.config_context(array_api_dispatch=True):
            there = fit_and_ask(model, *map(to_device, (X_train, Y_train, X_test)))
        print(f"{'':16} largest difference {np.abs(here - there).max():.1e}")

# %%
# From the command line the same is one option; the model file it writes loads anywhere::
#
#     labelkin fit DATA --device cuda --out model.skops
