"""IBLR-ML against its definition, scikit-learn's logistic regression and Mulan."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.metrics import evaluate
from labelkin.neighbors import IBLRClassifier
from support.data import make_data

# -------------------------------------------------------------------- against the definition


def shares(X, Y, Q, k, leave_out=False):
    """Share of the k nearest rows with each label, row by row."""
    found = []
    for i, point in enumerate(Q):
        distances = ((X - point) ** 2).sum(axis=1)
        if leave_out:
            distances[i] = np.inf
        found.append(Y[np.argsort(distances, kind="stable")[:k]].mean(axis=0))
    return np.array(found)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("add_features", [False, True])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_against_scikit_learns_regression(ridge, add_features, form):
    X, Y = make_data(120, 5, 4)
    train, test = X[:80], X[80:]
    inputs = shares(train, Y[:80], train, 7, leave_out=True)
    queries = shares(train, Y[:80], test, 7)
    if add_features:
        inputs, queries = np.hstack([inputs, train]), np.hstack([queries, test])
    scaler = StandardScaler().fit(inputs)
    expected = np.column_stack(
        [
            LogisticRegression(C=0.5 / ridge, tol=1e-9, max_iter=10_000)
            .fit(scaler.transform(inputs), Y[:80, label])
            .predict_proba(scaler.transform(queries))[:, 1]
            for label in range(4)
        ]
    )
    model = IBLRClassifier(7, add_features=add_features, ridge=ridge).fit(form(train), Y[:80])
    proba = model.predict_proba(form(test))
    np.testing.assert_allclose(proba, expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict(form(test)), proba > 0.5)
    # The coefficients are those of the inputs as they are.
    odds = queries @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(expit(odds), proba, atol=1e-8)


def test_it_uses_the_other_labels_of_the_neighbours():
    """Where the first label is on, the second is on half the time; else never."""
    rng = np.random.RandomState(0)
    X = rng.uniform(0, 1, (600, 1))
    first = (np.sin(20 * X[:, 0]) > 0).astype(int)
    Y = np.column_stack([first, first & rng.randint(0, 2, 600)])
    both = IBLRClassifier().fit(X[:400], Y[:400])
    alone = IBLRClassifier().fit(X[:400], Y[:400, 1:])
    assert both.coef_[1, 0] > 1
    proba = both.predict_proba(X[400:])[:, 1], alone.predict_proba(X[400:])[:, 0]
    error = [((p - Y[400:, 1]) ** 2).mean() for p in proba]
    assert error[0] < error[1]


def test_features_help_where_neighbours_do_not():
    """Features of noise hide the two that matter from the neighbours."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((600, 30))
    Y = (X[:, :2] > 0).astype(int)
    wrong = [
        (IBLRClassifier(add_features=a).fit(X[:400], Y[:400]).predict(X[400:]) != Y[400:]).mean()
        for a in (False, True)
    ]
    assert wrong[1] < 0.05 < wrong[0]


def test_left_out_probabilities():
    X, Y = make_data()
    model = IBLRClassifier(5)
    left_out = model.fit_loo_proba(X, Y)
    inputs = shares(X, Y, X, 5, leave_out=True)
    expected = expit(inputs @ model.coef_.T + model.intercept_)
    np.testing.assert_allclose(left_out, expected, atol=1e-10)
    assert np.abs(left_out - model.predict_proba(X)).max() > 0.01
    boosted = VPCMEClassifier(IBLRClassifier(5), n_estimators=2, random_state=0).fit(X, Y)
    assert boosted.predict(X).shape == Y.shape


# ----------------------------------------------------------------------------- awkward data


@pytest.mark.parametrize("add_features", [False, True])
def test_labels_always_on_and_always_off(add_features):
    X, Y = make_data(48)
    Y = np.column_stack([Y, np.ones(48), np.zeros(48)]).astype(int)
    proba = IBLRClassifier(add_features=add_features).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(proba[:, -2], 49 / 50)
    np.testing.assert_allclose(proba[:, -1], 1 / 50)


@pytest.mark.parametrize("q", [1, 2])
def test_few_labels(q):
    X, Y = make_data(60, 3, q)
    model = IBLRClassifier().fit(X, Y)
    assert model.coef_.shape == (q, q)
    assert model.predict_proba(X).shape == (60, q)


def test_label_sets_never_seen_can_be_predicted():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (300, 2))
    Y = (X > 0).astype(int)
    seen = ~Y.all(axis=1)
    model = IBLRClassifier(add_features=True, ridge=0.1).fit(X[seen], Y[seen])
    assert model.predict([[0.9, 0.9]]).shape == (1, 2)
    assert model.predict([[0.9, -0.9]]).tolist() == [[1, 0]]


