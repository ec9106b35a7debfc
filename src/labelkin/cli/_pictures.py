"""The demo's picture: digits found in test scenes."""

from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.plots import BLUE, ORANGE, new_figure

# Distinguishable for the colour-blind; signs mark the digits too, for black-and-white prints.
_MISSED, _WRONG, _RIGHT, _TEXT = BLUE, ORANGE, "#00795A", "#555555"


def draw_scenes(
    images: np.ndarray, target: np.ndarray, labels: np.ndarray, method: str, path: Path
) -> None:
    """Draw the first twelve scenes, each above its true and predicted digits, to a PNG file.

    Those without an error come first.
    """
    figure: Any = new_figure(9, 5.4)
    axes = figure.subplots(3, 4)
    errors = (target[: axes.size] != labels[: axes.size]).sum(axis=1)
    for axis, scene in zip(axes.flat, np.argsort(errors, kind="stable"), strict=False):
        _show(axis, images[scene])
        _caption(axis, target[scene].astype(bool), labels[scene].astype(bool))
    for axis in axes.flat[len(images) :]:
        axis.axis("off")
    share = (target == labels).all(axis=1).mean()
    title = f"The first {len(errors)} test scenes: digits found by {method}"
    figure.suptitle(f"{title} (all right in {share:.0%} of all {len(target)})", fontsize=13)
    legend = [(_RIGHT, "3✓  right"), (_MISSED, "(3)✗  missed"), (_WRONG, "3✗  wrong")]
    for x, (colour, text) in zip((0.3, 0.44, 0.61), legend, strict=True):
        figure.text(x, 0.012, text, color=colour, fontsize=11, ha="left")
    figure.get_layout_engine().set(rect=(0, 0.05, 1, 0.95))
    figure.savefig(path, dpi=130)


def _show(axis: Any, image: np.ndarray) -> None:
    axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[])


def _caption(axis: Any, true: np.ndarray, found: np.ndarray) -> None:
    """Write the true digits, then the predicted ones, missed and wrong digits marked."""
    style = {"transform": axis.transAxes, "fontsize": 11, "va": "top"}
    digits = " ".join(map(str, np.flatnonzero(true)))
    axis.text(0, -0.06, f"true  {digits}", color=_TEXT, **style)
    axis.text(0, -0.32, "found", color=_TEXT, **style)
    for position, digit in enumerate(np.flatnonzero(true | found)):
        shown, colour = f"{digit}✓", _RIGHT
        if not found[digit]:
            shown, colour = f"({digit})✗", _MISSED
        elif not true[digit]:
            shown, colour = f"{digit}✗", _WRONG
        x = 0.24 + 0.19 * position
        axis.text(x, -0.32, shown, color=colour, weight="bold", **style)
