"""The method ``explain`` of classifiers."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.labels import label_names
from labelkin.base import Array, Matrix
from labelkin.explain._explanation import Explanation
from labelkin.explain._occlusion import CHANGED, as_log_odds, occlude_features
from labelkin.rows import ensure_on_host, to_host


class ExplainMixin:
    """Adds `explain` to a classifier."""

    _typical: Array | None = None
    """Median and standard deviation of each feature in training, for occlusion; None: none."""

    @abstractmethod
    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        """Return the fields of `Explanation` that the classifier knows, for one validated row.

        Names of `features` are their numbers here.
        """

    def explain(
        self, x: ArrayLike, feature_names: Any = None, *, max_features: int = 400
    ) -> Explanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The sample.
        feature_names : sequence of str, optional
            Names to show, such as a vectorizer's ``get_feature_names_out()``; None: those seen in
            ``fit``, else x0, x1, and so on.
        max_features : int, default=400
            Where the effect of a feature is found by replacing it: features that are tried, those
            furthest from their medians. The time is that of as many predictions. 0: none.

        Returns
        -------
        Explanation
            What speaks for and against each label: features, members, training samples. Print it,
            plot it, or read its arrays. `labelkin.explain.explain` explains pipelines too.
        """
        model, row = validate_one_row(self, x)
        names = _feature_names(model, feature_names)
        found = model._explain_row(row)
        if "features" not in found and model._typical is not None and max_features:
            features, effects = occlude_features(
                lambda rows: as_log_odds(model._proba(rows)), row, model._typical, max_features
            )
            found |= {"features": features, "feature_effects": effects, "method": CHANGED}
        used = found.get("features", ())
        values = [None] * len(used) if sparse.issparse(row) else [float(row[0, i]) for i in used]
        return Explanation(
            label_names=label_names(model),
            predicted=np.asarray(model._labels(row))[0].astype(bool),
            probability=np.asarray(model._proba(row))[0],
            **{**found, "features": [names[i] for i in used], "feature_values": values},
        )


def validate_one_row(model: Any, x: Any) -> tuple[Any, Matrix]:
    """Return a fitted model on the host, and the sample as one validated row."""
    check_is_fitted(model)
    if (here := ensure_on_host(model)) is not model:
        model, x = here, to_host(x)
    row = model._validate_predict(as_one_row(x))
    if row.shape[0] != 1:
        raise ValueError(
            f"x must be one sample, got {row.shape[0]}: explain them one after the other."
        )
    return model, row


def as_one_row(x: Any) -> Any:
    """Return one sample as a table of one row; a row of a DataFrame keeps its names."""
    if hasattr(x, "to_frame") and np.ndim(x) == 1:
        return x.to_frame().T.infer_objects()
    if not sparse.issparse(x) and np.ndim(x) == 1:
        return np.reshape(x, (1, -1))
    return x


def _feature_names(model: Any, names: Any) -> list[str]:
    if names is None:
        numbered = [f"x{number}" for number in range(model.n_features_in_)]
        names = getattr(model, "feature_names_in_", numbered)
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must hold one name for each of the {model.n_features_in_} features, "
            f"got {len(names)}."
        )
    return [str(name) for name in names]
