"""CLR's votes for one sample, the calibration label among them."""

import numpy as np

from figures._common import BLUE, GREY, INK, ORANGE, new_figure, scenes
from labelkin import CalibratedLabelRankingClassifier


def draw():
    """Draw the ranking by votes, cut at the calibration label."""
    X_train, X_test, Y_train, Y_test, images = scenes()
    model = CalibratedLabelRankingClassifier().fit(X_train, Y_train)
    right_ones = (model.predict(X_test) == Y_test).all(axis=1) & (Y_test.sum(axis=1) == 3)
    row = int(np.flatnonzero(right_ones)[0])
    votes = model.votes(X_test[[row]])[0]
    names = [str(d) for d in range(10)] + ["calibr."]
    order = np.argsort(-votes, kind="stable")

    figure = new_figure(7.4, 2.8)
    picture, axes = figure.subplots(1, 2, width_ratios=(1, 2.6))
    picture.imshow(images[row], cmap="gray_r")
    picture.set(xticks=[], yticks=[])
    picture.set_title("true labels " + ", ".join(map(str, np.flatnonzero(Y_test[row]))))
    cut = votes[10]
    for place, label in enumerate(order):
        own = label == 10
        colour = ORANGE if own else BLUE if votes[label] >= cut else GREY
        axes.bar(place, votes[label], color=colour, hatch="///" if own else "", edgecolor="white")
        axes.text(place, votes[label] + 0.15, str(votes[label]), ha="center", fontsize=8)
    axes.axhline(cut, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xticks(range(11), [names[label] for label in order])
    axes.set(
        title="votes; predicted: no fewer than the calibration label",
        ylim=(0, votes.max() + 1.5),
    )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return figure
