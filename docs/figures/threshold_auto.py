"""What threshold="auto" tries, and what each Θ would have given."""

import numpy as np

from figures._common import BLUE, GREEN, GREY, INK, ORANGE, PINK, new_figure, scenes
from labelkin import VPCMEClassifier
from labelkin.metrics import average_precision

COLOURS = (BLUE, GREEN, PINK, GREY)


def draw():
    """Draw the out-of-bag scores of the candidates, and the test scores of full ensembles."""
    X_train, X_test, Y_train, Y_test, _ = scenes()
    model = VPCMEClassifier(threshold="auto", random_state=0).fit(X_train, Y_train)
    tried = model.threshold_scores_
    theta, size = tried["threshold"], tried["n_members"]
    score = 100 * tried["score"]
    given = [
        VPCMEClassifier(threshold=float(t), random_state=0).fit(X_train, Y_train) for t in theta
    ]
    test = [100 * average_precision(Y_test, m.predict_proba(X_test)) for m in given]

    figure = new_figure(7.4, 3.0)
    left, right = figure.subplots(1, 2)
    for i, n in enumerate(np.unique(size)[::-1]):
        which = size == n
        colour = COLOURS[i % len(COLOURS)]
        left.scatter(theta[which], score[which], s=36, color=colour, label=str(n), zorder=3)
    left.legend(frameon=False, title="trial members", alignment="left", loc="upper left")
    left.set(xlabel="Θ", title="trials: out of bag, %")
    right.plot(theta, test, color=BLUE, marker="o", markersize=4)
    right.set(xlabel="Θ", title="30 members, on unseen handwriting, %")
    for axes in (left, right):
        axes.axvline(model.threshold_, color=ORANGE, linewidth=1.2)
        axes.axvline(0.6, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xticks(theta, [f"{t:.2f}" for t in theta])
        axes.grid(alpha=0.25, linewidth=0.5)
    return figure
