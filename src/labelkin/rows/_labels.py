"""Labels: the (n, q) matrix of 0 and 1, with the weights of the samples."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

Array = Any
Matrix = Any


@dataclass(frozen=True)
class Labels:
    """The labels of n samples, and their weights, on the host.

    Parameters
    ----------
    Y : ndarray or sparse array of shape (n, q)
        0 and 1.
    weight : ndarray of shape (n,), optional
        Weights of the samples; None: all are 1.
    """

    Y: Matrix
    weight: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and labels."""
        return self.Y.shape

    def __len__(self) -> int:
        return self.Y.shape[0]

    @cached_property
    def weights(self) -> Array:
        """Weights of the samples, ones where none were given."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self) if self.weight is None else self.weight.sum())

    @cached_property
    def positives(self) -> Array:
        """Weight of the samples that have each label, (q,)."""
        if sparse.issparse(self.Y):
            return self.weights @ self.Y
        # Without the copy in double precision that a product makes.
        return np.einsum("i,ij", self.weights, self.Y)

    @property
    def means(self) -> Array:
        """Share of the samples that have each label, by weight, (q,)."""
        return self.positives / self.total

    @property
    def varies(self) -> Array:
        """Whether some samples have a label and some do not, (q,)."""
        return (self.positives > 0) & (self.positives < self.total)

    def take(self, rows: Array) -> "Labels":
        """Return some of the samples."""
        return Labels(self.Y[rows], None if self.weight is None else self.weight[rows])

    def columns(self, labels: Array) -> Array:
        """Return some of the labels as a dense C-ordered ndarray."""
        if sparse.issparse(self.Y):
            return self._by_column[:, labels].toarray(order="C")
        return np.take(self.Y, labels, axis=1)

    def dense(self) -> "Labels":
        """Return the same with a dense matrix."""
        return replace(self, Y=self.Y.toarray()) if sparse.issparse(self.Y) else self

    def weigh(self, factors: Array) -> "Labels":
        """Return the same with the weights multiplied by factors."""
        return replace(self, weight=self.weights * factors)

    @cached_property
    def _by_column(self) -> Matrix:
        return self.Y.tocsc()


def as_labels(Y: Any, weight: Array | None = None) -> Labels:
    """Return a label matrix and weights as labels; labels as they are."""
    return Y if isinstance(Y, Labels) else Labels(Y, weight)
