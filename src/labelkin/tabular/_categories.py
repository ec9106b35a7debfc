"""Encoding of categories: spellings of one are one, and new ones have a place."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from labelkin._utils.names import join_names, plural
from labelkin.datasets.formats._columns import fold
from labelkin.tabular._labels import TRUTH


def merge_spellings(cells: Iterable[Any]) -> dict[str, str]:
    """Return spellings that differ by case or spaces only, with the most frequent of each word.

    Single letters, such as a and A, may be different codes.
    """
    counts = Counter(cell for cell in cells if isinstance(cell, str))
    spelled: dict[str, list[str]] = {}
    for cell in sorted(counts, key=lambda cell: (-counts[cell], cell)):
        spelled.setdefault(fold(cell), []).append(cell)
    several = (alike for word, alike in spelled.items() if len(word) > 1)
    return {other: first for first, *others in several for other in others}


def find_spellings(known: Iterable[Any], cells: Iterable[Any]) -> dict[str, str]:
    """Return cells that differ by case or spaces only from one known category alone, with that.

    So do numbers that lack only the leading zeros of a code, as spreadsheets leave them out. Where
    categories are words such as yes and no, Y and N are also other spellings.
    """
    found: dict[str, list[str]] = {}
    for category in filter(None, known):
        found.setdefault(fold(str(category)), []).append(category)
    if found.keys() <= TRUTH.keys():
        known_truth = {TRUTH[word]: categories for word, categories in found.items()}
        words = {word: known_truth.get(truth, []) for word, truth in TRUTH.items()}
        found = words | found if len(known_truth) == len(found) else found
    codes: dict[str, list[str]] = {}
    for category in filter(str.isdecimal, map(str, known)):
        codes.setdefault(category.lstrip("0") or "0", []).append(category)
    found = codes | found
    new = {cell for cell in cells if isinstance(cell, str)}.difference(known)
    spelled = {cell: found.get(fold(cell), []) for cell in new}
    return {cell: alike[0] for cell, alike in sorted(spelled.items()) if len(alike) == 1}


def list_gaps(known: Mapping[str, Sequence[str]], features: Any) -> list[str]:
    """Return one sentence for each column that lacks values, and did not in training.

    `known` are the categories of each column in training.
    """
    found = []
    for name, categories in known.items():
        n_missing = int(features[name].isna().sum())
        if n_missing and "" not in categories:
            has = f"{n_missing:,} of {plural(len(features), 'row')} "
            has += "has" if n_missing == 1 else "have"
            found.append(f"{has} no value of {name}, and all training rows have one")
    return found


def list_spellings(known: Mapping[str, Sequence[str]], features: Any) -> list[str]:
    """Return one sentence for each column with other spellings of its categories."""
    found = []
    for name, categories in known.items():
        if spelled := find_spellings(categories, features[name].dropna()):
            shown = join_names([f"{own!r} as {one!r}" for own, one in spelled.items()], 3)
            found.append(f"values of {name} are read as those of training rows: {shown}")
    return found


def list_new(
    known: Mapping[str, Sequence[str]], encoder: "CategoryEncoder | None", features: Any
) -> list[str]:
    """Return one sentence for each column with categories that no training row has."""
    found = []
    usual = zip(known, getattr(encoder, "usual_", ()), strict=False)
    counts_as = {name: repr(str(two[0])) for name, two in usual if two}
    for name, categories in known.items():
        cells = features[name].dropna()
        cells = cells[~cells.isin([*categories, *find_spellings(categories, cells)])]
        if len(cells):
            rows = f"{len(cells):,} of {plural(len(features), 'row')}"
            has = "has" if len(cells) == 1 else "have"
            use = f"counts as {counts_as[name]}" if name in counts_as else "is not used there"
            values = join_names([repr(value) for value in cells.unique()], 3)
            text = f"{rows} {has} a value of {name} that no training row has; it {use}: {values}"
            found.append(text)
    return found


class CategoryEncoder(OneHotEncoder):
    """One column of 0 and 1 per category; one that no training row has is their median.

    So it counts as the category that more than half of the training rows have, and as none of them
    if there is no such category. With zeros alone, as `OneHotEncoder` has them, or with means, a
    row that is neither "yes" nor "no" would be unlike all training rows, and could get any label.
    It is to be made with ``handle_unknown="ignore"``. Another spelling of a category is that
    category: of those in the training rows, by `merge_spellings`, the most frequent is used; for
    new ones, see `find_spellings`.

    Attributes
    ----------
    shares_ : ndarray
        Share of the training rows in each category.
    """

    def fit(self, X: Any, y: Any = None) -> "CategoryEncoder":
        """Find the categories of each column, and their shares."""
        cells = np.asarray(X, dtype=object)
        X = _replace(cells, [*map(merge_spellings, cells.T)])
        super().fit(X)
        self.shares_ = np.asarray(super().transform(X).mean(axis=0)).ravel()
        return self

    @property
    def medians_(self) -> np.ndarray:
        """1 for each category that more than half of the training rows have, otherwise 0."""
        return (self.shares_ > 0.5).astype(np.float64)

    @property
    def usual_(self) -> list[list[str]]:
        """The two most frequent categories of each column of which one is that of most rows."""
        ends = np.cumsum([len(categories) for categories in self.categories_])
        found = zip(self.categories_, np.split(self.shares_, ends[:-1]), strict=True)
        return [
            [*categories[np.argsort(-shares, kind="stable")[:2]]] if shares.max() > 0.5 else []
            for categories, shares in found
        ]

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the columns of all categories."""
        cells = np.asarray(X, dtype=object)
        found = super().transform(
            _replace(cells, [*map(find_spellings, self.categories_, cells.T)])
        )
        sizes = [len(categories) for categories in self.categories_]
        of_column = sparse.block_diag([np.ones((size, 1)) for size in sizes], format="csr")
        unknown = sparse.csr_matrix((found @ of_column).toarray() == 0, dtype=found.dtype)
        return (found + unknown @ of_column.T.multiply(self.medians_)).tocsr()


def _replace(cells: np.ndarray, others: Iterable[Mapping[str, str]]) -> np.ndarray:
    """Return columns with other cells in the place of some."""
    if not any(others):
        return cells
    pairs = zip(cells.T, others, strict=True)
    return np.array([[own.get(one, one) for one in column] for column, own in pairs], object).T
