"""The splitters: exact sizes, even labels, scikit-learn's interface."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from labelkin.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
    train_test_split,
)
from labelkin.model_selection._stratify import (
    _assign_all,
    _assign_rows,
    _Parts,
    _repair_labels,
    _repair_sizes,
    _similarity_order,
)


def imbalanced(n=1500, q=20, seed=0):
    """Correlated labels from rare to common, many to a row: hard to spread evenly."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 3)) @ rng.normal(size=(3, q)) + rng.normal(size=(n, q))
    limits = np.quantile(hidden, 1 - np.geomspace(0.01, 0.75, q), axis=0).diagonal()
    return (hidden > limits).astype(int)


def folds_of(splitter, Y):
    return [test for _, test in splitter.split(np.zeros((np.shape(Y)[0], 1)), Y)]


def worst_miss(Y, tests):
    """Largest number of rows by which a label in a fold misses its share."""
    share = Y.sum(axis=0) / len(Y)
    return max(np.abs(Y[test].sum(axis=0) - share * len(test)).max() for test in tests)


label_matrices = st.tuples(st.integers(2, 40), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int8, shape, elements=st.integers(0, 1))
)

# ------------------------------------------------------------------- the algorithm


@settings(max_examples=200, deadline=None)
@given(
    wants=st.lists(st.tuples(st.integers(-4, 9), st.integers(-4, 9)), min_size=1, max_size=6),
    fraction=st.sampled_from([0.0, 0.2, 0.5]),
    n_rows=st.integers(1, 30),
)
def test_dealing_at_once_is_dealing_row_by_row(wants, fraction, n_rows):
    """The published loop: most wanted, then most room, then the first part."""
    wanted, room = np.array(wants, dtype=float).T + fraction
    expected, w, r = [], wanted.copy(), room.copy()
    for _ in range(n_rows):
        best = max(range(len(w)), key=lambda part: (w[part], r[part], -part))
        expected.append(best)
        w[best] -= 1
        r[best] -= 1
    assert _assign_rows(wanted, room, n_rows, None).tolist() == expected


def test_ties_are_broken_by_chance_and_fairly():
    rng = np.random.RandomState(0)
    first = [_assign_rows(np.full(4, 2.5), np.full(4, 9.0), 1, rng)[0] for _ in range(2000)]
    assert np.bincount(first, minlength=4).min() > 400


def test_label_sets_are_ordered_like_words_with_the_rare_labels_first():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (200, 12)) * (rng.random(12) < 0.9)
    frequency = Y.sum(axis=0)
    by_rarity = Y[:, frequency.argsort(kind="stable")]
    expected = sorted(range(200), key=lambda row: by_rarity[row].tolist())
    assert _similarity_order(sparse.csr_array(Y), frequency).tolist() == expected
    # More labels than a float has powers of two: each alone still has its own place.
    n = 3000
    order = _similarity_order(sparse.csr_array(np.eye(n)), np.arange(n))
    assert order.tolist() == list(range(n))[::-1]


def test_the_greedy_pass_spreads_the_rarest_label_perfectly():
    Y = sparse.csr_array(imbalanced(), dtype=float)
    state = _Parts(Y, np.full(5, 1 / 5))
    _assign_all(state, np.random.RandomState(0))
    assert np.ptp(state.wanted[:, 0]) <= 1  # of these labels the first is the rarest


@pytest.mark.parametrize("seed", range(5))
def test_label_sets_are_spread_too(seed):
    """Both labels, either or none: rows alike are dealt to different folds."""
    Y = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [50, 50, 70, 90], axis=0)
    for test in folds_of(IterativeStratifiedKFold(5, random_state=seed), Y):
        sets = np.bincount(Y[test] @ [2, 1], minlength=4)
        assert np.abs(sets - [18, 14, 10, 10]).max() <= 1


def test_rows_without_labels_are_moved_first():
    """Sizes are repaired at the least cost: here at none."""
    Y = sparse.csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]))
    state = _Parts(Y, np.full(2, 1 / 2))
    state.put(np.arange(6), np.array([0, 1, 0, 1, 0, 0]))
    _repair_sizes(state)
    assert not state.room.any()
    assert not state.wanted.any()


