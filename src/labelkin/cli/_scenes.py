"""The demo's picture: test scenes with their true and their predicted digits."""

from pathlib import Path
from typing import Any

import numpy as np

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
        axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        axis.set_xticks([])
        axis.set_yticks([])
        _caption(axis, true.astype(bool), found.astype(bool))
    for axis in axes.flat[len(images) :]:
        axis.axis("off")
    figure.suptitle("Digits predicted by VPCME in test scenes", fontsize=13)
    legend = [(_RIGHT, "right"), (_MISSED, "−  missed"), (_WRONG, "+  wrong")]
    for place, (colour, text) in zip((0.36, 0.47, 0.6), legend, strict=True):
        figure.text(place, 0.012, text, color=colour, fontsize=11, ha="left")
    figure.get_layout_engine().set(rect=(0, 0.05, 1, 0.95))  # type: ignore[union-attr, call-arg]
    figure.savefig(path, dpi=130)


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
