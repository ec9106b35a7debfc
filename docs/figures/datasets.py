"""What `describe` counts, as pictures: label sets and labels."""

import numpy as np

from figures._common import BLUE, GREY, INK, ORANGE, new_figure, scenes


def draw():
    """Draw a few scenes, their set sizes, and how often two labels meet."""
    _, _, Y, truth, images = scenes()
    figure = new_figure(7.4, 3.2)
    grid = figure.add_gridspec(3, 3, width_ratios=(1.2, 1, 1.15))
    for row in range(3):
        axes = figure.add_subplot(grid[row, 0])
        axes.imshow(images[row], cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.set_title("labels " + ", ".join(map(str, np.flatnonzero(truth[row]))), fontsize=8.5)
    sizes = figure.add_subplot(grid[:, 1])
    count = np.bincount(Y.sum(axis=1), minlength=4)
    sizes.bar(range(1, 4), count[1:], color=[BLUE, GREY, ORANGE])
    sizes.set(title="labels in an image", xticks=[1, 2, 3], ylabel="images")
    meet = figure.add_subplot(grid[:, 2])
    together = (Y.T.astype(int) @ Y).astype(float)
    np.fill_diagonal(together, np.nan)
    meet.imshow(together, cmap="Blues", vmin=0)
    meet.set(xticks=range(10), yticks=range(10), title="images with both labels")
    meet.tick_params(length=0)
    meet.spines[:].set_visible(False)
    meet.xaxis.label.set_color(INK)
    return figure
