"""A picture of what members, features and training samples add to labels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.names import abbreviate
from labelkin._utils.plots import BLUE, ORANGE, new_figure, plain_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from labelkin.explain._kernels import KernelExplanation

_SHOWN = 6


def plot_effects(why: "KernelExplanation", labels: list[int]) -> "Figure":
    """Draw one row of panels per label: members, features, training samples."""
    n_bars = max(len(why.member_names) + 2, 2 * _SHOWN)
    figure = new_figure(12, (0.7 + 0.2 * n_bars) * len(labels))
    panels = figure.subplots(len(labels), 3, squeeze=False)
    for axes, label in zip(panels, labels, strict=True):
        members = list(zip(why.member_names, why.member_effects[:, label], strict=True))
        members += [("(every sample)", why.intercept[label])]
        if why.correction.any():
            members += [("(other labels)", why.correction[label])]
        rows = [*why.strongest_rows(label, 1, _SHOWN), *why.strongest_rows(label, -1, _SHOWN)[::-1]]
        samples = [(f"sample {row}", why.row_effects[row, label]) for row in rows]
        mark = "predicted" if why.predicted[label] else "not predicted"
        _draw(axes[0], members, f"{why.label_names[label]}: {why.probability[label]:.2f}, {mark}")
        _draw(axes[1], why.strongest_features(label, 2 * _SHOWN), "features")
        _draw(axes[2], samples, "training samples")
        for axis, unit in zip(axes, ("log odds", "log odds", "score"), strict=True):
            axis.set_xlabel(f"added to the {unit}", fontsize=8)
    return figure


def _draw(axis: Any, effects: list[tuple[str, float]], heading: str) -> None:
    values = np.array([effect for _, effect in effects])
    places = range(len(effects))
    axis.barh(places, values, color=np.where(values > 0, BLUE, ORANGE), height=0.7)
    names = [plain_text(abbreviate(name, 24)) for name, _ in effects]
    axis.set_yticks(places, names, fontsize=8)
    axis.invert_yaxis()
    axis.axvline(0, color="#555555", linewidth=0.8)
    axis.tick_params(axis="x", labelsize=8)
    axis.locator_params(axis="x", nbins=5)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_title(plain_text(abbreviate(heading, 60)), loc="left", fontsize=10)
