"""Average precision of every method on every dataset, as committed."""

import numpy as np
from measured import FRONTIER, frontier

from figures._common import BLUE, GREEN, GREY, INK, ORANGE, PINK, SKY, YELLOW, new_figure

READS = (FRONTIER,)

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
COLOURS = (GREY, ORANGE, BLUE, GREEN, PINK, SKY, YELLOW)
OURS = {"mlknn": (GREY, "o"), "vpcme": (ORANGE, "s"), "krr": (BLUE, "^"), "kin": (GREEN, "D")}


def draw():
    """Draw one row per dataset: measured minus published figures of VPCME."""
    data = frontier()
    printed = data.column("published", "average_precision")
    order = np.argsort(data.column(list(data.cells)[-1], "average_precision") - printed)
    figure = new_figure(7.4, 3.9)
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=1)
    for i, (name, title) in enumerate(data.titles.items()):
        colour, mark = OURS.get(name, (COLOURS[i % 7], MARKS[i % 10]))
        lead = data.column(name, "average_precision") - printed
        axes.scatter(
            lead[order], range(len(order)), marker=mark, s=34, color=colour, label=title, zorder=3
        )
    axes.set_yticks(range(len(order)), [data.datasets[i] for i in order])
    axes.set(xlabel="points of average precision above the published VPCME")
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
