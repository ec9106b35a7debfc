import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from labelkin import MLkNNClassifier
from labelkin.experiments.run import jobs
from labelkin.experiments.run.jobs import Job
from labelkin.experiments.run.plan import Cell
from labelkin.experiments.run.sources import Dataset
from labelkin.methods import METHODS, Method
from labelkin.metrics import PAPER_METRICS, evaluate
from support.data import make_data

X, Y = make_data(n=80, q=3)
TEST = np.arange(0, 80, 5)
TRAIN = np.setdiff1d(np.arange(80), TEST)


def job(name, method=None):
    return Cell("d", name, 0, 0), method or METHODS[name.partition("@")[0]]


def execute(job, X, Y, test):
    return jobs.execute(Job(*job, Dataset("d", X, Y), test))


def own(make):
    return Method("own", "own", make, "")


def metrics(row):
    return {name: row[name] for name in PAPER_METRICS}


def test_figures_are_those_of_the_classifier():
    row = execute(job("mlknn"), X, Y, TEST)
    model = MLkNNClassifier(n_neighbors=10).fit(X[TRAIN], Y[TRAIN])
    expected = evaluate(Y[TEST], model.predict_proba(X[TEST]), model.predict(X[TEST]))
    assert metrics(row) == expected
    assert (row["dataset"], row["method"], row["repeat"], row["fold"]) == ("d", "mlknn", 0, 0)
    assert row["status"] == "ok"
    assert row["error"] is None
    assert row["fit_s"] > 0
    assert row["predict_s"] > 0


def test_a_variant_with_the_default_is_the_method_itself():
    plain = execute(job("vpcme"), X, Y, TEST)
    same = execute(job("vpcme@threshold=0.6"), X, Y, TEST)
    sized = execute(job("vpcme@size=30"), X, Y, TEST)
    other = execute(job("vpcme@threshold=0.1"), X, Y, TEST)
    assert metrics(plain) == metrics(same) == metrics(sized) != metrics(other)


def test_an_error_becomes_a_row():
    class Fails(KNeighborsClassifier):
        def predict(self, X):
            raise RuntimeError("first line\n  second")

    row = execute(job("own", method=own(lambda seed: Fails())), X, Y, TEST)
    assert row["status"] == "failed"
    assert row["error"] == "RuntimeError: first line second"
    assert all(row[name] is None for name in (*PAPER_METRICS, "fit_s", "predict_s"))
    assert "in predict" in row["traceback"]


def test_a_missing_package_is_not_the_methods_failure():
    class Needs(KNeighborsClassifier):
        def fit(self, X, Y):
            raise ImportError("numba is needed here")

    with pytest.raises(ImportError, match="numba is needed"):
        execute(job("own", method=own(lambda seed: Needs())), X, Y, TEST)


def test_sparse_equals_dense():
    dense = execute(job("mlknn"), X, Y, TEST)
    from_sparse = execute(job("mlknn"), sparse.csr_matrix(X), Y, TEST)
    assert metrics(dense) == pytest.approx(metrics(from_sparse))


@pytest.mark.parametrize("kind", [KNeighborsClassifier, DecisionTreeClassifier, RidgeClassifier])
def test_any_multi_label_classifier(kind):
    row = execute(job("own", method=own(lambda seed: kind())), X, Y, TEST)
    assert row["error"] is None
    assert row["average_precision"] > 0.7


def test_without_scores_the_labels_rank():
    class Labels(KNeighborsClassifier):
        predict_proba = None

        def __getattribute__(self, name):
            if name == "predict_proba":
                raise AttributeError(name)
            return super().__getattribute__(name)

    row = execute(job("own", method=own(lambda seed: Labels())), X, Y, TEST)
    labels = KNeighborsClassifier().fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    assert metrics(row) == evaluate(Y[TEST], labels.astype(float), labels)
