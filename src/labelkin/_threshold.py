"""Θ chosen by what it gives out of bag.

Θ only says which pairs are must-links, so of all its values those matter that are similarities
of two label sets: between two such values nothing changes. The few that remain are tried by
successive halving (Jamieson & Talwalkar, 2016): all get a member, the better half gets more, and
so on, on the same bags.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labelkin._oob import OutOfBag
from labelkin.base import Array
from labelkin.constraints import ConstraintSampler
from labelkin.metrics import METRICS

PAPER_THRESHOLD = 0.6
# More candidates than this would differ by few pairs, and leave few trials to each.
MOST_CANDIDATES = 8
# Similarities looked at to find out how often each value occurs.
_MOST_SIMILARITIES = 4_000_000

Outside = tuple[Array, Array, Array]


def similarity_values(sampler: ConstraintSampler, random_state: Any) -> tuple[Array, Array]:
    """Return the similarities that pairs of samples have, and the share of pairs with each.

    Exact up to 2000 distinct label sets. Beyond, the pairs of randomly chosen samples with
    all others are counted.
    """
    counts = np.bincount(sampler.set_of_sample).astype(np.float64)
    n_sets = len(counts)
    if n_sets**2 <= _MOST_SIMILARITIES:
        rows, weight = np.arange(n_sets), counts
    else:
        chosen = random_state.choice(sampler.n_samples, size=max(1, _MOST_SIMILARITIES // n_sets))
        rows, weight = sampler.set_of_sample[chosen], np.ones(len(chosen))
    mass = np.multiply.outer(weight, counts)
    mass[np.arange(len(rows)), rows] -= weight  # nobody pairs with himself
    values, which = np.unique(sampler._compute_similarities(rows), return_inverse=True)
    share = np.bincount(which.ravel(), weights=mass.ravel())
    return values[share > 0], share[share > 0] / max(share.sum(), 1)


def candidate_thresholds(sampler: ConstraintSampler, most: int, random_state: Any = None) -> Array:
    """Return the Θ worth a trial: those that split the pairs differently.

    Parameters
    ----------
    sampler : ConstraintSampler
        Knows the label sets.
    most : int
        Return no more than so many: then those are taken that part the overlapping pairs
        into equal shares, and always the one that splits as the paper's 0.6 does.
    random_state : RandomState
        Source of randomness, for very many label sets.

    Returns
    -------
    ndarray
        Increasing. Each leaves pairs of both kinds; where none does, the paper's 0.6 alone.
    """
    values, share = similarity_values(sampler, random_state)
    candidates = values[1:]  # at the smallest value every pair is a must-link
    if not len(candidates):
        return np.array([PAPER_THRESHOLD])
    like_paper = int(np.searchsorted(candidates, PAPER_THRESHOLD).clip(max=len(candidates) - 1))
    if most == 1:
        return candidates[[like_paper]]
    if len(candidates) > most:
        must_link = np.cumsum(share[:0:-1])[::-1]
        aims = np.linspace(must_link[0], must_link[-1], most)
        nearest = np.abs(must_link - aims[:, None]).argmin(axis=1)
        nearest[np.abs(nearest - like_paper).argmin()] = like_paper
        candidates = candidates[np.unique(nearest)]
    return candidates


def halve(
    Y: Array,
    candidates: Array,
    seeds: Sequence[int],
    train: Callable[[list[tuple[float, int]]], list[Outside]],
    metric: str,
    vote: Callable[[Array, Array], Array],
) -> tuple[float, dict[str, Array]]:
    """Choose among the candidates with no more members than there are seeds.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        The true labels.
    candidates : ndarray
        Θ to choose from, no more than seeds.
    seeds : sequence of int
        The m-th member of every candidate has the m-th seed, and so the same bag.
    train : callable
        From a list of (Θ, seed), what members trained so say outside their bags.
    metric : str
        Name in `labelkin.metrics.METRICS`.
    vote : callable
        Labels from mean probabilities and shares of votes.

    Returns
    -------
    best : float
        The Θ chosen; among equals, the one nearest to the paper's.
    scores : dict
        ``threshold``, ``score`` and ``n_members``, an array each: the candidates, the last
        out-of-bag score of each, and by how many members.
    """
    oob = [OutOfBag(Y) for _ in candidates]
    trained = np.zeros(len(candidates), dtype=int)
    score = np.full(len(candidates), np.nan)
    sign = METRICS[metric].sign
    alive = np.arange(len(candidates))
    left = len(seeds)
    while len(alive) > 1 and left >= len(alive):
        rounds = int(np.ceil(np.log2(len(alive))))
        each = max(1, left // (rounds * len(alive)))
        done = trained[alive[0]]
        tasks = [(c, seed) for seed in seeds[done : done + each] for c in alive]
        outside = train([(float(candidates[c]), seed) for c, seed in tasks])
        for (c, _), said in zip(tasks, outside, strict=True):
            oob[c].add(*said)
        left -= len(tasks)
        trained[alive] += each
        for c in alive:
            score[c] = oob[c].score(metric, vote(oob[c].proba(), oob[c].votes()))
        order = np.lexsort(
            [np.abs(candidates[alive] - PAPER_THRESHOLD), -sign * np.nan_to_num(score[alive])]
        )
        alive = alive[order][: (len(alive) + 1) // 2]
    best = float(candidates[alive[0]])
    return best, {"threshold": candidates, "score": score, "n_members": trained}
