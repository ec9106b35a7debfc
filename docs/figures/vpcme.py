"""What members add: quality by ensemble size, and where the weights go."""

import numpy as np

from figures._common import BLUE, GREEN, GREY, INK, ORANGE, new_figure, scenes
from labelkin import BaggingVPCPClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.metrics import average_precision


def draw():
    """Draw average precision against the number of members, and the final weights."""
    X_train, X_test, Y_train, Y_test, _ = scenes()
    models = {
        "VPCME": (VPCMEClassifier, BLUE, "-"),
        "Bagging_VPCP": (BaggingVPCPClassifier, ORANGE, "--"),
    }
    figure = new_figure(7.4, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1))
    for name, (Model, colour, style) in models.items():
        model = Model(n_estimators=30, random_state=0).fit(X_train, Y_train)
        curve = [average_precision(Y_test, p) for p in model.staged_predict_proba(X_test)]
        left.plot(range(1, 31), np.multiply(curve, 100), color=colour, linestyle=style, label=name)
        if Model is VPCMEClassifier:
            weights = np.sort(model.sample_weights_)[::-1] * len(Y_train)
            right.plot(np.linspace(0, 100, len(weights)), weights, color=GREEN)
    alone = MLkNNClassifier().fit(X_train, Y_train).predict_proba(X_test)
    left.axhline(100 * average_precision(Y_test, alone), color=GREY, linewidth=1.2)
    left.text(30, 100 * average_precision(Y_test, alone) + 0.15, "ML-kNN alone", ha="right")
    left.set(xlabel="members S", title="average precision on unseen handwriting, %")
    left.legend(frameon=False, loc="lower center")
    left.grid(alpha=0.25, linewidth=0.5)
    right.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    right.set(yscale="log", xlabel="training samples, % (heaviest first)")
    right.set_title("n · weight after 30 rounds")
    ticks = [1e-6, 1e-4, 1e-2, 1]
    right.set_yticks(ticks, ["10⁻⁶", "10⁻⁴", "10⁻²", "1"])
    right.minorticks_off()
    return figure
