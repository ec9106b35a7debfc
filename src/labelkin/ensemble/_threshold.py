"""Θ chosen by out-of-bag scores; the paper's 0.6 unless there is evidence against it.

Θ only decides which pairs are must-links, so only those values matter that are similarities of
two label sets: between two such values nothing changes. The few that remain challenge the
paper's 0.6 by successive halving (Jamieson & Talwalkar, 2016): each gets a small ensemble, the
better half gets more members, and so on, all on the same bags, 0.6 to the end. The curve is
flat and the scores are noisy: another sample and other members would give other scores. So the
last challenger must be better by two standard errors over samples and members, and by more
where it is the best of several.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from labelkin._utils.parallel import map_threads
from labelkin.base import MAX_SEED, Array
from labelkin.constraints import LabelSets
from labelkin.ensemble._member import TrainingSet
from labelkin.ensemble._oob import OutOfBag, Outside
from labelkin.ensemble._voting import vote
from labelkin.metrics import METRICS, Metric

PAPER_THRESHOLD = 0.6
AUTO_BAG = 0.6
"""The bag of the trials where the ensemble itself has none."""
TRIAL_SHARE = 0.7
"""Trial members over `n_estimators`; scoring them takes the rest of twice the cost."""
MOST_CANDIDATES = 6
"""More candidates would differ by few pairs, and leave few members to each."""
LEAST_MEMBERS = 3
"""A finalist needs this many members for the variance between them."""
STANDARD_ERRORS = 2.0
"""A single challenger of 0.6 must be better by this many standard errors."""
N_GROUPS = 10
"""Groups of samples over which the variance of a score is measured."""
TABLE_ENTRIES = 4_000_000
"""Similarities computed to find how often each value occurs: exact up to 2,000 label sets."""


def choose_threshold(
    ensemble: Any, data: TrainingSet, rng: np.random.RandomState
) -> tuple[float, dict[str, Array]]:
    """Choose Θ by trial members, fewer than the ensemble has, which its ``_rounds`` trains too.

    The results are those of `successive_halving`.
    """
    n_trials = int(TRIAL_SHARE * ensemble.n_estimators)
    most = min(max(n_trials // LEAST_MEMBERS, 1), MOST_CANDIDATES)
    candidates = candidate_thresholds(data.sampler.label_sets, most, rng)
    bag = AUTO_BAG if ensemble.bag is None else ensemble.bag
    seeds = rng.randint(MAX_SEED, size=n_trials)

    def members(threshold: float) -> Iterator[Outside]:
        rounds = ensemble._rounds(data.with_threshold(threshold, bag), seeds)
        return (member.outside for member, _ in rounds)

    def run(train: Any, which: Any) -> list[Any]:
        return map_threads(train, which, ensemble.n_jobs)

    def new_trial() -> Trial:
        metric = METRICS[ensemble.oob_metric]
        return Trial(data.Y, metric, partial(vote, voting=ensemble.voting))

    return successive_halving(candidates, n_trials, members, run, new_trial)


def similarity_values(
    label_sets: LabelSets, random_state: Any, most: int = TABLE_ENTRIES
) -> tuple[Array, Array]:
    """Return the similarities that pairs of samples have, and the share of pairs with each.

    Exact where the table of similarities has at most `most` entries. Beyond, the pairs of
    randomly chosen samples with all others are counted.
    """
    counts = np.bincount(label_sets.set_of_sample).astype(np.float64)
    n_sets = len(counts)
    if n_sets**2 <= most:
        sets, weight = np.arange(n_sets), counts
    else:
        chosen = random_state.choice(len(label_sets), size=max(1, most // n_sets))
        sets, weight = label_sets.set_of_sample[chosen], np.ones(len(chosen))
    mass = np.multiply.outer(weight, counts)
    mass[np.arange(len(sets)), sets] -= weight  # no sample is paired with itself
    values, which = np.unique(label_sets.similarities(sets), return_inverse=True)
    share = np.bincount(which.ravel(), weights=mass.ravel())
    return values[share > 0], share[share > 0] / max(share.sum(), 1)


def candidate_thresholds(label_sets: LabelSets, most: int, random_state: Any = None) -> Array:
    """Return the Θ worth a trial, increasing: those that split the pairs differently.

    Each leaves pairs of both kinds; where none does, the paper's 0.6 alone is returned. Of more
    than `most`, those are taken that divide the pairs into equal shares, and always the one that
    splits them as 0.6 does. Very many label sets are sampled by `random_state`.
    """
    values, share = similarity_values(label_sets, random_state)
    candidates = values[1:].copy()  # at the smallest value every pair is a must-link
    if not len(candidates):
        return np.array([PAPER_THRESHOLD])
    as_paper = _nearest_to_paper(candidates)
    if values[0] < PAPER_THRESHOLD < candidates[as_paper]:
        candidates[as_paper] = PAPER_THRESHOLD  # the same pairs
    if most == 1:
        return candidates[[as_paper]]
    if len(candidates) > most:
        must_link = np.cumsum(share[:0:-1])[::-1]
        aims = np.linspace(must_link[0], must_link[-1], most)
        nearest = np.abs(must_link - aims[:, None]).argmin(axis=1)
        nearest[np.abs(nearest - as_paper).argmin()] = as_paper
        candidates = candidates[np.unique(nearest)]
    return candidates


class Trial:
    """A small ensemble on trial: predictions of its members outside their bags.

    Y are the true labels; `vote` makes labels of mean probabilities and shares of votes.
    """

    def __init__(self, Y: Array, metric: Metric, vote: Callable[[Array, Array], Array]) -> None:
        self.Y, self.metric, self.vote = Y, metric, vote
        self.outside: list[Outside] = []

    def score(self) -> float:
        """Return the out-of-bag score, the higher the better."""
        return self.scores()[0]

    def scores(self, without: int | None = None, groups: Any = (None,)) -> list[float]:
        """Return the scores of groups of samples, with one member left out or with all."""
        oob = OutOfBag(self.Y)
        for m, outside in enumerate(self.outside):
            if m != without:
                oob.add(*outside)
        labels = self.vote(oob.proba(), oob.votes())
        return [
            self.metric.sign
            * oob.score(self.metric, labels, None if rows is None else rows[oob.predicted[rows]])
            for rows in groups
        ]


def successive_halving(
    candidates: Array,
    n_trials: int,
    members: Callable[[float], Iterator[Outside]],
    run: Callable[[Callable[..., list[Outside]], list[Any]], list[list[Outside]]],
    new_trial: Callable[[], Trial],
) -> tuple[float, dict[str, Array]]:
    """Choose among increasing candidates for Θ by their out-of-bag scores.

    Of the at most `n_trials` members, ``members(Θ)`` trains one at each step and yields its
    predictions outside its bag; the m-th bag is the same for every Θ. `run` is ``map`` to a list,
    perhaps in parallel, and `new_trial` makes a `Trial` without members.

    Returned are the last challenger, if it is `clearly_better` than the candidate that splits the
    pairs as 0.6 does, else that one; and arrays of the candidates (``threshold``), of the last
    out-of-bag score of each (``score``), and of their members (``n_members``).
    """
    trials = [new_trial() for _ in candidates]
    streams = [members(float(theta)) for theta in candidates]
    trained = np.zeros(len(candidates), dtype=int)
    score = np.full(len(candidates), np.nan)
    reference = _nearest_to_paper(candidates)
    challengers = np.delete(np.arange(len(candidates)), reference)
    left = n_trials
    while len(challengers) and left > len(challengers):
        alive = np.append(challengers, reference)
        rounds = int(np.ceil(np.log2(len(challengers)))) + 1
        each = max(1, left // (rounds * len(alive)))
        # Predictions of each candidate's next members, one list per candidate.
        outside_of = run(list, [islice(streams[c], each) for c in alive])
        for c, outside in zip(alive, outside_of, strict=True):
            trials[c].outside += outside
            score[c] = trials[c].score()
        trained[alive] += each
        left -= each * len(alive)
        challengers = challengers[np.argsort(-score[challengers], kind="stable")]  # NaN last
        if len(challengers) == 1:
            break
        for c in challengers[(len(challengers) + 1) // 2 :]:
            trials[c].outside = []  # frees the memory
        challengers = challengers[: (len(challengers) + 1) // 2]
    best = reference
    for last in challengers[:1]:
        # The variance, which takes time, is needed only if the challenger is ahead.
        ahead = score[last] > score[reference]
        if ahead and clearly_better(trials[last], trials[reference], len(candidates) - 1):
            best = last
    score *= trials[0].metric.sign
    return float(candidates[best]), {"threshold": candidates, "score": score, "n_members": trained}


def _nearest_to_paper(candidates: Array) -> int:
    """Return the candidate that splits the pairs as 0.6 does, or is nearest to that."""
    return int(np.searchsorted(candidates, PAPER_THRESHOLD).clip(max=len(candidates) - 1))


def clearly_better(one: Trial, other: Trial, n_challengers: int = 1) -> bool:
    """Return whether one is better than the other by more than chance gives the best of many.

    A single challenger must be better by `STANDARD_ERRORS` standard errors. For the best of
    `n_challengers` the probability of a false alarm is divided by their number (Bonferroni). Both
    have equally many members, the m-th in the same bag.
    """
    if len(one.outside) < LEAST_MEMBERS:
        return False
    rows = np.unique(np.concatenate([outside[0] for outside in one.outside]))
    if len(rows) < 2 * N_GROUPS:
        return False
    # In random order: adjacent rows may be similar.
    groups = np.array_split(np.random.default_rng(0).permutation(rows), N_GROUPS)
    mean, variance = score_difference(one, other, groups)
    errors = -ndtri(ndtr(-STANDARD_ERRORS) / n_challengers)
    return bool(mean > errors * np.sqrt(variance))


def score_difference(one: Trial, other: Trial, groups: list[Array]) -> tuple[float, float]:
    """Return the difference of two scores, and its variance.

    The gain varies with the samples and with the draws of the members. The m-th members of
    both have the same bag, so that much of either cancels out. Its variance is that of the
    difference between two panels of readers of the same cases (Dorfman, Berbaum & Metz, 1992):
    over groups of samples, plus over members, each left out in turn, less their interaction,
    which is part of both.
    """
    n_groups, n_members = len(groups), len(one.outside)
    whole = np.subtract(one.scores(None, groups), other.scores(None, groups))
    left_out = np.array(
        [np.subtract(one.scores(m, groups), other.scores(m, groups)) for m in range(n_members)]
    )
    # Change by leaving out the m-th members: minus 1 / (n_members - 1) of their own gain.
    change = left_out - left_out.mean(axis=0)
    both = change - change.mean(axis=1, keepdims=True)
    by_rows = float(np.var(whole)) / (n_groups - 1)
    by_members = (n_members - 1) * float(np.var(change.mean(axis=1)))
    interaction = (n_members - 1) / (n_groups - 1) * float(np.mean(both**2))
    variance = max(by_rows + by_members - interaction, by_rows, by_members)
    return float(whole.mean()), variance
