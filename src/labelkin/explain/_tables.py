"""Tables of an explanation, as text and as HTML."""

# Rows of a printed table; the arrays hold all.
SHOWN = 10
# Features printed for each label.
SHOWN_FEATURES = 5

# Columns of words, which are flush left.
_WORDS = ("label", "labels", "features", "member", "for", "against")


def title(name: str, shown: list[list[str]], total: int) -> str:
    """Return a table's title, with the number of rows that are shown if not all are."""
    return name if len(shown) == total else f"{name} ({len(shown)} of {total})"


def as_text(header: list[str], rows: list[list[str]]) -> str:
    """Return aligned columns, the last one flush left if it holds words."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if heading in _WORDS else cell.rjust(width)
            for cell, width, heading in zip(row, widths, header, strict=True)
        ).rstrip()
        for row in [header, *rows]
    ]
    return "\n".join(f"  {line}" for line in lines) + "\n"


def as_html(title: str, header: list[str], rows: list[list[str]]) -> str:
    """Return a table in HTML."""
    from html import escape

    def row(cells: list[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return (
        f"<table><caption>{escape(title)}</caption><thead>{row(header, 'th')}</thead>"
        f"<tbody>{body}</tbody></table>"
    )
