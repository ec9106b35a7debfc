"""Digit scenes: the bundled dataset of small pictures, which needs no download."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from labelkin.datasets.formats._bunch import present

_HEIGHT, _WIDTH = 8, 20
_SLOTS = 3
_SLOT_STEP = 6  # less than a digit's eight columns: neighbours overlap
_NOISE = 0.05

_DESCRIPTION = """\
Digit scenes: one to three handwritten digits side by side in one image of 8 × 20 pixels.
The labels are the digits present. The digits are those of scikit-learn's load_digits; they
stand in three slots six pixels apart, moved by up to one pixel, so that neighbours overlap
(the brighter pixel wins), with a little noise. The last quarter of the images (split == 1) is
made of other handwritten digits than the rest, so that a model fitted on the first part is
tested on handwriting it has not seen.
"""


def load_digit_scenes(
    n_samples: int = 2000,
    random_state: Any = 0,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Make images of one to three handwritten digits, labelled with the digits present.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of images.
    random_state : int, RandomState instance or None, default=0
        Source of randomness; an integer gives the same images each time.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` and `target` are DataFrames, with the names of pixels and digits as
        columns. Needs pandas.

    Returns
    -------
    sklearn.utils.Bunch, or the pair (data, target)
        data : ndarray or DataFrame of shape (n_samples, 160), pixels from 0 to 1;
        target : ndarray or DataFrame of uint8 of shape (n_samples, 10), 1 where the digit is
        present;
        frame : DataFrame of shape (n_samples, 170), `data` and `target` side by side; None
        unless `as_frame`;
        images : ndarray of shape (n_samples, 8, 20), `data` as pictures;
        feature_names, label_names : lists of str;
        split : ndarray of uint8, 0 in the first three quarters of the images, 1 in the rest,
        which show other handwritten digits;
        DESCR : str.

    Examples
    --------
    >>> from labelkin.datasets import load_digit_scenes
    >>> scenes = load_digit_scenes(n_samples=100)
    >>> scenes.data.shape, scenes.target.shape
    ((100, 160), (100, 10))
    >>> X, y = load_digit_scenes(n_samples=100, return_X_y=True)
    """
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number of at least 1, got {n_samples!r}.")
    rng = check_random_state(random_state)
    from sklearn.datasets import load_digits  # slow to import

    digits = load_digits()
    order = rng.permutation(len(digits.target))
    split = (np.arange(n_samples) >= n_samples - n_samples // 4).astype(np.uint8)
    cut = len(order) * 3 // 4

    # Draw for all slots of all images at once, then use as many as the image has digits.
    n_digits = rng.randint(1, _SLOTS + 1, size=n_samples)
    slots = rng.random_sample((n_samples, _SLOTS)).argsort(axis=1)
    low, high = np.where(split[:, None], (cut,), (0,)), np.where(split[:, None], len(order), cut)
    chosen = order[(low + rng.random_sample((n_samples, _SLOTS)) * (high - low)).astype(int)]
    shift = rng.randint(-1, 2, size=(n_samples, _SLOTS))
    column = np.clip(slots * _SLOT_STEP + shift, 0, _WIDTH - 8)

    images = np.zeros((n_samples, _HEIGHT, _WIDTH))
    target = np.zeros((n_samples, 10), dtype=np.uint8)
    for s in range(_SLOTS):
        rows = np.flatnonzero(n_digits > s)
        columns = column[rows, s][:, None, None] + np.arange(8)
        cells = (rows[:, None, None], np.arange(_HEIGHT)[:, None], columns)
        images[cells] = np.maximum(images[cells], digits.images[chosen[rows, s]] / 16)
        target[rows, digits.target[chosen[rows, s]]] = 1
    images = np.clip(images + _NOISE * rng.standard_normal(images.shape), 0, 1)
    bunch = Bunch(
        data=images.reshape(n_samples, -1),
        target=target,
        images=images,
        feature_names=[f"pixel_{r}_{c}" for r in range(_HEIGHT) for c in range(_WIDTH)],
        label_names=[str(d) for d in range(10)],
        split=split,
        DESCR=_DESCRIPTION,
    )
    return present(bunch, return_X_y=return_X_y, as_frame=as_frame)


def draw_scenes(images: Any, target: Any, labels: Any, path: Path) -> None:
    """Draw the first twelve scenes, each below its true and predicted digits, to a PNG file.

    Those without an error come first.
    """
    from labelkin._utils.plots import ORANGE, new_figure

    figure: Any = new_figure(9, 5.4)
    axes = figure.subplots(3, 4)
    errors = (target[: axes.size] != labels[: axes.size]).sum(axis=1)
    for axis in axes.flat:
        axis.axis("off")
    for axis, scene in zip(axes.flat, np.argsort(errors, kind="stable"), strict=False):
        axis.imshow(images[scene], cmap="gray_r", vmin=0, vmax=1)
        true, found = (" ".join(map(str, np.flatnonzero(one[scene]))) for one in (target, labels))
        # A colour for the colour-blind, and a sign for black-and-white prints.
        style = {"color": ORANGE, "weight": "bold"} if errors[scene] else {"color": "#555555"}
        axis.set_title(
            f"true {true}\nfound {found or 'none'} {'✗' if errors[scene] else '✓'}", **style
        )
    share = (target == labels).all(axis=1).mean()
    title = f"The first {len(errors)} test scenes: digits found by Kin"
    figure.suptitle(f"{title} (all right in {share:.0%} of all {len(target)})", fontsize=12)
    figure.savefig(path, dpi=130)
