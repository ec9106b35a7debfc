"""Plots of a label matrix: which labels occur together, and the sizes of label sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labelkin._utils.plots import BLUE, ORANGE, new_figure, plain_text
from labelkin.datasets._describe import as_label_matrix, describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_LABELS = 80  # more than this cannot be read in one plot
_LONGEST_NAME = 28
_MAX_LABELS_WITH_NUMBERS = 20  # numbers in a larger heat map would be too small


def plot_label_cooccurrence(
    y: ArrayLike, *, label_names: ArrayLike | None = None, title: str | None = None
) -> "Figure":
    """Plot a heat map of how often labels occur together.

    The field in row i and column j is the share of the samples with label i that have
    label j, too. Labels are ordered from the most frequent to the rarest, with their
    counts; of more than 80 labels the 80 most frequent are drawn.

    Parameters
    ----------
    y : {array-like, sparse matrix, DataFrame} of shape (n, q)
        Labels, 0 or 1.
    label_names : sequence of str, default=None
        Names of the labels; by default the columns of a DataFrame, else their numbers.
    title : str, default=None
        Put before the heading.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figures = describe(y, label_names=label_names)
    counts = np.array(figures.label_counts)
    order = np.argsort(-counts, kind="stable")[:_MAX_LABELS]
    labels = as_label_matrix(y)[:, order]
    together = (labels.T @ labels).toarray()
    share = np.full(together.shape, np.nan)
    np.divide(together, counts[order][:, None], out=share, where=counts[order][:, None] > 0)
    np.fill_diagonal(share, np.nan)  # always 1, and would dominate the colours

    shown = len(order)
    names = [_shorten(figures.label_names[j]) for j in order]
    inches = max(4.0, 0.21 * shown if shown > _MAX_LABELS_WITH_NUMBERS else 0.42 * shown)
    margin = 0.085 * max(len(name) for name in names) + 0.6
    figure = new_figure(inches + margin + 1.2, inches + margin + 0.7)
    axes = figure.subplots()
    # A colour map that is readable for colour-blind people and in grey print.
    image = axes.imshow(share, cmap="cividis", vmin=0, vmax=np.nanmax(share, initial=1e-9))
    axes.set_facecolor("#e6e6e6")  # seen where there is no share
    small = 9 if shown <= _MAX_LABELS_WITH_NUMBERS else 7.5
    ticks = range(shown)
    axes.set_xticks(ticks, names, rotation=90, fontsize=small)
    rows = [f"{name} ({counts[j]:,})" for name, j in zip(names, order, strict=True)]
    axes.set_yticks(ticks, rows, fontsize=small)
    axes.set_xlabel("... that also have this label")
    axes.set_ylabel("of the rows with this label (count), the share ...")
    if shown <= _MAX_LABELS_WITH_NUMBERS:
        _write_shares(axes, share)
    figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label="share of rows")
    cut = f" ({shown} most frequent of {figures.labels})" if shown < figures.labels else ""
    axes.set_title(_heading(title, f"labels that occur together{cut}"))
    return figure


def plot_label_set_sizes(y: ArrayLike, *, title: str | None = None) -> "Figure":
    """Plot a histogram of the number of labels per row; the line is the cardinality.

    Parameters
    ----------
    y : {array-like, sparse matrix, DataFrame} of shape (n, q)
        Labels, 0 or 1.
    title : str, default=None
        Put before the heading.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figures = describe(y)
    sizes = np.arange(len(figures.set_sizes))
    figure = new_figure(min(12.0, max(5.0, 0.45 * len(sizes) + 2)), 4.0)
    axes = figure.subplots()
    bars = axes.bar(sizes, figures.set_sizes, color=BLUE, width=0.85)
    if len(sizes) <= _MAX_LABELS_WITH_NUMBERS:
        counts = [f"{count:,}" if count else "" for count in figures.set_sizes]
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        axes.bar_label(bars, counts, fontsize=8, bbox=paper, padding=2, zorder=3)
        axes.set_xticks(sizes)
    axes.axvline(figures.cardinality, color=ORANGE, linestyle="--", linewidth=1.5)
    axes.annotate(
        f"mean {figures.cardinality:.2f}",
        (figures.cardinality, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(5, -12),
        textcoords="offset points",
        color=ORANGE,
    )
    axes.margins(y=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("labels per row")
    axes.set_ylabel("rows")
    axes.set_title(_heading(title, "size of the label sets"))
    return figure


def save_plots(
    y: ArrayLike,
    folder: str | Path,
    *,
    label_names: ArrayLike | None = None,
    title: str | None = None,
) -> list[Path]:
    """Write both plots as PNG and SVG into `folder` and return the four paths.

    Parameters
    ----------
    y : {array-like, sparse matrix, DataFrame} of shape (n, q)
        Labels, 0 or 1.
    folder : path-like
        Created if it does not exist.
    label_names : sequence of str, default=None
        Names of the labels; by default the columns of a DataFrame, else their numbers.
    title : str, default=None
        Name of the dataset; goes into headings and file names.
    """
    folder = Path(folder)
    plots = {
        "cooccurrence": plot_label_cooccurrence(y, label_names=label_names, title=title),
        "set-sizes": plot_label_set_sizes(y, title=title),
    }
    folder.mkdir(parents=True, exist_ok=True)
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{title}-" if title)
    paths = []
    for kind, figure in plots.items():
        for suffix in ("png", "svg"):
            path = folder / f"{stem}{kind}.{suffix}"
            figure.savefig(path, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
            paths.append(path)
    return paths


def _write_shares(axes: Any, share: np.ndarray) -> None:
    middle = np.nanmax(share, initial=0) / 2
    for i, j in np.argwhere(share >= 0.005):
        colour = "white" if share[i, j] < middle else "black"
        text = f"{share[i, j]:.2f}".lstrip("0")
        axes.text(j, i, text, ha="center", va="center", fontsize=7.5, color=colour)


def _heading(title: str | None, words: str) -> str:
    return f"{title}: {words}" if title else words


def _shorten(name: str) -> str:
    # Cut in the middle, since names often share their beginning or their end.
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME // 2] + "…" + name[1 - _LONGEST_NAME // 2 :]
    return plain_text(name)
