"""The first two dimensions of PCA and of MDDM, coloured by label."""

import numpy as np
from sklearn.decomposition import PCA

from figures._common import BLUE, GREY, ORANGE, PINK, new_figure
from labelkin import MDDM


def draw():
    """Draw samples of four label sets as both see them; the loudest features say nothing."""
    rng = np.random.default_rng(0)
    n = 300
    Y = (rng.random((n, 2)) < 0.5).astype(int)
    signal = (Y - 0.5) @ rng.normal(0, 0.6, (2, 18)) + rng.normal(0, 0.5, (n, 18))
    X = np.hstack([rng.normal(0, 3, (n, 2)), signal])
    kinds = {
        "no label": (0, 0, GREY, "."), "a": (1, 0, BLUE, "o"),
        "b": (0, 1, ORANGE, "^"), "a and b": (1, 1, PINK, "s"),
    }  # fmt: skip
    figure = new_figure(7.0, 2.8)
    for axes, (name, model) in zip(
        figure.subplots(1, 2), {"PCA": PCA(2), "MDDM": MDDM(n_components=2)}.items(), strict=True
    ):
        Z = model.fit(X, Y).transform(X)
        for kind, (a, b, colour, marker) in kinds.items():
            rows = ([a, b] == Y).all(axis=1)
            axes.scatter(*Z[rows].T, s=14, color=colour, marker=marker, label=kind, alpha=0.85)
        axes.set(title=f"{name}, first two dimensions", xticks=[], yticks=[])
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
