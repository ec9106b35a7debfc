"""Pairs of samples whose labels are known in part."""

import numpy as np
import pytest

from labelkin import PairwiseConstraintProjection
from labelkin.constraints import ConstraintSampler, _sampler, draw_constraints, label_similarity

NAN = np.nan
Y = np.array([[1, 0, NAN], [1, NAN, 1], [NAN, 0, 0], [NAN, NAN, 1], [NAN] * 3, [1, 0, NAN]])


def similarity(a, b):
    """Eq. 1-2 on the labels known in both, written out; None without any."""
    both = [(p, r) for p, r in zip(a, b, strict=True) if p == p and r == r]
    if not both:
        return None
    size = sum(p + r for p, r in both)
    return 1.0 if size == 0 else 2 * sum(p * r for p, r in both) / size


def test_similarity_by_hand():
    left, right = [0, 0, 1, 0, 0], [1, 2, 3, 4, 5]
    # {a} and {a} of label a; nothing and nothing of b; nothing and c of c; no common label, twice
    # (row 4 has none); equal rows.
    np.testing.assert_array_equal(label_similarity(Y[left], Y[right]), [1, 1, 1, NAN, 1])
    assert label_similarity([[1, 0, 1]], [[1, 1, NAN]]).tolist() == [2 / 3]


def random_labels(n=40, q=4, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 0.4).astype(float)
    y[rng.random((n, q)) < 0.5] = NAN
    y[0] = NAN
    return y


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.6, 1.0])
@pytest.mark.parametrize("table_sets", [3_000, 2])  # 2: drawn by rejection and search
def test_pairs_are_those_of_common_known_labels(threshold, table_sets, monkeypatch):
    monkeypatch.setattr(_sampler, "_TABLE_SETS", table_sets)
    y = random_labels()
    must_link, cannot_link = draw_constraints(y, threshold, 2_000, 2_000, random_state=0)
    expected = {True: set(), False: set()}
    for i in range(len(y)):
        for j in range(len(y)):
            value = similarity(y[i], y[j])
            if i != j and value is not None:
                expected[value >= threshold].add((i, j))
    for pairs, kind in ((must_link, True), (cannot_link, False)):
        drawn = set(map(tuple, pairs.tolist()))
        assert drawn <= expected[kind]
        assert len(drawn) >= 0.6 * len(expected[kind])  # 2,000 of about 600 to 1,300


def test_pairs_are_drawn_by_weight():
    y = np.array([[1, NAN], [1, 0], [NAN, 0], [NAN, NAN]])
    weights = np.array([1.0, 2.0, 4.0, 100.0])
    must_link, cannot_link = draw_constraints(y, 0.6, 20_000, 5, weights, random_state=0)
    assert len(cannot_link) == 0
    # Pairs (0, 1) of weight 2 and (1, 2) of weight 8, in either order; (0, 2) have no common label.
    low = np.sort(must_link, axis=1)
    assert set(map(tuple, low.tolist())) == {(0, 1), (1, 2)}
    assert (low[:, 0] == 0).mean() == pytest.approx(0.2, abs=0.02)


def test_all_known_draws_the_same_pairs():
    y = (np.random.default_rng(1).random((30, 4)) < 0.4).astype(int)
    mask = np.ones(y.shape, dtype=bool)
    for threshold in (0.5, 1.0):
        same = ConstraintSampler(y).draw(threshold, 50, 50, None, 0)
        masked = ConstraintSampler(y, mask).draw(threshold, 50, 50, None, 0)
        similar = [label_similarity(y[p[:, 0]], y[p[:, 1]]) for p in masked]
        assert (similar[0] >= threshold).all()
        assert (similar[1] < threshold).all()
        assert [len(p) for p in same] == [len(p) for p in masked]


def test_nothing_in_common():
    y = np.array([[1, NAN], [NAN, 1]])
    must_link, cannot_link = draw_constraints(y, random_state=0)
    assert len(must_link) == len(cannot_link) == 0


def test_projection_takes_unknown_labels():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), random_labels()
    model = PairwiseConstraintProjection(random_state=0).fit(X, y)
    for pairs, kind in ((model.must_link_, True), (model.cannot_link_, False)):
        assert all((similarity(y[i], y[j]) >= 0.6) == kind for i, j in pairs)
