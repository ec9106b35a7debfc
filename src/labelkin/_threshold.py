"""Θ chosen by what it gives out of bag.

Θ only says which pairs are must-links, so of all its values those matter that are similarities
of two label sets: between two such values nothing changes. The few that remain challenge the
paper's 0.6 by successive halving (Jamieson & Talwalkar, 2016): each gets a small ensemble, the
better half gets more members, and so on, all on the same bags. The curve is flat and the scores
are noisy, so the last challenger must be clearly better.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from labelkin._constraint_members import TrainingData
from labelkin._oob import OutOfBag
from labelkin._threads import map_threads
from labelkin.base import Array
from labelkin.constraints import ConstraintSampler
from labelkin.metrics import METRICS

PAPER_THRESHOLD = 0.6
AUTO_BAG = 0.6
"""The bag of the trials where the ensemble itself has none."""
TRIAL_SHARE = 0.75
"""Trial members over `n_estimators`: a bag and a high Θ cost a little more than the rest."""
# More candidates than this would differ by few pairs, and leave few trials to each.
MOST_CANDIDATES = 6
# Similarities looked at to find out how often each value occurs.
_MOST_SIMILARITIES = 4_000_000
# Groups of samples over which the difference of two scores varies.
_GROUPS = 10

Outside = tuple[Array, Array, Array]


def choose_threshold(
    ensemble: Any, data: TrainingData, rng: np.random.RandomState
) -> tuple[float, dict[str, Array]]:
    """Choose Θ by trial members, fewer than the ensemble has.

    Parameters
    ----------
    ensemble : ConstraintEnsemble
        Its ``_rounds`` trains the trials as it does the members.
    data : TrainingData
        What it is trained on.
    rng : RandomState
        Source of the trials' seeds.

    Returns
    -------
    best, scores
        As of `halve`.
    """
    n_trials = int(TRIAL_SHARE * ensemble.n_estimators)
    candidates = candidate_thresholds(data.sampler, min(max(n_trials, 1), MOST_CANDIDATES), rng)
    bag = AUTO_BAG if ensemble.bag is None else ensemble.bag
    seeds = rng.randint(2**31 - 1, size=n_trials)

    def members(threshold: float) -> Iterator[Outside]:
        trial = data.with_settings((threshold, threshold), bag)
        return (member.outside for member, _ in ensemble._rounds(trial, seeds))

    def run(train: Any, which: Any) -> list[Any]:
        return map_threads(train, which, ensemble.n_jobs)

    return halve(data.Y, candidates, n_trials, members, run, ensemble.oob_metric, ensemble._vote)


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
    like_paper = _like_paper(candidates)
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
    n_trials: int,
    members: Callable[[float], Iterator[Outside]],
    run: Callable[[Callable[..., list[Outside]], list[Any]], list[list[Outside]]],
    metric: str,
    vote: Callable[[Array, Array], Array],
) -> tuple[float, dict[str, Array]]:
    """Choose among the candidates by their out-of-bag scores.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        The true labels.
    candidates : ndarray
        Θ to choose from, increasing.
    n_trials : int
        Train no more members than this.
    members : callable
        For a Θ, an iterator that trains a member at each step and yields what it says
        outside its bag. The m-th bag is the same for every Θ.
    run : callable
        As ``map``, to a list; perhaps in parallel.
    metric : str
        Name in `labelkin.metrics.METRICS`.
    vote : callable
        Labels from mean probabilities and shares of votes.

    Returns
    -------
    best : float
        The last challenger if it is better than the candidate that splits the pairs as 0.6
        does, by more than the standard error of the difference; else that one.
    scores : dict
        ``threshold``, ``score`` and ``n_members``, an array each: the candidates, the last
        out-of-bag score of each, and by how many members.
    """
    oob = [OutOfBag(Y) for _ in candidates]
    streams = [members(float(theta)) for theta in candidates]
    trained = np.zeros(len(candidates), dtype=int)
    score = np.full(len(candidates), np.nan)
    sign = METRICS[metric].sign
    reference = _like_paper(candidates)
    challengers = np.delete(np.arange(len(candidates)), reference)
    left = n_trials
    while len(challengers) and left > len(challengers):
        alive = np.append(challengers, reference)
        rounds = int(np.ceil(np.log2(len(challengers)))) + 1
        each = max(1, left // (rounds * len(alive)))
        # What each candidate's next members say, one list a candidate.
        said = run(list, [islice(streams[c], each) for c in alive])
        for c, outside in zip(alive, said, strict=True):
            for one in outside:
                oob[c].add(*one)
            score[c] = oob[c].score(metric, vote(oob[c].proba(), oob[c].votes()))
        trained[alive] += each
        left -= each * len(alive)
        order = np.argsort(-sign * np.nan_to_num(score[challengers]), kind="stable")
        challengers = challengers[order]
        if len(challengers) == 1:
            break
        challengers = challengers[: (len(challengers) + 1) // 2]
    best = reference
    if trained[reference] and _clearly_better(oob[challengers[0]], oob[reference], metric, vote):
        best = challengers[0]
    return float(candidates[best]), {"threshold": candidates, "score": score, "n_members": trained}


def _like_paper(candidates: Array) -> int:
    """Which candidate splits the pairs as the paper's 0.6 does, or is nearest to that."""
    return int(np.searchsorted(candidates, PAPER_THRESHOLD).clip(max=len(candidates) - 1))


def _clearly_better(
    one: OutOfBag, other: OutOfBag, metric: str, vote: Callable[[Array, Array], Array]
) -> bool:
    """Whether one is better by more than the standard error over groups of samples."""
    rows = np.flatnonzero(one.judged & other.judged)
    if len(rows) < 2 * _GROUPS:
        return False
    scores = np.array(
        [
            [
                oob.score(metric, vote(oob.proba(), oob.votes()), rows[group::_GROUPS])
                for group in range(_GROUPS)
            ]
            for oob in (one, other)
        ]
    )
    gain = METRICS[metric].sign * (scores[0] - scores[1])
    return bool(gain.mean() > gain.std(ddof=1) / np.sqrt(_GROUPS))
