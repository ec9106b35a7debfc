"""Predictions as a DataFrame: one row per sample, one column per label."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.labels import label_names_of
from labelkin._utils.optional import import_optional
from labelkin.metrics._estimators import estimator_labels, estimator_scores

if TYPE_CHECKING:
    import pandas as pd

# What a spreadsheet takes for the beginning of a formula, unless it is a number.
_FORMULA = re.compile(r"(?![-+][\d.,]+(?:[eE][-+]?\d+)?\Z)[=+\-@\t\r＝＋－＠]")


def predict_frame(
    model: Any, X: Any, *, proba: bool = False, label_names: Sequence[str] | None = None
) -> "pd.DataFrame":
    """Return the predictions of a multi-label classifier as a DataFrame.

    scikit-learn's ``set_output(transform="pandas")`` covers transformers only: ``predict`` and
    ``predict_proba`` return arrays. This function works with every multi-label classifier of
    labelkin and scikit-learn, and with pipelines and searches that end in one.

    Parameters
    ----------
    model : estimator
        Fitted to a label matrix.
    X : DataFrame, array-like or sparse matrix
        Samples. The index of a DataFrame becomes the index of the result.
    proba : bool, default=False
        Whether to return P(label = 1) instead of 0 and 1.
    label_names : sequence of str, optional
        Columns of the result. By default the columns of the DataFrame that `model` was fitted
        to, or numbers from 0 if it was fitted to an array.

    Returns
    -------
    DataFrame of shape (n_samples, n_labels)

    Examples
    --------
    >>> import pandas as pd
    >>> from labelkin import MLkNNClassifier
    >>> from labelkin.tabular import predict_frame
    >>> films = pd.DataFrame(
    ...     {"length": [97, 121, 88, 140], "drama": [1, 0, 1, 0], "comedy": [0, 1, 1, 1]},
    ...     index=["Alma", "Bruno", "Carla", "Dora"],
    ... )
    >>> model = MLkNNClassifier(n_neighbors=1).fit(films[["length"]], films[["drama", "comedy"]])
    >>> predict_frame(model, films[["length"]].head(2))
           drama  comedy
    Alma       1       1
    Bruno      0       1
    """
    pd = import_optional("pandas", "data")
    names = label_names_of(model) if label_names is None else list(label_names)
    if proba:
        values = estimator_scores(model, X, n_labels=len(names) if names else 2)
    else:
        values = estimator_labels(model, X)
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(
            f"label_names has {len(names)} names, but the model predicts {values.shape[1]} labels."
        )
    index = X.index if isinstance(X, pd.DataFrame | pd.Series) else None
    return pd.DataFrame(values, index=index, columns=names)


def row_confidence(labels: np.ndarray, scores: np.ndarray) -> list[float]:
    """Return the probability that the decision on each row's least certain label is right."""
    least = np.where(labels, scores, 1 - scores).min(axis=1)
    return [round(float(p), 4) for p in least]


def escape_formulas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table with a single quote before every text that a spreadsheet would compute."""

    def escaped(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value

    return table.map(escaped).rename(columns=escaped)
