import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelkin import MLkNNClassifier
from labelkin.metrics import evaluate


def mlknn_by_definition(X, Y, Q, k, s):
    """ML-kNN, transcribed loop by loop; X and Q hold small integers, so ties are exact."""
    n, q = Y.shape
    k = min(k, n - 1)

    def count(point, label, but=None):
        order = sorted(
            (i for i in range(n) if i != but), key=lambda i: (((X[i] - point) ** 2).sum(), i)
        )
        return sum(Y[i, label] for i in order[:k])

    proba = np.empty((len(Q), q))
    for label in range(q):
        prior = (s + Y[:, label].sum()) / (2 * s + n)
        having, lacking = [0] * (k + 1), [0] * (k + 1)
        for i in range(n):
            (having if Y[i, label] else lacking)[count(X[i], label, but=i)] += 1
        for t in range(len(Q)):
            c = count(Q[t], label)
            present = prior * (s + having[c]) / (s * (k + 1) + sum(having))
            absent = (1 - prior) * (s + lacking[c]) / (s * (k + 1) + sum(lacking))
            proba[t, label] = present / (present + absent)
    return proba


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 12), st.sampled_from([0.5, 1, 3]))
def test_against_the_definition(seed, n, k, s):
    rng = np.random.RandomState(seed)
    X, Q = rng.randint(-2, 3, (n, 2)).astype(float), rng.randint(-2, 3, (6, 2)).astype(float)
    Y = rng.randint(0, 2, (n, 3))
    Y[:, 2] = seed % 2  # a label that is constant in training
    model = MLkNNClassifier(n_neighbors=k, smoothing=s).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(Q), mlknn_by_definition(X, Y, Q, k, s), rtol=1e-12
    )


def test_by_hand():
    # Six points on a line, k = 1. Nearest to each (left out of its own): 1 0 1 4 3 4.
    X = np.array([[0.0], [1.0], [2.5], [10.0], [10.5], [12.0]])
    Y = np.array([[1], [1], [0], [0], [0], [1]])
    model = MLkNNClassifier(n_neighbors=1).fit(X, Y)
    assert model.prior_[0] == pytest.approx((1 + 3) / (2 + 6))
    # With the label: samples 0, 1, 5 have 1, 1, 0 such neighbours; without: 2, 3, 4 have 1, 0, 0.
    np.testing.assert_allclose(model.likelihood_[1, 0], [2 / 5, 3 / 5])
    np.testing.assert_allclose(model.likelihood_[0, 0], [3 / 5, 2 / 5])
    np.testing.assert_allclose(model.predict_proba([[0.2], [11.0]])[:, 0], [0.6, 0.4])
    assert model.predict([[0.2], [11.0]]).ravel().tolist() == [1, 0]


def test_a_sample_is_not_its_own_neighbour():
    """Counting itself would make every training sample look certain."""
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((200, 2)), rng.randint(0, 2, (200, 1))  # labels are pure noise
    proba = MLkNNClassifier(n_neighbors=1).fit_loo_proba(X, Y)
    assert np.abs(proba - 0.5).max() < 0.2


def test_left_out_probabilities_differ_from_those_at_the_training_points(data):
    X, Y = data
    model = MLkNNClassifier(n_neighbors=3)
    left_out = model.fit_loo_proba(X, Y)
    assert (left_out != model.predict_proba(X)).any()
    # A query at a training point finds that point; leaving it out finds the next ones.
    expected = [model._counts(X[i : i + 1])[0] - Y[i] for i in range(len(X))]
    fewer = MLkNNClassifier(n_neighbors=2).fit(X, Y)._counts()
    np.testing.assert_array_equal(fewer, expected)


def test_constant_labels_keep_their_prior():
    X = np.arange(12.0)[:, None]
    Y = np.column_stack([np.ones(12), np.zeros(12)]).astype(int)
    proba = MLkNNClassifier(n_neighbors=3).fit(X, Y).predict_proba([[4.2]])
    assert proba[0, 0] > 0.9
    assert proba[0, 1] < 0.1
    certain = MLkNNClassifier(n_neighbors=3, smoothing=0).fit(X, Y).predict_proba([[4.2]])
    assert certain.tolist() == [[1.0, 0.0]]