def test_equal_rows_may_share_a_fold():
    together = 0
    for seed in range(300):
        first = folds_of(IterativeStratifiedKFold(2, random_state=seed), np.ones((4, 2)))[0]
        together += first.tolist() in ([0, 1], [2, 3])
    assert 60 < together < 140  # one of three ways to pair four rows


def test_repairs_make_sizes_exact_and_labels_more_even():
    Y = sparse.csr_array(imbalanced(), dtype=float)
    state = _Parts(Y, np.full(7, 1 / 7))
    _assign_all(state, np.random.RandomState(0))

    def consistent():
        for part in range(7):
            rows = state.part == part
            assert state.wanted[part] == pytest.approx(Y.sum(axis=0) / 7 - Y[rows].sum(axis=0))
            assert state.room[part] == pytest.approx(Y.shape[0] / 7 - rows.sum())

    assert (state.part >= 0).all()
    consistent()
    # Spoil it, so that both repairs have work to do.
    for row in np.flatnonzero(state.part == 0)[:50]:
        state.move(int(row), 0, 1)
    consistent()
    _repair_sizes(state)
    consistent()
    assert np.abs(state.room).max() < 1
    before = (state.wanted**2).sum()
    _repair_labels(state)
    consistent()
    assert np.abs(state.room).max() < 1
    assert (state.wanted**2).sum() < before
    assert np.abs(state.wanted).max() < 2


@settings(max_examples=200, deadline=None)
@given(Y=label_matrices, data=st.data(), shuffle=st.booleans())
def test_folds_partition_the_rows_into_equal_sizes(Y, data, shuffle):
    n_splits = data.draw(st.integers(2, len(Y)))
    seed = data.draw(st.integers(0, 3)) if shuffle else None
    tests = folds_of(IterativeStratifiedKFold(n_splits, shuffle=shuffle, random_state=seed), Y)
    assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(Y)))
    sizes = [len(test) for test in tests]
    assert len(tests) == n_splits
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=60, deadline=None)
@given(y=arrays(np.int8, st.integers(6, 60), elements=st.integers(0, 1)), k=st.integers(2, 6))
def test_one_label_is_spread_to_within_one_row(y, k):
    """In a column, and in one dimension, where both classes count."""
    for form in (y.reshape(-1, 1), y):
        counts = [y[test].sum() for test in folds_of(IterativeStratifiedKFold(k), form)]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("n_splits", [2, 5, 10])
def test_labels_are_far_more_even_than_by_plain_folds(n_splits, shuffle):
    Y = imbalanced()
    seed = 0 if shuffle else None
    even = folds_of(IterativeStratifiedKFold(n_splits, shuffle=shuffle, random_state=seed), Y)
    plain = folds_of(KFold(n_splits, shuffle=True, random_state=0), Y)
    assert np.ptp([len(test) for test in even]) <= 1
    assert worst_miss(Y, even) < 1.8
    assert worst_miss(Y, even) < worst_miss(Y, plain) / 4


def test_sorted_data_without_shuffling_is_still_even():
    Y = np.repeat(np.eye(4, dtype=int), [10, 20, 300, 40], axis=0)
    assert worst_miss(Y, folds_of(IterativeStratifiedKFold(5, shuffle=False), Y)) < 1


def test_more_labels_than_a_float_has_powers_of_two():
    rng = np.random.default_rng(0)
    Y = sparse.csr_array(rng.random((600, 1500)) < 0.02)
    dense = Y.toarray().astype(int)
    even = folds_of(IterativeStratifiedKFold(3, random_state=0), Y)
    assert worst_miss(dense, even) < worst_miss(dense, folds_of(KFold(3), dense))


def test_labels_rarer_than_the_folds_and_rows_without_labels():
    Y = np.zeros((50, 3), dtype=int)
    Y[:3, 0] = 1
    Y[:1, 1] = 1
    tests = folds_of(IterativeStratifiedKFold(5, random_state=0), Y)
    assert sorted(Y[test, 0].sum() for test in tests) == [0, 0, 1, 1, 1]
    assert [len(test) for test in tests] == [10] * 5


# -------------------------------------------------------------------- random state


def test_random_state_decides_the_split():
    Y = imbalanced(200)
    kinds = [
        IterativeStratifiedKFold,
        RepeatedIterativeStratifiedKFold,
        IterativeStratifiedShuffleSplit,
    ]
    for kind in kinds:
        first, again, other = (
            np.concatenate(folds_of(kind(n_splits=3, random_state=seed), Y)).tolist()
            for seed in (0, 0, 1)
        )
        assert first == again
        assert first != other
        runs = [np.concatenate(folds_of(kind(n_splits=3), Y)).tolist() for _ in range(2)]
        assert runs[0] != runs[1]


