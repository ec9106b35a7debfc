"""Base classes of the estimators, and the validation of their input.

A multi-label target is an (n, q) matrix of 0 and 1. A one-dimensional target with two
classes is accepted too; predictions then have one dimension, as in scikit-learn.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, check_random_state, gen_batches
from sklearn.utils._chunking import get_chunk_n_rows
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from labelkin._utils.labels import (
    LabelClasses,
    as_target,
    check_label_order,
    check_labels,
    check_target_given,
    split_unknown,
    unknown_cells,
)
from labelkin.metrics import subset_accuracy
from labelkin.rows import (
    DaskRows,
    Labels,
    Rows,
    as_dense,
    as_rows,
    astype,
    compute,
    is_dask,
    is_device_array,
    namespace,
    namespace_and_device,
    to_device_of,
    to_numpy,
    with_known_length,
)

Array = Any  # of NumPy, or of another library on its device: see `labelkin.rows`
Matrix = Any  # a dense array or a SciPy CSR matrix

MAX_SEED = np.iinfo(np.int32).max

# Squares of values and their sums over rows and columns need room below the largest number of a
# dtype, and above its smallest: a factor of 10^6 on each side.
_ROOM = 1e6
# In any dtype: eigenvalues need squares of squares, and trees of scikit-learn single precision.
_MAX_VALUE = 1e35


def validate_rows(
    estimator: Any, X: Any, *, reset: bool = True, dtype: Any = None, distances: bool = True
) -> Matrix:
    """Return samples as an array or a CSR matrix without duplicate entries; finite numbers.

    The given samples are not changed: a matrix with duplicate or unsorted entries is copied. With
    `reset`, the samples are those of ``fit`` and set ``n_features_in_``. With `distances`, values
    must be of a size that can be squared. The dtype is double or single precision, as given, unless
    one is named.
    """
    xp = namespace(X)
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(
            f"X must have one row of features per sample, not {X.ndim} dimensions: pass "
            "X.reshape(len(X), -1)."
        )
    dtype = (xp.float64, xp.float32) if dtype is None else dtype
    X = validate_data(estimator, X, accept_sparse="csr", dtype=dtype, reset=reset)
    if sparse.issparse(X):
        # A new matrix: the flag of the given one can be out of date.
        fresh = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        if not fresh.has_canonical_format:
            X = fresh.copy()
            X.sum_duplicates()
            assert_all_finite(X.data, input_name="X")
    if distances:
        _check_magnitudes(estimator, X, reset)
    return X


def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
    """Refuse samples of another namespace or device than the training data's."""
    if namespace_and_device(X) != namespace_and_device(getattr(estimator, attribute)):
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace "
            "and the same device as those passed to fit()."
        )


def _check_magnitudes(estimator: Any, X: Matrix, fitting: bool) -> None:
    """Raise ValueError for values whose squares overflow, or all underflow."""
    if 0 in X.shape:
        return
    xp = namespace(X)
    if sparse.issparse(X):
        top, bottom = X.max(axis=0).toarray().ravel(), X.min(axis=0).toarray().ravel()
    else:
        top, bottom = to_numpy(xp.max(X, axis=0)), to_numpy(xp.min(X, axis=0))
    info, name = xp.finfo(X.dtype), str(X.dtype).rpartition(".")[2]
    high = min(float(info.max) ** 0.5 / _ROOM, _MAX_VALUE)
    low = float(info.smallest_normal) ** 0.5 * _ROOM
    sizes = np.maximum(top, -bottom)
    if sizes.max() > high:
        column = int(sizes.argmax())
        names = getattr(estimator, "feature_names_in_", None)
        raise ValueError(
            f"column {column if names is None else repr(names[column])} holds {sizes.max():.3g}; "
            f"squared distances overflow in {name}, which computes safely up to {high:.2g}: scale "
            f"it{' or use float64' if '32' in name else ''}."
        )
    spread = float((top - bottom).max())
    if fitting and 0 < spread < low:
        raise ValueError(
            f"No column of X varies by more than {spread:.3g}; squared distances underflow in "
            f"{name}: multiply X by a constant, or scale its columns."
        )


