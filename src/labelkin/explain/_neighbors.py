"""Explanations by the nearest training samples and the votes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelkin._utils.labels import label_names
from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix
from labelkin.explain._rows import validate_one_row
from labelkin.explain._tables import SHOWN, PrintedTables, Table, title


@dataclass(frozen=True, repr=False)
class Explanation(PrintedTables):
    """The neighbours and votes behind the prediction of one sample.

    ``print`` it, display it in a notebook, or read the arrays. One member is an ML-kNN in its
    own projection; `MLkNNClassifier` by itself is a single member.

    Attributes
    ----------
    label_names : list of str
        Names of the labels; numbers from 0 when y had none.
    predicted : ndarray of bool of shape (n_labels,)
        Which labels ``predict`` gives.
    probability : ndarray of shape (n_labels,)
        What ``predict_proba`` gives: the mean of `member_probability`, by `member_weights`;
        calibrated, if the ensemble is.
    votes : ndarray of int of shape (n_labels,)
        Number of members that predict the label.
    counts : ndarray of int of shape (n_members, n_labels)
        Number of a member's nearest training samples that have the label. In ML-kNN the
        probability of a label depends on this number alone.
    member_probability : ndarray of shape (n_members, n_labels)
        Probabilities of each member.
    member_weights : ndarray of shape (n_members,)
        Weight of each member in the mean and in the vote; all 1 unless the ensemble has
        ``vote_weights="oob"``.
    n_neighbors : int
        Number of nearest training samples of a member.
    neighbors : ndarray of int of shape (n_found,)
        Rows of the training data that are among the nearest in at least one member: those in
        most members first, then those of lowest mean rank.
    neighbor_members : ndarray of int of shape (n_found,)
        Number of members that have the sample among their nearest.
    neighbor_rank : ndarray of shape (n_found,)
        Mean rank in these members; 1 is the nearest.
    neighbor_distance : ndarray of shape (n_found,)
        Mean distance in these members, each in its own projection.
    neighbor_labels : ndarray of shape (n_found, n_labels)
        Their labels, 0 or 1.
    """

    label_names: list[str]
    predicted: Array
    probability: Array
    votes: Array
    counts: Array
    member_probability: Array
    member_weights: Array
    n_neighbors: int
    neighbors: Array
    neighbor_members: Array
    neighbor_rank: Array
    neighbor_distance: Array
    neighbor_labels: Array

    @property
    def n_members(self) -> int:
        """Number of members that voted."""
        return len(self.counts)

    def __repr__(self) -> str:
        n = self.n_members
        return f"<Explanation: {self._predicted_names()}; {n} member{'s'[: n > 1]}>"

    def to_frame(self, part: str = "labels") -> Any:
        """Return all labels, or all neighbours, as a DataFrame.

        Parameters
        ----------
        part : {"labels", "neighbors"}, default="labels"
            labels: one row per label, the most probable first. neighbors: one row per
            training sample, indexed by its row in the training data, its labels in the last
            columns.

        Returns
        -------
        pandas.DataFrame
        """
        if part not in ("labels", "neighbors"):
            raise ValueError(f"part must be 'labels' or 'neighbors', got {part!r}.")
        if part == "labels":
            return self._label_frame(votes=self.votes, neighbors=self.counts.mean(axis=0))
        pandas = import_optional("pandas")
        found = {
            "members": self.neighbor_members,
            "rank": self.neighbor_rank,
            "distance": self.neighbor_distance,
        }
        index = pandas.Index(self.neighbors, name="sample")
        labels = pandas.DataFrame(self.neighbor_labels, index=index, columns=self.label_names)
        return pandas.concat([pandas.DataFrame(found, index=index), labels], axis=1)

    def _tables(self) -> list[Table]:
        n, mean_counts = self.n_members, self.counts.mean(axis=0)
        digits = 0 if n == 1 else 1
        columns: dict[str, Callable[[int], str]] = {
            "votes": lambda label: f"{self.votes[label]} of {n}",
            "neighbours with it": lambda label: (
                f"{mean_counts[label]:.{digits}f} of {self.n_neighbors}"
            ),
        }
        header = ["training sample", "members", "rank", "distance", "labels"]
        found = [
            [
                str(self.neighbors[i]),
                f"{self.neighbor_members[i]} of {n}",
                f"{self.neighbor_rank[i]:.{digits}f}",
                f"{self.neighbor_distance[i]:#.3g}",
                ", ".join(self._names(self.neighbor_labels[i])) or "none",
            ]
            for i in range(min(SHOWN, len(self.neighbors)))
        ]
        if n == 1:  # nothing to vote on
            del columns["votes"]
            header, *found = ([row[0], *row[2:]] for row in [header, *found])
        heading = title("nearest training samples", found, len(self.neighbors))
        return [self._label_table(columns), (heading, header, found)]


def explain(model: Any, x: Any) -> Explanation:
    """Explain the prediction of a fitted ML-kNN for one sample.

    One fitted on a device is copied to the host first: to explain many samples, do that once, with
    `labelkin._utils.array_api.to_host`.
    """
    model, row = validate_one_row(model, x)
    return explain_members(
        model,
        [(model, row)],
        np.ones(1),
        lambda probability: (probability[0], probability[0] > 0.5),
    )


def explain_members(
    model: Any,
    members: list[tuple[Any, Matrix]],
    weights: Array,
    combine: Callable[[Array], tuple[Array, Array]],
) -> Explanation:
    """Explain a prediction by the neighbours that members find, each in its own space.

    `combine` turns the members' probabilities, (n_members, n_labels), into the probabilities and
    labels that the model predicts.
    """
    nearest = [member._counts.search.query(z, member.n_jobs)[0] for member, z in members]
    distances = [
        member._counts.search.distances(z, found)
        for (member, z), found in zip(members, nearest, strict=True)
    ]
    labels_of = members[0][0]._counts.labels_of
    member_probability = np.array([member._proba(z)[0] for member, z in members])
    probability, predicted = combine(member_probability)
    samples, occurrences, rank, distance = _summary(np.array(nearest), np.array(distances))
    return Explanation(
        label_names=label_names(model),
        predicted=predicted,
        probability=probability,
        votes=(member_probability > 0.5).sum(axis=0),
        counts=np.array([labels_of(found).sum(axis=0, dtype=np.intp) for found in nearest]),
        member_probability=member_probability,
        member_weights=weights,
        n_neighbors=len(nearest[0]),
        neighbors=samples,
        neighbor_members=occurrences,
        neighbor_rank=rank,
        neighbor_distance=distance,
        neighbor_labels=labels_of(samples),
    )


def _summary(nearest: Array, distances: Array) -> tuple[Array, Array, Array, Array]:
    """Return the samples found, their numbers of members, mean ranks and mean distances."""
    samples, place = np.unique(nearest, return_inverse=True)
    place = place.ravel()
    rank = np.broadcast_to(np.arange(1, nearest.shape[1] + 1), nearest.shape)
    members = np.bincount(place, minlength=len(samples))
    mean_rank = np.bincount(place, rank.ravel(), len(samples)) / members
    mean_distance = np.bincount(place, distances.ravel(), len(samples)) / members
    order = np.lexsort((mean_rank, -members))
    return samples[order], members[order], mean_rank[order], mean_distance[order]
