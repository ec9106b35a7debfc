"""Binary relevance and a chain, as boxes and arrows."""

from figures._common import BLUE, GREY, INK, new_figure


def draw():
    """Draw three links side by side, and the same three passing labels on."""
    figure = new_figure(7.4, 2.6)
    left, right = figure.subplots(1, 2)
    for axes, chained in ((left, False), (right, True)):
        axes.set(xlim=(-0.1, 3.1), ylim=(-0.1, 2.5))
        axes.axis("off")
        _box(axes, 1.5, 0.2, 2.7, "features x", GREY)
        for i in range(3):
            x = 0.45 + 1.05 * i
            _box(axes, x, 1.15, 0.62, f"h{'₁₂₃'[i]}", BLUE)
            _arrow(axes, (x, 0.42), (x, 0.93))
            _arrow(axes, (x, 1.37), (x, 1.83))
            axes.text(x, 2.0, f"ŷ{'₁₂₃'[i]}", ha="center", va="center", fontsize=11)
            for before in range(i if chained else 0):
                start = 0.45 + 1.05 * before
                bend = -0.25 - 0.12 * (i - before)
                _arrow(axes, (start + 0.14, 2.0), (x - 0.1 + 0.1 * before, 1.4), bend)
        axes.set_title("classifier chain" if chained else "binary relevance")
    return figure


def _box(axes, x, y, width, text, colour):
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (x - width / 2, y - 0.17), width, 0.34, boxstyle="round,pad=0.04",
        facecolor=colour, alpha=0.25, edgecolor="none",
    )  # fmt: skip
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center", fontsize=10)


def _arrow(axes, start, end, bend=0.0):
    how = {
        "arrowstyle": "-|>", "color": INK, "lw": 1, "shrinkA": 0, "shrinkB": 0,
        "connectionstyle": f"arc3,rad={bend}",
    }  # fmt: skip
    axes.annotate("", end, start, arrowprops=how)
