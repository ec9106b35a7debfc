"""Θ chosen by what it gives out of bag, and the paper's 0.6 unless there is evidence against it.

Θ only says which pairs are must-links, so of all its values those matter that are similarities
of two label sets: between two such values nothing changes. The few that remain challenge the
paper's 0.6 by successive halving (Jamieson & Talwalkar, 2016): each gets a small ensemble, the
better half gets more members, and so on, all on the same bags, 0.6 to the end. The curve is
flat and the scores are noisy: another sample and another draw of members would give others. So
the last challenger must be better by two standard errors over samples and draws, and by more
where it is the best of several.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.constraints._sampler import ConstraintSampler
from labelkin.ensemble._bags import OutOfBag
from labelkin.ensemble._member import TrainingData
from labelkin.metrics import METRICS

PAPER_THRESHOLD = 0.6
AUTO_BAG = 0.6
"""The bag of the trials where the ensemble itself has none."""
TRIAL_SHARE = 0.7
"""Trial members over `n_estimators`: the rest, to twice the cost, is for judging them."""
# More candidates than this would differ by few pairs, and leave few trials to each.
MOST_CANDIDATES = 6
# Similarities looked at to find out how often each value occurs.
_MOST_SIMILARITIES = 4_000_000
# A finalist needs so many members at least, to show how much the draw of one changes.
_LEAST_MEMBERS = 3
# Standard errors by which a single challenger of 0.6 must be better.
_STANDARD_ERRORS = 2.0
# Groups of samples over which a score varies.
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
    most = min(max(n_trials // _LEAST_MEMBERS, 1), MOST_CANDIDATES)
    candidates = candidate_thresholds(data.sampler, most, rng)
    bag = AUTO_BAG if ensemble.bag is None else ensemble.bag
    seeds = rng.randint(2**31 - 1, size=n_trials)

    def members(threshold: float) -> Iterator[Outside]:
        trial = data.with_settings((threshold, threshold), bag)
        return (member.outside for member, _ in ensemble._rounds(trial, seeds))

    def run(train: Any, which: Any) -> list[Any]:
        return map_threads(train, which, ensemble.n_jobs)

    def new_trial() -> Trial:
        return Trial(data.Y, ensemble.oob_metric, ensemble._vote)

    return halve(candidates, n_trials, members, run, new_trial)


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
    candidates = values[1:].copy()  # at the smallest value every pair is a must-link
    if not len(candidates):
        return np.array([PAPER_THRESHOLD])
    like_paper = _like_paper(candidates)
    if values[0] < PAPER_THRESHOLD < candidates[like_paper]:
        candidates[like_paper] = PAPER_THRESHOLD  # the same pairs
    if most == 1:
        return candidates[[like_paper]]
    if len(candidates) > most:
        must_link = np.cumsum(share[:0:-1])[::-1]
        aims = np.linspace(must_link[0], must_link[-1], most)
        nearest = np.abs(must_link - aims[:, None]).argmin(axis=1)
        nearest[np.abs(nearest - like_paper).argmin()] = like_paper
        candidates = candidates[np.unique(nearest)]
    return candidates


class Trial:
    """A small ensemble on trial: what its members say outside their bags.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        The true labels.
    metric : str
        Name in `labelkin.metrics.METRICS`.
    vote : callable
        Labels from mean probabilities and shares of votes.
    """

    def __init__(self, Y: Array, metric: str, vote: Callable[[Array, Array], Array]) -> None:
        self.Y, self.metric, self.vote = Y, metric, vote
        self.said: list[Outside] = []

    def score(self) -> float:
        """Return the out-of-bag score, the higher the better."""
        return self.scores()[0]

    def scores(self, without: int | None = None, groups: Any = (None,)) -> list[float]:
        """Return the scores of groups of samples, perhaps with a member left out."""
        oob = OutOfBag(self.Y)
        for m, outside in enumerate(self.said):
            if m != without:
                oob.add(*outside)
        labels = self.vote(oob.proba(), oob.votes())
        sign = METRICS[self.metric].sign
        return [
            sign * oob.score(self.metric, labels, None if rows is None else rows[oob.judged[rows]])
            for rows in groups
        ]


def halve(
    candidates: Array,
    n_trials: int,
    members: Callable[[float], Iterator[Outside]],
    run: Callable[[Callable[..., list[Outside]], list[Any]], list[list[Outside]]],
    new_trial: Callable[[], Trial],
) -> tuple[float, dict[str, Array]]:
    """Choose among the candidates by their out-of-bag scores.

    Parameters
    ----------
    candidates : ndarray
        Θ to choose from, increasing.
    n_trials : int
        Train no more members than this.
    members : callable
        For a Θ, an iterator that trains a member at each step and yields what it says
        outside its bag. The m-th bag is the same for every Θ.
    run : callable
        As ``map``, to a list; perhaps in parallel.
    new_trial : callable
        Returns a `Trial` without members.

    Returns
    -------
    best : float
        The last challenger if it is `clearly_better` than the candidate that splits the
        pairs as 0.6 does; else that one.
    scores : dict
        ``threshold``, ``score`` and ``n_members``, an array each: the candidates, the last
        out-of-bag score of each, and by how many members.
    """
    trials = [new_trial() for _ in candidates]
    streams = [members(float(theta)) for theta in candidates]
    trained = np.zeros(len(candidates), dtype=int)
    score = np.full(len(candidates), np.nan)
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
            trials[c].said += outside
            score[c] = trials[c].score()
        trained[alive] += each
        left -= each * len(alive)
        challengers = challengers[np.argsort(-score[challengers], kind="stable")]  # NaN last
        if len(challengers) == 1:
            break
        for c in challengers[(len(challengers) + 1) // 2 :]:
            trials[c].said = []  # out, and its memory free
        challengers = challengers[: (len(challengers) + 1) // 2]
    best = reference
    for last in challengers[:1]:
        # One that is behind need not be looked at, which takes time.
        ahead = score[last] > score[reference]
        if ahead and clearly_better(trials[last], trials[reference], len(candidates) - 1):
            best = last
    score *= METRICS[trials[0].metric].sign
    return float(candidates[best]), {"threshold": candidates, "score": score, "n_members": trained}


def _like_paper(candidates: Array) -> int:
    """Which candidate splits the pairs as the paper's 0.6 does, or is nearest to that."""
    return int(np.searchsorted(candidates, PAPER_THRESHOLD).clip(max=len(candidates) - 1))


