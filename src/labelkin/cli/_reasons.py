"""Why a model predicts the labels of one row: as text, as a page, as a picture."""

from dataclasses import dataclass, field
from html import escape
from typing import Any, BinaryIO

from labelkin._utils.plots import BLUE, new_figure

SPOKEN_LABELS = 4
"""Labels with a column of what members add, and with training rows for and against them."""

_BAR = 20  # characters of a bar of probability 1
_LONGEST = 14  # characters of a label at the head of a column


@dataclass(frozen=True)
class Member:
    """What one member of an ensemble predicts."""

    name: str
    weight: float
    probability: list[float]
    """For each label, by this member alone."""
    added: list[float]
    """What it adds to the log odds of each label."""


@dataclass(frozen=True)
class Reasons:
    """What speaks for and against the labels of one row."""

    title: str
    """The row, in words."""
    labels: list[str]
    """The most probable first, all predicted ones among them."""
    predicted: list[bool]
    probability: list[float]
    added: list[list[tuple[str, float]]]
    """For each label, what words or values add to its log odds, the largest first."""
    method: str
    """How the contributions were found."""
    members: list[Member] = field(default_factory=list)
    """Of an ensemble of kernels and trees."""
    speakers: list[list[tuple[int, float]]] = field(default_factory=list)
    """For each label, training rows and what they add to its score: those for it, then those
    against it."""
    neighbors: list[str] = field(default_factory=list)
    """The most similar training rows and those among the speakers, in words."""

    def as_text(self) -> str:
        """Return lines for the terminal."""
        width = max(map(len, self.labels))
        lines = [self.title]
        for label, is_in, p, added in self._rows():
            bar = ("█" * round(_BAR * p)).ljust(_BAR)
            mark = "✓" if is_in else " "
            why = " · ".join(f"{name} {value:+.1f}" for name, value in added)
            lines.append(f"{mark} {label.ljust(width)}  {p:.2f} {bar}  {why or '(nothing much)'}")
        lines.append(f"({self.method})")
        if len(self.members) > 1:
            lines += ["members: weight, then probability and what it adds to the log odds:"]
            lines += [f"  {line}" for line in self._member_lines()]
        if spoken := self._spoken():
            lines += ["training rows for and against, and what they add to the score:"]
            width = max(len(label) for label, _ in spoken)
            lines += [f"  {label.ljust(width)}  {_list_rows(rows)}" for label, rows in spoken]
        if self.neighbors:
            lines += ["most alike:", *(f"  {neighbor}" for neighbor in self.neighbors)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        labels = [
            {
                "label": label,
                "predicted": is_in,
                "probability": round(p, 6),
                "added": [{"part": name, "log_odds": round(value, 4)} for name, value in added],
            }
            for label, is_in, p, added in self._rows()
        ]
        for entry, rows in zip(labels, self.speakers, strict=False):
            entry["rows"] = [{"row": row, "score": round(value, 6)} for row, value in rows]
        members = [
            {
                "member": member.name,
                "weight": round(member.weight, 6),
                "labels": [
                    {"label": label, "probability": round(p, 6), "log_odds": round(value, 4)}
                    for label, p, value in zip(
                        self.labels, member.probability, member.added, strict=True
                    )
                ],
            }
            for member in self.members
        ]
        return {
            "row": self.title,
            "labels": labels,
            "members": members,
            "nearest": self.neighbors,
        }

    def as_html(self) -> str:
        """Return a page that needs no other file."""
        rows = []
        for number, (label, is_in, p, added) in enumerate(self._rows()):
            chips = " ".join(
                f'<span class="{"for" if value > 0 else "against"}">{escape(name)} '
                f"{value:+.1f}</span>"
                for name, value in added
            )
            rows.append(
                f"<tr{' class=in' if is_in else ''}><td>{'✓' if is_in else ''}</td>"
                f"<th>{escape(label)}</th><td>{p:.2f}</td>"
                f'<td><div class=scale><div class=bar style="width:{100 * p:.0f}%"></div>'
                f"{self._dots(number)}</div></td><td>{chips}</td></tr>"
            )
        alike = "".join(f"<li>{escape(neighbor)}</li>" for neighbor in self.neighbors)
        alike = f"<h2>Most alike in training</h2><ul>{alike}</ul>" if alike else ""
        spoken = "".join(
            f"<tr><th>{escape(label)}</th><td>{_chips(rows, True)}</td>"
            f"<td>{_chips(rows, False)}</td></tr>"
            for label, rows in self._spoken()
        )
        if spoken:
            spoken = (
                "<h2>Training rows, and what they add to the score</h2><div class=scroll><table>"
                f"<tr><th></th><th>for</th><th>against</th></tr>{spoken}</table></div>"
            )
        return _PAGE.format(
            title=escape(self.title),
            rows="".join(rows),
            method=escape(self.method) + ("; dots: members" if len(self.members) > 1 else ""),
            members=self._member_table() if len(self.members) > 1 else "",
            spoken=spoken,
            alike=alike,
        )

    def draw(self, file: BinaryIO) -> None:
        """Draw the probabilities, those of members, and what adds to them, as PNG."""
        figure = new_figure(10, 1.2 + 0.45 * len(self.labels))
        axis = figure.subplots()
        places = range(len(self.labels))
        colours = [BLUE if is_in else "#bbbbbb" for is_in in self.predicted]
        axis.barh(places, self.probability, color=colours, height=0.6)
        if len(self.members) > 1:
            for member in self.members:
                axis.scatter(member.probability, places, s=14, facecolors="#222222", zorder=2)
            axis.set_xlabel("probability; dots: each member alone", loc="left", fontsize=9)
        axis.set_yticks(places, [_plain(label) for label in self.labels])
        axis.invert_yaxis()
        axis.set(xlim=(-0.02, 3), xticks=[0, 0.5, 1])
        for place, p, added in zip(places, self.probability, self.added, strict=True):
            why = "   ".join(f"{name} {value:+.1f}" for name, value in added[:3])
            axis.text(1.05, place, f"{p:.2f}", va="center", fontsize=9)
            axis.text(1.25, place, _plain(why), va="center", fontsize=9)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.set_title(_plain(self.title), loc="left", fontsize=10, wrap=True)
        figure.savefig(file, dpi=130, format="png")

    def _rows(self) -> Any:
        return zip(self.labels, self.predicted, self.probability, self.added, strict=True)

    def _spoken(self) -> list[tuple[str, list[tuple[int, float]]]]:
        """Return labels with their training rows, where there are any."""
        pairs = zip(self.labels[:SPOKEN_LABELS], self.speakers, strict=False)
        return [(label, rows) for label, rows in pairs if rows]

    def _member_cells(self) -> list[list[str]]:
        """Return name, weight, and one cell per label, of each member; the labels first."""
        shown = [_shorten(label) for label in self.labels[:SPOKEN_LABELS]]
        cells = [["", "", *shown]]
        for member in self.members:
            numbers = zip(member.probability, member.added, strict=True)
            found = [f"{p:.2f} ({value:+.1f})" for p, value in numbers]
            cells.append([member.name, f"{member.weight:.2f}", *found[:SPOKEN_LABELS]])
        return cells

    def _member_lines(self) -> list[str]:
        cells = self._member_cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]

    def _member_table(self) -> str:
        head, *body = self._member_cells()
        head[:2] = ["member", "weight"]
        header = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join(
            f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>"
            for row in body
        )
        return (
            "<h2>Members: probability (and what it adds to the log odds)</h2>"
            f"<div class=scroll><table class=members><tr>{header}</tr>{rows}</table></div>"
        )

    def _dots(self, label: int) -> str:
        """Return a dot for each member at its probability of a label."""
        if len(self.members) < 2:
            return ""
        return "".join(
            f'<i style="left:{100 * member.probability[label]:.0f}%" '
            f'title="{escape(member.name)} {member.probability[label]:.2f}"></i>'
            for member in self.members
        )


