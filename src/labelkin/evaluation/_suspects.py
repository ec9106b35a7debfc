"""Given labels that are probably wrong: the model's probability is strongly against them."""

from dataclasses import dataclass

import numpy as np

from labelkin.evaluation._mistakes import odds_against
from labelkin.evaluation._predictions import OutOfSample

ASSUMED = 0.05
"""Share of each label's marks that is assumed to be wrong before the model is consulted."""

_PER_ROW = 2  # labels of one row that are listed


@dataclass(frozen=True)
class Suspect:
    """A row and a label of it that was probably given, or left out, by mistake."""

    row: int
    """Position in the user's table."""
    label: int
    given: bool
    """Whether the row has the label."""
    probability: float
    """What the model predicts for it, out of sample."""
    doubt: float
    """Probability that the given label is wrong."""


def find_suspects(found: OutOfSample, most: int) -> tuple[list[Suspect], int]:
    """Return the most doubtful labels, and how many are more likely wrong than right.

    Of the rows that should have a label, the share `ASSUMED` is taken to lack it, and as many
    others to have it wrongly. By Bayes' rule the odds that a label is wrong are then `ASSUMED`
    times those of `odds_against`.
    """
    if not found.are_probabilities:
        return [], 0
    present = found.y.astype(bool)
    odds = ASSUMED * odds_against(found.y, found.pooled_scores, found.y.mean(axis=0))
    doubt = odds / (1 + odds)
    count = int((doubt > 0.5).sum())
    order = np.argsort(-doubt, axis=None, kind="stable")[:count]
    listed: dict[int, int] = {}
    suspects: list[Suspect] = []
    for i, j in zip(*np.unravel_index(order, doubt.shape), strict=True):
        if len(suspects) == most:
            break
        # All labels of a row that is unlike the others would fill the list.
        listed[i] = listed.get(i, 0) + 1
        if listed[i] > _PER_ROW:
            continue
        suspects.append(
            Suspect(
                int(found.rows[i]),
                int(j),
                bool(present[i, j]),
                float(found.scores[i, j]),
                float(doubt[i, j]),
            )
        )
    return suspects, count
