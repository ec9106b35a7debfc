"""The small data most tests use, and where the shared datasets and reference figures are."""

import os
from pathlib import Path

import numpy as np
import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "datasets"
DATA = Path(os.environ.get("LABELKIN_DATA") or _BESIDE)
"""Folder of the datasets: ``LABELKIN_DATA``, else ``shared/datasets`` beside the checkout."""
REFERENCE = DATA.parent / "reference" / "mulan.json"
"""Figures of Mulan on the same folds."""

needs_data = pytest.mark.skipif(
    not (DATA / "yeast.npz").is_file(), reason=f"no yeast.npz in {DATA} (set LABELKIN_DATA)"
)
needs_reference = pytest.mark.skipif(
    not (DATA / "yeast.npz").is_file() or not REFERENCE.is_file(),
    reason=f"no yeast.npz in {DATA} or no figures at {REFERENCE} (set LABELKIN_DATA)",
)


def make_data(n=60, k=5, q=4, seed=0):
    """Return small multi-label data in which the labels depend on the features."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, k))
    Y = (X @ rng.standard_normal((k, q)) + 0.3 * rng.standard_normal((n, q)) > 0).astype(int)
    return X, Y
