"""What the tests of the experiments share: methods of a user, and results without times."""

import sys

from labelkin.experiments.run.store import Store

LABELKIN = [sys.executable, "-c", "import sys; from labelkin.cli import main; sys.exit(main())"]

OWN_METHODS = '''
import os
import time

from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

ready = LogisticRegression(C=2.0)


class Slow(KNeighborsClassifier):
    def fit(self, X, Y):
        time.sleep(0.3)
        return super().fit(X, Y)


class Fails(KNeighborsClassifier):
    def predict(self, X):
        raise RuntimeError("cannot\\npredict")


class Dies(KNeighborsClassifier):
    """Takes its process along, on some folds."""

    def fit(self, X, Y):
        if Y[:, 0].sum() % 4 == 1:
            os._exit(1)
        return super().fit(X, Y)
'''

_TIMES = {"fit_s", "predict_s", "peak_mb"}


def figures(path):
    """Return all rows of a store but for times and memory."""
    with Store(path) as store:
        return [{k: v for k, v in row.items() if k not in _TIMES} for row in store.rows()]
