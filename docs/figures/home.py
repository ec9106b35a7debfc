"""The images of the home page's example, with the digits that the model finds in them."""

import numpy as np

from figures._common import GREEN, INK, ORANGE, new_figure
from labelkin import KinEnsembleClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.model_selection import train_test_split


def draw():
    """Draw six test images; under each the digits found, and those missed or wrong marked."""
    X, y = load_digit_scenes(1000, return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    found = KinEnsembleClassifier(random_state=0).fit(X_train, y_train).predict(X_test[:6])
    figure = new_figure(4.4, 3.5)
    panels = figure.subplots(3, 2).flat
    for axes, image, true, labels in zip(panels, X_test, y_test, found, strict=False):
        axes.imshow(image.reshape(8, 20), cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
        for place, digit in enumerate(np.flatnonzero(true | labels)):
            right = true[digit] == labels[digit]
            text = f"{digit} ✓" if right else f"({digit}) ✗" if true[digit] else f"{digit} ✗"
            colour = GREEN if right else ORANGE
            at = (place * 5.2, 9.1)
            axes.text(*at, text, fontsize=11, va="center", weight="bold", color=colour)
    figure.supxlabel("2 ✓ found · 2 ✗ wrong · (2) ✗ missed", fontsize=9, color=INK)
    return figure
