"""The three methods of the ten-minute start: how well each finds every digit."""

import numpy as np

from figures._common import BLUE, GREY, ORANGE, new_figure
from labelkin import KinEnsembleClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import label_f1
from labelkin.model_selection import train_test_split


def draw():
    """Draw the F1 of every digit, one bar per method."""
    X, y = load_digit_scenes(800, return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    models = {
        "Kin": KinEnsembleClassifier(random_state=0),
        "VPCME": VPCMEClassifier(random_state=0),
        "ML-kNN": MLkNNClassifier(),
    }
    figure = new_figure(5.2, 2.9)
    axes = figure.subplots()
    for place, (name, model) in enumerate(models.items()):
        labels = model.fit(X_train, y_train).predict(X_test)
        values = [100 * label_f1(y_test[:, [digit]], labels[:, [digit]]) for digit in range(10)]
        colour = (BLUE, ORANGE, GREY)[place]
        axes.bar(np.arange(10) + 0.28 * (place - 1), values, 0.25, color=colour, label=name)
    axes.set(xticks=range(10), xlabel="digit", title="F1 in %", ylim=(0, 100))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure
