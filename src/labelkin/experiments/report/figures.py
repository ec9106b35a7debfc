"""The paper's figures, drawn from what was measured."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from labelkin._utils.optional import import_optional
from labelkin._utils.plots import BLUE, COLOURS, ORANGE, new_figure
from labelkin.experiments.report.comparison import Comparison, Sweep, method_title, units
from labelkin.experiments.report.drawing import INK, figure_style, shorten
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.overall import Overall
from labelkin.experiments.report.significance import published_parts
from labelkin.experiments.report.statistics import friedman, nemenyi
from labelkin.experiments.report.table import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "^", "D", "v", "P")
_FIGURE1 = (
    "average_precision", "f1", "recall", "hamming_loss", "ranking_loss", "one_error",
)  # fmt: skip
# The paper draws four metrics and does not name them in the text: four of Table 3 in percent.
_FIGURE2 = ("hamming_loss", "ranking_loss", "one_error", "average_precision")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++")


# -------------------------------------------------------------------------- critical difference


def draw_critical_difference(comparison: Comparison, measure: Measure) -> "Figure | None":
    """Draw average ranks over datasets; bars join methods that Nemenyi's test cannot tell apart.

    None for fewer than two methods or two datasets.
    """
    block = comparison.complete_means(measure)
    title = f"{measure.directed_title}: average rank over {len(block)} datasets"
    return _draw_ranks(block, title, measure.greater_is_better)


def draw_overall(comparison: Comparison, by_dataset: bool = False) -> "Figure | None":
    """Draw the average ranks over datasets and the paper's five metrics together.

    With `by_dataset`, a dataset counts once, with its mean ranks, instead of once for each metric.
    """
    overall = Overall(comparison)
    if overall.block.empty:
        return None
    if not by_dataset:
        title = f"Average rank over {len(overall.block)} dataset–metric pairs"
        return _draw_ranks(overall.block, title)
    ranks = overall.dataset_ranks
    title = f"Average rank over {len(ranks)} datasets, each with its mean rank in five metrics"
    return _draw_ranks(ranks, title, greater_is_better=False)


def _draw_ranks(block: pd.DataFrame, title: str, greater_is_better: bool = True) -> "Figure | None":
    if min(block.shape) < 2:
        return None
    posthocs = import_optional("scikit_posthocs", "report")
    result = friedman(block, greater_is_better=greater_is_better)
    # Two methods whose short names are equal must stay two.
    titles = dict(zip(block, _distinct(shorten(method_title(m)) for m in block), strict=True))
    p_values = nemenyi(block).rename(index=titles, columns=titles)
    with figure_style():
        figure = new_figure(7.2, 1.6 + 0.22 * ((len(titles) + 1) // 2))
        axes = figure.subplots()
        drawn = posthocs.critical_difference_diagram(
            result.ranks.rename(titles),
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


def _distinct(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


# --------------------------------------------------------------------------------- sweeps


def draw_sweep(sweep: Sweep) -> "Figure | None":
    """Draw each metric against the values of a parameter, with the published figures.

    Figure 1 (the threshold Θ) and Table 5 (the ensemble size S). The band, or the bar of a
    value that is not a number, is one standard deviation to each side.
    """
    if not (shown := sweep.measured(MEASURES)):
        return None
    with figure_style():
        figure = _draw_panels(shown, lambda axes, m: _draw_curve(axes, sweep, m))
        title = f"{method_title(sweep.method)} on {sweep.dataset} by {sweep.symbol}"
        figure.suptitle(shorten(title, 80), fontsize=11)
    return figure


def draw_together(sweep: Sweep) -> "Figure | None":
    """Draw the metrics of the paper's Figure 1 in one plot: in percent, against Θ."""
    measured = sweep.measured(MEASURES)
    shown = [MEASURES[name] for name in _FIGURE1 if MEASURES[name] in measured]
    if not shown:
        return None
    with figure_style():
        figure = new_figure(5.6, 3.6)
        axes = figure.subplots()
        for measure, colour, marker in zip(shown, COLOURS, _MARKERS, strict=False):
            axes.plot(
                sweep.positions(),
                _mean_and_spread(sweep, sweep.dataset, sweep.methods, measure)[0],
                color=colour,
                marker=marker,
                linestyle="-" if measure.greater_is_better else "--",
                markersize=4,
                label=measure.directed_title,
            )
        axes.set_xlabel(sweep.symbol)
        axes.set_ylabel("%")
        axes.grid(alpha=0.25, linewidth=0.5)
        axes.set_title(shorten(f"{method_title(sweep.method)} on {sweep.dataset}", 44))
        figure.legend(frameon=False, fontsize=8, loc="outside right center")
    return figure


def _mean_and_spread(
    comparison: Comparison, dataset: str, methods: list[str], measure: Measure
) -> "tuple[np.ndarray, np.ndarray]":
    """Return means and standard deviations, over runs or over folds where there are few runs."""
    means, spreads = [], []
    for method in methods:
        values = comparison.values(dataset, method, measure) * measure.scale
        counted = units(values)[1]
        means.append(values.mean())
        spreads.append(counted.std(ddof=1) if len(counted) > 1 else 0.0)
    return np.array(means), np.array(spreads)


def _draw_panels(measures: list[Measure], draw: Callable[["Axes", Measure], None]) -> "Figure":
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


def _draw_curve(axes: "Axes", sweep: Sweep, measure: Measure) -> None:
    at, settings = np.array(sweep.positions()), sweep.methods
    mean, std = _mean_and_spread(sweep, sweep.dataset, settings, measure)
    printed = [sweep.published(sweep.dataset, s, measure) for s in settings]
    pairs = [(x, p.mean) for x, p in zip(at, printed, strict=True) if p]
    known = np.isfinite(mean)
    in_order = list(at) == list(map(float, range(len(settings))))
    at, mean, std = at[known], mean[known], std[known]
    marks: dict[str, Any] = {"marker": "o", "markersize": 3.5, "label": "measured (± std)"}
    if in_order:  # names in no order, so no line leads from one to the next
        axes.errorbar(at, mean, std, color=BLUE, linestyle="none", capsize=3, **marks)
        axes.set_xticks(range(len(settings)), list(map(shorten, settings)))
        axes.margins(x=0.2)
    else:
        axes.fill_between(at, mean - std, mean + std, color=BLUE, alpha=0.18, linewidth=0)
        axes.plot(at, mean, color=BLUE, **marks)
    if pairs:
        marks |= {"marker": "s", "markerfacecolor": "none", "label": "published"}
        axes.plot(*zip(*pairs, strict=True), color=ORANGE, linestyle="--", **marks)
    axes.set_title(measure.heading)
    axes.set_xlabel(sweep.symbol)
    axes.grid(alpha=0.25, linewidth=0.5)


# ----------------------------------------------------------------------------------- bars


def draw_bars(comparison: Comparison) -> "Figure | None":
    """Draw each metric of every method on each dataset as grouped bars (Figure 2).

    Four metrics come first, as many as the paper draws.
    """
    shown = sorted(comparison.measured(MEASURES), key=lambda m: m.name not in _FIGURE2)
    if not shown:
        return None
    with figure_style():
        return _draw_panels(shown, lambda axes, m: _draw_groups(axes, comparison, m))


def _draw_groups(axes: "Axes", comparison: Comparison, measure: Measure) -> None:
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
    _zoom(axes, comparison.means(measure) * measure.scale)


def _zoom(axes: "Axes", means: pd.DataFrame) -> None:
    """Start the axis above zero where all bars are long and alike, and label it so."""
    low, high = float(means.min(axis=None)), float(means.max(axis=None))
    if low > 0.6 * high > 0:
        start = np.floor((low - 0.8 * (high - low) - 0.02 * high) / 5) * 5 if high > 10 else 0
        if start > 0:
            axes.set_ylim(bottom=start)
            axes.set_ylabel(f"from {start:.0f}", fontsize=8, style="italic")


# ------------------------------------------------------------------ measured minus published


def draw_differences(comparison: Comparison) -> "Figure | None":
    """Draw measured minus published as a heat map, one panel per metric.

    Blue is better than published and orange worse, whatever the metric's direction; the
    numbers are plain differences. None where nothing was published.
    """
    found = [(measure, published_parts(comparison, measure)[0]) for measure in MEASURES.values()]
    panels = [(measure, differences) for measure, differences in found if len(differences)]
    if not panels:
        return None
    rows, columns = panels[0][1].shape
    with figure_style():
        across = min(3, len(panels))
        down = -(-len(panels) // across)
        width = max((1.2 + 0.52 * columns) * across, 4.0)
        figure = new_figure(width, (1.25 + 0.25 * rows) * down + 0.4)
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for place, (measure, table) in zip(grid, panels, strict=False):
            _draw_heat(place, measure, table)
        for place in grid[len(panels) :]:
            place.axis("off")
        title = "Measured minus published: blue is better than published, orange worse"
        figure.suptitle(title, fontsize=11)
    return figure


def _draw_heat(axes: "Axes", measure: Measure, table: pd.DataFrame) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("", [ORANGE, "#F7F7F7", BLUE])
    improvement = table.to_numpy() * (1 if measure.greater_is_better else -1)
    # The colour scale neither fades because of one outlier nor exaggerates small differences.
    least = 1.0 if measure.unit else 0.2
    most = max(float(np.nanquantile(np.abs(improvement), 0.95)), least)
    axes.imshow(improvement, cmap=colours, vmin=-most, vmax=most, aspect="auto")
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        if np.isfinite(value):
            strong = abs(improvement[row, column]) > 0.62 * most
            axes.text(
                column,
                row,
                signed(value),
                ha="center",
                va="center",
                fontsize=7,
                color="#FFFFFF" if strong else "#010101",
                in_layout=False,  # inside its square, and slow to measure
            )
    titles = [shorten(method_title(name), 16) for name in table]
    axes.set_xticks(range(len(titles)), titles, rotation=35, ha="right", fontsize=8)
    axes.set_yticks(range(len(table)), [shorten(name, 16) for name in table.index], fontsize=8)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(measure.heading)
