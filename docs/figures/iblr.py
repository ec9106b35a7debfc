"""The coefficients of IBLR-ML on labels that exclude or imply one another."""

import numpy as np

from figures._common import INK, new_figure
from labelkin import IBLRClassifier

NAMES = ["beach", "sea", "city", "night"]


def draw():
    """Draw w(l, m), the weight of neighbours with label m for label l."""
    from matplotlib.colors import LinearSegmentedColormap

    rng = np.random.default_rng(0)
    n = 600
    coast = rng.normal(0, 1, n)
    dark = rng.normal(0, 1, n)
    X = np.column_stack([coast, dark, rng.normal(0, 1, (n, 2))])
    beach = coast + rng.normal(0, 0.6, n) > 0.6
    sea = beach | (coast + rng.normal(0, 0.6, n) > 0.9)
    city = ~beach & (rng.random(n) < 0.6)
    night = dark + rng.normal(0, 0.6, n) > 0.8
    Y = np.column_stack([beach, sea, city, night]).astype(int)
    model = IBLRClassifier(n_neighbors=20, ridge=1.0).fit(X, Y)

    figure = new_figure(4.6, 3.1)
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("", ["#D55E00", "#F7F7F7", "#0072B2"])
    most = np.abs(model.coef_).max()
    axes.imshow(model.coef_, cmap=colours, vmin=-most, vmax=most)
    for (row, column), value in np.ndenumerate(model.coef_):
        strong = abs(value) > 0.6 * most
        axes.text(
            column, row, f"{value:+.1f}".replace("-", "−"), ha="center", va="center",
            color="#FFFFFF" if strong else "#010101",
        )  # fmt: skip
    axes.set_xticks(range(4), NAMES)
    axes.set_yticks(range(4), NAMES)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="share of neighbours with …", ylabel="log odds of …")
    axes.xaxis.label.set_color(INK)
    return figure
