"""Why a model predicts the labels of one row: as text, as a page, as a picture."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import numpy as np

    from labelkin.cli._data import FittedModel

_BAR = 20  # characters of a bar of probability 1
_LABELS = 8  # shown, besides all predicted ones
_REASONS = 5  # shown for each label
_SMALLEST = 0.05  # log odds; what adds less is not shown
_NEIGHBORS = 5


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
    neighbors: list[str] = field(default_factory=list)
    """The nearest training rows, in words."""

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
        return {"row": self.title, "labels": labels, "nearest": self.neighbors}

    def as_html(self) -> str:
        """Return a page that needs no other file."""
        from html import escape

        rows = []
        for label, is_in, p, added in self._rows():
            chips = " ".join(
                f'<span class="{"for" if value > 0 else "against"}">{escape(name)} '
                f"{value:+.1f}</span>"
                for name, value in added
            )
            rows.append(
                f"<tr{' class=in' if is_in else ''}><td>{'✓' if is_in else ''}</td>"
                f"<th>{escape(label)}</th><td>{p:.2f}</td>"
                f'<td><div class=bar style="width:{100 * p:.0f}%"></div></td><td>{chips}</td></tr>'
            )
        alike = "".join(f"<li>{escape(neighbor)}</li>" for neighbor in self.neighbors)
        alike = f"<h2>Most alike in training</h2><ul>{alike}</ul>" if alike else ""
        return _PAGE.format(
            title=escape(self.title), rows="".join(rows), method=escape(self.method), alike=alike
        )

    def draw(self, file: BinaryIO) -> None:
        """Draw the probabilities and what adds to them as PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 1.2 + 0.45 * len(self.labels)), layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.subplots()
        places = range(len(self.labels))
        colours = ["#0072B2" if is_in else "#bbbbbb" for is_in in self.predicted]
        axis.barh(places, self.probability, color=colours, height=0.6)
        axis.set_yticks(places, [_plain(label) for label in self.labels])
        axis.invert_yaxis()
        axis.set(xlim=(0, 3), xticks=[0, 0.5, 1])
        for place, p, added in zip(places, self.probability, self.added, strict=True):
            why = "   ".join(f"{name} {value:+.1f}" for name, value in added[:3])
            axis.text(p + 0.03, place, f"{p:.2f}", va="center", fontsize=9)
            axis.text(1.2, place, _plain(why), va="center", fontsize=9)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.set_title(_plain(self.title), loc="left", fontsize=10, wrap=True)
        figure.savefig(file, dpi=130, format="png")

    def _rows(self) -> Any:
        return zip(self.labels, self.predicted, self.probability, self.added, strict=True)


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # no formula for Matplotlib


def find_reasons(
    saved: "FittedModel",
    X: Any,
    row: int,
    labels: "np.ndarray",
    scores: "np.ndarray",
    title: str,
    describe: Any,
) -> Reasons:
    """Return what speaks for and against each label of a row.

    `labels` and `scores` are the predictions for that row, of shape (q,); `describe` returns a
    training row in words.
    """
    import numpy as np

    from labelkin.tabular import occlude

    explanation = _explain(saved.model, X, row)
    if hasattr(explanation, "contributions"):
        parts = [explanation.feature_names[i] for i in explanation.features]
        effects = explanation.contributions
        method = "log odds that each word or value adds"
    else:
        parts, effects = occlude(saved.model, saved.schema, X, row, len(labels))
        method = "change of the log odds when a word or value is removed"
    ranking = np.argsort(-scores, kind="stable").tolist()
    order = [j for rank, j in enumerate(ranking) if rank < _LABELS or labels[j]]
    names = saved.labels.names
    return Reasons(
        title,
        [names[j] for j in order],
        [bool(labels[j]) for j in order],
        [float(scores[j]) for j in order],
        [_largest(parts, effects[j]) for j in order],
        method,
        _neighbors(explanation, names, describe),
    )


def _largest(parts: list[str], effects: "np.ndarray") -> list[tuple[str, float]]:
    import numpy as np

    order = np.argsort(-np.abs(effects), kind="stable")[:_REASONS]
    return [(parts[i], float(effects[i])) for i in order if abs(effects[i]) >= _SMALLEST]


def _explain(model: Any, X: Any, row: int) -> Any:
    """Return the classifier's own explanation of a row, None if it has none."""
    from inspect import signature

    x = X.iloc[[row]] if hasattr(X, "iloc") else X[[row]]
    names = None
    while hasattr(model, "steps") or hasattr(model, "estimator_"):
        if hasattr(model, "steps"):
            for _, step in model.steps[:-1]:
                x = step.transform(x)
                names = _feature_names(step, names)
            model = model.steps[-1][1]
        else:
            model = model.estimator_
    if not hasattr(model, "explain"):
        return None
    if names is not None and "feature_names" in signature(model.explain).parameters:
        return model.explain(x, feature_names=names)
    return model.explain(x)


def _feature_names(step: Any, names: Any) -> Any:
    """Return the names of a fitted step's features, None where it has none.

    Those of a `ColumnTransformer` are put together here: it refuses a word of a text that is
    also the name of a column.
    """
    if hasattr(step, "transformers_"):
        found: list[str] = []
        for _, part, columns in step.transformers_:
            columns = [columns] if isinstance(columns, str) else columns
            found += [] if part == "drop" else list(part.get_feature_names_out(columns))
        return found
    return step.get_feature_names_out(names) if hasattr(step, "get_feature_names_out") else None


def _neighbors(explanation: Any, names: Any, describe: Any) -> list[str]:
    if not hasattr(explanation, "neighbors"):
        return []
    found = []
    for sample, labels in zip(
        explanation.neighbors[:_NEIGHBORS], explanation.neighbor_labels, strict=False
    ):
        tags = ", ".join(name for name, here in zip(names, labels, strict=True) if here)
        found.append(f"training row {sample + 1}{describe(int(sample))}: {tags or 'no label'}")
    return found


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
tr.in th {{ font-weight: 700; }}
td:nth-child(4) {{ min-width: 6rem; width: 20%; }}
.bar {{ height: .8rem; background: #8888; border-radius: .2rem; }}
tr.in .bar {{ background: #0072b2; }}
span {{ display: inline-block; padding: 0 .4rem; margin: .1rem 0; border-radius: .6rem; }}
.for {{ background: #0072b233; }} .against {{ background: #d55e0033; }}
p {{ opacity: .75; }}
</style>
<h1>{title}</h1>
<div class="scroll"><table>{rows}</table></div>
<p>{method}</p>
{alike}
</html>
"""
