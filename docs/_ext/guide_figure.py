"""The directive ``guide-figure``: a figure drawn at build time, inside the page as SVG.

``docs/figures/NAME.py`` has a function ``draw`` that returns a matplotlib figure. The SVG
uses the colours of the page, so that one figure serves the light and the dark page; its
text can be selected, and screen readers read it::

    ```{guide-figure} projection
    :alt: A description for readers who cannot see the figure.

    The caption.
    ```
"""

import re
from html import escape
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from figures._common import PAPER
from sphinx.util.docutils import SphinxDirective

from labelkin._utils.plots import BLUE
from labelkin.experiments.report.figures import INK, STYLE, save


def inline_svg(svg: str, name: str, label: str) -> str:
    """Return an SVG to be part of a page, with its own ids and the page's text colour."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-").replace(INK, "currentColor")
    # The blue is too dark for a dark page, which defines its own.
    svg = svg.replace(f": {BLUE.lower()}", f": var(--blue, {BLUE})")
    # Text without a colour of its own is black by default, and lost on a dark page.
    head, rest = svg.split(">", 1)
    width = re.search(r' width="([\d.]+pt)"', head)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    own = f'style="--width: {width[1]}" ' if width else ""  # the page scales by it
    return f'{head} {own}role="img" aria-label="{label}" fill="currentColor">{rest}'


class GuideFigure(SphinxDirective):
    """See the module."""

    has_content = True
    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Draw the figure and put it into the page."""
        name = self.arguments[0]
        script = Path(self.env.srcdir) / "figures" / f"{name}.py"
        self.env.note_dependency(str(script))
        module = import_module(f"figures.{name}")
        for path in getattr(module, "READS", ()):  # data it draws
            self.env.note_dependency(str(path))
        with matplotlib.rc_context(STYLE), TemporaryDirectory() as folder:
            svg = save(module.draw(), Path(folder), name)
        svg = svg.replace(PAPER, "var(--pst-color-background, white)")
        alt = escape(self.options["alt"], quote=True)
        figure = nodes.figure(classes=["guide-figure"])
        drawn = f'<div class="drawing" tabindex="0">{inline_svg(svg, name, alt)}</div>'
        figure += nodes.raw("", drawn, format="html")
        if self.content:
            caption = nodes.caption()
            text, _ = self.parse_inline(" ".join(self.content), lineno=self.content_offset)
            caption += text
            figure += caption
        return [figure]


def setup(app) -> dict:
    """Register the directive."""
    app.add_directive("guide-figure", GuideFigure)
    return {"parallel_read_safe": True}
