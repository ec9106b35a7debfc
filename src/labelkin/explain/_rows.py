"""The sample that is explained, and the names of its features."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.array_api import ensure_on_host, to_host
from labelkin.base import Matrix


def validate_one_row(model: Any, x: Any) -> tuple[Any, Matrix]:
    """Return a fitted model on the host, and the sample as one validated row."""
    check_is_fitted(model)
    if (here := ensure_on_host(model)) is not model:
        model, x = here, to_host(x)
    if hasattr(x, "to_frame") and np.ndim(x) == 1:  # a row of a DataFrame: keep its names
        x = x.to_frame().T
    elif not sparse.issparse(x) and np.ndim(x) == 1:
        x = np.reshape(x, (1, -1))
    row = model._validate_predict(x)
    if row.shape[0] != 1:
        raise ValueError(
            f"x must be one sample, got {row.shape[0]}: explain them one after the other."
        )
    return model, row


def feature_names_of(model: Any, names: Any = None) -> list[str]:
    """Return the names of a fitted model's features: given ones, those seen in fit, or numbers."""
    if names is None:
        names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must hold one name for each of the {model.n_features_in_} features, "
            f"got {len(names)}."
        )
    return [str(name) for name in names]
