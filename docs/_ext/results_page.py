"""What we ran: ``results/README.md`` and ``summary.md`` as a page, links led to shipped files.

The committed report, tables and figures are copied into the site; nothing is computed.
"""

import re
import shutil
from pathlib import Path

LINK = re.compile(r"\]\((?!https?:)(?:\.\./)?([^)#]+)\)")


def _page(app, docname: str, source: list[str]) -> None:
    """Append the README's text to the page called ``results``."""
    if docname != "results":
        return
    folder = Path(app.srcdir).parent / "results"
    text = (folder / "README.md").read_text(encoding="utf-8")
    body = text.partition("\n")[2].replace("`](", "](").replace("[`", "[")
    body = LINK.sub(lambda link: f"](results/{link[1]})", body)
    # A plain link: the target is a file of the built site, not a document of the source.
    body = re.sub(r"\[([^\]]+)\]\((results/[^)]+)\)", r'<a href="\2">\1</a>', body)
    source[0] = source[0].replace("<!-- results/README.md -->", body)
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    source[0] = source[0].replace("<!-- results/summary.md -->", summary)


def _copy(app, exception) -> None:
    if exception is None and app.builder.format == "html":
        results = Path(app.srcdir).parent / "results"
        target = Path(app.outdir) / "results"
        shutil.copytree(results, target, dirs_exist_ok=True)


def setup(app) -> dict:
    """Add the text while reading, and copy files at the end."""
    app.connect("source-read", _page)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True}