def test_one_sample_and_identical_samples():
    for add_features in (False, True):
        model = IBLRClassifier(add_features=add_features)
        assert model.fit([[1.0, 2.0]], [[1, 0]]).predict([[5.0, 5.0]]).tolist() == [[1, 0]]
        same = model.fit(np.ones((20, 3)), np.arange(40).reshape(20, 2) % 3 == 0)
        assert np.isfinite(same.predict_proba(np.zeros((2, 3)))).all()


def test_a_constant_feature_says_nothing():
    X, Y = make_data(80)
    plain = IBLRClassifier(add_features=True, ridge=0.01).fit(X, Y).predict_proba(X)
    padded = np.hstack([X, np.full((80, 1), 3.0)])
    for form in (np.asarray, sparse.csr_matrix):
        model = IBLRClassifier(add_features=True, ridge=0.01).fit(form(padded), Y)
        np.testing.assert_allclose(model.predict_proba(form(padded)), plain, atol=1e-4)


def test_threads_change_nothing():
    X, Y = make_data(300, 8, 12)
    one, three = (
        IBLRClassifier(add_features=True, n_jobs=n_jobs).fit(X, Y).predict_proba(X)
        for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_progress(capsys):
    X, Y = make_data()
    IBLRClassifier(verbose=2).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("[IBLRClassifier] 4 of 4 labels, ")


def test_wide_sparse_features_stay_sparse():
    """100,000 features, three in a row: dense they would take 240 MB, a Hessian 80 GB."""
    rng = np.random.RandomState(0)
    cells = np.repeat(np.arange(300), 3), rng.randint(100_000, size=900)
    X = sparse.csr_matrix((np.ones(900), cells), shape=(300, 100_000))
    Y = rng.randint(0, 2, (300, 3))
    model = IBLRClassifier(add_features=True, ridge=0.01).fit(X, Y)
    assert model.predict(X).shape == Y.shape


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"ridge": 0}, "ridge"),
        ({"tol": 0}, "tol"),
        ({"add_features": "yes"}, "add_features"),
    ],
)
def test_bad_parameters(parameters, name):
    X, Y = make_data()
    with pytest.raises(ValueError, match=f"'{name}' parameter of IBLRClassifier"):
        IBLRClassifier(**parameters).fit(X, Y)


def test_same_neighbours_as_mlknn():
    X, Y = make_data()
    counts = [m.fit(X, Y)._counts(X[:9]) for m in (IBLRClassifier(4), MLkNNClassifier(4))]
    np.testing.assert_array_equal(*counts)
    assert clone(IBLRClassifier(4)).n_neighbors == 4


# --------------------------------------------------------------- against Mulan, on its folds

_BINARY = ["medical", "genbase", "enron"]  # 0 and 1: in range already
_NAMES = {
    "hamming_loss": "HammingLoss",
    "ranking_loss": "RankingLoss",
    "one_error": "OneError",
    "coverage": "Coverage",
    "average_precision": "AveragePrecision",
}


def differences(paper_data, mulan, name, learner, n_folds=5):
    """Ours less Mulan's: per cent, positions for coverage; metric -> folds."""
    X, Y, folds = paper_data(name)
    figures = []
    for test in folds[:n_folds]:
        train = np.setdiff1d(np.arange(len(Y)), test)
        rows, queries = X[train], X[test]
        if learner == "IBLR_ML" and name not in _BINARY:
            if sparse.issparse(X):
                rows, queries = rows.toarray(), queries.toarray()
            scaler = MinMaxScaler().fit(rows)
            rows, queries = scaler.transform(rows), scaler.transform(queries)
        proba = IBLRClassifier().fit(rows, Y[train]).predict_proba(queries)
        figures.append(evaluate(Y[test], proba, proba > 0.5))
    theirs = mulan[name][learner]
    return {
        metric: (np.array([f[metric] for f in figures]) - theirs[mulans][:n_folds])
        * (1 if metric == "coverage" else 100)
        for metric, mulans in _NAMES.items()
    }


@pytest.mark.parametrize(
    ("name", "learner"), [("yeast", "IBLR_ML"), ("scene", "IBLR_ML"), ("scene", "IBLR_ML_raw")]
)
def test_equal_to_mulan_on_numbers(paper_data, mulan, name, learner):
    for metric, difference in differences(paper_data, mulan, name, learner, 2).items():
        np.testing.assert_allclose(difference, 0, atol=0.05, err_msg=metric)


@pytest.mark.parametrize("name", ["arts", "business"])
def test_close_to_mulan_on_documents(paper_data, mulan, name):
    """One-error is left out: documents without common words tie, and one label decides."""
    found = differences(paper_data, mulan, name, "IBLR_ML")
    del found["one_error"]
    for metric, difference in found.items():
        assert abs(difference.mean()) <= (0.05 if metric == "coverage" else 0.15), metric


@pytest.mark.parametrize("name", _BINARY)
def test_close_to_mulan_where_neighbours_tie(paper_data, mulan, name):
    for metric, difference in differences(paper_data, mulan, name, "IBLR_ML").items():
        assert abs(difference.mean()) <= 1, metric
