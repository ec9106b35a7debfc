"""Boosted trees on one label: the boundary after 1, 3 and 10 rounds."""

import numpy as np

from figures._common import BLUE, GREY, INK, new_figure
from labelkin import AdaBoostPDTClassifier


def draw():
    """Draw P(label) in the plane for growing ensembles."""
    from matplotlib.colors import LinearSegmentedColormap

    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 2))
    y = (X @ [1.0, 0.7] + rng.normal(0, 0.1, 300) > 0).astype(int)
    line = np.linspace(-1, 1, 90)
    plane = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    colours = LinearSegmentedColormap.from_list("", ["#F7F7F7", "#9ECAE9"])
    figure = new_figure(7.4, 2.7)
    for axes, rounds in zip(figure.subplots(1, 3), (1, 3, 10), strict=True):
        model = AdaBoostPDTClassifier(n_estimators=rounds, random_state=0).fit(X, y[:, None])
        proba = model.predict_proba(plane)[:, 0].reshape(90, 90)
        axes.imshow(
            proba >= 0.5, extent=(-1, 1, -1, 1), origin="lower", cmap=colours, vmin=0, vmax=1
        )
        for value, marker, colour in ((0, "o", GREY), (1, "^", BLUE)):
            axes.scatter(*X[y == value].T, marker=marker, s=7, color=colour)
        axes.plot([-0.7, 0.7], [1, -1], color=INK, linewidth=0.9)
        n = len(model.estimators_[0])
        axes.set(xticks=[], yticks=[], title="1 tree" if n == 1 else f"{n} trees")
    return figure
