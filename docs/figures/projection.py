"""Pairs in a plane, the direction they give, and the eigenvalues of a real case."""

import numpy as np

from figures._common import BLUE, GREY, INK, ORANGE, new_figure, scenes
from labelkin import PairwiseConstraintProjection
from labelkin.projection._pairwise import TrainingRows


def draw():
    """Draw pairs, the samples on the learned direction, and a spectrum."""
    rng = np.random.default_rng(3)
    n = 60
    label = np.arange(n) % 2
    X = np.column_stack([rng.normal(0, 1.1, n), rng.normal(0, 0.35, n) + 1.3 * label])
    X = X @ np.array([[0.9, 0.43], [-0.43, 0.9]])
    Y = np.column_stack([label == 0, label == 1]).astype(int)
    model = PairwiseConstraintProjection(n_components=1, random_state=0).fit(X, Y)

    figure = new_figure(7.4, 2.9)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    for pairs, colour, style in (
        (model.must_link_[:25], BLUE, "-"), (model.cannot_link_[:25], ORANGE, ":"),
    ):  # fmt: skip
        for a, b in pairs:
            left.plot(*X[[a, b]].T, color=colour, linestyle=style, linewidth=0.8, alpha=0.7)
    for value, marker, colour in ((0, "o", GREY), (1, "^", INK)):
        left.scatter(*X[label == value].T, marker=marker, s=16, color=colour, zorder=3)
    w = model.components_[0]
    centre = X.mean(axis=0)
    left.annotate(
        "", centre + 1.9 * w, centre, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 2}
    )
    left.text(*(centre + 2.05 * w), "w₁", fontweight="bold", ha="center")
    left.set(aspect="equal", xticks=[], yticks=[], title="must-links solid, cannot-links dotted")

    z = model.transform(X)[:, 0]
    bins = np.linspace(z.min(), z.max(), 18)
    middle.hist(z[label == 0], bins, color=GREY, alpha=0.85, label="● one label set")
    middle.hist(z[label == 1], bins, histtype="step", color=INK, linewidth=1.5, label="▲ the other")
    middle.set(xlabel="z = w₁ᵀx", yticks=[], title="after the projection")
    middle.spines["left"].set_visible(False)
    middle.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2))

    X, _, Y, _, _ = scenes()
    rows = TrainingRows(X)
    pairs = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    S_C, S_M = rows.scatter(pairs.cannot_link_), rows.scatter(pairs.must_link_)
    difference = S_C - pairs.scaling_ * S_M
    values = np.sort(np.linalg.eigvalsh(difference))[::-1]
    d = len(pairs.eigenvalues_)
    at = np.arange(1, len(values) + 1)
    right.bar(at[:d], values[:d], color=BLUE, width=1)
    right.bar(at[d:], values[d:], color=ORANGE, width=1, alpha=0.6)
    right.axhline(0, color=INK, linewidth=0.6)
    right.text(d / 2, values[0] * 0.45, f"kept: {d}", color=BLUE, fontsize=8)
    right.text(len(values) * 0.98, values[0] * 0.12, "dropped", ha="right", fontsize=8)
    right.set(xlabel="eigenvalue number", title="digit scenes, 160 features", yticks=[0])
    return figure