def clearly_better(one: Trial, other: Trial, n_challengers: int = 1) -> bool:
    """Whether one is better than the other by more than chance gives the best of many.

    A single challenger must be better by `_STANDARD_ERRORS` of its `gain`. The best of many
    must meet that one's chance of a false alarm, divided by their number (Bonferroni).

    Parameters
    ----------
    one, other : Trial
        Of equally many members, the m-th in the same bag.
    n_challengers : int
        Of how many `one` is the best.
    """
    if len(one.said) < _LEAST_MEMBERS:
        return False
    rows = np.unique(np.concatenate([outside[0] for outside in one.said]))
    if len(rows) < 2 * _GROUPS:
        return False
    # In random order: neighbouring rows may be alike.
    groups = np.array_split(np.random.default_rng(0).permutation(rows), _GROUPS)
    mean, variance = gain(one, other, groups)
    errors = -ndtri(ndtr(-_STANDARD_ERRORS) / n_challengers)
    return bool(mean > errors * np.sqrt(variance))


def gain(one: Trial, other: Trial, groups: list[Array]) -> tuple[float, float]:
    """Return by how much one is better, and the variance of that.

    The gain varies with the samples and with what the members draw. The m-th members of both
    have the same bag, so that much of either cancels out. It is the variance of the difference
    of two readers' panels over the same cases (Dorfman, Berbaum & Metz, 1992): that over
    groups of samples, plus that over members by leaving one out in turn, less what both
    contain, their interaction.
    """
    n_groups, n_members = len(groups), len(one.said)
    whole = np.subtract(one.scores(None, groups), other.scores(None, groups))
    left_out = np.array(
        [np.subtract(one.scores(m, groups), other.scores(m, groups)) for m in range(n_members)]
    )
    # What the m-th members change, group by group: minus 1 / (n_members - 1) of their own gain.
    change = left_out - left_out.mean(axis=0)
    both = change - change.mean(axis=1, keepdims=True)
    by_rows = float(np.var(whole)) / (n_groups - 1)
    by_members = (n_members - 1) * float(np.var(change.mean(axis=1)))
    interaction = (n_members - 1) / (n_groups - 1) * float(np.mean(both**2))
    variance = max(by_rows + by_members - interaction, by_rows, by_members)
    return float(whole.mean()), variance
