import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from labelkin.constraints import ConstraintSampler, _sampler, draw_constraints, label_similarity
from support.resources import peak_memory

label_matrices = hnp.arrays(
    np.uint8,
    st.tuples(st.integers(2, 12), st.integers(1, 5)),
    elements=st.integers(0, 1),
)


def similarity_by_definition(a, b):
    A, B = set(np.flatnonzero(a)), set(np.flatnonzero(b))
    if not A and not B:
        return 1.0
    return len(A & B) / ((len(A) + len(B)) / 2)


def all_pairs(Y, threshold):
    """Every ordered pair of distinct rows, by kind."""
    n = len(Y)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    must = {p for p in pairs if similarity_by_definition(Y[p[0]], Y[p[1]]) >= threshold}
    return must, set(pairs) - must


@pytest.fixture
def many_sets(monkeypatch):
    """Draw as from more label sets than a table can have."""
    monkeypatch.setattr(_sampler, "_TABLE_SETS", 0)
    monkeypatch.setattr(_sampler, "_BLOCK", 32)
    monkeypatch.setattr(_sampler, "_MOST_COMPARED", 1e6)


@pytest.fixture
def no_rejection(many_sets, monkeypatch):
    """Draw as if both kinds were too rare for a draw by rejection."""
    monkeypatch.setattr(_sampler, "_REJECTION_ROUNDS", 0)


def test_similarity_by_hand():
    left = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    right = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert label_similarity(left, right).tolist() == [0.5, 0.0, 1.0, 0.0, 1.0]


def test_similarity_at_the_threshold_is_a_must_link():
    # 3 shared labels, sizes 5 and 5: exactly 0.6.
    Y = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1, 1]])
    must, cannot = draw_constraints(Y, threshold=0.6, random_state=0)
    assert len(must) == 2
    assert len(cannot) == 0


@given(label_matrices)
def test_similarity_sparse_and_dense_agree_with_the_definition(Y):
    left, right = Y, Y[::-1]
    expected = [similarity_by_definition(a, b) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(label_similarity(left, right), expected, rtol=1e-15)
    similar = label_similarity(sparse.csr_matrix(left), sparse.csc_matrix(right))
    np.testing.assert_allclose(similar, expected, rtol=1e-15)


KINDS = st.sampled_from([0, 0.3, 0.5, 0.6, 2 / 3, 1])


@settings(deadline=None)
@given(label_matrices, KINDS, st.integers(0, 99))
def test_draw_gives_pairs_of_the_right_kind(Y, threshold, seed):
    must, cannot = draw_constraints(Y, threshold, 7, 9, random_state=seed)
    every_must, every_cannot = all_pairs(Y, threshold)
    assert set(map(tuple, must)) <= every_must
    assert set(map(tuple, cannot)) <= every_cannot
    # A kind comes back empty only when it has no pair at all.
    assert len(must) == (7 if every_must else 0)
    assert len(cannot) == (9 if every_cannot else 0)


@pytest.mark.parametrize("threshold", [0.3, 0.6, 1])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("paths", ["many_sets", "no_rejection"])
def test_draw_from_many_label_sets_gives_pairs_of_the_right_kind(threshold, seed, paths, request):
    request.getfixturevalue(paths)
    Y = np.random.RandomState(seed).randint(0, 2, (2 + 2 * seed, 1 + seed))
    test_draw_gives_pairs_of_the_right_kind.hypothesis.inner_test(Y, threshold, seed)


def check_frequencies(Y, weights, threshold, draws=40_000, drawn=None):
    """Chi-square of the drawn pairs against w_i · w_j within each kind."""
    if drawn is None:
        drawn = draw_constraints(Y, threshold, draws, draws, weights, 3)
    for pairs, kind in zip(drawn, all_pairs(Y, threshold), strict=True):
        kind = sorted(kind)
        mass = np.array([weights[i] * weights[j] for i, j in kind])
        seen = dict.fromkeys(kind, 0)
        for i, j in map(tuple, pairs):
            seen[i, j] += 1
        test = stats.chisquare(list(seen.values()), draws * mass / mass.sum())
        assert test.pvalue > 1e-3


Y_SMALL = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]])
W_SMALL = np.array([0.05, 0.3, 0.1, 0.2, 0.05, 0.3])


def test_draw_follows_the_weights():
    check_frequencies(Y_SMALL, W_SMALL, 0.6)


def test_draw_follows_the_weights_by_rejection(many_sets):
    check_frequencies(Y_SMALL, W_SMALL, 0.6)


@pytest.mark.parametrize("threshold", [0.5, 0.6, 1.0])
def test_draw_by_search_follows_the_weights(threshold, no_rejection):
    """Pairs of a block share samples, so shares are compared, not tested as independent."""
    with_empty = np.vstack([Y_SMALL[:4], np.zeros((2, 3), dtype=int)])
    for Y in (Y_SMALL, with_empty):
        drawn = draw_constraints(Y, threshold, 50_000, 50_000, W_SMALL, 3)
        for pairs, kind in zip(drawn, all_pairs(Y, threshold), strict=True):
            assert len(pairs) == 50_000
            mass = {(i, j): W_SMALL[i] * W_SMALL[j] for i, j in kind}
            assert set(map(tuple, np.unique(pairs, axis=0))) <= kind
            for (i, j), m in mass.items():
                seen = np.mean((pairs[:, 0] == i) & (pairs[:, 1] == j))
                assert seen == pytest.approx(m / sum(mass.values()), rel=0.1, abs=0.01)


