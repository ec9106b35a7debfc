"""Rare labels in five folds: at random, and stratified."""

import numpy as np
from sklearn.model_selection import KFold

from figures._common import BLUE, GREY, INK, ORANGE, new_figure
from labelkin.model_selection import IterativeStratifiedKFold


def draw():
    """Draw each label's positives in each fold, against its fair share."""
    rng = np.random.default_rng(4)
    n = 400
    rates = np.array([0.4, 0.2, 0.1, 0.05, 0.03, 0.0125])
    Y = (rng.random((n, len(rates))) < rates).astype(int)
    splitters = {
        "KFold (shuffled)": (KFold(5, shuffle=True, random_state=1), ORANGE, "s"),
        "IterativeStratifiedKFold": (IterativeStratifiedKFold(5, random_state=0), BLUE, "o"),
    }
    figure = new_figure(7.2, 2.8)
    for axes, (name, (splitter, colour, marker)) in zip(
        figure.subplots(1, 2, sharey=True), splitters.items(), strict=True
    ):
        for fold, (_, test) in enumerate(splitter.split(Y, Y)):
            share = 5 * Y[test].sum(axis=0) / Y.sum(axis=0)
            at = np.arange(len(rates)) + 0.12 * (fold - 2)
            axes.scatter(at, share, s=26, color=colour, marker=marker, edgecolor=INK, linewidth=0.4)
        axes.axhline(1, color=GREY, linewidth=1)
        counts = [f"{int(c)}" for c in Y.sum(axis=0)]
        axes.set_xticks(range(len(rates)), counts)
        axes.set(xlabel="rows with the label, of 400", title=name)
    figure.axes[0].set_ylabel("share in a fold\n(1: fair)")
    return figure
