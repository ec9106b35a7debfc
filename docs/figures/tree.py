"""How the confidence prunes: size and accuracy of C4.5 trees."""

import numpy as np

from figures._common import BLUE, GREY, ORANGE, new_figure
from labelkin import C45TreeClassifier


def draw():
    """Draw leaves and test accuracy against the confidence."""
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 30)) < 0.4).astype(float)
    noise = rng.random(2000) < 0.2
    y = ((X[:, 0] == 1) | ((X[:, 1] == 1) & (X[:, 2] == 0))) ^ noise
    train, test = slice(600), slice(600, None)

    def grow(**how):
        return C45TreeClassifier(nominal_features="binary", **how).fit(X[train], y[train])

    confidences = [0.001, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5]
    trees = [grow(confidence=c) for c in confidences]
    full = grow(pruning=False)
    figure = new_figure(7.0, 2.7)
    left, right = figure.subplots(1, 2)
    left.plot(confidences, [t.get_n_leaves() for t in trees], color=BLUE, marker="o")
    left.axhline(full.get_n_leaves(), color=GREY, linestyle="--")
    left.text(0.02, full.get_n_leaves() * 0.93, "unpruned", va="top")
    left.set(xlabel="confidence", title="leaves", ylim=(0, None))
    scores = [100 * (t.predict(X[test]) == y[test]).mean() for t in trees]
    right.plot(confidences, scores, color=ORANGE, marker="s")
    right.axhline(100 * (full.predict(X[test]) == y[test]).mean(), color=GREY, linestyle="--")
    right.set(xlabel="confidence", title="accuracy on new samples, %")
    for axes in (left, right):
        axes.axvline(0.25, color=GREY, linewidth=0.8, linestyle=":")
        axes.grid(alpha=0.25, linewidth=0.5)
    return figure