def label_set_matrix(Y: Any) -> Array:
    """Return any classification target as label sets; a class vector gives sets of one."""
    labels = as_target(to_numpy(Y))
    if labels.ndim == 2:
        return as_dense(check_labels(labels, "y")).astype(np.uint8)
    classes = _check_classes(labels)
    return (classes[:, None] == np.unique(classes)).astype(np.uint8)


def _check_classes(y: Any) -> Array:
    """Return a target of one dimension, one class per sample, none of them missing."""
    y = column_or_1d(y)
    if unknown_cells(y) is not None:
        raise ValueError(
            "y contains NaN or None: leave out the rows whose class is unknown. For several labels "
            "per sample give y as a matrix of 0 and 1, one column per label; "
            "labelkin.tabular.split_labels makes one from a column of tags."
        )
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def check_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Return the weights of the samples as an ndarray of floats; None if there are none."""
    if sample_weight is None:
        return None
    weight = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per sample, shape ({n_samples},), got shape "
            f"{weight.shape}."
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError(
            "sample_weight must hold finite numbers of at least 0, and not only zeros."
        )
    return weight


def random_seed(rng: Any) -> int:
    """Draw a seed for an estimator."""
    return int(rng.randint(MAX_SEED))


def set_random_states(estimator: Any, random_state: Any) -> Any:
    """Give every ``random_state`` that is None, nested ones too, a seed; return the estimator.

    A generator is made of a seed only where it is needed: that takes a tenth of a millisecond.
    """
    names = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    if not names:
        return estimator
    rng = check_random_state(random_state)
    return estimator.set_params(**{name: random_seed(rng) for name in names})


class SubsetAccuracyMixin(ClassifierMixin):
    """Gives classifiers a ``score`` of known labels."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label set is predicted exactly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples, n_labels) or (n_samples,)
            Their labels. Without `sample_weight`, unknown ones (NaN) do not count.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
        """
        check_label_order(self, y)
        if sample_weight is None and np.ndim(y) == 2:
            return subset_accuracy(y, self.predict(X))
        return super().score(X, y, sample_weight)


class MultiLabelClassifier(SubsetAccuracyMixin, BaseEstimator, ABC):
    """Base of the multi-label classifiers.

    A subclass calls `_validate` in its ``fit`` and implements `_proba`, the (n, q)
    probabilities of validated rows.
    """

    label_names_: Array
    n_features_in_: int
    _one_target: bool
    # Name of a fitted array in the namespace of the training data; None: always NumPy.
    _fitted_array: str | None = None
    # Whether ``fit`` works with the blocks of a Dask array; if not, they are brought into memory.
    _fits_blocks = False
    # Whether ``fit`` takes y with unknown labels: NaN, None or pandas' NA.
    _fits_unknown = False
    # Whether it does with the blocks of a Dask array; if not, these are brought into memory.
    _fits_unknown_blocks = True
    # Whether values are squared; a meta-estimator leaves that to its base.
    _squares_values = True
    # Whether the labels in fit were sparse and stayed so; predictions are then sparse too.
    _sparse_labels = False

    @property
    def classes_(self) -> Any:
        """0 and 1 for each label, (n_labels, 2); after a one-dimensional target its classes."""
        try:
            classes = vars(self)["classes_"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has classes_ after fit.") from None
        by_label = isinstance(classes, np.ndarray) and classes.ndim == 2
        return classes.view(LabelClasses) if by_label else classes

    @classes_.setter
    def classes_(self, classes: Any) -> None:
        self.__dict__["classes_"] = classes

    @property
    def _n_labels(self) -> int:
        return 1 if self._one_target else len(self.classes_)

    def _keeps_sparse_labels(self) -> bool:
        """Whether sparse labels are never made dense as a whole."""
        return False

    def _validate(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Rows, Labels]:
        """Validate training data; set the attributes that describe them."""
        X, y, known = self._validate_known(X, y)
        return as_rows(X), Labels(y, check_weight(sample_weight, y.shape[0]), known)

    def _validate_known(self, X: Any, Y: Any) -> tuple[Matrix, Array, Array | None]:
        """Do the same; return X and (n, q) y as matrices, and which labels are known, None: all.

        X stays on its device; y is on the host, where pairs are drawn, with 0 for unknown labels.
        On Dask, X is rows in blocks, whose values are checked when they are computed.
        """
        in_blocks = is_dask(X) and self._fits_blocks
        if in_blocks:
            X = self._validate_blocks(X)
        else:
            try:
                X = validate_rows(self, X, distances=self._squares_values)
            except (ValueError, np.exceptions.DTypePromotionError) as error:
                if isinstance(error, ValueError) and "could not convert string" not in str(error):
                    raise
                raise ValueError(
                    f"X must hold numbers ({str(error).partition('. ')[0]}): encode columns of "
                    "words and dates first, for instance by scikit-learn's OneHotEncoder, or "
                    "TfidfVectorizer for texts, in a pipeline; TableClassifier does it by itself."
                ) from error
        check_target_given(self, Y)
        if hasattr(self, "label_names_"):
            del self.label_names_
        labels = as_target(with_known_length(Y) if is_dask(Y) else to_numpy(Y))
        check_consistent_length(X, labels)
        if labels.ndim == 1:
            self._one_target, self._sparse_labels = True, False
            return X, self._validate_one_target(np.asarray(labels)), None
        if hasattr(Y, "columns"):
            self.label_names_ = np.asarray(Y.columns, dtype=object)
        labels, known = split_unknown(compute([labels])[0] if is_dask(labels) else labels, "y")
        if known is not None and not self._fits_unknown:
            raise ValueError(
                f"y holds nan, and {type(self).__name__} cannot learn from unknown labels: use "
                "KinEnsembleClassifier or MultiLabelLogisticRegression, leave out the rows with "
                "unknown labels, or write 0 where a label does not apply."
            )
        if known is not None and not known.any():
            raise ValueError("y holds no known label: write 0 or 1 where a label is known.")
        if in_blocks and known is not None and not self._fits_unknown_blocks:
            X = X.gather()
        # On a device labels are dense, as are the samples.
        if not self._keeps_sparse_labels() or is_device_array(X):
            labels = as_dense(labels)
        labels = labels.astype(np.uint8)
        self._set_shapes(X, labels)
        self._sparse_labels = sparse.issparse(labels) and not in_blocks
        return X, labels, known

    def _validate_blocks(self, X: Any) -> DaskRows:
        """Validate training samples on Dask; blocks without rows are left out."""
        rows = X if isinstance(X, DaskRows) else DaskRows.from_dask(X)
        if 0 in rows.shape:
            raise ValueError(f"X is empty: its shape is {rows.shape}.")
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = rows.shape[1]
        return rows.filled()

    def _set_shapes(self, X: Matrix, Y: Array) -> None:
        """Set the fitted attributes that follow from validated X and the label matrix Y."""
        self.n_features_in_ = X.shape[1]
        self._one_target = False
        self._sparse_labels = sparse.issparse(Y)
        # An array, not a list of arrays: cross_val_predict reads its shape.
        self.classes_ = np.tile([0, 1], (Y.shape[1], 1))

    def _validate_one_target(self, y: Any) -> Array:
        y = _check_classes(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. For several labels per sample give y as a matrix of 0 "
                "and 1, one column per label."
            )
        # A single class is a label that always applies.
        return (codes if len(self.classes_) == 2 else codes + 1)[:, None].astype(np.uint8)

    def _validate_predict(self, X: ArrayLike, method: str = "predict") -> Matrix:
        check_is_fitted(self)
        if self._fitted_array is not None:
            check_same_namespace(X, self, attribute=self._fitted_array, method=method)
        return validate_rows(self, X, reset=False, distances=self._squares_values)

    def _as_target(self, labels: Array) -> Array:
        """Turn (n, q) booleans into predictions of the form that was fitted."""
        if not self._one_target:
            return astype(labels, "int64")
        last = len(self.classes_) - 1
        if is_device_array(labels) and self.classes_.dtype.kind in "biuf":
            classes = to_device_of(self.classes_, labels)
            return namespace(labels).where(astype(labels[:, 0], "bool"), classes[last], classes[0])
        return self.classes_[np.minimum(to_numpy(labels)[:, 0], last).astype(int)]

    def _as_proba(self, proba: Array) -> Array:
        """Turn (n, q) probabilities into the form that was fitted."""
        if not self._one_target:
            return proba
        xp = namespace(proba)
        if len(self.classes_) == 1:
            return xp.ones_like(proba)
        return xp.stack([1 - proba[:, 0], proba[:, 0]], axis=1)

    @abstractmethod
    def _proba(self, X: Matrix) -> Array:
        """Return P(label = 1) of validated rows as an (n, q) array."""

    def _labels_of(self, proba: Array) -> Array:
        """Return the labels of given probabilities: by default those above one half."""
        return proba > 0.5

    def _labels(self, X: Matrix) -> Array:
        """Return the labels of validated rows, which need not follow from probabilities."""
        return self._labels_of(self._proba(X))

    def _predict_dask(self, X: Any, method: str) -> Any:
        """Return what ``predict`` or ``predict_proba`` gives for a Dask array, lazily."""
        return DaskRows.of_queries(self, X).predict(self, method)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), one column per label. (After a one-dimensional target: one column
            per class, as scikit-learn's binary classifiers do.) Of a Dask array: a Dask array.
        """
        if is_dask(X):
            return self._predict_dask(X, "predict_proba")
        return self._as_proba(self._proba(self._validate_predict(X, "predict_proba")))

    def _predict_sparse(self, X: Matrix) -> sparse.csr_array:
        """Return the labels of validated rows as a CSR array, within ``working_memory``."""
        # About sixteen temporary numbers of 8 bytes per label and row.
        n_rows = get_chunk_n_rows(16 * 8 * len(self.classes_))
        blocks = [
            sparse.csr_array(self._labels(X[batch]), dtype=np.int64)
            for batch in gen_batches(X.shape[0], n_rows)
        ]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def predict(self, X: ArrayLike) -> Array:
        """Predict the label set of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of int of shape (n_samples, n_labels)
            1 where the label is predicted. (After a one-dimensional target: the classes.)
            Of a Dask array: a Dask array. After a sparse y in ``fit``, ML-kNN and ensembles of it
            return a sparse matrix.
        """
        if is_dask(X):
            return self._predict_dask(X, "predict")
        X = self._validate_predict(X)
        if self._sparse_labels:
            return self._predict_sparse(X)
        return self._as_target(self._labels(X))

    def _predict_with_proba(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return ``predict(X)`` and ``predict_proba(X)``, computed together where possible."""
        if type(self)._labels is not MultiLabelClassifier._labels or is_dask(X):
            return self.predict(X), self.predict_proba(X)
        proba = self._proba(self._validate_predict(X))
        return self._as_target(self._labels_of(proba)), self._as_proba(proba)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.array_api_support = self._fitted_array is not None
        return tags


class MetaClassifier(MultiLabelClassifier):
    """Base of the classifiers around `estimator`, to which the parameters of ``fit`` are passed."""

    _squares_values = False
    estimator: Any

    @property
    @abstractmethod
    def _estimator(self) -> Any:
        """`estimator`, or the one that None stands for."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that the estimator's ``fit`` takes.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._estimator, method_mapping=mapping)

    def _route(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of the estimator's ``fit``; raise if it does not take one."""
        if params and get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params).estimator.fit
        for name in params:
            if not has_fit_parameter(self._estimator, name):
                raise ValueError(
                    f"{type(self._estimator).__name__} takes no {name}: fit without it, or choose "
                    "an estimator that does."
                )
        return params
