"""RAkEL's labelsets and its votes for one sample."""

import numpy as np

from figures._common import BLUE, GREY, INK, ORANGE, new_figure, scenes
from labelkin import RAkELClassifier


def draw():
    """Draw which labels each member learns, its votes for one image, and the share of votes."""
    X_train, X_test, Y_train, Y_test, images = scenes()
    model = RAkELClassifier(labelset_size=3, random_state=2)
    model.fit(X_train, Y_train)
    row = int(np.flatnonzero(Y_test.sum(axis=1) == 3)[1])
    share = model.predict_proba(X_test[[row]])[0]

    figure = new_figure(7.4, 3.3)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1), height_ratios=(1, 2.2))
    left = figure.add_subplot(grid[:, 0])
    picture = figure.add_subplot(grid[0, 1])
    votes = figure.add_subplot(grid[1, 1])
    for m, (labels, member) in enumerate(zip(model.labelsets_, model.estimators_, strict=True)):
        predicted = member.predict(X_test[[row]])[0]
        for label, yes in zip(labels, predicted, strict=True):
            left.scatter(
                label, m, s=60, marker="s", color=BLUE if yes else "none", edgecolor=INK,
                linewidth=0.9,
            )  # fmt: skip
    left.set(xlim=(-0.6, 9.6), ylim=(19.7, -0.7), xticks=range(10), yticks=range(0, 20, 2))
    left.set(xlabel="label", ylabel="member", title="20 labelsets of k = 3; filled: votes for")
    left.grid(alpha=0.25, linewidth=0.5)
    left.set_axisbelow(True)
    picture.imshow(images[row], cmap="gray_r", aspect="equal")
    picture.set(xticks=[], yticks=[])
    truth = ", ".join(map(str, np.flatnonzero(Y_test[row])))
    picture.set_title(f"true labels {truth}")
    colours = [BLUE if value >= 0.5 else GREY for value in share]
    votes.bar(range(10), share, color=colours)
    votes.axhline(0.5, color=ORANGE, linestyle="--", linewidth=1)
    votes.set(xticks=range(10), ylim=(0, 1.05), xlabel="label", title="share of votes")
    return figure
