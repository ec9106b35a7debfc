"""Metrics of label sets against the threshold, and the best threshold for each."""

import numpy as np

from figures._common import BLUE, GREEN, INK, ORANGE, PINK, new_figure, scenes
from labelkin import MLkNNClassifier
from labelkin.decisions import LabelDecision
from labelkin.metrics import METRICS

SHOWN = {
    "f1": ("F1", BLUE, "-"),
    "jaccard": ("Jaccard", GREEN, "--"),
    "subset_accuracy": ("subset accuracy", PINK, "-."),
    "hamming_loss": ("1 − Hamming loss", ORANGE, ":"),
}


def draw():
    """Draw each metric of leave-one-out scores against one threshold for all labels."""
    X, _, Y, _, _ = scenes()
    scores = MLkNNClassifier().fit_loo_proba(X, Y, strict=True)
    cuts = np.linspace(0.02, 0.9, 89)
    figure = new_figure(7.4, 3.0)
    axes = figure.subplots()
    for name, (title, colour, style) in SHOWN.items():
        metric = METRICS[name]

        def value(cut, metric=metric):
            found = 100 * metric(Y, (scores > cut).astype(int))
            return found if metric.greater_is_better else 100 - found

        axes.plot(cuts, [value(cut) for cut in cuts], color=colour, linestyle=style, label=title)
        if name != "hamming_loss":  # which has one threshold per label
            decision = LabelDecision(name, at_least_one=False).fit(scores, Y)
            best = decision.thresholds_[0]
            axes.scatter([best], [value(best)], s=44, color=colour, edgecolor=INK, zorder=4)
    axes.axvline(0.5, color=INK, linewidth=0.8, linestyle=":")
    title = "ML-kNN on digit scenes, leave-one-out scores, %"
    axes.set(xlabel="threshold", title=title, ylim=(0, 100))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.grid(alpha=0.25, linewidth=0.5)
    return figure
