"""Figures that describe a multi-label dataset: Table 2's columns and label imbalance."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from labelkin._utils.labels import split_unknown


@dataclass(frozen=True)
class Description:
    """Figures about a dataset; printed as a small table.

    Attributes
    ----------
    instances, features, labels : int
        Size of the data; `features` is None when X was not given.
    distinct : int
        Number of different label sets.
    cardinality, density : float
        Mean size of the label sets, and the same divided by the number of labels.
    unlabelled : float
        Share of rows with no label.
    single_sets : float
        Share of the different label sets that occur in one row only.
    label_names : tuple of str
        Names of the labels, in the order of the columns.
    label_counts : tuple of int
        Number of rows with each label.
    irlbl : tuple of float
        Imbalance ratio of each label: the count of the most frequent label divided by
        its own; infinite for a label of no row.
    mean_ir, max_ir, cv_ir : float
        Mean, maximum and coefficient of variation of `irlbl` over labels that occur.
    scumble : float
        How much frequent and rare labels occur in the same rows, from 0 to 1.
    set_sizes : tuple of int
        Number of rows whose label set has 0, 1, 2, ... labels.
    known : float
        Share of the labels of all rows that are known.
    """

    instances: int
    features: int | None
    labels: int
    distinct: int
    cardinality: float
    density: float
    unlabelled: float
    single_sets: float
    label_names: tuple[str, ...]
    label_counts: tuple[int, ...]
    irlbl: tuple[float, ...]
    mean_ir: float
    max_ir: float
    cv_ir: float
    scumble: float
    set_sizes: tuple[int, ...]
    known: float = 1.0

    @property
    def never_positive(self) -> tuple[str, ...]:
        """Names of the labels of no row."""
        pairs = zip(self.label_names, self.label_counts, strict=True)
        return tuple(name for name, count in pairs if not count)

    def table2(self) -> dict[str, Any]:
        """Return the columns of the paper's Table 2, in its order."""
        columns = ("instances", "features", "labels", "distinct", "cardinality", "density")
        return {column: getattr(self, column) for column in columns}

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as values that JSON can hold (None for infinite)."""
        plain = asdict(self)
        plain["irlbl"] = tuple(ratio if np.isfinite(ratio) else None for ratio in self.irlbl)
        return plain

    def rows(self) -> list[tuple[str, str]]:
        """Return names and formatted figures, as they are printed."""
        order = np.argsort(self.label_counts, kind="stable")
        rarest, commonest = (
            f"{self.label_names[i]} ({self.label_counts[i]:,} of {self.instances:,} rows)"
            for i in (order[0], order[-1])
        )
        never = len(self.never_positive)
        return [
            ("instances", f"{self.instances:,}"),
            ("features", "not given" if self.features is None else f"{self.features:,}"),
            ("labels", f"{self.labels:,}" + (f", {never} never positive" if never else "")),
            ("distinct label sets", f"{self.distinct:,} ({self.single_sets:.1%} occur once)"),
            ("cardinality", f"{self.cardinality:.3f}"),
            ("density", f"{self.density:.3f}"),
            ("rows with no label", f"{self.unlabelled:.1%}"),
            ("largest label set", f"{len(self.set_sizes) - 1}"),
            ("most frequent label", commonest),
            ("rarest label", rarest),
            (
                "imbalance MeanIR",
                f"{self.mean_ir:.3f} (max {self.max_ir:.1f}, CV {self.cv_ir:.3f})",
            ),
            ("SCUMBLE", f"{self.scumble:.3f}"),
            *([("known labels", f"{self.known:.1%} of the cells")] if self.known < 1 else []),
        ]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(word) for word, _ in rows)
        return "\n".join(f"{word:<{width}}  {figure}" for word, figure in rows)


def describe(
    y: ArrayLike, X: ArrayLike | None = None, *, label_names: ArrayLike | None = None
) -> Description:
    """Describe the labels of a dataset (and count its features).

    Parameters
    ----------
    y : {array-like, sparse matrix, DataFrame} of shape (n, q)
        Labels, 0 or 1 (or booleans); NaN where unknown. Unknown labels are read as absent, except
        in `density`, which is that of the known ones.
    X : {array-like, sparse matrix, DataFrame} of shape (n, k), default=None
        Features; only their number is used.
    label_names : sequence of str, default=None
        Names of the labels; by default the columns of a DataFrame, else their numbers.

    Returns
    -------
    Description

    Notes
    -----
    With c_l the number of rows with label l [1]_ [2]_:

    - IRLbl(l) = max c / c_l, and MeanIR is its mean. Labels that never occur have no
      finite ratio and are left out of MeanIR, CVIR (standard deviation with n − 1,
      over the mean) and the maximum.
    - SCUMBLE is the mean over rows of 1 − geometric mean / arithmetic mean of the IRLbl
      of the row's labels (an Atkinson index); 0 for rows with fewer than two labels.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, Addressing imbalance in multilabel
       classification: measures and random resampling algorithms, Neurocomputing 163, 2015.
    .. [2] Charte, Rivera, del Jesus and Herrera, Concurrence among imbalanced labels and
       its influence on multilabel resampling algorithms, HAIS 2014.

    Examples
    --------
    >>> from labelkin.datasets import describe
    >>> figures = describe([[1, 0], [1, 1], [0, 0], [1, 0]])
    >>> figures.cardinality, figures.distinct, figures.irlbl
    (1.0, 3, (1.0, 3.0))
    """
    matrix, known = split_unknown(y, "y")
    labels = sp.csr_array(matrix, dtype=np.int64)
    labels.eliminate_zeros()
    labels.sort_indices()
    n, q = labels.shape
    if X is not None and np.shape(X)[0] != n:
        raise ValueError(
            f"X has {np.shape(X)[0]} rows and y has {n}; they must have the same number."
        )
    given = getattr(y, "columns", None) if label_names is None else label_names
    names = tuple(str(name) for name in (range(q) if given is None else np.asarray(given)))
    if len(names) != q:
        raise ValueError(f"label_names has {len(names)} names and y has {q} columns.")

    counts = np.bincount(labels.indices, minlength=q)
    sizes = np.diff(labels.indptr)
    sets = Counter(row.tobytes() for row in np.split(labels.indices, labels.indptr[1:-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        irlbl = np.where(counts > 0, counts.max() / counts, np.inf)
    finite = irlbl[counts > 0]
    if not finite.size:  # no row has a label: all are equally frequent
        finite = np.ones(1)
    spread = finite.std(ddof=1) if finite.size > 1 else 0.0
    return Description(
        instances=n,
        features=None if X is None else np.shape(X)[1],
        labels=q,
        distinct=len(sets),
        cardinality=float(sizes.mean()),
        density=float(sizes.mean() / q if known is None else sizes.sum() / max(1, known.sum())),
        unlabelled=float(np.mean(sizes == 0)),
        single_sets=sum(count == 1 for count in sets.values()) / len(sets),
        label_names=names,
        label_counts=tuple(counts.tolist()),
        irlbl=tuple(irlbl.tolist()),
        mean_ir=float(finite.mean()),
        max_ir=float(finite.max()),
        cv_ir=float(spread / finite.mean()),
        scumble=_scumble(labels, sizes, irlbl),
        set_sizes=tuple(np.bincount(sizes).tolist()),
        known=1.0 if known is None else float(known.mean()),
    )


def _scumble(labels: sp.csr_array, sizes: np.ndarray, irlbl: np.ndarray) -> float:
    several = sizes > 1
    if not several.any():
        return 0.0
    rows = labels[several]
    ratios = np.where(np.isfinite(irlbl), irlbl, 1.0)  # a label that never occurs is in no row
    geometric = np.exp(rows @ np.log(ratios) / sizes[several])
    arithmetic = rows @ ratios / sizes[several]
    return float(np.sum(1 - geometric / arithmetic) / len(sizes))
