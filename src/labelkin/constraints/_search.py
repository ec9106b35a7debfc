"""Search for pairs of one kind among very many label sets, by blocks of matrix products."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.constraints._label_sets import LabelSets, dice

# More than the error of single precision in 2 |A ∩ B| − Θ (|A| + |B|).
_ROUNDING = 0.01


@dataclass(frozen=True)
class SearchLimits:
    """What a draw may cost where label sets are many; see `ConstraintSampler`."""

    table_sets: int = 2_000
    """Up to this many distinct label sets, all their similarities are kept (32 MB)."""
    rejection_rounds: int = 8
    """Beyond, this many times as many pairs as needed are drawn and sorted by kind first."""
    similarities: float = 1e9
    """Similarities computed in one search at most: a second or two."""
    enumerated: float = 1e9
    """All pairs of label sets are searched up to this many, else blocks of drawn samples."""
    products: float = 64e9
    """Multiplications in one search: with many labels fewer similarities are affordable."""
    sparse_cost: float = 160.0
    """Time of a multiplication in a sparse product, in those of a dense one."""
    block: int = 1024
    """Rows and columns of one block of similarities, which stays in cache."""
    blocks_at_once: int = 32
    """Blocks searched, in threads, before the pairs found are counted."""
    remembered: int = 2**24
    """Pairs of label sets that are kept for the next draw at most (128 MB)."""


class PairSearch:
    """Finds must-links or cannot-links between two lists of label sets."""

    def __init__(self, label_sets: LabelSets, limits: SearchLimits) -> None:
        self._label_sets = label_sets
        n_sets, q = label_sets.distinct.shape
        share = np.bincount(label_sets.distinct.indices, minlength=q) / n_sets
        # Multiplications per similarity in a dense and in a sparse product.
        dense, by_sparse = float(q), limits.sparse_cost * float(share @ share)
        self._dense = dense <= by_sparse
        self.most_similarities = min(
            limits.similarities, limits.products / max(min(dense, by_sparse), 1)
        )

    def side(self, sets: Array) -> tuple[Matrix, Array]:
        """Return label sets, by number, in the form that `find` multiplies, and their sizes."""
        rows = self._label_sets.distinct[sets].astype(np.float32)
        sizes = self._label_sets.sizes[sets]
        if self._dense:
            return rows.toarray(), sizes.astype(np.float32)
        # Two empty sets are similar: a common label of their own makes them so.
        empty = sparse.csr_array((sizes == 0)[:, None], dtype=np.float32)
        return sparse.csr_array(sparse.hstack([rows, empty])), sizes.astype(np.float32)

    def find(
        self,
        left: tuple[Matrix, Array],
        right: tuple[Matrix, Array],
        must_link: bool,
        threshold: float,
    ) -> tuple[Array, Array]:
        """Return the positions, in both lists, of all pairs of one kind.

        2 |A ∩ B| − Θ (|A| + |B|) is not negative for must-links. Single precision gives it
        for all pairs; those near zero are computed again. Of sparse label sets only those with
        a common label can be must-links.
        """
        (A, a), (B, b) = left, right
        if sparse.issparse(A) and must_link and threshold > 0:
            shared = (A @ B.T).tocoo()
            row, column, n_shared = shared.row, shared.col, shared.data
        else:
            excess = 2 * ((A @ B.T).toarray() if sparse.issparse(A) else A @ B.T)
            excess -= np.add.outer(threshold * a, threshold * b).astype(np.float32)
            near = excess > -_ROUNDING if must_link else excess < _ROUNDING
            row, column = np.divmod(np.flatnonzero(near), len(b))
            n_shared = np.rint((excess[row, column] + threshold * (a[row] + b[column])) / 2)
        similarity = dice(n_shared.astype(np.float64), a[row].astype(np.float64) + b[column])
        of_kind = (similarity >= threshold) == must_link
        return row[of_kind], column[of_kind]


def exists_between_sets(must_link: bool, threshold: float) -> bool:
    """Return whether pairs of this kind can have different label sets."""
    return threshold < 1 if must_link else threshold > 0
