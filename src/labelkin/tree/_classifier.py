"""C4.5 decision trees as WEKA's J48 grows and prunes them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from labelkin._utils.optional import import_optional
from labelkin.base import check_weight, validate_rows
from labelkin.tree._presorted import PresortedMatrix, used_columns


@dataclass(frozen=True)
class C45Tree:
    """A fitted tree as parallel arrays, in preorder, named as in scikit-learn.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        Column tested at a node; -2 in leaves.
    threshold : ndarray of shape (n_nodes,)
        A sample goes left when its value is at most this; -2 in leaves.
    children_left, children_right : ndarray of shape (n_nodes,)
        -1 in leaves.
    value : ndarray of shape (n_nodes, n_classes)
        Weight of the training samples of each class.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    value: NDArray[np.float64]


class C45TreeClassifier(ClassifierMixin, BaseEstimator):
    """C4.5 decision tree, equal to WEKA's J48 on numeric and two-valued attributes.

    A node is split on the column of largest gain ratio among those whose information gain
    is at least about the mean gain; the gain of a numeric column is reduced by
    log2(number of cuts) / weight. The grown tree is collapsed where its leaves make as many
    errors as one leaf would, then pruned by pessimistic error estimates with subtree raising.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence of the error estimates, in (0, 0.5]; smaller prunes more (J48's ``-C``).
    min_samples_leaf : int, default=2
        Minimum weight of samples on either side of a split (J48's ``-M``).
    pruning : bool, default=True
        Whether to prune by estimated errors. If False, the tree is only collapsed (J48's ``-U``).
    nominal_features : {"binary"}, default=None
        "binary": all columns of zeros and ones are nominal attributes; None: no column is. A
        nominal column may be split with ``min_samples_leaf``
        on a side and takes part in the mean gain even when it gains nothing; a numeric
        column needs a tenth of the mean weight of a class on each side (at most 25) and
        takes part only with a positive gain. Code other nominal attributes as indicator columns.
    value_resolution : float, default=1e-5
        Values this close are one value, as in J48. Use 0 for columns of tiny scale; a warning
        names a column that is not used because of it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when X has column names that are all strings.
    tree_ : C45Tree

    Notes
    -----
    Weights count as repetitions: ``min_samples_leaf``, the minimum of a numeric split and
    the error estimates all use weights. Scale weights to sum to the number of samples.

    Not supported: missing values, nominal attributes of more than two values, reduced-error
    pruning and Laplace smoothing. Two deliberate differences: J48 counts samples, not their
    weight, when it decides whether a numeric column has enough of them; and it lets a
    ``min_samples_leaf`` above 25 drop to 25 for numeric columns.

    References
    ----------
    J. R. Quinlan, C4.5: Programs for Machine Learning, Morgan Kaufmann, 1993; Improved use
    of continuous attributes in C4.5, JAIR 4, 1996.

    Examples
    --------
    >>> from labelkin import C45TreeClassifier
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> tree = C45TreeClassifier().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> print(tree.export_text(feature_names=["size"]))
    size <= 3: low (3)
    size > 3: high (3)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "confidence": [Interval(Real, 0, 0.5, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "pruning": ["boolean"],
        "nominal_features": [None, StrOptions({"binary"})],
        "value_resolution": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        confidence: float = 0.25,
        *,
        min_samples_leaf: int = 2,
        pruning: bool = True,
        nominal_features: str | None = None,
        value_resolution: float = 1e-5,
    ) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.pruning = pruning
        self.nominal_features = nominal_features
        self.value_resolution = value_resolution

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; finite numbers.
        y : array-like of shape (n_samples,)
            Class of each sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a weight of 2 has the same effect as repeating the sample, and 0
            as removing it.

        Returns
        -------
        C45TreeClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        matrix = PresortedMatrix.from_matrix(X, self.value_resolution)
        weight = check_weight(sample_weight, matrix.shape[0])
        return self._fit_presorted(matrix, np.asarray(y), weight)

    def _fit_presorted(
        self,
        matrix: PresortedMatrix,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Fit to a presorted matrix and validated arguments.

        Rows of weight zero are left out at no cost, so this is also the way to fit to a
        subset of the rows. ``classes_`` are those of all of ``y``.
        """
        import_optional("numba", "tree")
        from labelkin.tree import _c45

        self.classes_, codes = np.unique(y, return_inverse=True)
        codes = codes.astype(np.int32)
        self.n_features_in_ = matrix.shape[1]
        weight = np.ones(len(codes)) if sample_weight is None else np.array(sample_weight)
        total = float(weight.sum())
        if total < 2 * self.min_samples_leaf <= np.count_nonzero(weight):
            warnings.warn(
                f"sample_weight sums to {total:g}, too little for any split: weights count as "
                "repeated samples, so scale them to sum to the number of samples.",
                stacklevel=4,
            )
        resolution, confidence = float(self.value_resolution), float(self.confidence)
        nodes, begin, end, node_rows = _c45.grow(
            *matrix.columns(weight > 0),
            codes,
            weight,
            matrix.binary if self.nominal_features else np.zeros(matrix.shape[1], dtype=bool),
            len(self.classes_),
            float(self.min_samples_leaf),
            resolution,
        )
        used, place, X = used_columns(matrix.X, nodes[0])
        value, kept = _c45.prune(
            (place, *nodes[1:]),
            begin,
            end,
            node_rows,
            codes,
            weight,
            len(self.classes_),
            X,
            0.1 * resolution,
            bool(self.pruning),
            confidence,
            float(ndtri(1 - confidence)),
        )
        # Keep the nodes that remain, and number them anew.
        _, threshold, left, right = (part[kept] for part in nodes)
        number, leaf = np.cumsum(kept, dtype=np.int32) - 1, left < 0
        self.tree_ = C45Tree(
            feature=np.where(leaf, np.int32(-2), np.append(used, np.int32(-2))[place[kept]]),
            threshold=np.where(leaf, -2.0, threshold),
            children_left=np.where(leaf, np.int32(-1), number[left]),
            children_right=np.where(leaf, np.int32(-1), number[right]),
            value=value[kept],
        )
        # Not read from the parameter later: set_params does not change a fitted tree.
        self._reach = 0.1 * resolution
        return self

    def _apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each row of a validated matrix reaches."""
        import_optional("numba", "tree")
        from labelkin.tree import _c45

        tree = self.tree_
        _, place, columns = used_columns(X, tree.feature)
        nodes = place, tree.threshold, tree.children_left, tree.children_right
        return _c45.apply(nodes, self._reach, columns)

    def _proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of a validated matrix."""
        value = self.tree_.value
        return (value / value.sum(axis=1, keepdims=True))[self._apply(X)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of each class among the training samples of the leaf.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, dtype=np.float64, reset=False, distances=False)
        return self._proba(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most frequent class of the leaf; ties go to the first in ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def get_depth(self) -> int:
        """Return the number of tests on the longest path from the root to a leaf."""
        check_is_fitted(self)
        tree = self.tree_
        depth = np.zeros(len(tree.feature), dtype=int)
        for node in np.flatnonzero(tree.children_left >= 0):
            depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1
        return int(depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return int(np.sum(self.tree_.children_left < 0))

    def export_text(self, feature_names: ArrayLike | None = None) -> str:
        """Write the tree as text in the style of J48.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns; by default those seen in ``fit``, else x0, x1, ….

        Returns
        -------
        str
            One line per test; the class of a leaf is followed by the weight of its samples and,
            after a slash, of those that are misclassified.
        """
        check_is_fitted(self)
        if feature_names is None:
            default = [f"x{j}" for j in range(self.n_features_in_)]
            names = list(getattr(self, "feature_names_in_", default))
        else:
            names = [str(name) for name in np.asarray(feature_names)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names, but the tree was fitted on "
                f"{self.n_features_in_} features."
            )
        tree, lines = self.tree_, []
        stack = [(0, -1, "")]  # node, depth, the test that leads to the node
        while stack:
            node, depth, test = stack.pop()
            value, is_leaf = tree.value[node], tree.children_left[node] < 0
            if is_leaf:
                wrong = value.sum() - value.max()
                errors = f"/{wrong:.6g}" if wrong > 0 else ""
                test += f": {self.classes_[value.argmax()]} ({value.sum():.6g}{errors})"
            else:
                name, point = names[tree.feature[node]], f"{tree.threshold[node]:.6g}"
                stack.append((tree.children_right[node], depth + 1, f"{name} > {point}"))
                stack.append((tree.children_left[node], depth + 1, f"{name} <= {point}"))
            if test:
                lines.append("|   " * depth + test)
        return "\n".join(lines)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
