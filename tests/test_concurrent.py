"""Fits in several threads of the user: the same results, and the settings of BLAS as before."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from labelkin import (
    KernelRidgeLOOClassifier,
    KinEnsembleClassifier,
    MultiLabelLogisticRegression,
    VPCMEClassifier,
)
from support.data import make_data

MODELS = [
    KernelRidgeLOOClassifier(random_state=0),
    KinEnsembleClassifier(n_projections=1, n_trees=4, random_state=0),
    MultiLabelLogisticRegression(random_state=0),
    VPCMEClassifier(n_estimators=2, random_state=0),
]


def n_blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_fits_in_threads_do_not_interfere(model):
    X, Y = make_data(60)
    before = n_blas_threads()
    expected = model.fit(X, Y).predict_proba(X)
    found = []

    def fit():
        own = type(model)(**model.get_params())
        found.append(own.fit(X, Y).predict_proba(X))

    threads = [threading.Thread(target=fit) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for proba in found:
        np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)
    assert len(found) == 3
    assert n_blas_threads() == before


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: type(model).__name__)
def test_the_number_of_jobs_changes_nothing(model):
    X, Y = make_data(60)
    one, two = (
        type(model)(**{**model.get_params(), "n_jobs": n}).fit(X, Y).predict_proba(X)
        for n in (1, 2)
    )
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)
