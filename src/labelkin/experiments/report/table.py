"""A table of text and numbers, written as Markdown and CSV."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Entry:
    """One entry of a table."""

    text: str = "–"
    numbers: dict[str, Any] = field(default_factory=dict)
    """What the CSV holds for it, by name."""
    value: float | None = None
    """What it is sorted by."""
    best: bool = False
    mark: str = ""
    """By the paper's test."""
    published: str = ""
    """The figure printed in the paper, shown beneath the measured one."""

    @classmethod
    def of(
        cls, value: float, text: str | Callable[[float], str] = "{:.2f}".format, **more: Any
    ) -> "Entry":
        """Return the entry of one number, with its text or how it is written."""
        shown = text if isinstance(text, str) else text(value)
        return cls(shown, {"": round(value, 6)}, float(value), **more)


@dataclass(frozen=True)
class Table:
    """Entries by row and column, with titles."""

    name: str
    """File name without its ending."""
    title: str
    caption: str
    corner: str
    """Heading of the first column."""
    columns: dict[str, str]
    """Titles by key."""
    rows: dict[str, str]
    """Titles by key."""
    entries: dict[tuple[str, str], Entry]
    """By row and column."""
    greater_is_better: bool | None = None
    """Direction of the values; None where rows differ in it or it has no meaning."""
    subject: str = ""
    """Key of the column that the others are compared with; it comes first."""
    holds_words: bool = False
    """Whether the entries are sentences, set flush left and broken into lines."""

    def entry(self, row: str, column: str) -> Entry:
        """Return an entry; one without text where there is none."""
        return self.entries.get((row, column), Entry())

    def lines(self) -> Iterator[tuple[str, str, list[Entry]]]:
        """Yield key, title and entries of each row."""
        for row, title in self.rows.items():
            yield row, title, [self.entry(row, column) for column in self.columns]

    def to_markdown(self) -> str:
        """Return the table for GitHub and the like."""
        head = [self.corner, *self.columns.values()]
        lines = [f"**{escape_markdown(self.title)}**", "", _md_row(map(escape_markdown, head))]
        lines.append(_md_row(["---", *["---" if self.holds_words else "---:"] * len(self.columns)]))
        for _, title, entries in self.lines():
            lines.append(_md_row([escape_markdown(title), *map(_md_entry, entries)]))
        return "\n".join([*lines, "", escape_markdown(self.caption), ""])

    def to_csv(self) -> str:
        """Return one line per row, with the numbers behind the entries of each column."""
        lines: list[dict[str, Any]] = []
        for row, title, entries in self.lines():
            lines.append({self.corner.lower(): title if self.holds_words else row})
            for column, entry in zip(self.columns, entries, strict=True):
                numbers = {f"{column} {name}".strip(): n for name, n in entry.numbers.items()}
                lines[-1] |= numbers
        return pd.DataFrame(lines, dtype=object).to_csv(index=False, lineterminator="\n")


def word_table(
    name: str,
    title: str,
    columns: dict[str, str],
    rows: Sequence[Mapping[str, str]],
    *,
    caption: str = "",
    bold: str = "",
) -> Table | None:
    """Return a table of texts, one row per mapping, the first column as its head; None if empty.

    `columns` are titles by key; `bold` is the key of a column.
    """
    head, *others = columns
    entries = {
        (str(number), key): Entry(row[key] or "–", {"": row[key]}, best=key == bold)
        for number, row in enumerate(rows)
        for key in others
    }
    titles = {str(number): row[head] for number, row in enumerate(rows)}
    shown = {key: columns[key] for key in others}
    table = Table(name, title, caption, columns[head], shown, titles, entries, holds_words=True)
    return table if rows else None


_MARKDOWN = str.maketrans({c: "\\" + c for c in r"\`*_[]|~#"} | {"<": "&lt;", ">": "&gt;"})


def escape_markdown(text: str) -> str:
    """Return text on one line with the characters that Markdown would read escaped."""
    return " ".join(text.split()).translate(_MARKDOWN)


def _md_row(entries: Iterable[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _md_entry(entry: Entry) -> str:
    text = f"**{escape_markdown(entry.text)}**" if entry.best else escape_markdown(entry.text)
    small = f"<br><small>{escape_markdown(entry.published)}</small>" if entry.published else ""
    return text + entry.mark + small


def slug(text: str) -> str:
    """Return text as part of a file's name: ASCII letters, digits and hyphens."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)


def signed(value: float) -> str:
    """Return a difference with its sign, and zero without one."""
    text = f"{value:+.2f}" if abs(value) < 10 else f"{value:+.1f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def listing(names: Sequence[str], word: str = "and") -> str:
    """Return names as a phrase: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
