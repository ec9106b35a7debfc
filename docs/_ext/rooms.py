"""The table of packages: ``<!-- rooms -->`` becomes one row per layer, made from the source.

The layers are those of the contract in pyproject.toml, the texts the first docstring lines.
"""

from figures.architecture import READS, layers, purpose

MARK = "<!-- rooms -->"


def table() -> str:
    """Return a Markdown table of all packages, the highest layer first."""
    lines = ["| package | purpose |", "|---|---|"]
    lines += [f"| `{room}` | {purpose(room)} |" for layer in layers() for room in layer]
    return "\n".join(lines)


def _replace(app, docname: str, source: list[str]) -> None:
    if MARK in source[0]:
        app.env.dependencies[docname].update(map(str, READS))
        source[0] = source[0].replace(MARK, table())


def setup(app) -> dict:
    """Put the table in while pages are read."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}
