"""Leave-one-out estimates inside a projection are optimistic; out-of-bag ones are not."""

import numpy as np

from figures._common import BLUE, GREEN, INK, ORANGE, new_figure
from labelkin import BaggingVPCPClassifier, MLkNNClassifier
from labelkin.metrics import average_precision

N, INFORMATIVE = 200, 10
FEATURES = (20, 50, 100, 200, 400)


def draw():
    """Draw two estimates of the score, and the score on new rows, against k."""
    scores = {"left out inside the projection": [], "out of bag": [], "new rows": []}
    for k in FEATURES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4 * N, k))
        noise = rng.normal(size=(4 * N, 5))
        Y = (X[:, :INFORMATIVE] @ rng.normal(size=(INFORMATIVE, 5)) + noise > 1).astype(int)
        model = BaggingVPCPClassifier(n_estimators=20, bag=0.6, random_state=0)
        model.fit(X[:N], Y[:N])
        inside = BaggingVPCPClassifier(n_estimators=20, random_state=0).fit(X[:N], Y[:N])
        left_out = [
            MLkNNClassifier().fit_loo_proba(X[:N] @ p.components_.T, Y[:N])
            for p in inside.projections_
        ]
        values = (
            average_precision(Y[:N], np.mean(left_out, axis=0)),
            model.oob_score_,
            average_precision(Y[N:], model.predict_proba(X[N:])),
        )
        for name, value in zip(scores, values, strict=True):
            scores[name].append(100 * value)

    figure = new_figure(7.4, 2.9)
    axes = figure.subplots()
    for (name, values), colour, style in zip(
        scores.items(), (ORANGE, GREEN, BLUE), ("--", "-.", "-"), strict=True
    ):
        axes.plot(FEATURES, values, color=colour, linestyle=style, marker="o", markersize=4)
        axes.text(FEATURES[-1] * 1.06, values[-1], name, color=INK, va="center")
    axes.set(xscale="log", xlabel=f"features k (n = {N}, {INFORMATIVE} of them relevant)")
    axes.set_xticks(FEATURES, FEATURES)
    axes.minorticks_off()
    axes.set_title("average precision, %")
    axes.grid(alpha=0.25, linewidth=0.5)
    return figure
