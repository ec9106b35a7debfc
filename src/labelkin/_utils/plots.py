"""Figures of matplotlib, in colours that colour-blind readers can tell apart."""

from typing import TYPE_CHECKING

from labelkin._utils.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
"""The palette of Okabe and Ito."""
BLUE, ORANGE = COLOURS[:2]


def plain_text(text: str) -> str:
    """Return a text in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches.

    It is made without pyplot, so that no window opens and no setting of the caller changes.
    """
    import_optional("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
