"""How Mulan breaks ties between scores."""

import numpy as np


def mulan_ranks(scores):
    """Positions from 1 when of tied labels the one with the higher index stands first."""
    order = sorted(range(len(scores)), key=lambda a: (-scores[a], -a))
    return {label: place for place, label in enumerate(order, start=1)}


def break_ties_as_mulan(scores):
    """Scores without ties, in Mulan's order: of equal scores the higher index stands first."""
    order = [mulan_ranks(row) for row in np.asarray(scores)]
    return np.array([[-r[label] for label in range(len(r))] for r in order], dtype=float)
