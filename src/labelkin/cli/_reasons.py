"""Why a model predicts the labels of one row: as text, as a page, as a picture."""

from dataclasses import dataclass, field
from typing import Any, BinaryIO

from labelkin._utils.names import abbreviate
from labelkin._utils.pages import render_page
from labelkin._utils.plots import BLUE, new_figure, plain_text

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
        for label, is_in, p, added in self.rows():
            bar = ("█" * round(_BAR * p)).ljust(_BAR)
            mark = "✓" if is_in else " "
            why = " · ".join(f"{name} {value:+.1f}" for name, value in added)
            lines.append(f"{mark} {label.ljust(width)}  {p:.2f} {bar}  {why or '(nothing much)'}")
        lines.append(f"({self.method})")
        if len(self.members) > 1:
            lines += ["members: weight, then probability and what it adds to the log odds:"]
            cells = self.member_cells()
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                lines.append(f"  {'  '.join(padded)}".rstrip())
        if spoken := self.spoken():
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
            for label, is_in, p, added in self.rows()
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
        return render_page("labelkin.cli", "reasons", "cli", why=self)

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
        axis.set_yticks(places, [plain_text(label) for label in self.labels])
        axis.invert_yaxis()
        axis.set(xlim=(-0.02, 3), xticks=[0, 0.5, 1])
        for place, p, added in zip(places, self.probability, self.added, strict=True):
            why = "   ".join(f"{name} {value:+.1f}" for name, value in added[:3])
            axis.text(1.05, place, f"{p:.2f}", va="center", fontsize=9)
            axis.text(1.25, place, plain_text(why), va="center", fontsize=9)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.set_title(plain_text(self.title), loc="left", fontsize=10, wrap=True)
        figure.savefig(file, dpi=130, format="png")

    def rows(self) -> Any:
        """Return label, whether it is predicted, probability and contributions, label by label."""
        return zip(self.labels, self.predicted, self.probability, self.added, strict=True)

    def spoken(self) -> list[tuple[str, list[tuple[int, float]]]]:
        """Return labels with their training rows, where there are any."""
        pairs = zip(self.labels[:SPOKEN_LABELS], self.speakers, strict=False)
        return [(label, rows) for label, rows in pairs if rows]

    def member_cells(self) -> list[list[str]]:
        """Return name, weight, and one cell per label, of each member; the labels first."""
        shown = [abbreviate(label, _LONGEST) for label in self.labels[:SPOKEN_LABELS]]
        cells = [["", "", *shown]]
        for member in self.members:
            numbers = zip(member.probability, member.added, strict=True)
            found = [f"{p:.2f} ({value:+.1f})" for p, value in numbers]
            cells.append([member.name, f"{member.weight:.2f}", *found[:SPOKEN_LABELS]])
        return cells


def _list_rows(rows: list[tuple[int, float]]) -> str:
    parts = []
    for word, sign in (("for", 1), ("against", -1)):
        found = [f"{row} {value:+.2f}" for row, value in rows if sign * value > 0]
        parts += [f"{word} {', '.join(found)}"] if found else []
    return "; ".join(parts)
