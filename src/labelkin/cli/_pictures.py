"""The demo's pictures: what VPCME finds in test scenes, and what it rests on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from labelkin.explain import Explanation

_MISSED, _WRONG, _RIGHT = "#0072B2", "#D55E00", "#222222"  # told apart by the colour-blind


def draw_scenes(images: np.ndarray, target: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """Draw the first dozen scenes; under each the digits, those missed and wrong marked.

    The marks are signs as well as colours, so that they survive a black-and-white print.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Scenes.
    target, labels : ndarray of shape (n, 10)
        True and predicted labels.
    path : Path
        Where to write the PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 4)
    for axis, image, true, found in zip(axes.flat, images, target, labels, strict=False):
        _show(axis, image)
        _caption(axis, true.astype(bool), found.astype(bool))
    for axis in axes.flat[len(images) :]:
        axis.axis("off")
    figure.suptitle("Digits predicted by VPCME in test scenes", fontsize=13)
    legend = [(_RIGHT, "right"), (_MISSED, "−  missed"), (_WRONG, "+  wrong")]
    for place, (colour, text) in zip((0.36, 0.47, 0.6), legend, strict=True):
        figure.text(place, 0.012, text, color=colour, fontsize=11, ha="left")
    figure.get_layout_engine().set(rect=(0, 0.05, 1, 0.95))  # type: ignore[union-attr, call-arg]
    figure.savefig(path, dpi=130)


def draw_explanation(
    image: np.ndarray,
    true: np.ndarray,
    explanation: "Explanation",
    training: np.ndarray,
    path: Path,
) -> None:
    """Draw a test scene and the members' votes beside the training scenes nearest to it.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        The test scene.
    true : ndarray of shape (10,)
        Its labels.
    explanation : Explanation
        What the ensemble says of it.
    training : ndarray of shape (n, height, width)
        The training scenes.
    path : Path
        Where to write the PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    halves: Any = figure.subfigures(1, 2, width_ratios=[1, 1.8])
    left, right = halves
    scene, bars = left.subplots(2, 1, height_ratios=[1, 1.5])
    _show(scene, image)
    scene.set_title("a test scene", fontsize=11)
    _caption(scene, true.astype(bool), explanation.predicted)
    _draw_votes(bars, explanation)
    right.suptitle("the training scenes nearest to it, over all members", fontsize=11)
    axes = right.subplots(3, 3)
    for axis, sample, members, labels in zip(
        axes.flat,
        explanation.neighbors,
        explanation.neighbor_members,
        explanation.neighbor_labels,
        strict=False,
    ):
        _show(axis, training[sample])
        digits = " ".join(map(str, np.flatnonzero(labels)))
        axis.set_xlabel(f"{digits}  ·  near in {members} of {explanation.n_members}", fontsize=10)
    for axis in axes.flat[len(explanation.neighbors) :]:
        axis.axis("off")
    figure.savefig(path, dpi=130)


def _draw_votes(axis: Any, explanation: "Explanation") -> None:
    """Draw a bar a digit: how many members vote for it, with the half that decides."""
    n = explanation.n_members
    digits = np.arange(len(explanation.votes))
    colours = np.where(explanation.predicted, _RIGHT, "#aaaaaa")
    axis.bar(digits, explanation.votes, color=colours, width=0.7)
    axis.axhline(n / 2, color="#555555", linewidth=1, linestyle="--")
    axis.set(xticks=digits, xticklabels=explanation.label_names, ylim=(0, n), yticks=[0, n])
    axis.set_title(f"votes of {n} members (predicted: dark)", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)


def _show(axis: Any, image: np.ndarray) -> None:
    axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
    axis.set_xticks([])
    axis.set_yticks([])


def _caption(axis: Any, true: np.ndarray, found: np.ndarray) -> None:
    """Write the true digits, then the predicted ones with their marks."""
    digits = np.flatnonzero(true | found)
    marks = [
        (str(d), _RIGHT) if true[d] and found[d] else (f"−{d}", _MISSED) if true[d]
        else (f"+{d}", _WRONG)
        for d in digits
    ]  # fmt: skip
    truth = " ".join(map(str, np.flatnonzero(true)))
    place = {"transform": axis.transAxes, "fontsize": 11, "va": "top"}
    axis.text(0, -0.06, f"true  {truth}", color="#555555", **place)
    axis.text(0, -0.32, "found", color="#555555", **place)
    for position, (text, colour) in enumerate(marks):
        x = 0.24 + 0.12 * position
        axis.text(x, -0.32, text, color=colour, weight="bold", **place)
