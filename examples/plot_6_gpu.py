"""
On a GPU, if there is one
=========================

With scikit-learn's ``array_api_dispatch``, computations on torch tensors run on the device of the
tensors. This script uses torch on a GPU if there is one, otherwise torch on the CPU, and NumPy if
torch is not installed; it prints which one it uses. The projection and the neighbour search consist
of matrix products and one eigendecomposition, which are fast on GPUs.
"""

# %%
# Find the device
# ---------------
# SciPy reads this setting when it is imported.
import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import time

import matplotlib.pyplot as plt
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
    print("torch is not installed: using NumPy")


def to_device(array):
    """Return the array on the device."""
    return array if torch is None else torch.tensor(array, device=device)


def to_numpy(array):
    """Return a NumPy array from an array on any device."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


# %%
# The same code for both
# ----------------------
# Fitted arrays and predictions are tensors on the same device. The pairs are drawn on the host from
# the seed, so the model is the same on every device.
scenes = load_digit_scenes(n_samples=1200, random_state=0)
train, test = scenes.split == 0, scenes.split == 1
X_train, y_train = scenes.data[train], scenes.target[train]
X_test, y_test = scenes.data[test], scenes.target[test]


def fit_and_predict(model, X, y, X_new):
    """Return probabilities as a NumPy array, and print how long it took."""
    started = time.perf_counter()
    proba = model.fit(X, y).predict_proba(X_new)
    found = to_numpy(proba)
    seconds = time.perf_counter() - started
    precision = evaluate(y_test, found)["average_precision"]
    kind = type(proba).__module__
    print(f"{type(model).__name__:16} {kind:6} {seconds:5.2f} s  average precision {precision:.4f}")
    timings[f"{type(model).__name__}\n{kind}"] = seconds
    return found


timings = {}
for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=5, random_state=0)):
    on_host = fit_and_predict(model, X_train, y_train, X_test)
    if torch is not None:
        with sklearn.config_context(array_api_dispatch=True):
            on_device = fit_and_predict(model, *map(to_device, (X_train, y_train, X_test)))
        print(f"{'':16} largest difference {np.abs(on_host - on_device).max():.1e}")

# %%
# These data are small; :doc:`/guide/scale` has times for large ones.
fig, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
ax.barh(list(timings), list(timings.values()), color="#0072B2")
ax.set(xlabel="seconds to fit and predict")
plt.show()

# %%
# On the command line, use ``--device``; the model file can be loaded on any machine::
#
#     labelkin fit DATA --device cuda --out model.labelkin
