"""The paper's figures, drawn from what was measured, as files and as parts of a page.

Line styles, markers and hatching repeat the colours, for prints in grey.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from labelkin._utils.names import abbreviate
from labelkin._utils.optional import import_optional
from labelkin._utils.plots import BLUE, COLOURS, ORANGE, new_figure
from labelkin.experiments.report.comparison import Comparison, Sweep, method_title, units
from labelkin.experiments.report.ranks import Overall
from labelkin.experiments.report.statistics import friedman
from labelkin.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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

_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++")


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


# -------------------------------------------------------------------------- critical difference


def draw_critical_difference(comparison: Comparison, measure: Metric) -> "Figure | None":
    """Draw average ranks over datasets; bars join methods that Nemenyi's test cannot tell apart.

    None for fewer than two methods or two datasets.
    """
    scores = comparison.scores(measure)
    title = f"{measure.directed_title}: average rank over {len(scores)} datasets"
    return _draw_ranks(scores, title)


def draw_overall(comparison: Comparison) -> "Figure | None":
    """Draw the average ranks over datasets, each with its mean rank in the paper's five metrics."""
    scores = Overall(comparison).dataset_scores
    title = f"Average rank over {len(scores)} datasets, each with its mean rank in five metrics"
    return _draw_ranks(scores, title)


