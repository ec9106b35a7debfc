"""What counts for and against the labels of one sample: as text, page, picture and arrays."""

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.names import abbreviate, did_you_mean, join_names, printable, show_value
from labelkin._utils.pages import render_page
from labelkin._utils.plots import BLUE, LEFT_TO_RIGHT, find_fonts, new_figure, plain_text
from labelkin.base import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is printed; the arrays hold all.
_LABELS = 8  # besides all predicted ones
_FEATURES = 5  # of each label
_SMALLEST = 0.05  # log odds; what adds less is not printed
_NEAREST = 5
_LABELS_WITH_ROWS = 4  # labels with a column of members, and with training samples
_FOR_AND_AGAINST = 2  # training samples for each of them, and against it
_BAR = 20  # characters of a bar of probability 1
_HEADING = 14  # characters of a label at the head of a column


@dataclass(frozen=True, repr=False)
class Explanation:
    """What counts for and against each label of one sample.

    ``print`` it, display it in a notebook, ``plot`` it, or read the arrays. Every classifier
    provides what it has: fields that do not apply are empty.

    Attributes
    ----------
    label_names : list of str
        Names of the labels; numbers from 0 where there are none.
    predicted : ndarray of bool of shape (n_labels,)
        Which labels ``predict`` gives.
    probability : ndarray of shape (n_labels,)
        What ``predict_proba`` gives.
    features : list of str
        Features, columns or words of the sample.
    feature_values : list
        Their values; None for a word.
    feature_effects : ndarray of shape (n_labels, n_features)
        What each of them adds to the log odds of each label. In a linear model, weight times
        value: with the `intercept` they add up to the log odds. Else, the change of the log odds
        when the feature is replaced by its median, or the word is removed.
    method : str
        How the effects were found.
    intercept : ndarray of shape (n_labels,) or None
        Log odds that neither features nor members account for: with the effects of all features
        of a linear model, or with `member_effects`, it adds up to the log odds.
    member_names : list of str
        Members of an ensemble.
    member_weights : ndarray of shape (n_members,)
        Weight of each member.
    member_probability : ndarray of shape (n_members, n_labels)
        Probabilities by each member alone.
    member_effects : ndarray of shape (n_members, n_labels) or None
        What each member adds to the log odds; None where members vote.
    rows : ndarray of int of shape (n_rows,)
        Training samples, the most similar first: the nearest neighbours, or all samples of a
        kernel regression.
    row_labels : ndarray of bool of shape (n_rows, n_labels)
        Their labels.
    row_known : ndarray of bool of shape (n_rows, n_labels) or None
        Which of these are known; None: all.
    row_effects : ndarray of shape (n_rows, n_labels) or None
        What each adds to the score of each label, in a kernel regression: the sample's weight,
        which is large for similar samples, times its label less the label's mean. A weight may be
        negative: then the sample counts against a label that it has, or for one that it lacks.
    row_measures : dict of str to ndarray of shape (n_rows,)
        ``similarity``, the kernel value; or ``members`` (number of members that have the sample
        among their nearest), mean ``rank`` and mean ``distance`` of a neighbour.
    row_names : callable
        Returns a training sample in words, by its number; the empty string where unknown.
    row_ids : sequence of str or None
        Identifiers of the training samples, which are printed in place of their numbers.
    counts : ndarray of int of shape (n_members, n_labels) or None
        Number of each member's nearest training samples that have the label.
    n_neighbors : int
        Number of nearest training samples of a member.
    title : str
        The sample, in words.
    first_row : int
        Number of the first training sample in print.
    """

    label_names: list[str]
    predicted: Array
    probability: Array
    features: list[str] = field(default_factory=list)
    feature_values: list[Any] = field(default_factory=list)
    feature_effects: Array | None = None
    method: str = ""
    intercept: Array | None = None
    member_names: list[str] = field(default_factory=list)
    member_weights: Array = field(default_factory=lambda: np.ones(0))
    member_probability: Array | None = None
    member_effects: Array | None = None
    rows: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    row_labels: Array | None = None
    row_known: Array | None = None
    row_effects: Array | None = None
    row_measures: dict[str, Array] = field(default_factory=dict)
    row_names: Any = None
    row_ids: Any = None
    counts: Array | None = None
    n_neighbors: int = 0
    title: str = ""
    first_row: int = 0

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.member_names)

    @property
    def votes(self) -> Array:
        """Number of members that predict each label."""
        if self.member_probability is None:
            return np.zeros(len(self.label_names), dtype=int)
        return (self.member_probability > 0.5).sum(axis=0)

    def strongest_features(self, label: int | str, n: int = _FEATURES) -> list[tuple[str, float]]:
        """Return the features of largest effect on a label, and their effects.

        Parameters
        ----------
        label : int or str
            Number or name of the label.
        n : int, default=5
            How many at most.

        Returns
        -------
        list of (str, float)
            A column is written as ``name = value``.
        """
        if self.feature_effects is None:
            return []
        effects = self.feature_effects[self._number(label)]
        order = np.argsort(-np.abs(effects), kind="stable")[:n]
        found = []
        for i in order[effects[order] != 0]:
            name, value = self.features[i], self.feature_values[i] if self.feature_values else None
            if value is not None:
                shown = "(missing)" if value != value else show_value(value)  # NaN is missing
                name += f" = {shown}"
            found.append((name, float(effects[i])))
        return found

    def strongest_rows(
        self, label: int | str, sign: int = 1, n: int = 3
    ) -> list[tuple[int, float]]:
        """Return the training samples that add most for a label, or against it.

        Parameters
        ----------
        label : int or str
            Number or name of the label.
        sign : {1, -1}, default=1
            1: for the label; -1: against it.
        n : int, default=3
            How many at most.

        Returns
        -------
        list of (int, float)
            Numbers of the samples, and what they add to the score; empty where the classifier is
            no kernel regression.
        """
        found = self._strongest_places(self._number(label), sign, n)
        return [(int(self.rows[i]), effect) for i, effect in found]

    def _strongest_places(self, j: int, sign: int, n: int) -> list[tuple[int, float]]:
        """Return the same with the places of the samples in `rows`."""
        if self.row_effects is None:
            return []
        effects = self.row_effects[:, j]
        order = np.argsort(-sign * effects, kind="stable")[:n]
        return [(int(i), float(effects[i])) for i in order if sign * effects[i] > 0]

    def sum_up(self, label: int | str) -> list[tuple[str, float]]:
        """Return the strongest features and their effects; all that a linear model adds up.

        After the features of a linear model come the sum of all others, and the start: the log odds
        of a row in which all words and values are zero.
        """
        found, effects = self.strongest_features(label), self.feature_effects
        if effects is None or self.intercept is None or self.member_effects is not None:
            return found
        j = self._number(label)
        rest = float(effects[j].sum()) - sum(value for _, value in found)
        return [*found, ("others", rest), ("start", float(self.intercept[j]))]

    def to_dict(self) -> dict[str, Any]:
        """Return what is printed as values that JSON can hold.

        Returns
        -------
        dict
            ``row``, ``labels``, ``members``, ``nearest`` (the most similar training rows) and
            ``others`` (other training rows that count for or against the first labels).
        """
        shown = self._shown()
        labels = list[dict[str, Any]]()
        others = dict[int, None]()
        for j in shown:
            entry: dict[str, Any] = {
                "label": self.label_names[j],
                "predicted": bool(self.predicted[j]),
                "probability": round(float(self.probability[j]), 6),
                "added": [
                    {"part": name, "log_odds": round(value, 4)}
                    for name, value in self.sum_up(j)
                    if abs(value) >= _SMALLEST
                ],
            }
            if self.row_effects is not None:
                places = [
                    found
                    for sign in (1, -1)
                    for found in self._strongest_places(j, sign, _FOR_AND_AGAINST)
                ]
                entry["rows"] = [
                    {"row": int(self.rows[i]) + self.first_row, "score": round(value, 6)}
                    | ({"id": self._id_of(self.rows[i])} if self._id_of(self.rows[i]) else {})
                    | ({} if self.row_labels is None else {"has": bool(self.row_labels[i, j])})
                    for i, value in places
                ]
                if len(labels) < _LABELS_WITH_ROWS:
                    others |= {i: None for i, _ in places if i >= _NEAREST}
            if self.member_effects is None and self.n_members > 1:
                entry["votes"] = int(self.votes[j])
            labels.append(entry)
        members = []
        if self.member_probability is not None and self.member_effects is not None:
            for i, name in enumerate(self.member_names):
                numbers = [
                    {
                        "label": self.label_names[j],
                        "probability": round(float(self.member_probability[i, j]), 6),
                        "log_odds": round(float(self.member_effects[i, j]), 4),
                    }
                    for j in shown
                ]
                weight = round(float(self.member_weights[i]), 6)
                members.append({"member": name, "weight": weight, "labels": numbers})
        return {
            "row": self.title,
            "labels": labels,
            "members": members,
            "nearest": [self._row_in_words(i) for i in range(min(_NEAREST, len(self.rows)))],
            "others": [self._row_in_words(i) for i in sorted(others)],
        }

    def to_html(self) -> str:
        """Return a page that needs no other file.

        Returns
        -------
        str
        """
        return self._render(whole=True)

    def plot(self) -> "Figure":
        """Draw the probabilities, those of the members, and what adds to them.

        Returns
        -------
        matplotlib.figure.Figure
        """
        shown = self._shown()
        places = range(len(shown))
        figure = new_figure(10, 1.2 + 0.45 * len(shown))
        axis = figure.subplots()
        colours = [BLUE if self.predicted[j] else "#bbbbbb" for j in shown]
        axis.barh(places, self.probability[shown], color=colours, height=0.6)
        if self.member_probability is not None and self.n_members > 1:
            for probability in self.member_probability:
                axis.scatter(probability[shown], places, s=14, facecolors="#222222", zorder=2)
            axis.set_xlabel("probability; dots: each member alone", loc="left", fontsize=9)
        names = [self.label_names[j] for j in shown]
        mark = LEFT_TO_RIGHT
        reasons = [
            "   ".join(f"{mark}{part}{mark} {x:+.1f}" for part, x in self.strongest_features(j, 3))
            for j in shown
        ]
        fonts, replaced = find_fonts("".join([*names, *reasons, self.title]))
        names, reasons, (title,) = (
            [plain_text(text.translate(replaced)) for text in texts]
            for texts in (names, reasons, [self.title])
        )
        axis.set_yticks(places, names, fontfamily=fonts)
        axis.invert_yaxis()
        axis.set(xlim=(-0.02, 3), xticks=[0, 0.5, 1])
        for place, j, why in zip(places, shown, reasons, strict=True):
            axis.text(1.05, place, f"{self.probability[j]:.2f}", va="center", fontsize=9)
            axis.text(1.25, place, why, va="center", fontsize=9, fontfamily=fonts)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.set_title(title, loc="left", fontsize=10, wrap=True, fontfamily=fonts)
        return figure

    def __repr__(self) -> str:
        names = [self.label_names[j] for j in np.flatnonzero(self.predicted)]
        return f"<Explanation: {', '.join(names) or 'no label'}>"

    def __str__(self) -> str:
        found = self.to_dict()
        width = max(len(one["label"]) for one in found["labels"])
        lines = [self.title] if self.title else []
        for one in found["labels"]:
            p, mark = one["probability"], "✓" if one["predicted"] else " "
            bar = ("█" * round(_BAR * min(max(p, 0), 1))).ljust(_BAR)
            name = one["label"].ljust(width)
            lines.append(f"{mark} {name}  {p:.2f} {bar}  {self._reason(one)}".rstrip())
        lines += [f"({self.method})"] if self.method else []
        if cells := self._member_cells(found):
            lines += ["members: weight over all labels, then probability and added log odds:"]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                lines.append(f"  {'  '.join(padded)}".rstrip())
        if self.row_effects is not None:
            lines += ["training rows for and against, and what they add to the score:"]
            for one in found["labels"][:_LABELS_WITH_ROWS]:
                parts = []
                for word, sign in (("for", 1), ("against", -1)):
                    rows = [row for row in one["rows"] if sign * row["score"] > 0]
                    listed = [f"{_row_name(row)} {row['score']:+.2f}" for row in rows]
                    parts += [f"{word} {', '.join(listed)}"] if rows else []
                lines.append(f"  {one['label'].ljust(width)}  {'; '.join(parts)}".rstrip())
        if found["nearest"]:
            lines += ["most similar training rows:", *(f"  {row}" for row in found["nearest"])]
        if found["others"]:
            lines += ["other training rows named above:", *(f"  {row}" for row in found["others"])]
        return "\n".join(map(printable, lines))

    def _repr_html_(self) -> str:
        try:
            return self._render(whole=False)
        except ImportError:  # without Jinja
            return f"<pre>{escape(str(self))}</pre>"

    def _render(self, whole: bool) -> str:
        found = self.to_dict()
        dots = self.member_probability if self.n_members > 1 else None
        for j, one in zip(self._shown(), found["labels"], strict=True):
            one["reason"] = "" if one["added"] else self._reason(one)
            one["dots"] = [] if dots is None else dots[:, j].tolist()
        rows = found["labels"][:_LABELS_WITH_ROWS] if self.row_effects is not None else []
        for row in (row for label in rows for row in label["rows"]):
            row["name"] = _row_name(row)
        return render_page(
            "labelkin.explain",
            "explanation",
            "cli",
            **found,
            rows=rows,
            method=self.method,
            member_names=self.member_names,
            member_cells=self._member_cells(found),
            whole=whole,
        )

    def _number(self, label: int | str) -> int:
        if isinstance(label, str) and label not in self.label_names:
            raise ValueError(
                f"no label is called {label!r}.{did_you_mean(label, self.label_names)}"
            )
        return self.label_names.index(label) if isinstance(label, str) else label

    def _shown(self) -> list[int]:
        """Return the most probable labels, all predicted ones among them."""
        order = np.argsort(-self.probability, kind="stable").tolist()
        return [j for rank, j in enumerate(order) if rank < _LABELS or self.predicted[j]]

    def _reason(self, one: dict[str, Any]) -> str:
        """Return what is printed behind the probability of a label."""
        if self.features:
            added = [f"{part['part']} {part['log_odds']:+.1f}" for part in one["added"]]
            return " · ".join(added) or "(nothing much)"
        parts = [f"{one['votes']} of {self.n_members} members"] if "votes" in one else []
        if self.counts is not None:
            count = self.counts[:, self._number(one["label"])].mean()
            digits = 1 if len(self.counts) > 1 else 0
            parts.append(f"{count:.{digits}f} of {self.n_neighbors} neighbours")
        return " · ".join(parts)

    def _member_cells(self, found: dict[str, Any]) -> list[list[str]]:
        """Return name, weight, and one cell per label, of each member; the labels first."""
        if len(found["members"]) < 2:
            return []
        shown = found["labels"][:_LABELS_WITH_ROWS]
        cells = [["", "", *(abbreviate(one["label"], _HEADING) for one in shown)]]
        for member in found["members"]:
            numbers = member["labels"][:_LABELS_WITH_ROWS]
            added = [f"{one['probability']:.2f} ({one['log_odds']:+.1f})" for one in numbers]
            cells.append([member["member"], f"{member['weight']:.2f}", *added])
        return cells

    def _id_of(self, row: int) -> str:
        """Return the name of a training row; empty if it has none."""
        return "" if self.row_ids is None else str(self.row_ids[row])

    def _row_in_words(self, place: int) -> str:
        row, labels = int(self.rows[place]), self.row_labels
        marked: Any = [] if labels is None else np.flatnonzero(labels[place])
        tags = ", ".join(self.label_names[j] for j in marked)
        if self.row_known is not None and not self.row_known[place].all():
            unknown = [self.label_names[j] for j in np.flatnonzero(~self.row_known[place])]
            tags = f"{tags}; unknown: {join_names(unknown, 3)}".removeprefix("; ")
        words = "" if self.row_names is None else self.row_names(row)
        shown = self._id_of(row) or f"training row {row + self.first_row}"
        return f"{f'{shown} {words}'.strip()}: {tags or 'no label'}"


def _row_name(row: dict[str, Any]) -> str:
    """Return a training row by name; marked, if it counts against a label that it has.

    So is one that counts for a label that it lacks.
    """
    name, has = str(row.get("id", row["row"])), row.get("has", row["score"] > 0)
    return name if has == (row["score"] > 0) else f"{name} ({'has' if has else 'lacks'} it)"