def _list_rows(rows: list[tuple[int, float]]) -> str:
    parts = []
    for word, sign in (("for", 1), ("against", -1)):
        found = [f"{row} {value:+.2f}" for row, value in rows if sign * value > 0]
        parts += [f"{word} {', '.join(found)}"] if found else []
    return "; ".join(parts)


def _chips(rows: list[tuple[int, float]], positive: bool) -> str:
    kind = "for" if positive else "against"
    return " ".join(
        f'<span class="{kind}">{row} {value:+.2f}</span>'
        for row, value in rows
        if (value > 0) == positive
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # no formula for Matplotlib


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }}
h1 {{ font-size: 1.15rem; }} h2 {{ font-size: 1rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ text-align: left; padding: .35rem .5rem; border-top: 1px solid #8884; font-weight: 400; }}
th {{ overflow-wrap: break-word; }}
tr.in th {{ font-weight: 700; }}
.labels td:nth-child(3), .members td, .members th, span {{ white-space: nowrap; }}
.labels td:nth-child(4) {{ width: 20%; }}
@media (max-width: 40rem) {{
  .labels tr {{ display: grid; grid-template-columns: 1.5rem 1fr 3rem 6rem; align-items: center;
    border-top: 1px solid #8884; padding: .3rem 0; }}
  .labels td, .labels th {{ border: 0; padding: .1rem .3rem; }}
  .labels td:nth-child(4) {{ width: auto; }}
  .labels td:last-child {{ grid-column: 1 / -1; }}
}}
.scale {{ position: relative; }}
.bar {{ height: .8rem; background: #8888; border-radius: .2rem; }}
.scale i {{ position: absolute; top: .25rem; width: .3rem; height: .3rem; margin-left: -.15rem;
  border-radius: 50%; background: currentColor; }}
tr.in .bar {{ background: #0072b2; }}
span {{ display: inline-block; max-width: 100%; overflow: hidden; text-overflow: ellipsis;
  padding: 0 .4rem; margin: .1rem 0; border-radius: .6rem; }}
.for {{ background: #0072b233; }} .against {{ background: #d55e0033; }}
p {{ opacity: .75; }}
</style>
<h1>{title}</h1>
<table class=labels>{rows}</table>
<p>{method}</p>
{members}
{spoken}
{alike}
</html>
"""
