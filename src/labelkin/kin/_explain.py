"""What a prediction of the Kin ensemble is based on: members and training samples."""

from typing import Any

import numpy as np
from scipy.special import expit

from labelkin.base import Matrix
from labelkin.explain._fields import as_log_odds
from labelkin.kernel._explain import explain_rows
from labelkin.kin._views import as_floats


def explain_kin(model: Any, row: Matrix) -> dict[str, Any]:
    """Return what the prediction of a fitted `KinEnsembleClassifier` is based on.

    A member adds its weight for a label times its log odds; the intercept is what calibration adds.
    Training samples are those of the kernel regression with the largest weight.
    """
    X = as_floats(row, model._dense)
    views = {name: view(X) for name, view in model.views_.items()}
    members, combination = model.estimators_, model.combination_
    scores = [member.scores(views[member.view]) for member in members]
    log_odds = combination.member_log_odds(scores)[:, 0]
    total = as_log_odds(combination.proba(scores))[0]
    effects = combination.mean_curves_.slope_ * model.label_weights_ * log_odds
    fields: dict[str, Any] = {
        "member_names": [member.name for member in members],
        "member_weights": model.weights_,
        "member_probability": expit(log_odds),
        "member_effects": effects,
        "intercept": total - effects.sum(axis=0),
    }
    for i in np.argsort(-model.weights_, kind="stable"):
        view = views[members[i].view]
        if found := explain_rows(model, members[i].learners, view, len(total)):
            return fields | found
    return fields
