"""Explanations by members, training samples and features, for kernels and their ensemble."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labelkin._utils.optional import import_optional
from labelkin.base import Array
from labelkin.explain._tables import (
    SHOWN,
    SHOWN_FEATURES,
    PrintedTables,
    Table,
    list_effects,
    strongest_features,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Training samples printed for, and against, each label.
_SHOWN_ROWS = 3
# Labels that have a column in the table of members.
_SHOWN_COLUMNS = 5


@dataclass(frozen=True, repr=False)
class KernelExplanation(PrintedTables):
    """What members, training samples and features add to each label, for one sample.

    ``print`` it, display it in a notebook, ``plot`` it, or read the arrays. The members
    of a kernel ridge regression are its kernel and, if there is one, its linear part. Three sums
    are exact:

    - ``member_effects.sum(axis=0) + intercept + correction`` are the log odds of `probability`;
    - ``row_effects.sum(axis=0) + row_intercept`` is the mean score, by their weights, of members
      that are kernels of all training samples. A score is a regression on 0 and 1, before its
      curve turns it into log odds;
    - the effect of a feature is the log odds of the sample less those of the same sample with the
      feature's median instead.

    Attributes
    ----------
    label_names, feature_names, member_names : list of str
        Names of the labels, features and members; numbers from 0 where there are none.
    predicted : ndarray of bool of shape (n_labels,)
        Which labels ``predict`` gives.
    probability : ndarray of shape (n_labels,)
        What ``predict_proba`` gives.
    member_weights : ndarray of shape (n_members,)
        Weight of each member, adding up to 1.
    member_probability : ndarray of shape (n_members, n_labels)
        Probabilities of each member alone.
    member_effects : ndarray of shape (n_members, n_labels)
        What each member adds to the log odds.
    intercept : ndarray of shape (n_labels,)
        What is added to the log odds of every sample.
    correction : ndarray of shape (n_labels,)
        What the log odds of the other labels add; 0 without a correction.
    row_effects : ndarray of shape (n_samples, n_labels)
        What each training sample adds to the score: its weight in the kernel regression, which
        is large for similar samples, times its label less the label's mean. Similar samples with
        the label speak for it, those without it against it. No rows where kernels are
        approximated from landmarks or precomputed, linear in fewer features than samples, or of
        more than 12,000 samples. Of many kernels, the heaviest that can be weighed within some
        seconds.
    row_intercept : ndarray of shape (n_labels,)
        Score without these: the share of the training samples with the label.
    row_similarity : ndarray of shape (n_samples,)
        Mean kernel value, by the weights of the members; 1 for an equal sample, if the kernel is
        radial.
    rows : ndarray of int of shape (n_shown,)
        Training samples that add most, for or against one of the most probable labels, and those
        most similar: the most similar first.
    row_labels : ndarray of bool of shape (n_shown, n_labels)
        Their labels.
    features : ndarray of int of shape (n_tried,)
        Features that differ from their median in training, at most ``max_features``.
    feature_effects : ndarray of shape (n_labels, n_tried)
        What each of them adds to the log odds.
    """

    label_names: list[str]
    feature_names: list[str]
    member_names: list[str]
    predicted: Array
    probability: Array
    member_weights: Array
    member_probability: Array
    member_effects: Array
    intercept: Array
    correction: Array
    row_effects: Array
    row_intercept: Array
    row_similarity: Array
    rows: Array
    row_labels: Array
    features: Array
    feature_effects: Array

    def __repr__(self) -> str:
        n = len(self.member_names)
        return f"<KernelExplanation: {self._predicted_names()}; {n} member{'s'[: n > 1]}>"

    def to_frame(self, part: str = "labels") -> Any:
        """Return one part of the explanation as a DataFrame.

        Parameters
        ----------
        part : {"labels", "members", "rows", "features"}, default="labels"
            labels: one row per label, the most probable first. members: what each adds to the log
            odds of each label, one row per member, then the intercept and the correction. rows:
            what the training samples `rows` add to the score of each label. features: what each
            feature adds to the log odds of each label.

        Returns
        -------
        pandas.DataFrame
        """
        parts = ("labels", "members", "rows", "features")
        if part not in parts:
            raise ValueError(f"part must be one of {', '.join(parts)}, got {part!r}.")
        if part == "labels":
            return self._label_frame()
        pandas = import_optional("pandas")
        if part == "members":
            effects = np.vstack([self.member_effects, self.intercept, self.correction])
            index = pandas.Index([*self.member_names, "intercept", "correction"], name="member")
        elif part == "rows":
            effects, index = self.row_effects[self.rows], pandas.Index(self.rows, name="sample")
        else:
            names = [self.feature_names[i] for i in self.features]
            effects, index = self.feature_effects.T, pandas.Index(names, name="feature")
        return pandas.DataFrame(effects, index=index, columns=self.label_names)

    def strongest_rows(self, label: int, sign: int = 1, n: int = _SHOWN_ROWS) -> Array:
        """Return the training samples that add most for a label, or against it.

        Parameters
        ----------
        label : int
            Number of the label.
        sign : {1, -1}, default=1
            1: for the label; -1: against it.
        n : int, default=3
            How many at most.

        Returns
        -------
        ndarray of int
        """
        effects = sign * self.row_effects[:, label]
        order = np.argsort(-effects, kind="stable")[:n]
        return order[effects[order] > 0]

    def strongest_features(self, label: int, n: int = SHOWN_FEATURES) -> list[tuple[str, float]]:
        """Return the features of largest effect on a label, and their effects.

        Parameters
        ----------
        label : int
            Number of the label.
        n : int, default=5
            How many at most.

        Returns
        -------
        list of (str, float)
        """
        effects = self.feature_effects[label]
        return strongest_features(self.feature_names, self.features, effects, n)

    def plot(self, n_labels: int = 3) -> "Figure":
        """Draw what members, features and training samples add to the most probable labels.

        Parameters
        ----------
        n_labels : int, default=3
            Labels that are drawn, at most.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from labelkin.explain._plots import plot_effects

        return plot_effects(self, self._by_probability()[:n_labels].tolist())

    def _tables(self) -> list[Table]:
        order = self._shown_labels().tolist()
        return [
            self._label_table({"features": lambda j: list_effects(self.strongest_features(j))}),
            self._member_table(order[:_SHOWN_COLUMNS]),
            *([self._row_table(order), self._similar_table()] if len(self.row_effects) else []),
        ]

    def _member_table(self, order: list[int]) -> Table:
        rows = [
            [
                name,
                f"{self.member_weights[i]:.3f}",
                *(
                    f"{self.member_probability[i, label]:.3f} {self.member_effects[i, label]:+.2f}"
                    for label in order
                ),
            ]
            for i, name in enumerate(self.member_names)
        ]
        rows.append(["(every sample)", "", *(f"{self.intercept[label]:+.2f}" for label in order)])
        if self.correction.any():
            added = [f"{self.correction[label]:+.2f}" for label in order]
            rows.append(["(other labels)", "", *added])
        header = ["member", "weight", *(self.label_names[label] for label in order)]
        return "members: probability, and what it adds to the log odds", header, rows

    def _row_table(self, order: list[int]) -> Table:
        rows = [
            [self.label_names[label], *(self._listed(label, sign) for sign in (1, -1))]
            for label in order
        ]
        return "training samples, and what they add to the score", ["label", "for", "against"], rows

    def _listed(self, label: int, sign: int) -> str:
        found = self.strongest_rows(label, sign)
        return ", ".join(f"{i} {self.row_effects[i, label]:+.3f}" for i in found) or "none"

    def _similar_table(self) -> Table:
        found = [
            [
                str(row),
                f"{self.row_similarity[row]:.3f}",
                ", ".join(self._names(labels)) or "none",
            ]
            for row, labels in zip(self.rows[:SHOWN], self.row_labels, strict=False)
        ]
        return "most similar training samples", ["training sample", "similarity", "labels"], found