def test_without_shuffling_the_data_decide():
    Y = imbalanced(200)
    splitter = IterativeStratifiedKFold(shuffle=False)
    first, again = (np.concatenate(folds_of(splitter, Y)).tolist() for _ in range(2))
    assert first == again
    with pytest.raises(ValueError, match="random_state"):
        IterativeStratifiedKFold(shuffle=False, random_state=0)


def test_chance_gives_every_row_to_every_fold():
    Y = imbalanced(40, 3)
    seen = np.zeros((40, 4), dtype=int)
    for seed in range(150):
        for fold, test in enumerate(folds_of(IterativeStratifiedKFold(4, random_state=seed), Y)):
            seen[test, fold] += 1
    assert seen.min() > 10


# ------------------------------------------------------------------- forms of input


def test_all_forms_of_labels_give_the_same_folds():
    Y = imbalanced(120, 5)
    stored_zeros = sparse.csr_array(np.ones_like(Y))
    stored_zeros.data = Y.ravel().copy()
    forms = [
        Y,
        Y.tolist(),
        Y.astype(bool),
        Y.astype(float),
        pd.DataFrame(Y, columns=list("abcde")),
        sparse.csc_matrix(Y),
        sparse.coo_array(Y),
        stored_zeros,
    ]
    kept = Y.copy()
    for shuffle, seed in ((True, 0), (False, None)):
        splitter = IterativeStratifiedKFold(4, shuffle=shuffle, random_state=seed)
        expected = np.concatenate(folds_of(splitter, Y))
        for form in forms:
            assert np.array_equal(np.concatenate(folds_of(splitter, form)), expected)
    assert np.array_equal(Y, kept)
    assert stored_zeros.nnz == Y.size


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_one_dimension_is_a_class_a_row(kind):
    y = np.repeat(["a", "b", "c"], [50, 13, 7])
    for test in folds_of(IterativeStratifiedKFold(3, random_state=0), kind(y)):
        names, counts = np.unique(y[test], return_counts=True)
        assert names.tolist() == ["a", "b", "c"]
        assert (np.abs(counts - np.array([50, 13, 7]) / 3) < 1).all()


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "y is needed"),
        ([[0, 2], [1, 0], [0, 1]], "y must hold only 0 and 1, but holds 2"),
        ([0.1, 0.2, 0.35], "its type is continuous"),
        ([[0], [1, 1], [0]], "y must be a matrix"),
        (np.zeros((3, 2, 2)), "not 3 dimensions"),
        ([], "y is empty"),
        (np.zeros((4, 2)), "inconsistent numbers of samples"),
    ],
)
def test_bad_labels_get_one_sentence(y, sentence):
    for splitter in (IterativeStratifiedKFold(2), IterativeStratifiedShuffleSplit(2)):
        with pytest.raises(ValueError, match=sentence):
            list(splitter.split(np.zeros((3, 1)), y))


def test_too_many_folds_are_refused():
    Y = np.eye(4, dtype=int)
    with pytest.raises(ValueError, match="n_splits=5 greater than the number of samples"):
        next(IterativeStratifiedKFold(5).split(Y, Y))
    with pytest.raises(ValueError, match="n_splits"):
        IterativeStratifiedKFold(1)


# --------------------------------------------------------- scikit-learn's interface


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_in_cross_validation_and_searches(form):
    Y = imbalanced(150, 4)
    X = Y + np.random.default_rng(0).normal(size=Y.shape)
    cv = IterativeStratifiedKFold(3, random_state=0)
    model = KNeighborsClassifier(3)
    if form is not sparse.csr_array:  # its score refuses sparse labels
        result = cross_validate(model, X, form(Y), cv=cv, error_score="raise")
        assert len(result["test_score"]) == 3
        search = GridSearchCV(model, {"n_neighbors": [1, 3]}, cv=cv).fit(X, form(Y))
        assert search.n_splits_ == 3
    assert cross_val_predict(model, X, form(Y), cv=cv).shape == Y.shape


