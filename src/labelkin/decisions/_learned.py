"""Thresholds for every decision, learned with a model so that one can be chosen afterwards."""

from typing import Any

import numpy as np

from labelkin.decisions._label_decision import DECISIONS, LabelDecision, needs_scores


def learn_thresholds(classifier: Any, y: Any) -> dict[str, dict[str, Any]]:
    """Return the thresholds of each decision that is learned from scores, by its name.

    Parameters
    ----------
    classifier : fitted classifier
        Its out-of-sample scores of the training rows are used.
    y : array-like of shape (n_samples, n_labels)
        The labels of these rows.

    Returns
    -------
    dict of str to dict
        ``thresholds`` and ``at_least_one``, as `label_sets` takes them; empty for a classifier
        without out-of-sample scores. JSON can hold it.
    """
    scores = _out_of_sample_scores(classifier, np.shape(y))
    if scores is None:
        return {}
    found = {}
    for name in filter(needs_scores, DECISIONS):
        decision = LabelDecision(name).fit(scores, y)
        # A label that is never or always predicted has an infinite threshold, which JSON lacks.
        cuts = np.clip(decision.thresholds_, -1, 2)
        found[name] = {
            "thresholds": [round(float(cut), 6) for cut in cuts],
            "at_least_one": bool(decision.at_least_one_),
        }
    return found


def _out_of_sample_scores(classifier: Any, shape: tuple[int, ...]) -> Any:
    for name in ("training_scores_", "oob_proba_", "oof_proba_", "loo_proba_"):
        scores = getattr(classifier, name, None)
        if isinstance(scores, np.ndarray) and scores.shape == shape and np.isfinite(scores).any():
            return scores
    inner = getattr(classifier, "estimator_", None)
    return None if inner is None else _out_of_sample_scores(inner, shape)
