"""Figures of matplotlib, in colours that colour-blind readers can tell apart."""

from contextlib import suppress
from typing import TYPE_CHECKING
from warnings import warn

from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
"""The palette of Okabe and Ito."""
BLUE, ORANGE = COLOURS[:2]
LEFT_TO_RIGHT = "\u200e"
"""Invisible; keeps what follows in its place beside a name written from right to left."""


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


def find_fonts(text: str) -> tuple[list[str], dict[int, str]]:
    """Return the fonts to draw a text with, and what stands for characters that none of them has.

    After the usual ones comes the installed font with the most of the others. A warning names those
    that remain.
    """
    from matplotlib import font_manager

    def read(path: str) -> set[str]:
        with suppress(OSError, RuntimeError):  # it was removed or is damaged
            return {*map(chr, font_manager.get_font(path).get_charmap())}
        return set()

    families = font_manager.FontProperties().get_family()
    usual = [font_manager.FontProperties(family=[name]) for name in families]
    known = set().union(*(read(font_manager.findfont(font)) for font in usual))
    lacking = {*"".join(text.split())} - known
    if lacking:
        others = {
            font.name: lacking & read(font.fname)
            for font in font_manager.fontManager.ttflist
            if (font.style, font.weight) == ("normal", 400) and "Last Resort" not in font.name
        }
        best = max(others, key=lambda name: len(others[name]))
        families, lacking = [*families, best], lacking - others[best]
    if boxes := sorted(lacking - {LEFT_TO_RIGHT}):
        text = f"no installed font has {join_names(boxes, 3)}, drawn as boxes; HTML shows all"
        warn(f"{text} characters (to_html, or --out NAME.html).", stacklevel=3)
    return families, {ord(one): "\u25a1" * (one in boxes) for one in lacking}