def test_more_neighbours_than_samples(data):
    X, Y = data
    every = MLkNNClassifier(n_neighbors=len(X) - 1).fit(X, Y)
    more = MLkNNClassifier(n_neighbors=10 * len(X)).fit(X, Y)
    np.testing.assert_array_equal(every.predict_proba(X), more.predict_proba(X))


def test_one_sample_says_its_prior():
    model = MLkNNClassifier().fit([[1.0, 2.0]], [[1, 0]])
    np.testing.assert_allclose(model.predict_proba([[5.0, 5.0]]), [[2 / 3, 1 / 3]])


def test_duplicated_points_with_other_labels():
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    Y = np.array([[1], [1], [0], [0], [0], [0], [1], [1]])
    # Of four equally near samples the first two count, whatever their labels.
    model = MLkNNClassifier(n_neighbors=2).fit(X, Y)
    np.testing.assert_array_equal(model._counts(np.array([[0.0], [1.0]])), [[2], [0]])


def test_sparse_labels_and_features(data):
    X, Y = data
    X = np.rint(X)
    expected = MLkNNClassifier(3).fit(X, Y).predict_proba(X)
    sparse_model = MLkNNClassifier(3).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    np.testing.assert_array_equal(sparse_model.predict_proba(sparse.csr_matrix(X)), expected)


# --------------------------------------------------------------- against Mulan, on its folds

_NAMES = {
    "hamming_loss": "HammingLoss",
    "ranking_loss": "RankingLoss",
    "coverage": "Coverage",
    "average_precision": "AveragePrecision",
    "f1": "ExampleBasedFMeasure",
    "recall": "ExampleBasedRecall",
}


def measured(paper_data, name, n_folds=5):
    X, Y, folds = paper_data(name)
    figures = []
    for test in folds[:n_folds]:
        train = np.setdiff1d(np.arange(len(Y)), test)
        model = MLkNNClassifier().fit(X[train], Y[train])
        proba = model.predict_proba(X[test])
        figures.append(evaluate(Y[test], proba, proba > 0.5))
    return {metric: np.array([f[metric] for f in figures]) for metric in figures[0]}


def test_equal_to_mulan_on_yeast(paper_data, mulan):
    ours, theirs = measured(paper_data, "yeast"), mulan["yeast"]["MLkNN_raw"]
    for metric, name in _NAMES.items():
        np.testing.assert_allclose(ours[metric], theirs[name], atol=5e-5, err_msg=metric)


@pytest.mark.parametrize(
    ("name", "learner", "percent", "positions"),
    [
        ("scene", "MLkNN_raw", 0.15, 0.05),
        ("arts", "MLkNN_raw", 0.15, 0.05),
        ("medical", "MLkNN", 1.0, 0.3),  # binary features: ties decide
        ("genbase", "MLkNN", 1.0, 0.3),
        ("enron", "MLkNN", 1.0, 0.3),
    ],
)
def test_close_to_mulan(paper_data, mulan, name, learner, percent, positions):
    ours, theirs = measured(paper_data, name), mulan[name][learner]
    for metric in ("hamming_loss", "ranking_loss", "coverage", "average_precision"):
        allowed = positions if metric == "coverage" else percent / 100
        difference = ours[metric].mean() - np.mean(theirs[_NAMES[metric]])
        assert abs(difference) <= allowed, metric


@pytest.mark.parametrize("name", ["medical", "genbase", "enron"])
def test_equal_to_mulan_but_for_ties(paper_data, mulan, name, monkeypatch):
    """With WEKA's neighbours every figure on binary data is Mulan's: only ties differ."""
    pytest.importorskip("numba")
    from support.weka import WekaSearch

    monkeypatch.setattr("labelkin.neighbors._counts.ExactSearch", lambda X, k: WekaSearch(X, k))
    # Each fold is compared with Mulan's: two show what five would.
    ours, theirs = measured(paper_data, name, 2), mulan[name]["MLkNN"]
    for metric in ("hamming_loss", "f1", "recall"):
        np.testing.assert_allclose(ours[metric], theirs[_NAMES[metric]][:2], atol=1e-9)
    # Equal scores of labels are ranked by index there, and count against here.
    for metric in ("ranking_loss", "average_precision"):
        np.testing.assert_allclose(ours[metric], theirs[_NAMES[metric]][:2], atol=2e-3)
