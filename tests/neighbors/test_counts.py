"""Counts of sparse labels: the results of dense ones, and never dense as a whole."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from labelkin import BaggingVPCPClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.neighbors import IBLRClassifier
from labelkin.neighbors._counts import label_histogram, likely_labels, look_up
from labelkin.rows import Labels
from support.resources import peak_memory

FORMS = [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]


def labelled(n=300, q=12, seed=0):
    """Rows in clusters; labels from rare to one that nearly every sample has."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 4))
    Y = (X @ rng.standard_normal((4, q)) > np.linspace(-4, 4, q)).astype(np.uint8)
    Y[:, 3] = 1
    Y[:, 7] = 0
    Y[rng.uniform(size=n) < 0.1, 3:] = 0
    return X, Y


def models(**ensemble):
    return {
        "ML-kNN": MLkNNClassifier(n_neighbors=7),
        "without smoothing": MLkNNClassifier(n_neighbors=3, smoothing=0),
        "VPCME": VPCMEClassifier(n_estimators=4, random_state=0, **ensemble),
        "soft VPCME": VPCMEClassifier(n_estimators=3, voting="soft", random_state=0, **ensemble),
        "Bagging_VPCP": BaggingVPCPClassifier(n_estimators=3, random_state=0, **ensemble),
        "bag": VPCMEClassifier(n_estimators=3, bag=0.6, random_state=0),
        "IBLR base": VPCMEClassifier(IBLRClassifier(), n_estimators=2, random_state=0),
        "tree base": BaggingVPCPClassifier(DecisionTreeClassifier(), n_estimators=2),
    }


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:.*in the bag of every member")
def test_sparse_labels_give_what_dense_ones_give(name, form):
    X, Y = labelled()
    dense, of_sparse = models()[name], models()[name]
    if name == "tree base":
        dense.random_state = of_sparse.random_state = 0
    dense.fit(X[:250], Y[:250])
    with config_context(working_memory=8 * 12 * 100 / 2**20):  # blocks of a hundred rows
        of_sparse.fit(X[:250], form(Y[:250]))
        np.testing.assert_array_equal(
            of_sparse.predict_proba(X[250:]), dense.predict_proba(X[250:])
        )
        predicted = of_sparse.predict(X[250:])
        again = clone(dense).fit(X[:250], Y[:250])
    if hasattr(dense, "likelihood_"):
        np.testing.assert_array_equal(again.likelihood_, dense.likelihood_)
    if sparse.issparse(predicted):
        predicted = predicted.toarray()
    np.testing.assert_array_equal(predicted, dense.predict(X[250:]))
    for attribute in ("prior_", "likelihood_", "errors_", "sample_weights_"):
        if hasattr(dense, attribute):
            np.testing.assert_array_equal(getattr(of_sparse, attribute), getattr(dense, attribute))


@pytest.mark.parametrize("name", ["ML-kNN", "VPCME", "Bagging_VPCP"])
def test_a_sparse_target_is_answered_with_sparse_labels(name):
    X, Y = labelled()
    model = models()[name].fit(X, sparse.csr_matrix(Y))
    predicted = model.predict(X)
    assert isinstance(predicted, sparse.csr_array)
    assert predicted.shape == Y.shape
    assert set(predicted.data) == {1}
    assert predicted.has_canonical_format
    assert isinstance(model.fit(X, Y).predict(X), np.ndarray)
    again = pickle.loads(pickle.dumps(model.fit(X, sparse.csr_matrix(Y))))
    assert (again.predict(X) != predicted).nnz == 0
    assert predicted[:0].shape == again.predict(X[:1])[:0].shape


def test_a_label_likely_without_any_neighbour_that_has_it():
    """c = 0 speaks for a label where those with it are spread thin among the others."""
    X = np.arange(40.0)[:, None]
    Y = np.zeros((40, 3), dtype=int)
    Y[::2, 0] = 1  # with one neighbour: never had by it, by the left one
    Y[:, 1] = np.arange(40) < 20
    for smoothing in (0.1, 1):
        model = MLkNNClassifier(n_neighbors=1, smoothing=smoothing)
        expected = model.fit(X, Y)
        dense = expected.predict(X + 0.3)
        assert expected._posterior[0, 0] > 0.5
        loo = MLkNNClassifier(n_neighbors=1, smoothing=smoothing)
        wrong = ((loo.fit_loo_proba(X, Y) > 0.5) != Y).any(axis=1)
        of_sparse = MLkNNClassifier(n_neighbors=1, smoothing=smoothing).fit(X, sparse.csr_array(Y))
        np.testing.assert_array_equal(of_sparse.predict(X + 0.3).toarray(), dense)
        labels = sparse.csr_array(Y.astype(np.uint8))
        np.testing.assert_array_equal(of_sparse._fit_loo_wrong(X, Labels(labels)), wrong)


def test_left_out_probabilities_of_sparse_labels():
    X, Y = labelled()
    model = MLkNNClassifier()
    of_sparse = model.fit_loo_proba(X, sparse.csr_matrix(Y))
    np.testing.assert_array_equal(of_sparse, MLkNNClassifier().fit_loo_proba(X, Y))
    assert sparse.issparse(model.predict(X))


@pytest.mark.parametrize("name", ["ML-kNN", "VPCME"])
def test_explanations_of_sparse_labels(name):
    X, Y = labelled()
    dense = models()[name].fit(X, Y).explain(X[0])
    of_sparse = models()[name].fit(X, sparse.csr_matrix(Y)).explain(X[0])
    assert str(of_sparse) == str(dense)
    np.testing.assert_array_equal(of_sparse.row_labels, dense.row_labels)


def test_thousands_of_labels_are_never_dense_as_a_whole():
    rng = np.random.RandomState(0)
    n, q = 5_000, 20_000
    X = rng.standard_normal((n, 3)).astype(np.float32)
    Y = sparse.csr_array((np.ones(3 * n), (np.repeat(np.arange(n), 3), rng.randint(0, q, 3 * n))))
    Y.data[:] = 1
    model = VPCMEClassifier(n_estimators=2, threshold=0.3, random_state=0)

    def fit_and_predict():
        model.fit(X, Y).estimators_[0].predict(X @ model.projections_[0].components_.T)

    peak = peak_memory(fit_and_predict)
    assert peak < 80e6  # as bytes the matrix would take 100 MB, as probabilities 400 MB
    assert model.predict(X[:30]).shape == (30, Y.shape[1])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_no_rows(form):
    """A block of a Dask array can be empty."""
    counts, Y = form(np.empty((0, 3), dtype=np.int32)), form(np.empty((0, 3), dtype=np.uint8))
    np.testing.assert_array_equal(label_histogram(counts, Y, 4), np.zeros((2, 3, 4)))
    assert look_up(np.full((3, 4), 0.2), counts).shape == (0, 3)
    if sparse.issparse(counts):
        assert likely_labels(np.full((3, 4), 0.2), counts).shape == (0, 3)
