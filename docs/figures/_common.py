"""What the guide's figures share: colours for colour-blind readers too, and small data."""

from functools import cache

import numpy as np

from labelkin._utils.plots import COLOURS, new_figure
from labelkin.datasets import load_digit_scenes

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, GREY = COLOURS
INK = "#1b1c1f"  # becomes the text colour of the page
PAPER = "#fefefe"  # becomes the background of the page

__all__ = ["BLUE", "GREEN", "GREY", "INK", "ORANGE", "PAPER", "PINK", "SKY", "YELLOW", "new_figure"]


@cache
def scenes(n: int = 800):
    """Return training and test parts of digit scenes, and the images of the test part."""
    data = load_digit_scenes(n_samples=n, random_state=0)
    train, test = data.split == 0, data.split == 1
    return (
        data.data[train], data.data[test], data.target[train], data.target[test],
        data.images[test],
    )  # fmt: skip


def cloud(n: int = 240, seed: int = 0):
    """Two labels in a plane: one to the right, one above, both where they meet; some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    Y = (X + rng.normal(0, 0.18, (n, 2)) > 0).astype(int)
    return X, Y
