"""The classifier for thousands of labels, on texts of made-up words."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from labelkin import LabelTreeClassifier
from labelkin.many._sparse import keep_largest
from labelkin.many._tree import LabelTree, label_centroids, split_balanced
from labelkin.metrics import precision_at_k
from labelkin.rows import Labels

N_LABELS = 300


def make_texts(n, seed=0):
    """Return texts and their labels: each label has its own words, beside common ones."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(N_LABELS, rng.integers(1, 4), replace=False) for _ in range(n)]
    texts = [
        " ".join(
            [f"w{label}x{rng.integers(3)}" for label in labels]
            + [f"c{word}" for word in rng.integers(0, 40, 4)]
        )
        for labels in chosen
    ]
    row = np.repeat(np.arange(n), [len(labels) for labels in chosen])
    Y = sparse.csr_array(
        (np.ones(len(row), int), (row, np.concatenate(chosen))), shape=(n, N_LABELS)
    )
    return texts, Y


@pytest.fixture(scope="module")
def data():
    texts, Y = make_texts(4000)
    vectorizer = TfidfVectorizer()
    return vectorizer.fit_transform(texts[:3000]), Y[:3000], vectorizer, texts[3000:], Y[3000:]


@pytest.fixture(scope="module")
def model(data):
    X, Y = data[:2]
    return LabelTreeClassifier(cluster_size=40, sparse_output=True, n_jobs=1, random_state=0).fit(
        X, Y
    )


def test_ranks_and_is_calibrated(data, model):
    _, _, vectorizer, texts, Y = data
    proba = model.predict_proba(vectorizer.transform(texts))
    assert sparse.issparse(proba)
    first = proba.max(axis=1).toarray().ravel()
    precision = precision_at_k(Y, proba, 1)
    assert precision > 0.95
    assert abs(first.mean() - precision) < 0.02
    # Of all pairs, not only the first: as many labels are expected as there are.
    assert abs(proba.sum() / Y.sum() - 1) < 0.05


def test_every_source_finds_the_labels(data, model):
    """Each score ranks by itself far better than chance, with most labels in the right place."""
    _, _, vectorizer, texts, Y = data
    X = sparse.csr_array(vectorizer.transform(texts), dtype=np.float32)
    for source in model.sources_:
        for name, scores in zip(source.names, source.scores(X), strict=True):
            assert precision_at_k(Y, sparse.csr_array(scores), 1) > 0.7, name


def test_topk_agrees_with_probabilities(data, model):
    X = data[2].transform(data[3][:20])
    labels, proba = model.predict_topk(X, 5)
    dense = np.asarray(LabelTreeClassifier._proba(model, X))
    np.testing.assert_allclose(proba, -np.sort(-dense, axis=1)[:, :5], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(dense, labels, axis=1), proba, rtol=1e-5)


def test_topk_of_a_row_without_known_words(data, model):
    """All labels have the probability of no candidate, the frequent ones first; none twice."""
    labels, proba = model.predict_topk(data[2].transform(["unknown words"]), N_LABELS)
    assert sorted(labels[0]) == list(range(N_LABELS))
    np.testing.assert_allclose(proba[0], -np.sort(-model.remainder_))


@pytest.mark.parametrize("k", [0, N_LABELS + 1, 1.5])
def test_bad_k(data, model, k):
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 300"):
        model.predict_topk(data[2].transform(["c1"]), k)


def test_predictions_are_sparse_for_sparse_labels(data, model):
    X = data[2].transform(data[3])
    predicted = model.predict(X)
    assert sparse.issparse(predicted)
    assert ((model.predict_proba(X) > model.threshold_) != (predicted > 0)).nnz == 0
    hits = predicted.multiply(data[4]).sum()
    assert 2 * hits / (predicted.sum() + data[4].sum()) > 0.9


def test_threads_change_nothing_but_rounding(data, model):
    again = LabelTreeClassifier(cluster_size=40, sparse_output=True, n_jobs=2, random_state=0).fit(
        data[0], data[1]
    )
    X = data[2].transform(data[3][:50])
    np.testing.assert_allclose(
        again.predict_proba(X).toarray(), model.predict_proba(X).toarray(), atol=1e-3
    )


