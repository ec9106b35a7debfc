"""The width of a radial kernel, found downhill on the leave-one-out error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.kernel._distances import radial
from labelkin.kernel._ridge import COARSE, RIDGES, choose_ridges
from labelkin.kernel._spectrum import RidgeSpectrum
from labelkin.rows import Labels, to_numpy

# The width's square stays within 2^±_REACH times its value at the start.
_REACH = 8
# A step must lower the error by this share: smaller ones lie on a plateau.
_WORTHWHILE = 1e-4


@dataclass
class FoundWidth:
    """A width, its leave-one-out error, and the decomposition of the kernel matrix."""

    width: float
    error: float
    spectrum: RidgeSpectrum | None = None


def descend_width(
    distances: Any,
    labels: Labels,
    kernel: str,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    start: float | None = None,
    step: float = 1.0,
) -> FoundWidth:
    """Go downhill on the leave-one-out error, the width's square in steps of 2^±step.

    Each step costs an eigendecomposition of a kernel matrix from the distances between rows. The
    search starts at a given width, or at the median distance.
    """
    origin = median_distance(distances) if start is None else start
    found = FoundWidth(origin, np.inf)

    def evaluate(exponent: float) -> float:
        width = origin * 2 ** (exponent / 2)
        spectrum = RidgeSpectrum.of_kernel(radial(distances, kernel, width), labels.weight)
        _, error = choose_ridges(spectrum, labels.Y, ridges[::COARSE], shrinkage)
        if error < (1 - _WORTHWHILE) * found.error:
            found.width, found.error, found.spectrum = width, error, spectrum
        return error

    descend(evaluate, step)
    if found.spectrum is None:
        raise ValueError(
            "The leave-one-out errors of the kernel are not finite: distances overflow; scale X."
        )
    return found


def descend(evaluate: Callable[[float], float], step: float) -> float:
    """Go downhill from 0 on a function of an exponent, in steps, to a minimum within reach."""
    best = 0.0
    errors = {best: evaluate(best)}
    # Each round but the last moves to another exponent within reach.
    for _ in range(2 * int(_REACH / step) + 2):
        for neighbour in (best - step, best + step):
            if neighbour not in errors and abs(neighbour) <= _REACH:
                errors[neighbour] = evaluate(neighbour)
        lowest = min(errors, key=errors.__getitem__)
        if not errors[lowest] < (1 - _WORTHWHILE) * errors[best]:
            break
        best = lowest
    return best


def median_distance(distances: Any) -> float:
    """Return the root of the median between two rows, 1 if no two rows differ."""
    pairs = to_numpy(distances)
    pairs = pairs[np.triu_indices(len(pairs), 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    if median == 0:  # many duplicates
        pairs = pairs[pairs > 0]
        median = float(np.median(pairs)) if len(pairs) else 1.0
    return median**0.5