class ExplainedByKernels:
    """Base of the classifiers that are kernels of training samples, or ensembles of these."""

    @abstractmethod
    def _explain(self, x: Any, feature_names: Any, max_features: int) -> KernelExplanation:
        """Explain the prediction for one sample."""

    def explain(
        self, x: ArrayLike, feature_names: Any = None, *, max_features: int = 400
    ) -> KernelExplanation:
        """Return what members, training samples and features add to one prediction.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The sample.
        feature_names : sequence of str, optional
            Names to show, such as a vectorizer's ``get_feature_names_out()``; None: those seen in
            ``fit``, else numbers.
        max_features : int, default=400
            Features that are tried, those furthest from their medians: the time is that of as
            many predictions. 0: none.

        Returns
        -------
        KernelExplanation
            Print it, plot it, or read its arrays. The members of kernel ridge are its kernel
            and, if there is one, its linear part.
        """
        return self._explain(x, feature_names, max_features)


@dataclass(frozen=True)
class KernelTerms:
    """A kernel score of one sample as a mean of labels: ȳ + Σ wᵢ (yᵢ − ȳ)."""

    rows: Array
    """Numbers of the training samples, (n,)."""
    similarity: Array
    """Their kernel values, (n,)."""
    weights: Array
    """w, (n, q)."""
    share: Array
    """Share of each training sample in the mean ȳ, (n,): 1/n unless they are weighted."""


def sum_terms(
    terms: list[KernelTerms], shares: list[float], labels: Array, probability: Array
) -> dict[str, Array]:
    """Return the fields of an explanation that are about training samples.

    `shares` are those of the kernels in the mean score, adding up to 1. Training samples of the
    most probable labels are selected.
    """
    q = len(probability)
    n = len(labels) if terms else 0
    effects, similarity, intercept = np.zeros((n, q)), np.zeros(n), np.zeros(q)
    for part, share in zip(terms, shares, strict=True):
        known = labels[part.rows]
        mean = part.share @ known
        effects[part.rows] += share * part.weights * (known - mean)
        similarity[part.rows] += share * part.similarity
        intercept += share * mean
    order = np.argsort(-probability, kind="stable")[:SHOWN]
    ends = [np.argsort(sign * effects[:, order], axis=0)[:_SHOWN_ROWS] for sign in (1, -1)]
    nearest = np.argsort(-similarity, kind="stable")[:SHOWN]
    rows = np.unique(np.concatenate([*ends, nearest[:, None]], axis=None))
    rows = rows[np.argsort(-similarity[rows], kind="stable")]
    return {
        "row_effects": effects,
        "row_intercept": intercept,
        "row_similarity": similarity,
        "rows": rows,
        "row_labels": labels[rows].astype(bool),
    }
