"""Kernel ridge as the learners of an ensemble use it: other distances, landmarks."""

import numpy as np
import pytest
from scipy import sparse

from labelkin.kernel._regression import KernelRidge, nearest_means
from labelkin.rows import Labels, as_rows
from support.data import make_data


@pytest.mark.parametrize("kernel", ["manhattan", "rbf"])
def test_kernel_scores_are_those_of_refits(kernel):
    X, Y = make_data(40, 3, 2)
    learner = KernelRidge(kernel, refine_rows=0)
    loo = learner.fit_scores(as_rows(X), Labels(Y), 0)
    D = np.abs(X[:, None] - X) ** (1 if kernel == "manhattan" else 2)
    K = np.exp(-D.sum(axis=2) / (2 * learner.width_**2))
    np.testing.assert_allclose(learner.scores(X), K @ learner.coef_ + learner.intercept_)
    # A ridge with an intercept, without row 7.
    rest = np.delete(np.arange(40), 7)
    for label in range(2):
        A = np.ones((40, 40))
        A[:-1, :-1] = K[np.ix_(rest, rest)] + learner.ridge_[label] * np.eye(39)
        A[-1, -1] = 0
        solution = np.linalg.solve(A, np.append(Y[rest, label], 0))
        assert K[7, rest] @ solution[:-1] + solution[-1] == pytest.approx(loo[7, label])


def test_landmarks_are_means_of_the_rows_nearest_to_a_drawn_one():
    X = np.random.RandomState(0).standard_normal((40, 3))
    drawn = X[3:40:3]
    nearest = ((X[:, None] - drawn) ** 2).sum(axis=2).argmin(axis=1)
    expected = [X[nearest == i].mean(axis=0) for i in range(len(drawn))]
    np.testing.assert_allclose(nearest_means(X, drawn), expected, atol=1e-12)
    S = nearest_means(sparse.csr_matrix(X), sparse.csr_matrix(drawn))
    assert sparse.issparse(S)
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-9)


def test_equal_landmarks_are_merged():
    X = np.repeat(np.random.RandomState(0).standard_normal((6, 3)), 5, axis=0)
    means = nearest_means(X, X[1:])
    np.testing.assert_allclose(np.sort(means, axis=0), np.sort(X[::5], axis=0), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "manhattan"])
def test_almost_all_rows_as_landmarks_are_almost_exact(kernel):
    X, Y = make_data(120, 4, 3)
    ridges = np.logspace(-3, 1, 5)  # so far apart that both choose the same ones
    exact, near = (
        KernelRidge(kernel, ridges=ridges, n_landmarks=m, landmark_means=True, refine_rows=0)
        for m in (None, 119)
    )
    scores = exact.fit_scores(as_rows(X), Labels(Y), 0)
    np.testing.assert_allclose(near.fit_scores(as_rows(X), Labels(Y), 0), scores, atol=0.1)
    assert len(near.coef_) == 119
    assert near.width_ == pytest.approx(exact.width_)
    np.testing.assert_allclose(near.scores(X + 0.1), exact.scores(X + 0.1), atol=0.1)


def test_means_have_no_labels_by_which_to_refine_the_width():
    X, Y = make_data(120, 4, 3)
    widths = []
    for rows in (0, 100):
        learner = KernelRidge("rbf", n_landmarks=30, landmark_means=True, refine_rows=rows)
        learner.fit_scores(as_rows(X), Labels(Y), 0)
        widths.append(learner.width_)
    assert widths[0] == widths[1]


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_leave_fold_out_scores_are_those_of_refits(n_landmarks):
    X, Y = make_data(50, 3, 4)
    Y[:, 3] = np.arange(50) % 2
    fold_of = np.random.RandomState(0).permutation(50) % 6
    learner = KernelRidge("rbf", shrinkage=0, n_landmarks=n_landmarks, refine_rows=0)
    scores = learner.fit_scores(as_rows(X), Labels(Y), 0, fold_of)
    assert len(np.unique(learner.ridge_)) > 1

    def kernel(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / (2 * learner.width_**2))

    marks = X if n_landmarks is None else X[learner.landmarks_]
    # Features of which the inner products are the kernel, exact or approximated.
    features = kernel(X, marks) @ np.linalg.inv(np.linalg.cholesky(kernel(marks, marks))).T
    K = features @ features.T
    for fold in range(6):
        rest, out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        for label in range(4):
            A = np.ones((len(rest) + 1, len(rest) + 1))
            A[:-1, :-1] = K[np.ix_(rest, rest)] + learner.ridge_[label] * np.eye(len(rest))
            A[-1, -1] = 0
            solution = np.linalg.solve(A, np.append(Y[rest, label], 0))
            expected = K[np.ix_(out, rest)] @ solution[:-1] + solution[-1]
            np.testing.assert_allclose(scores[out, label], expected, atol=1e-6)


def test_folds_of_one_row_are_leave_one_out():
    X, Y = make_data(30, 3, 2)
    alone, folds = (
        KernelRidge().fit_scores(as_rows(X), Labels(Y), 0, f) for f in (None, np.arange(30))
    )
    np.testing.assert_allclose(folds, alone, atol=1e-7)


def test_leave_fold_out_scores_do_not_depend_on_the_labels_of_the_fold():
    X, Y = make_data(60, 3, 4)
    fold_of = np.arange(60) % 5
    changed = Y.copy()
    changed[fold_of == 2] = 1 - changed[fold_of == 2]
    # With the same width and ridge.
    learners = [KernelRidge(width=1.0, ridges=np.array([0.01])) for _ in range(2)]
    before, after = (
        m.fit_scores(as_rows(X), Labels(y), 0, fold_of)
        for m, y in zip(learners, (Y, changed), strict=True)
    )
    np.testing.assert_allclose(before[fold_of == 2], after[fold_of == 2], atol=1e-7)
    assert np.abs(before - after)[fold_of != 2].min() > 0


def test_a_label_has_a_ridge_of_its_own_where_that_is_clearly_better():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 3))
    signal = (X[:, :1] > 0).astype(np.uint8)
    noise = (rng.uniform(size=(150, 8)) < 0.1).astype(np.uint8)
    Y = np.hstack([signal, noise])
    own, clear = (KernelRidge(width=1.5, shrinkage=0, clear_ridges=c) for c in (False, True))
    for learner in (own, clear):
        learner.fit_scores(as_rows(X), Labels(Y), 0)
    shared = np.median(clear.ridge_[1:])
    assert np.count_nonzero(own.ridge_[1:] != shared) > 3
    assert np.count_nonzero(clear.ridge_[1:] != shared) < 2
    assert clear.ridge_[0] == own.ridge_[0] < shared