def _draw_ranks(scores: pd.DataFrame, title: str) -> "Figure | None":
    if min(scores.shape) < 2:
        return None
    posthocs = import_optional("scikit_posthocs", "report")
    result = friedman(scores)
    titles = {name: shorten(method_title(name)) for name in scores}
    if len(set(titles.values())) < len(titles):  # titles must stay distinct
        titles = {name: f"{number}: {titles[name]}" for number, name in enumerate(scores, 1)}
    ranks = result.ranks.rename(titles)
    apart = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy())) > result.cd
    p_values = pd.DataFrame(np.where(apart, 0.0, 1.0), ranks.index, ranks.index)
    with figure_style():
        figure = new_figure(7.2, 1.6 + 0.22 * ((len(titles) + 1) // 2))
        axes = figure.subplots()
        drawn = posthocs.critical_difference_diagram(
            ranks,
            p_values,
            ax=axes,
            text_h_margin=0.12,
            # HTML collapses plain spaces, but not these.
            label_fmt_left="{label}\u2002{rank:.2f}\u2009",
            label_fmt_right="\u2009{rank:.2f}\u2002{label}",
            crossbar_props={"color": ORANGE, "linewidth": 3, "solid_capstyle": "round"},
            marker_props={"color": INK, "s": 14},
            elbow_props={"color": INK, "linewidth": 0.9},
        )
        for bar in np.ravel(drawn["crossbars"]):
            # The points come in the order of a set, another one in each process.
            bar.set_xdata(sorted(bar.get_xdata()))
        _draw_scale(figure, axes, result.ranks, result.cd)
        axes.set_title(title, loc="left", pad=44)
    return figure


def _draw_scale(figure: "Figure", axes: "Axes", ranks: Any, cd: float) -> None:
    """Draw whole ranks on the axis, and the critical difference above it as a ruler."""
    from matplotlib.transforms import offset_copy

    low = int(np.floor(ranks.min()))
    high = max(int(np.ceil(ranks.max())), low + 1)
    axes.spines["top"].set_visible(True)
    axes.set_xlim(low, high)
    axes.set_xticks(range(low, high + 1))
    place = axes.get_xaxis_transform()
    ruler = offset_copy(place, fig=figure, y=24, units="points")
    text = offset_copy(place, fig=figure, y=29, units="points")
    if cd <= high - low:
        ends: dict[str, Any] = {"marker": "|", "markersize": 7, "color": INK, "linewidth": 1.2}
        axes.plot([low, low + cd], [1, 1], transform=ruler, clip_on=False, **ends)
    note = f"critical difference {cd:.2f} (Nemenyi, 5 %); bars join methods it cannot tell apart"
    axes.text(low, 1, note, fontsize=8, va="bottom", transform=text)


# -------------------------------------------------------------------------- Figures 1 and 2


def draw_sweep(sweep: Sweep) -> "Figure | None":
    """Draw each metric against the values of a parameter, with the published figures.

    Figure 1 (the threshold Θ) and Table 5 (the ensemble size S). The band is one standard
    deviation to each side. None where a value is not a number.
    """
    at, shown = sweep.positions(), sweep.measured
    if not (shown and np.isfinite(at).all()):
        return None

    def draw(axes: "Axes", measure: Metric) -> None:
        mean, std = _mean_and_spread(sweep, sweep.dataset, sweep.methods, measure)
        axes.fill_between(at, mean - std, mean + std, color=BLUE, alpha=0.18, linewidth=0)
        marks: dict[str, Any] = {"marker": "o", "markersize": 3.5, "label": "measured (± std)"}
        axes.plot(at, mean, color=BLUE, **marks)
        printed = [sweep.published(sweep.dataset, s, measure) for s in sweep.methods]
        if any(printed):
            marks |= {"marker": "s", "markerfacecolor": "none", "label": "published"}
            means = [found.mean if found else np.nan for found in printed]
            axes.plot(at, means, color=ORANGE, linestyle="--", **marks)
        axes.set_title(measure.heading)
        axes.set_xlabel(sweep.symbol)
        axes.grid(alpha=0.25, linewidth=0.5)

    with figure_style():
        figure = _draw_panels(shown, draw)
        title = f"{method_title(sweep.method)} on {sweep.dataset} by {sweep.symbol}"
        figure.suptitle(shorten(title, 80), fontsize=11)
    return figure


def _mean_and_spread(
    comparison: Comparison, dataset: str, methods: list[str], measure: Metric
) -> "tuple[np.ndarray, np.ndarray]":
    """Return means and standard deviations, over runs or over folds where there are few runs."""
    values = [comparison.values(dataset, method, measure) * measure.scale for method in methods]
    spreads = [units(found)[1].std(ddof=1) for found in values]
    return np.array([found.mean() for found in values]), np.nan_to_num(spreads)


def _draw_panels(measures: list[Metric], draw: Callable[["Axes", Metric], None]) -> "Figure":
    """Draw one panel per measure, and the legend of the first in the place after the last."""
    n = len(measures)
    columns = min(n + 1, 4)
    rows = -(-(n + 1) // columns)
    figure = new_figure(2.35 * columns, 2.05 * rows + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, measure in zip(grid, measures, strict=False):
        draw(axes, measure)
    for axes in grid[n:]:
        axes.axis("off")
    handles, labels = grid[0].get_legend_handles_labels()
    grid[n].legend(handles, labels, loc="center left", frameon=False, fontsize=9)
    return figure


def draw_bars(comparison: Comparison) -> "Figure | None":
    """Draw each metric of every method on each dataset as grouped bars (Figure 2)."""
    if not comparison.measured:
        return None
    with figure_style():
        return _draw_panels(comparison.measured, lambda axes, m: _draw_groups(axes, comparison, m))


def _draw_groups(axes: "Axes", comparison: Comparison, measure: Metric) -> None:
    datasets, methods = comparison.datasets, comparison.methods
    width = 0.84 / len(methods)
    for i, method in enumerate(methods):
        found = [_mean_and_spread(comparison, d, [method], measure) for d in datasets]
        mean, std = np.nan_to_num(np.concatenate(found, axis=1))
        axes.bar(
            np.arange(len(datasets)) + (i - (len(methods) - 1) / 2) * width,
            mean,
            width * 0.92,
            yerr=std,
            error_kw={"elinewidth": 0.8, "ecolor": INK},
            color=COLOURS[i % len(COLOURS)],
            hatch=_HATCHES[i % len(_HATCHES)],
            edgecolor="white",
            linewidth=0,
            label=shorten(method_title(method)),
        )
    axes.set_title(measure.heading)
    turn = max(map(len, datasets)) * len(datasets) > 18
    names = [shorten(name, 14) for name in datasets]
    slant: dict[str, Any] = {"rotation": 25, "ha": "right"} if turn else {}
    axes.set_xticks(range(len(datasets)), names, fontsize=8, **slant)
