"""One label of ML-kNN: counts among neighbours, and what they say."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from figures._common import BLUE, GREY, INK, ORANGE, cloud, new_figure
from labelkin import MLkNNClassifier


def draw():
    """Draw a query with its neighbours, the two likelihoods, and the posterior."""
    X, Y = cloud(1000)
    k = 10
    model = MLkNNClassifier(n_neighbors=k).fit(X, Y[:, :1])
    query = np.array([0.05, -0.35])
    _, near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors([query])
    near = near[0]
    count = int(Y[near, 0].sum())

    figure = new_figure(7.4, 2.9)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1))
    for value, marker, colour in ((0, "o", GREY), (1, "^", BLUE)):
        rows = Y[:, 0] == value
        left.scatter(*X[rows].T, marker=marker, s=6, color=colour, alpha=0.6)
    left.scatter(*X[near].T, s=60, facecolor="none", edgecolor=INK, linewidth=0.9)
    left.scatter(*query, marker="*", s=130, color=ORANGE, edgecolor=INK, zorder=4)
    left.set(aspect="equal", xticks=[], yticks=[], title=f"c = {count} of k = {k} have ▲")

    at = np.arange(k + 1)
    middle.bar(at - 0.2, model.likelihood_[1, 0], 0.4, color=BLUE, label="P(c | label)")
    middle.bar(at + 0.2, model.likelihood_[0, 0], 0.4, color=GREY, label="P(c | no label)")
    middle.set(xlabel="c", title="likelihoods", xticks=at[::2])
    middle.legend(frameon=False, fontsize=8, loc="upper center")
    posterior = model._posterior[0]
    right.plot(at, posterior, color=BLUE, marker="o", markersize=4)
    right.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
    right.scatter(
        [count], [posterior[count]], marker="*", s=130, color=ORANGE, edgecolor=INK, zorder=4
    )
    right.set(xlabel="c", ylim=(-0.03, 1.03), xticks=at[::2], title="P(label | c)")
    return figure
