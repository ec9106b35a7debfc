"""One ranked sample, and what each ranking metric reads from it."""

from figures._common import BLUE, GREY, INK, ORANGE, new_figure

SCORES = [0.92, 0.81, 0.66, 0.52, 0.31, 0.12]
RELEVANT = [True, False, True, False, False, False]
NAMES = ["sea", "boat", "beach", "city", "snow", "night"]


def draw():
    """Draw the ranking with its decision at one half and the depth of coverage."""
    figure = new_figure(7.2, 2.9)
    axes = figure.subplots()
    for place, (name, score, good) in enumerate(zip(NAMES, SCORES, RELEVANT, strict=True)):
        axes.barh(
            place, score, color=BLUE if good else GREY, hatch="" if good else "///",
            edgecolor="white", height=0.72,
        )  # fmt: skip
        axes.text(-0.02, place, f"{place + 1}. {name}", ha="right", va="center", fontsize=10)
    axes.plot([0.5, 0.5], [-0.55, 5.5], color=INK, linestyle=":", linewidth=1)
    axes.text(0.5, -0.75, "predicted when above ½", ha="center", fontsize=8)
    axes.annotate(
        "", (1.03, 2), (1.03, 0), arrowprops={"arrowstyle": "-|>", "color": ORANGE, "lw": 1.6}
    )
    notes = [
        (0, "one-error 0: the top label is relevant"),
        (1, "ranking loss 1/8: of 2 × 4 pairs only boat–beach is wrong"),
        (2, "coverage 2: two steps down to the last relevant label"),
        (3, "average precision ½ (1/1 + 2/3) = 0.83"),
        (4, "Hamming loss 2/6: boat and city are wrongly predicted"),
        (5, "F1 = 2·2/(2 + 4) = 0.67,  recall 2/2 = 1"),
    ]
    for place, note in notes:
        axes.text(1.07, place, note, va="center", fontsize=8.5)
    axes.set(xlim=(-0.28, 2.35), ylim=(5.6, -1.0))
    axes.axis("off")
    return figure
