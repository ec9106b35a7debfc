"""Explanations by what features add to the log odds, for linear models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.labels import label_names
from labelkin._utils.optional import import_optional
from labelkin.base import Array
from labelkin.explain._rows import feature_names_of, validate_one_row
from labelkin.explain._tables import PrintedTables, Table, list_effects, strongest_features


@dataclass(frozen=True, repr=False)
class LinearExplanation(PrintedTables):
    """What each feature adds to the log odds of each label, for one sample.

    ``print`` it, display it in a notebook, or read the arrays.

    Attributes
    ----------
    label_names, feature_names : list of str
        Names of the labels and of the features; numbers from 0 where there are none.
    predicted : ndarray of bool of shape (n_labels,)
        Which labels ``predict`` gives.
    probability : ndarray of shape (n_labels,)
        What ``predict_proba`` gives.
    intercept : ndarray of shape (n_labels,)
        Log odds of a sample whose features are all zero.
    features : ndarray of int of shape (n_present,)
        The features that are not zero in the sample.
    contributions : ndarray of shape (n_labels, n_present)
        Weight times value of these features: with the intercept they add up to the log odds.
    """

    label_names: list[str]
    feature_names: list[str]
    predicted: Array
    probability: Array
    intercept: Array
    features: Array
    contributions: Array

    def __repr__(self) -> str:
        return f"<LinearExplanation: {self._predicted_names()}; {len(self.features)} features>"

    def to_frame(self) -> Any:
        """Return the contributions as a DataFrame: one row per label, the most probable first.

        Returns
        -------
        pandas.DataFrame
            Columns: predicted, probability, intercept, then one per feature that is not zero.
        """
        pandas = import_optional("pandas")
        frame = self._label_frame(intercept=self.intercept)
        names = [self.feature_names[i] for i in self.features]
        added = self.contributions[self._by_probability()]
        added = pandas.DataFrame(added, index=frame.index, columns=names)
        return pandas.concat([frame, added], axis=1)

    def _tables(self) -> list[Table]:
        def features(label: int) -> str:
            added = self.contributions[label]
            return list_effects(strongest_features(self.feature_names, self.features, added))

        intercept = {"intercept": lambda label: f"{self.intercept[label]:+.2f}"}
        return [self._label_table({**intercept, "features": features})]


def explain_linear(model: Any, x: Any, feature_names: Any = None) -> LinearExplanation:
    """Explain the prediction of a linear classifier by the contributions of the features."""
    model, row = validate_one_row(model, x)
    names = feature_names_of(model, feature_names)
    values = row.toarray()[0] if sparse.issparse(row) else row[0]
    features = np.flatnonzero(values)
    coef = model.coef_[:, features]
    probability = model._proba(row)[0]
    return LinearExplanation(
        label_names=label_names(model),
        feature_names=names,
        predicted=probability > 0.5,
        probability=probability,
        intercept=model.intercept_,
        features=features,
        contributions=(coef.toarray() if sparse.issparse(coef) else coef) * values[features],
    )
