"""Every public estimator, small: what is tested of all of them does not depend on their size."""

import labelkin

_SMALL = {
    "AdaBoostPDTClassifier": {"n_estimators": 3},
    "BaggingVPCPClassifier": {"n_estimators": 3},
    "KinEnsembleClassifier": {"n_projections": 1, "n_trees": 5},
    "TableClassifier": {"estimator": labelkin.MultiLabelLogisticRegression(random_state=0)},
    "VPCMEClassifier": {"n_estimators": 3},
}

NAMES = [name for name in labelkin.__all__ if isinstance(getattr(labelkin, name), type)]


def make(name):
    """Return a small estimator with a fixed random state."""
    Estimator = getattr(labelkin, name)
    fixed = {"random_state": 0} if "random_state" in Estimator().get_params() else {}
    return Estimator(**_SMALL.get(name, {}), **fixed)
