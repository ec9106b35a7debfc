"""Fixtures of all tests."""

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from support.data import DATA, REFERENCE, make_data


def pytest_configure(config):
    """Compile the trees once, while the workers of pytest-xdist collect the tests.

    Otherwise each of them would, in a fresh clone: a quarter of a minute of a processor.
    """
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        code = (
            "from labelkin import C45TreeClassifier\n"
            "C45TreeClassifier().fit([[0], [1]], [0, 1]).predict([[0]])"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        config.add_cleanup(process.wait)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Search the library alone for doctests: each test file would be imported a second time."""
    collectors = yield
    return [one for one in collectors if type(one).__name__ != "DoctestModule"]


def pytest_collection_finish():
    """Exempt the modules and the thousands of tests from garbage collection: none becomes free."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def fixed_seed():
    """Make estimators without a random state draw the same in every run and in any order."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(autouse=True)
def own_switch():
    """Keep SCIPY_ARRAY_API, which labelkin sets and leaves set, from the tests that follow.

    Otherwise it depends on their order which of scikit-learn's checks are skipped.
    """
    before = os.environ.pop("SCIPY_ARRAY_API", None)
    yield
    os.environ.pop("SCIPY_ARRAY_API", None)
    if before is not None:
        os.environ["SCIPY_ARRAY_API"] = before


@pytest.fixture
def data():
    return make_data()


@pytest.fixture(scope="session")
def paper_data():
    """Return a loader of the paper's datasets: name -> X, Y, folds (test rows)."""
    if not (DATA / "yeast.npz").exists():
        pytest.skip("the paper's datasets are not here (set LABELKIN_DATA)")

    def load(name):
        with np.load(DATA / f"{name}.npz", allow_pickle=False) as z:
            parts = (z["X_data"], z["X_indices"], z["X_indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(z["X_shape"]))
            Y, split = z["Y"], z["split"]
        if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
            X = X.toarray()
        if "label_names" not in z:  # the Yahoo sets: the paper's 2000 documents
            X, Y = X[split == 0], Y[split == 0]
        folds = np.array_split(np.random.default_rng(0).permutation(len(Y)), 5)
        return X, Y, folds

    return load


@pytest.fixture(scope="session")
def mulan():
    """Return Mulan's figures: dataset -> learner -> metric -> five folds."""
    if not REFERENCE.exists():
        pytest.skip("Mulan's reference figures are not here")
    return json.loads(REFERENCE.read_text())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a driver of headless Chromium."""
    from support.browser import start_browser

    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()