def test_memory_is_not_that_of_a_dense_matrix(data):
    """With 200,000 labels, dense labels of 3,000 rows would take 600 MB, and weights 200 MB."""
    import tracemalloc

    X, Y = data[:2]
    many = sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(3000, 200_000))
    tracemalloc.start()
    model = LabelTreeClassifier(n_trees=1, sparse_output=True, n_jobs=1, random_state=0)
    found = model.fit(X, many).predict_proba(X[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (5, 200_000)
    assert peak < 300e6


def test_weights_of_zero_leave_rows_out(data):
    X, Y = data[0][:600], data[1][:600]
    weight = np.repeat([1.0, 0.0], 300)
    kwargs = {"n_trees": 1, "n_jobs": 1, "random_state": 0}
    weighted = LabelTreeClassifier(**kwargs).fit(X, Y, sample_weight=weight)
    part = LabelTreeClassifier(**kwargs).fit(X[:300], Y[:300], sample_weight=np.ones(300))
    np.testing.assert_array_equal(weighted.predict_proba(X), part.predict_proba(X))


# ----------------------------------------------------------------------------- names of labels


def names_of_labels():
    return [f"w{label}x0 w{label}x1 w{label}x2" for label in range(N_LABELS)]


def test_label_texts_find_labels_never_seen(data):
    _, _, vectorizer, texts, Y_test = data
    X, Y = data[0], data[1].tolil()
    Y[:, :30] = 0  # thirty labels that no training row has
    Y = sparse.csr_array(Y)
    X_test, unseen = vectorizer.transform(texts), Y_test[:, :30]
    found = {}
    for zero_shot in (False, True):
        model = LabelTreeClassifier(
            n_trees=1,
            label_texts=vectorizer.transform(names_of_labels()),
            zero_shot=zero_shot,
            sparse_output=True,
            n_jobs=1,
            random_state=0,
        ).fit(X, Y)
        found[zero_shot] = model.predict_proba(X_test)[:, :30]
    assert found[False].nnz == 0
    hits = found[True].multiply(unseen > 0)
    assert (hits > 0).sum() > 0.9 * unseen.sum()
    assert hits.sum() / found[True].sum() > 0.2  # the mean share of relevant ones is 0.007


def test_a_label_without_a_name(data):
    X, Y, vectorizer = data[0][:500], data[1][:500], data[2]
    texts = vectorizer.transform(["", "", *names_of_labels()[2:]])
    model = LabelTreeClassifier(n_trees=1, label_texts=texts, n_jobs=1, random_state=0)
    assert np.isfinite(model.fit(X, Y).predict_proba(X)).all()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"zero_shot": True}, "zero_shot=True needs label_texts"),
        ({"label_texts": ["a", "b"]}, r"vectorizer.transform\(names\)"),
        ({"label_texts": sparse.csr_array((2, 3))}, "one text per column of y"),
        ({"n_trees": 0}, "n_trees"),
    ],
)
def test_bad_parameters(data, kwargs, message):
    with pytest.raises(ValueError, match=message):
        LabelTreeClassifier(**kwargs).fit(data[0][:50], data[1][:50])


# ------------------------------------------------------------------------------- explanations


def test_explains_by_words_and_training_rows(data, model):
    _, Y, vectorizer = data[:3]
    row = vectorizer.transform(["w7x1 c3"])
    found = model.explain(row, feature_names=vectorizer.get_feature_names_out())
    assert found.strongest_features(7)[0][0] == "w7x1"
    assert found.strongest_features(7)[0][1] > 1
    number, effect = found.strongest_rows(7)[0]
    assert effect > 0
    assert Y[[number]].toarray()[0, 7] == 1
    assert "w7x1" in str(found)


# -------------------------------------------------------------------------------------- parts


def test_clusters_are_balanced_and_complete():
    rng = np.random.RandomState(0)
    points = sparse.random_array(
        (1000, 50), density=0.1, format="csr", rng=np.random.default_rng(0)
    )
    clusters = split_balanced(points, 60, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(clusters)), np.arange(1000))
    sizes = np.array([len(cluster) for cluster in clusters])
    assert sizes.max() <= 60
    assert sizes.min() >= sizes.max() - 1


def test_clusters_keep_like_labels_together():
    """Labels of two groups that share no words are never in one cluster."""
    points = np.zeros((64, 10), np.float32)
    points[::2, :5] = np.random.default_rng(0).random((32, 5))
    points[1::2, 5:] = np.random.default_rng(1).random((32, 5))
    for cluster in split_balanced(sparse.csr_array(points), 32, np.random.RandomState(0)):
        assert len(set(cluster % 2)) == 1


def test_a_tree_of_one_cluster_is_a_logistic_regression(data):
    from sklearn.linear_model import LogisticRegression

    X, Y = sparse.csr_array(data[0], dtype=np.float32), data[1][:, :5]
    labels = Labels(Y)
    tree = LabelTree(5, 10.0, 0.0).fit(
        X, labels, label_centroids(X, labels), np.random.RandomState(0), 1
    )
    expected = LogisticRegression(C=10, tol=1e-6).fit(X, Y[:, [2]].toarray().ravel())
    own = tree.scores(X)[:, [2]].toarray().ravel()
    shared = own > 0  # rows with a word of the tree; others have no score
    assert shared.mean() > 0.9
    assert np.abs(own - expected.predict_proba(X)[:, 1])[shared].mean() < 0.002


def test_keep_largest():
    S = sparse.csr_array(np.array([[3.0, 1, 2, 0], [0, 0, 5, 0], [4, 3, 2, 1]]))
    expected = [[3, 0, 2, 0], [0, 0, 5, 0], [4, 3, 0, 0]]
    np.testing.assert_array_equal(keep_largest(S, 2).toarray(), expected)