def test_interface():
    folds = IterativeStratifiedKFold(3, random_state=7)
    assert folds.get_n_splits() == 3
    assert repr(folds) == "IterativeStratifiedKFold(n_splits=3, random_state=7, shuffle=True)"
    assert clone(folds, safe=False).n_splits == 3
    repeated = RepeatedIterativeStratifiedKFold(n_splits=3, n_repeats=2, random_state=7)
    assert repeated.get_n_splits() == 6
    assert repr(repeated) == (
        "RepeatedIterativeStratifiedKFold(n_repeats=2, n_splits=3, random_state=7)"
    )
    shuffled = IterativeStratifiedShuffleSplit(4, test_size=0.3, random_state=7)
    assert shuffled.get_n_splits() == 4
    assert "IterativeStratifiedShuffleSplit(n_splits=4, random_state=7" in repr(shuffled)


def test_repetitions_are_complete_and_differ():
    Y = imbalanced(90)
    tests = folds_of(RepeatedIterativeStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), Y)
    for repetition in (tests[:3], tests[3:]):
        assert np.array_equal(np.sort(np.concatenate(repetition)), np.arange(90))
    assert {tuple(test) for test in tests[:3]} != {tuple(test) for test in tests[3:]}


# ------------------------------------------------------- shuffled splits, train and test


@pytest.mark.parametrize(
    ("test_size", "train_size", "n_train", "n_test"),
    [
        (None, None, 1350, 150),
        (0.3, None, 1050, 450),
        (None, 0.4, 600, 900),
        (101, 203, 203, 101),
        (0.001, 0.5, 750, 2),
    ],
)
def test_shuffled_splits_have_exact_sizes_and_even_labels(test_size, train_size, n_train, n_test):
    Y = imbalanced()
    splitter = IterativeStratifiedShuffleSplit(
        3, test_size=test_size, train_size=train_size, random_state=0
    )
    for train, test in splitter.split(Y, Y):
        assert (len(train), len(test)) == (n_train, n_test)
        assert len(np.union1d(train, test)) == n_train + n_test
        assert worst_miss(Y, [train, test]) < 3
        assert not np.array_equal(train, np.sort(train))


def test_train_test_split_keeps_rows_together_and_types():
    Y = imbalanced(200, 4)
    X = np.arange(200)
    frame = pd.DataFrame({"row": X}, index=[f"r{i}" for i in X])
    arrays_ = [X.tolist(), frame, sparse.csr_array(X.reshape(-1, 1)), Y]
    parts = train_test_split(*arrays_, random_state=0)
    assert [type(part) for part in parts[::2]] == [type(array) for array in arrays_]
    for side, n in ((0, 150), (1, 50)):
        rows, named, column, labels = parts[side::2]
        assert len(rows) == n
        assert named.index.tolist() == [f"r{i}" for i in rows]
        assert column.toarray().ravel().tolist() == rows
        assert np.array_equal(labels, Y[rows])
    assert sorted(parts[0] + parts[1]) == X.tolist()
    assert np.abs(parts[-1].sum(axis=0) - Y.sum(axis=0) / 4).max() < 1.5


def test_train_test_split_by_other_labels():
    Y = imbalanced(200, 4)
    X = np.random.default_rng(0).normal(size=(200, 2))
    X_train, X_test = train_test_split(X, stratify=Y, test_size=40, random_state=0)
    assert (len(X_train), len(X_test)) == (160, 40)
    rows = [np.flatnonzero((x == X).all(axis=1))[0] for x in X_test]
    assert np.abs(Y[rows].sum(axis=0) - Y.sum(axis=0) / 5).max() < 1.5
    with pytest.raises(ValueError, match=r"the last array \(the labels, unless stratify="):
        train_test_split(Y, X)
    with pytest.raises(ValueError, match="needs at least one array"):
        train_test_split()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        train_test_split(X[:-1], Y)
    with pytest.raises(ValueError, match="test_size"):
        train_test_split(X, Y, test_size=1.5)


def test_an_array_that_holds_no_labels_is_refused():
    Y = np.eye(4, dtype=int).repeat(5, axis=0)
    with pytest.raises(ValueError, match=r"last array .* each row has a value of its own"):
        train_test_split(Y, np.arange(20))
    parts = train_test_split(Y, np.arange(20), stratify=Y, random_state=0)
    assert parts[1].sum(axis=0).min() > 0
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        train_test_split(Y, [["a"], ["b", "c"]] * 10)
