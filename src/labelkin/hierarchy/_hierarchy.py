"""Nested labels: which labels are parents of which."""

import csv
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.files import reason
from labelkin._utils.labels import split_unknown
from labelkin._utils.names import did_you_mean, join_names
from labelkin._utils.untrusted import unique_fields
from labelkin.base import Array
from labelkin.hierarchy._isotonic import project_on_forest, project_on_graph
from labelkin.rows import as_dense

# Separators of names that are guessed, the longest first.
_SEPARATORS = ("::", " > ", "/", ">", "|", ".")

_ENTRIES = 1 << 22  # of a block of rows


class LabelHierarchy:
    """Which labels are parents of which: a tree, several, or a graph without cycles.

    Parameters
    ----------
    edges : pairs of (parent, child), dict or LabelHierarchy
        A dict gives the children of each parent, as a list, or as a dict of the same kind:
        ``{"science": ["physics", "biology"]}``. A label may have several parents.
    labels : sequence of str, optional
        Further labels, which need not be in an edge; they come first, in this order.

    Attributes
    ----------
    names : tuple of str
        All labels.
    edges : ndarray of shape (n_edges, 2)
        Numbers of parents and children in `names`.

    Examples
    --------
    >>> from labelkin.hierarchy import LabelHierarchy
    >>> hierarchy = LabelHierarchy({"science": ["physics", "biology"]})
    >>> hierarchy.names
    ('science', 'physics', 'biology')
    >>> hierarchy.closure([[0, 1, 0]])
    array([[1, 1, 0]])
    >>> hierarchy.project([[0.5, 0.7, 0.1]])  # physics without science cannot be
    array([[0.6, 0.6, 0.1]])
    >>> hierarchy.path("physics")
    'science > physics'
    """

    def __init__(self, edges: Any = (), labels: Sequence[Any] | None = None) -> None:
        if isinstance(edges, LabelHierarchy):
            edges = edges.pairs()
        pairs = list(dict.fromkeys(_read_pairs(edges)))
        listed = [*map(str, () if labels is None else labels), *(x for pair in pairs for x in pair)]
        self.names: tuple[str, ...] = tuple(dict.fromkeys(listed))
        place = {name: i for i, name in enumerate(self.names)}
        numbers = [(place[parent], place[child]) for parent, child in pairs]
        self.edges: Array = np.array(numbers, dtype=np.intp).reshape(-1, 2)
        self.check()

    @classmethod
    def from_names(cls, names: Iterable[Any], separator: str) -> "LabelHierarchy":
        """Return the hierarchy that is written in names, such as ``science/physics``.

        Parameters
        ----------
        names : iterable of str
            The labels. What stands before a separator is the parent, and becomes a label if it is
            none yet.
        separator : str
            What separates a label from its parent.

        Returns
        -------
        LabelHierarchy
        """
        names = [str(name) for name in names]
        pairs, waiting = [], list(names)
        while waiting:
            name = waiting.pop()
            parent, found, _ = name.rpartition(separator)
            if found and parent.strip():
                pairs.append((parent, name))
                waiting.append(parent)
        return cls(pairs[::-1], names)

    @classmethod
    def from_file(cls, path: Any) -> "LabelHierarchy":
        """Read a hierarchy from a file.

        Parameters
        ----------
        path : str or Path
            A JSON file with a dict as above, or a text file with a parent and a child per line,
            separated by a tab, a comma or a semicolon. If the first line is "child,parent", the
            child comes first; this line, or "parent,child", is no pair.

        Returns
        -------
        LabelHierarchy
        """
        path = Path(path)
        try:  # names of labels are in normal form, as those of columns
            text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig"))
            if path.suffix.lower() == ".json":
                return cls(json.loads(text, object_pairs_hook=unique_fields))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = getattr(error, "strerror", None) or reason(error).removesuffix(".")
            raise ValueError(f"{path} cannot be read as a hierarchy: {why}.") from None
        delimiter = max("\t;,", key=text.count)
        rows = [
            (number, [cell.strip() for cell in row])
            for number, row in enumerate(csv.reader(text.splitlines(), delimiter=delimiter), 1)
            if any(cell.strip() for cell in row)
        ]
        header = [cell.lower() for cell in rows[0][1]] if rows else []
        if sorted(header) == ["child", "parent"]:
            del rows[0]
        for number, row in rows:
            if len(row) != 2 or not all(row):
                raise ValueError(
                    f"{path}, line {number}: it takes a parent and a child, separated by a tab, a "
                    "comma or a semicolon."
                )
        step = -1 if header == ["child", "parent"] else 1
        return cls([tuple(row[::step]) for _, row in rows])

    @classmethod
    def of(cls, hierarchy: Any, names: Sequence[str]) -> "LabelHierarchy":
        """Return the hierarchy of labels from any form; the labels come first.

        Parameters
        ----------
        hierarchy : LabelHierarchy, pairs, dict, str or None
            A string is a separator in the names, "none" is no hierarchy. None: a separator is
            guessed, and used only if what stands before it is a label, too, in all names.
        names : sequence of str
            The labels.

        Returns
        -------
        LabelHierarchy
        """
        if hierarchy is None:
            hierarchy = guess_separator(names) or "none"
        if hierarchy == "none":
            return cls((), names)
        if not isinstance(hierarchy, str):
            found = cls(hierarchy)
            if not set(found.names) & set(names):
                raise ValueError(
                    f"hierarchy has none of the labels {join_names([*names])}: its labels are "
                    f"{join_names(found.names)}."
                )
            return cls(found, names)
        if not hierarchy or not any(hierarchy in name for name in names):
            raise ValueError(
                f"hierarchy={hierarchy!r} separates no label from its parent: give a separator "
                f"inside names such as {join_names([*names], 3)}, or pairs of parent and child."
            )
        return cls.from_names(names, hierarchy)

    def check(self) -> None:
        """Raise a ValueError that names a cycle, if there is one."""
        q, edges = len(self.names), self.edges
        if len(set(self.names)) < q or (len(edges) and not 0 <= edges.min() <= edges.max() < q):
            raise ValueError("the labels of a hierarchy do not match their numbers")
        try:
            self._parents_first()
        except CycleError as error:
            text = " → ".join(self.names[i] for i in error.args[1])
            raise ValueError(
                f"hierarchy has a cycle, {text}: take out one of these pairs."
            ) from None

    def _parents_first(self) -> list[int]:
        """Return the numbers of the labels that are in an edge, parents before children."""
        parents: dict[int, list[int]] = {}
        for parent, child in self.edges.tolist():
            parents.setdefault(child, []).append(parent)
        return [*TopologicalSorter(parents).static_order()]

    def pairs(self) -> list[tuple[str, str]]:
        """Return the names of parents and children.

        Returns
        -------
        list of (str, str)
        """
        return [(self.names[a], self.names[b]) for a, b in self.edges.tolist()]

    def ancestors(self) -> sparse.csr_array:
        """Return a matrix of booleans: whether column j is label i or one of its ancestors.

        Returns
        -------
        csr_array of shape (n_labels, n_labels)
        """
        q = len(self.names)
        ones = np.ones(len(self.edges), dtype=bool)
        step = sparse.csr_array((ones, self.edges.T[::-1]), shape=(q, q))
        found = step + sparse.eye_array(q, dtype=bool, format="csr")
        while (further := sparse.csr_array((found @ found).astype(bool))).nnz > found.nnz:
            found = further
        return sparse.csr_array(found.astype(bool))

    def path(self, name: Any) -> str:
        """Return a label with its ancestors, as ``science > physics``.

        Parameters
        ----------
        name : str
            A label. Of several parents, the first is shown.

        Returns
        -------
        str
        """
        if str(name) not in self.names:
            known = did_you_mean(str(name), self.names)
            raise ValueError(f"hierarchy has no label {str(name)!r}.{known}")
        parent = {child: above for above, child in reversed(self.pairs())}
        walk = [str(name)]
        while walk[-1] in parent:
            walk.append(parent[walk[-1]])
        return " > ".join(walk[::-1])

    def closure(self, y: Any) -> Any:
        """Add to every row the ancestors of its labels.

        Parameters
        ----------
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label in the order of `names`; those of a DataFrame may be
            some of them, in any order. NaN is unknown: a label above one that is present is
            present, and one below a label that is absent is absent.

        Returns
        -------
        ndarray, csr_array or DataFrame of shape (n_samples, n_labels)
            One column for each of `names`.
        """
        if hasattr(y, "columns"):
            place = {name: i for i, name in enumerate(self.names)}
            unknown = [str(name) for name in y.columns if str(name) not in place]
            if unknown:
                raise ValueError(
                    f"y has the label {unknown[0]!r}, which the hierarchy does not have."
                    f"{did_you_mean(unknown[0], self.names)}"
                )
            values = np.zeros((len(y), len(self.names)))
            values[:, [place[str(name)] for name in y.columns]] = y.to_numpy(dtype=float)
            closed = self.closure(values)
            return type(y)(closed, columns=list(self.names), index=y.index)
        Y, known = split_unknown(y, "y")
        if Y.shape[1] != len(self.names):
            raise ValueError(
                f"y has {Y.shape[1]} columns, but the hierarchy has {len(self.names)} labels."
            )
        above = self.ancestors().astype(np.int32)
        present = sparse.csr_array(Y).astype(np.int32) @ above
        if sparse.issparse(Y):
            return sparse.csr_array(present > 0).astype(np.int64)
        closed = (present.toarray() > 0).astype(np.int64)
        if known is None:
            return closed
        absent = sparse.csr_array(((Y == 0) & known).astype(np.int32)) @ above.T
        return np.where(closed > 0, 1.0, np.where(absent.toarray() > 0, 0.0, np.nan))

    def close(self, y: Array) -> Array:
        """Return the closure of the first labels alone, unknown ones included.

        Parameters
        ----------
        y : ndarray of shape (n_samples, n)
            Columns of the first n of `names`.

        Returns
        -------
        ndarray of shape (n_samples, n)
            Of the same type.
        """
        if not len(self.edges):
            return y
        wide = np.zeros((len(y), len(self.names)))
        wide[np.isnan(y).any(axis=1)] = np.nan
        wide[:, : y.shape[1]] = y
        return self.closure(wide)[:, : y.shape[1]].astype(y.dtype)

    def project(self, values: Any) -> Array:
        """Return the nearest values in which no child is above a parent.

        The nearest ones in least squares, which are those in log loss, too: isotonic regression on
        the order of the labels, exact for trees and graphs. Values that respect the hierarchy stay
        as they are; a child above its parent is pooled with it, and so on.

        Parameters
        ----------
        values : array-like of shape (n_samples, n_labels)
            Probabilities or other scores, one column for each of `names`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        found = np.array(values, dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != len(self.names):
            raise ValueError(
                f"values must have the shape (n, {len(self.names)}), one column per label, not "
                f"{found.shape}."
            )
        order, (parent, child) = self._parents_first(), self.edges.T
        is_forest = len(np.unique(child)) == len(child)
        for batch in gen_batches(len(found), max(1, _ENTRIES // max(found.shape[1], 1))):
            block = found[batch]
            wrong = np.flatnonzero((block[:, child] > block[:, parent]).any(axis=1))
            if len(wrong):
                if is_forest:
                    part = project_on_forest(block[wrong], self.edges, order)
                else:
                    part = project_on_graph(block[wrong], self.edges)
                for label in order:  # remove rounding errors
                    above = parent[child == label]
                    if len(above):
                        part[:, label] = np.minimum(part[:, label], part[:, above].min(axis=1))
                block[wrong] = part
        return found

    def decide(self, values: Any, thresholds: Any = 0.5) -> Array:
        """Return the best label sets that contain every parent of their labels.

        Of these sets the one with the largest sum of value − threshold, the smallest of several.
        With one threshold for all labels and values that respect the hierarchy, these are the
        labels above the threshold.

        Parameters
        ----------
        values : array-like of shape (n_samples, n_labels)
            Probabilities or other scores.
        thresholds : float or array-like of shape (n_labels,), default=0.5
            The threshold of all labels, or of each.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_labels)
        """
        margin = np.asarray(values, dtype=np.float64) - np.asarray(thresholds, dtype=np.float64)
        return self.project(np.nan_to_num(margin, posinf=1e9, neginf=-1e9)) > 0

    def scores(self, y_true: Any, y_pred: Any) -> dict[str, float]:
        """Return hierarchical precision, recall and F1 (Kiritchenko et al. 2006).

        Both sets of a row are extended by all ancestors. Precision is the share of predicted
        labels, over all rows, that are true; recall the share of true labels that are predicted. A
        wrong child of the right parent counts less than an unrelated label.

        Parameters
        ----------
        y_true, y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            True and predicted labels.

        Returns
        -------
        dict of str to float
            ``precision``, ``recall`` and ``f1``; 1 where both are empty.
        """
        truth, predicted = (np.asarray(as_dense(self.closure(y))) for y in (y_true, y_pred))
        known = ~np.isnan(truth.astype(float))
        truth, predicted = truth == 1, predicted == 1
        shared = int((truth & predicted).sum())
        n_true, n_predicted = int(truth.sum()), int((predicted & known).sum())
        both = n_true + n_predicted
        return {
            "precision": shared / n_predicted if n_predicted else float(not n_true),
            "recall": shared / n_true if n_true else float(not n_predicted),
            "f1": 2 * shared / both if both else 1.0,
        }

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, LabelHierarchy)
            and self.names == other.names
            and set(self.pairs()) == set(other.pairs())
        )

    def __repr__(self) -> str:
        return f"LabelHierarchy({len(self.names)} labels, {len(self.edges)} edges)"


def guess_separator(names: Sequence[str]) -> str | None:
    """Return the separator with which labels are nested in each other, if there is one.

    What stands before it must be a label in every name that has it.

    >>> guess_separator(["science", "science/physics", "art"])
    '/'
    >>> guess_separator(["role::program", "use::editing"]) is None
    True
    """
    known = set(names)
    for separator in _SEPARATORS:
        pairs = [name.rpartition(separator) for name in names]
        parents = [parent for parent, mark, child in pairs if mark and child]  # not of Maps.
        if parents and known.issuperset(parents):
            return separator
    return None


def _read_pairs(edges: Any) -> list[tuple[str, str]]:
    """Return pairs of parent and child from pairs or from a dict."""
    if isinstance(edges, Mapping):
        found = []
        for parent, children in edges.items():
            listed = [children] if isinstance(children, str) else children
            if listed is None or not isinstance(listed, Iterable):
                raise ValueError(
                    f"hierarchy[{parent!r}] must list the children of this label, not {listed!r}."
                )
            found += [(str(parent), str(child)) for child in listed]
            found += _read_pairs(listed) if isinstance(listed, Mapping) else []
        return found
    pairs = []
    for pair in edges:
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise ValueError(
                f"hierarchy must be pairs of parent and child, a dict of children, or a separator "
                f"inside names; got {pair!r} as a pair."
            )
        pairs.append((str(pair[0]), str(pair[1])))
    return pairs
