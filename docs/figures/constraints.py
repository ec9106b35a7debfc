"""Which pairs are must-links: a few label sets, and all pairs of a dataset."""

import numpy as np

from figures._common import BLUE, INK, ORANGE, new_figure, scenes
from labelkin.constraints import label_similarity

SETS = {"{a}": "a", "{a,b}": "ab", "{a,b,c}": "abc", "{b,c}": "bc", "{c,d}": "cd", "{d}": "d"}


def draw():
    """Draw the table of similarities beside the share of must-links by threshold."""
    figure = new_figure(7.4, 3.2)
    left, right = figure.subplots(1, 2)
    Y = np.array([[letter in s for letter in "abcd"] for s in SETS.values()]).astype(int)
    n = len(Y)
    i, j = np.divmod(np.arange(n * n), n)
    table = label_similarity(Y[i], Y[j]).reshape(n, n)
    for (row, column), value in np.ndenumerate(table):
        must = value >= 0.6
        left.add_patch(_cell(column, row, BLUE if must else ORANGE, 0.30 if must else 0.12, must))
        left.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8)
    left.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
    left.set_xticks(range(n), SETS, rotation=45, ha="right")
    left.set_yticks(range(n), SETS)
    left.tick_params(length=0)
    left.spines[["left", "bottom"]].set_visible(False)
    left.set_title("similarity; blue: must-link at Θ = 0.6")

    Y = scenes()[2]
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(Y), size=(2, 20000))
    found = label_similarity(Y[first], Y[second])[first != second]
    thresholds = np.linspace(0, 1, 101)
    share = [(found >= t).mean() for t in thresholds]
    right.fill_between(thresholds, 0, share, color=BLUE, alpha=0.3, linewidth=0, step="post")
    right.fill_between(thresholds, share, 1, color=ORANGE, alpha=0.12, linewidth=0, step="post")
    right.step(thresholds, share, where="post", color=BLUE)
    right.axvline(0.6, color=INK, linewidth=0.8, linestyle=":")
    right.text(0.62, 0.9, "Θ = 0.6", fontsize=8)
    right.text(0.05, 0.12, "must-links", fontsize=8)
    right.text(0.3, 0.7, "cannot-links", fontsize=8)
    right.set(xlim=(0, 1), ylim=(0, 1), xlabel="threshold Θ", ylabel="share of all pairs")
    right.set_title("pairs of digit scenes")
    return figure


def _cell(x, y, colour, alpha, strong):
    from matplotlib.patches import Rectangle

    return Rectangle(
        (x - 0.47, y - 0.47), 0.94, 0.94, facecolor=colour, alpha=alpha,
        linewidth=0, zorder=0 if strong else -1,
    )  # fmt: skip
