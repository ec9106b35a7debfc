"""Calibrated label ranking against votes by hand, a plain transcription, and Mulan."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from labelkin.metrics import average_precision, hamming_loss
from labelkin.transformation import CalibratedLabelRankingClassifier as CLR
from labelkin.transformation._ranking import pairs_with_samples
from labelkin.tree import C45TreeClassifier
from support.data import make_data
from support.mulan import break_ties_as_mulan

# ------------------------------------------------------------------------------ by hand


def three_labels():
    """Label a on rows 0-2, b on rows 3-8, c on rows 6-8; the feature is the row number."""
    X = np.arange(9.0)[:, None]
    return X, np.array([[1, 0, 0]] * 3 + [[0, 1, 0]] * 3 + [[0, 1, 1]] * 3)


def test_votes_by_hand():
    """All trees split at 2 or 5; b against c has only rows 3-5, so b always wins.

    At 1: a beats b and c, b beats c; above the calibration label is a only.
    At 4: b beats a, c beats a (rows 0-2 against 6-8), b beats c; above is b.
    At 7: b and c beat a, b beats c; above are b and c.
    """
    model = CLR().fit(*three_labels())
    queries = [[1.0], [4.0], [7.0]]
    assert model.votes(queries).tolist() == [[3, 1, 0, 2], [0, 3, 1, 2], [0, 3, 2, 1]]
    assert model.predict(queries).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    # (v + 1) / (v + c + 3/2)
    expected = [
        [4 / 6.5, 2 / 4.5, 1 / 3.5],
        [1 / 3.5, 4 / 6.5, 2 / 4.5],
        [1 / 2.5, 4 / 5.5, 3 / 4.5],
    ]
    np.testing.assert_allclose(model.predict_proba(queries), expected)


def test_a_pair_that_always_favours_one_label_is_a_constant_vote():
    X, Y = three_labels()
    model = CLR().fit(X, Y)
    assert model.pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert model.estimators_[2].classes_.tolist() == [1]


def test_a_pair_without_samples_is_skipped_and_no_other():
    X, Y = three_labels()
    twice = Y[:, [0, 0, 1, 2]]  # the first two labels are always on and off together
    model = CLR().fit(X, twice)
    assert model.pairs_.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    # As above; a and its twin do not meet, both meet b and c.
    assert model.votes([[1.0], [7.0]]).tolist() == [[3, 3, 1, 0, 2], [0, 0, 4, 3, 2]]


def test_even_probabilities_go_to_the_first_label_and_over_the_calibration_label():
    X, Y = make_data(q=4)
    model = CLR(DummyClassifier(strategy="uniform")).fit(X, Y)
    assert model.votes(X[:1]).tolist() == [[4, 3, 2, 1, 0]]
    assert model.predict(X[:1]).tolist() == [[1, 1, 1, 1]]


def test_a_tie_with_the_calibration_label_is_relevant(data):
    """The first label wins the pair and falls below, the second is above: one vote each."""
    X, Y = data
    no, yes = (DummyClassifier().fit([[0]], [answer]) for answer in (0, 1))
    model = CLR().fit(X, Y[:, :2])
    model.estimators_, model.calibration_estimators_ = [yes], [no, yes]
    assert model.votes(X[:1]).tolist() == [[1, 1, 1]]
    assert model.predict(X[:1]).tolist() == [[1, 1]]
    model.estimators_, model.calibration_estimators_ = [yes], [no, no]
    assert model.votes(X[:1]).tolist() == [[1, 0, 2]]
    assert model.predict(X[:1]).tolist() == [[0, 0]]


# ---------------------------------------------------------------------- brute force


def votes_by_definition(X, Y, queries, base):
    """Train on copies of the rows, one pair after another, and count."""
    q = Y.shape[1]
    votes = np.zeros((len(queries), q + 1), dtype=int)
    for a in range(q):
        for b in range(a + 1, q + 1):
            other = Y[:, b] if b < q else 1 - Y[:, a]
            rows = Y[:, a] != other
            target = Y[rows, a]
            if not rows.any():
                continue
            if len(set(target)) == 1:
                wins = np.full(len(queries), target[0] == 1)
            else:
                wins = base().fit(X[rows], target).predict_proba(queries)[:, 1] >= 0.5
            votes[:, a] += wins
            votes[:, b] += ~wins
    return votes


def awkward_data(seed, n=70, q=6):
    """Labels always on, always off, equal, opposite, and one inside another."""
    X, Y = make_data(n, 4, q, seed)
    Y[:, 1] = Y[:, 0]
    Y[:, 2] = 1 - Y[:, 0]
    Y[:, 3] &= Y[:, 4]
    return X, np.column_stack([Y, np.ones(n, int), np.zeros(n, int), np.zeros(n, int)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "base",
    [
        lambda: C45TreeClassifier(nominal_features="binary"),
        lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
        LogisticRegression,
    ],
    ids=["c45", "tree", "logistic"],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_votes_are_their_definition(seed, base, form):
    X, Y = awkward_data(seed)
    X[:, 0] = X[:, 0] > 0
    queries = make_data(40, 4, 1, seed + 100)[0]
    model = CLR(base()).fit(form(X), Y)
    np.testing.assert_array_equal(
        model.votes(form(queries)), votes_by_definition(X, Y, queries, base)
    )


def test_pairs_with_samples_are_their_definition():
    _, Y = awkward_data(0)
    q = Y.shape[1]
    expected = [[a, b] for a in range(q) for b in range(a + 1, q) if (Y[:, a] != Y[:, b]).any()]
    assert 0 < len(expected) < q * (q - 1) / 2
    assert pairs_with_samples(Y.astype(np.uint8)).tolist() == expected


@pytest.mark.parametrize("seed", range(3))
def test_scores_rank_as_votes_and_cut_as_the_calibration_label(seed):
    X, Y = awkward_data(seed)
    model = CLR(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, Y)
    votes, proba = model.votes(X), model.predict_proba(X)
    labels, calibration = votes[:, :-1], votes[:, -1:]
    np.testing.assert_array_equal(model.predict(X), labels >= calibration)
    np.testing.assert_array_equal(proba > 0.5, labels >= calibration)
    np.testing.assert_array_equal(
        np.sign(labels[:, :, None] - labels[:, None, :]),
        np.sign(proba[:, :, None] - proba[:, None, :]),
    )
    assert (labels == calibration).any()  # or the test would not see a tie


# --------------------------------------------------------------------------- edges, options


def test_one_label_is_binary_relevance(data):
    X, Y = data
    model = CLR().fit(X, Y[:, :1])
    tree = C45TreeClassifier().fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict(X)[:, 0], tree.predict(X))
    assert len(model.pairs_) == len(model.estimators_) == 0
    assert len(model.calibration_estimators_) == 1


def test_two_opposite_labels(data):
    X, Y = data
    Y = np.column_stack([Y[:, 0], 1 - Y[:, 0]])
    labels = CLR().fit(X, Y).predict(X)
    assert (labels.sum(axis=1) == 1).all()
    assert (labels == Y).mean() > 0.9


def test_constant_labels_stay_constant():
    X, Y = awkward_data(5)
    labels = CLR().fit(X, Y).predict(X)
    assert labels[:, -3].all()
    assert not labels[:, -2:].any()


def test_a_base_without_probabilities(data):
    X, Y = data
    model = CLR(LinearSVC(random_state=0)).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.85


def test_results_do_not_depend_on_threads():
    X, Y = awkward_data(1)
    for base in (None, DecisionTreeClassifier(max_features=1)):
        first, *others = (
            CLR(base, random_state=3, n_jobs=jobs).fit(X, Y).predict_proba(X)
            for jobs in (1, 2, 3, None)
        )
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_members_have_seeds_of_their_own(data):
    X, Y = data
    model = CLR(DecisionTreeClassifier(max_features=1), random_state=0).fit(X, Y)
    seeds = {member.random_state for member in model.estimators_ + model.calibration_estimators_}
    assert len(seeds) == 6 + 4


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 10), (2, 10)])
def test_progress(verbose, lines, data, capsys):
    CLR(verbose=verbose).fit(*data)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == lines
    if lines:
        assert shown[-1].startswith("[CalibratedLabelRankingClassifier] 10 of 10 classifiers, ")


def test_progress_is_about_ten_lines(capsys):
    X, Y = make_data(q=9)
    CLR(GaussianNB(), verbose=1, n_jobs=2).fit(X, Y)  # 36 + 9
    shown = capsys.readouterr().out.splitlines()
    assert 8 <= len(shown) <= 13
    assert "45 of 45" in shown[-1]


def test_a_wrong_base_is_named(data):
    with pytest.raises(ValueError, match="'estimator' parameter"):
        CLR(estimator="tree").fit(*data)
    with pytest.raises(ValueError, match="'confidence' parameter"):
        CLR(C45TreeClassifier(confidence=2)).fit(*data)


# ----------------------------------------------------------------------------------- Mulan


@pytest.mark.parametrize(
    ("name", "folds"),
    [("medical", [0]), ("genbase", range(2)), ("scene", [1]), ("yeast", [0])],
)
def test_equals_mulan(name, folds, paper_data, mulan):
    """Mulan with its loop over pairs repaired, on the same trees: the same figures."""
    X, Y, tests = paper_data(name)
    theirs = mulan[name]["CLR_fixed"]
    for fold in folds:
        test = tests[fold]
        train = np.setdiff1d(np.arange(len(Y)), test)
        model = CLR().fit(X[train], Y[train])
        ours = hamming_loss(Y[test], model.predict(X[test]))
        assert ours == pytest.approx(theirs["HammingLoss"][fold], abs=1e-4)
        ours = average_precision(Y[test], break_ties_as_mulan(model.predict_proba(X[test])))
        assert ours == pytest.approx(theirs["AveragePrecision"][fold], abs=1e-3)
