"""
On a GPU, if there is one
=========================

scikit-learn lets array libraries do the work: with ``array_api_dispatch`` on, what is given as a
torch tensor on a GPU is computed there. This script asks for a GPU, takes NumPy when there is
none, and prints what it used. The projection and the nearest neighbours are matrix products and one
eigendecomposition, which is what GPUs do well.
"""

# %%
# What is here?
# -------------
import time

import numpy as np
import sklearn

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import evaluate


def gpu():
    """Return torch and the name of its GPU, or None."""
    try:
        import torch
    except ImportError:
        return None
    for name in ("cuda", "mps"):
        backend = getattr(torch, name, None)
        if backend is not None and backend.is_available():
            return torch, name
    return None


found = gpu()
print("torch on", found[1] if found else "no GPU: NumPy does the work")


def to_device(array):
    """Return the array where the work will be done."""
    if found is None:
        return array
    torch, device = found
    return torch.as_tensor(np.asarray(array, dtype=np.float32), device=device)


# %%
# The same code for both
# ----------------------
# Labels go with the samples; ``evaluate`` gets NumPy arrays.
scenes = load_digit_scenes(n_samples=1200, random_state=0)
train, test = scenes.split == 0, scenes.split == 1
X_train, Y_train = to_device(scenes.data[train]), to_device(scenes.target[train])
X_test, Y_test = to_device(scenes.data[test]), scenes.target[test]


def to_numpy(array):
    """Return a NumPy array, from wherever."""
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


with sklearn.config_context(array_api_dispatch=found is not None):
    for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=10, random_state=0)):
        started = time.perf_counter()
        model.fit(X_train, Y_train)
        proba = to_numpy(model.predict_proba(X_test))
        seconds = time.perf_counter() - started
        precision = evaluate(Y_test, proba)["average_precision"]
        print(f"{type(model).__name__:18} {seconds:5.2f} s   average precision {precision:.4f}")