def test_a_search_that_finds_few_pairs_repeats_them(no_rejection, monkeypatch):
    monkeypatch.setattr(_sampler, "_MOST_COMPARED", 1)
    Y = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]])
    must, _ = draw_constraints(Y, 0.6, 2_000, 0, None, 0)
    assert len(must) == 2_000
    assert {frozenset(p) for p in must.tolist()} == {frozenset({0, 1})}


def test_a_uniform_sampler_would_fail_the_frequency_test():
    uniform = draw_constraints(Y_SMALL, 0.6, 40_000, 40_000, None, random_state=3)
    with pytest.raises(AssertionError):
        check_frequencies(Y_SMALL, W_SMALL, 0.6, drawn=uniform)


def test_same_seed_same_pairs_and_another_seed_others():
    Y = np.random.RandomState(0).randint(0, 2, (50, 4))
    first, again, other = (draw_constraints(Y, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()


def test_sparse_labels_draw_the_same_pairs():
    Y = np.random.RandomState(0).randint(0, 2, (50, 4))
    for dense, from_sparse in zip(
        draw_constraints(Y, random_state=0),
        draw_constraints(sparse.csr_matrix(Y), random_state=0),
        strict=True,
    ):
        np.testing.assert_array_equal(dense, from_sparse)


def test_number_of_pairs():
    Y = np.random.RandomState(0).randint(0, 2, (30, 3))
    assert [len(p) for p in draw_constraints(Y, random_state=0)] == [30, 30]
    assert [len(p) for p in draw_constraints(Y, 0.6, 3, 500, random_state=0)] == [3, 500]


# ------------------------------------------------------------------ bounded for every input


def test_all_label_sets_distinct_at_threshold_one():
    Y = ((np.arange(1024)[:, None] >> np.arange(10)) & 1).astype(np.uint8)
    must, cannot = draw_constraints(Y, 1.0, random_state=0)
    assert len(must) == 0
    assert len(cannot) == 1024


def test_many_distinct_label_sets_at_threshold_one():
    """No pair is a must-link; a draw by rejection alone would not end."""
    Y = ((np.arange(2**14)[:, None] >> np.arange(14)) & 1).astype(np.uint8)
    must, cannot = draw_constraints(Y, 1.0, random_state=0)
    assert len(must) == 0
    assert len(cannot) == 2**14


def test_a_rare_pair_among_many_label_sets_is_found():
    Y = ((np.arange(4096)[:, None] >> np.arange(12)) & 1).astype(np.uint8)
    Y[4095] = Y[17]
    must, _ = draw_constraints(Y, 1.0, 50, 50, random_state=0)
    assert {frozenset(p) for p in must.tolist()} == {frozenset({17, 4095})}


def test_one_single_label_set_has_no_cannot_link():
    must, cannot = draw_constraints(np.ones((20, 3), dtype=int), random_state=0)
    assert len(must) == 20
    assert len(cannot) == 0


def test_two_samples():
    must, cannot = draw_constraints([[1, 0], [0, 1]], random_state=0)
    assert len(must) == 0
    assert sorted(set(map(tuple, cannot.tolist()))) in ([(0, 1), (1, 0)], [(0, 1)], [(1, 0)])


def test_one_sample_has_no_pairs():
    must, cannot = draw_constraints([[1, 0]], random_state=0)
    assert len(must) == len(cannot) == 0


@pytest.mark.parametrize("heavy", [0.999, 1 - 1e-12])
def test_one_sample_with_nearly_all_the_weight(heavy):
    rng = np.random.RandomState(0)
    Y = rng.randint(0, 2, (3000, 3))
    weights = np.full(3000, (1 - heavy) / 2999)
    weights[5] = heavy
    for drawn in draw_constraints(Y, 0.6, sample_weight=weights, random_state=0):
        assert len(drawn) == 3000
        assert (drawn[:, 0] != drawn[:, 1]).all()
        # Pairs without the heavy sample weigh next to nothing.
        assert (drawn == 5).any(axis=1).mean() > 0.99


def test_weightless_samples_are_not_drawn():
    Y = np.random.RandomState(0).randint(0, 2, (40, 2))
    weights = np.r_[np.ones(20), np.zeros(20)]
    for drawn in draw_constraints(Y, 0.6, 2000, 2000, weights, random_state=0):
        assert drawn.max() < 20


def test_no_large_table_for_many_samples():
    """50,000 samples with 16,384 label sets: far less memory than a table of either."""
    Y = np.random.RandomState(0).randint(0, 2, (50_000, 14))
    peak = peak_memory(lambda: ConstraintSampler(Y).draw(0.6, 50_000, 50_000, None, 0))
    assert peak < 300e6  # a table of the sets' similarities alone would take 2.1 GB


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 1.0], "one entry per sample"),
        ([0.0, 0.0, 0.0], "not only zeros"),
        ([1.0, -1.0, 1.0], "at least 0"),
        ([1.0, np.nan, 1.0], "finite"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        draw_constraints([[1], [0], [1]], sample_weight=weights)


def test_bad_labels():
    with pytest.raises(ValueError, match="only 0 and 1"):
        draw_constraints([[1, 2], [0, 1]])
    with pytest.raises(ValueError, match="only 0 and 1"):
        draw_constraints(sparse.csr_matrix([[1, 2], [0, 1]]))
    with pytest.raises(ValueError, match="same shape"):
        label_similarity([[1, 0]], [[1, 0, 0]])
