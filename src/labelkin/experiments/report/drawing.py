"""The style of all figures, and figures as files or as part of a page.

Line styles, markers and hatching repeat the colours, for prints in grey. Text and axes are drawn
in one ink, which :func:`inline_svg` turns into the text colour of the page.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from labelkin._utils.names import abbreviate
from labelkin._utils.optional import import_optional
from labelkin._utils.plots import BLUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#1b1c1f"

STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # names of users' methods may contain dollar signs
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "labelkin",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the style of the report."""
    matplotlib = import_optional("matplotlib", "report")
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def shorten(name: str, most: int = 26) -> str:
    """Return a name that fits into a figure."""
    return abbreviate("".join(c if c.isprintable() else " " for c in name), most)


def save(figure: "Figure", folder: Path, name: str) -> str:
    """Write ``name.png`` and ``name.svg`` into a folder and return the SVG."""
    out = io.StringIO()
    with figure_style():
        # Laid out once: `savefig` would do it for each file, and draw the figure twice.
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
        figure.savefig(folder / f"{name}.png", dpi=200, facecolor="white")
    (folder / f"{name}.svg").write_text(out.getvalue(), encoding="utf-8")
    return out.getvalue()


def inline_svg(svg: str, name: str, label: str) -> str:
    """Return an SVG to be part of a page, with its own ids and the page's text colour.

    `name` makes the ids unique. `label`, already escaped, describes the figure for readers who
    cannot see it.
    """
    prefix = re.sub(r"\W", "-", name)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\n\s*", "\n", svg)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-").replace(INK, "currentColor")
    # The blue is too dark for a dark page, which defines its own.
    svg = svg.replace(f": {BLUE.lower()}", f": var(--blue, {BLUE})")
    # Text without a colour of its own is black by default, and lost on a dark page.
    head, rest = svg.split(">", 1)
    width = re.search(r' width="([\d.]+pt)"', head)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    own = f'style="--width: {width[1]}" ' if width else ""  # the page scales by it
    return f'{head} {own}role="img" aria-label="{label}" fill="currentColor">{rest}'
