import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context

from labelkin import PairwiseConstraintProjection
from labelkin.projection._pairwise import TrainingRows
from support.data import make_data
from support.resources import peak_memory


def scatter_by_definition(X, pairs):
    """Eq. 6–7, a sum over the pairs."""
    S = np.zeros((X.shape[1], X.shape[1]))
    for i, j in pairs:
        S += np.outer(X[i] - X[j], X[i] - X[j])
    return S / (2 * len(pairs))


def scaling_by_definition(X, must_link, cannot_link):
    """Eq. 4."""
    must = np.mean([((X[i] - X[j]) ** 2).sum() for i, j in must_link])
    cannot = np.mean([((X[i] - X[j]) ** 2).sum() for i, j in cannot_link])
    return cannot / must


def random_pairs(n, size, rng):
    pairs = rng.randint(0, n, (size, 2))
    pairs[:, 1] = (pairs[:, 0] + 1 + pairs[:, 1] % (n - 1)) % n
    return pairs


def scatter(X, pairs):
    """Return the scatter in the features as it is computed for training rows."""
    training = TrainingRows(X)
    if sparse.issparse(X):  # few values would make it dense
        training.rows, training.basis = X, None
    S = training.scatter(pairs)
    return S if training.basis is None else training.basis.T @ S @ training.basis


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 20), st.integers(1, 8))
def test_scatter_equals_the_sum_over_pairs(seed, n, k):
    """Checks (c) and (d): S_C and S_M, and r as a ratio of traces."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, k))
    must, cannot = random_pairs(n, 11, rng), random_pairs(n, 17, rng)
    for form in (X, sparse.csr_matrix(X)):
        for pairs in (must, cannot):
            np.testing.assert_allclose(
                scatter(form, pairs), scatter_by_definition(X, pairs), atol=1e-10
            )
        projection = PairwiseConstraintProjection().fit_pairs(form, must, cannot)
        r = scaling_by_definition(X, must, cannot)
        assert projection.scaling_ == pytest.approx(r, rel=1e-10)


def test_scatter_over_several_blocks():
    rng = np.random.RandomState(0)
    X, pairs = rng.standard_normal((20, 11)), random_pairs(20, 40, rng)
    with config_context(working_memory=0):
        np.testing.assert_allclose(scatter(X, pairs), scatter_by_definition(X, pairs), atol=1e-12)
    assert not scatter(X, pairs[:0]).any()


def objective(W, X, projection):
    """Eq. 3, for W with orthonormal columns."""
    Z = X @ W
    must, cannot = projection.must_link_, projection.cannot_link_
    apart = ((Z[cannot[:, 0]] - Z[cannot[:, 1]]) ** 2).sum() / (2 * len(cannot))
    together = ((Z[must[:, 0]] - Z[must[:, 1]]) ** 2).sum() / (2 * len(must))
    return apart - projection.scaling_ * together


@pytest.mark.parametrize("shape", [(80, 6), (12, 30)])  # the second goes by the row space
def test_optimal_against_random_bases(shape):
    """Checks (a) and (b): no orthonormal basis does better; J is the sum of eigenvalues."""
    X, Y = make_data(*shape)
    projection = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    W = projection.components_.T
    np.testing.assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-10)
    best = objective(W, X, projection)
    assert best == pytest.approx(projection.eigenvalues_.sum(), rel=1e-9)
    rng = np.random.RandomState(0)
    for _ in range(200):
        d = rng.randint(1, X.shape[1] + 1)
        basis, _ = np.linalg.qr(rng.standard_normal((X.shape[1], d)))
        assert objective(basis, X, projection) <= best + 1e-10
        nearby, _ = np.linalg.qr(W + 0.05 * rng.standard_normal(W.shape))
        assert objective(nearby, X, projection) <= best + 1e-10


def test_row_space_gives_the_same_projection():
    """k > n: rotated into the row space or not, the learned subspace is one and the same."""
    X, Y = make_data(15, 40)
    projection = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    pairs = projection.must_link_, projection.cannot_link_
    S = scatter_by_definition(X, pairs[1]) - projection.scaling_ * scatter_by_definition(
        X, pairs[0]
    )
    values, vectors = np.linalg.eigh(S)
    keep = values > 1e-10
    assert projection.components_.shape == (keep.sum(), 40)
    np.testing.assert_allclose(projection.eigenvalues_, values[keep][::-1], rtol=1e-8)
    projector = vectors[:, keep] @ vectors[:, keep].T
    np.testing.assert_allclose(
        projection.components_.T @ projection.components_, projector, atol=1e-8
    )


@pytest.mark.parametrize("sample", [np.arange(30.0), np.zeros(30)])
def test_pairs_of_equal_samples_only(sample):
    """No direction to choose, in a space of no dimension: the result is still finite."""
    X = np.tile(sample, (6, 1))
    projection = PairwiseConstraintProjection().fit_pairs(X, [(0, 1)], [(2, 3)])
    np.testing.assert_allclose(np.linalg.norm(projection.components_, axis=1), 1)
    assert np.isfinite(projection.transform(X)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("decay", [0, 4, 9, 16])
def test_basis_of_the_row_space_is_orthonormal(decay, dtype):
    """Also when the rows are nearly dependent and their products have lost many digits."""
    rng = np.random.default_rng(0)
    left, _, right = np.linalg.svd(rng.standard_normal((60, 150)), full_matrices=False)
    X = ((left * np.logspace(0, -decay, 60)) @ right).astype(dtype)
    basis = TrainingRows(X).basis
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=50 * np.finfo(dtype).eps)
    np.testing.assert_allclose(X @ basis.T @ basis, X, atol=100 * np.finfo(dtype).eps ** 0.5)


def test_directions_no_pair_differs_in_are_dropped():
    X, Y = make_data(40, 3)
    X = np.column_stack([X, np.full(40, 7.0), X[:, 0]])  # a constant and a copy
    projection = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    assert (projection.eigenvalues_ > 0).all()
    assert projection.components_.shape[0] <= 3
    np.testing.assert_allclose(projection.components_[:, 3], 0, atol=1e-10)


def test_largest_entry_of_each_component_is_positive():
    for shape in [(60, 8), (10, 25)]:
        X, Y = make_data(*shape)
        W = PairwiseConstraintProjection(random_state=1).fit(X, Y).components_
        assert (W[np.arange(len(W)), np.abs(W).argmax(axis=1)] > 0).all()


def test_sparse_equals_dense():
    for shape in [(60, 8), (10, 25)]:
        X, Y = make_data(*shape)
        X[np.abs(X) < 0.7] = 0
        dense = PairwiseConstraintProjection(random_state=0).fit(X, Y)
        sparse_model = PairwiseConstraintProjection(random_state=0).fit(sparse.csr_matrix(X), Y)
        np.testing.assert_allclose(sparse_model.components_, dense.components_, atol=1e-8)
        Z = sparse_model.transform(sparse.csr_matrix(X))
        assert isinstance(Z, np.ndarray)
        np.testing.assert_allclose(Z, dense.transform(X), atol=1e-8)


def test_large_sparse_input_is_not_made_dense():
    X = sparse.random(20_000, 500, density=0.002, format="csr", random_state=0)
    Y = np.random.RandomState(0).randint(0, 2, (20_000, 3))
    peak = peak_memory(PairwiseConstraintProjection(random_state=0).fit, X, Y)
    assert peak < 40e6  # X as a whole would take 80 MB


def test_data_far_from_the_origin():
    X, Y = make_data(60, 4)
    near = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    far = PairwiseConstraintProjection(random_state=0).fit(X + 1e6, Y)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-6)


def test_fit_pairs_by_hand():
    # Must-links differ along the second axis only, cannot-links along the first.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    projection = PairwiseConstraintProjection().fit_pairs(X, [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    assert projection.scaling_ == pytest.approx(4.0)  # mean squared distances 4 and 1
    np.testing.assert_allclose(projection.components_, [[1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(projection.eigenvalues_, [2.0])  # half of 2²
    np.testing.assert_allclose(projection.transform(X).ravel(), [0, 0, 2, 2])


def test_fit_pairs_without_must_links_uses_cannot_links_alone():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    projection = PairwiseConstraintProjection().fit_pairs(X, [], [[0, 1], [0, 2]])
    np.testing.assert_allclose(projection.eigenvalues_, [1.0, 0.25])
    np.testing.assert_allclose(projection.components_, np.eye(2), atol=1e-12)


def test_fit_pairs_without_cannot_links_is_the_identity():
    X = np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 5.0]])
    projection = PairwiseConstraintProjection().fit_pairs(X, [[0, 1]], [])
    np.testing.assert_array_equal(projection.transform(X), X)


def test_must_links_of_identical_samples_leave_a_finite_scaling():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [3.0, 1.0]])
    projection = PairwiseConstraintProjection().fit_pairs(X, [[0, 1]], [[0, 2]])
    assert np.isfinite(projection.scaling_)
    np.testing.assert_allclose(projection.components_, [[1.0, 0.0]], atol=1e-12)


def test_all_samples_identical_still_give_one_component():
    projection = PairwiseConstraintProjection().fit_pairs(np.ones((3, 4)), [[0, 1]], [[0, 2]])
    assert projection.components_.shape == (1, 4)


@pytest.mark.parametrize(
    ("must", "cannot", "message"),
    [
        ([], [], "both empty"),
        ([[0, 9]], [[0, 1]], "must_link has the row index 9"),
        ([[0, 1]], [[-1, 0]], "cannot_link has the row index -1"),
        ([[0, 1, 2]], [[0, 1]], "shape"),
        ([[0.5, 1]], [[0, 1]], "integers"),
    ],
)
def test_bad_pairs(must, cannot, message):
    with pytest.raises(ValueError, match=message):
        PairwiseConstraintProjection().fit_pairs(np.eye(3), must, cannot)


def test_missing_kinds_warn_once_and_have_a_defined_projection():
    X = make_data(20, 3)[0]
    with pytest.warns(UserWarning, match="No two samples are a cannot-link") as caught:
        projection = PairwiseConstraintProjection().fit(X, np.ones((20, 2), dtype=int))
    assert len(caught) == 1
    np.testing.assert_array_equal(projection.components_, np.eye(3))
    with pytest.warns(UserWarning, match="No two samples are a must-link") as caught:
        PairwiseConstraintProjection().fit(X, np.eye(20, dtype=int))
    assert len(caught) == 1


def test_a_class_vector_is_a_label_set_of_one(data):
    X, _ = data
    y = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    one_hot = (y[:, None] == np.unique(y)).astype(int)
    vector = PairwiseConstraintProjection(random_state=0).fit(X, y)
    matrix = PairwiseConstraintProjection(random_state=0).fit(X, one_hot)
    np.testing.assert_array_equal(vector.components_, matrix.components_)
    i, j = vector.must_link_.T
    assert (y[i] == y[j]).all()


def test_number_of_pairs_and_components(data):
    X, Y = data
    projection = PairwiseConstraintProjection(
        n_must_link=5, n_cannot_link=70, n_components=2, random_state=0
    ).fit(X, Y)
    assert len(projection.must_link_) == 5
    assert len(projection.cannot_link_) == 70
    assert projection.transform(X).shape == (len(X), 2)


def test_sample_weight_steers_the_draw(data):
    X, Y = data
    weights = np.zeros(len(X))
    weights[:10] = 1
    projection = PairwiseConstraintProjection(random_state=0).fit(X, Y, sample_weight=weights)
    assert projection.must_link_.max() < 10
    assert projection.cannot_link_.max() < 10


def test_pandas_output_and_feature_names(data):
    pd = pytest.importorskip("pandas")
    X, Y = data
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) + 100)
    projection = PairwiseConstraintProjection(random_state=0).set_output(transform="pandas")
    Z = projection.fit(frame, pd.DataFrame(Y)).transform(frame)
    assert list(Z.columns) == list(projection.get_feature_names_out())
    assert Z.columns[0] == "pairwiseconstraintprojection0"
    assert list(Z.index) == list(frame.index)


def test_float32_stays_float32(data):
    X, Y = data
    projection = PairwiseConstraintProjection(random_state=0).fit(X.astype(np.float32), Y)
    assert projection.components_.dtype == np.float32
    assert projection.transform(X.astype(np.float32)).dtype == np.float32
    precise = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    np.testing.assert_allclose(projection.components_, precise.components_, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [7, 90])
def test_equal_samples_stay_equal_when_projected(form, k):
    """A product may round equal rows differently; ties between neighbours would be lost."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(20, k)) * rng.random((20, k))
    again = rng.integers(0, 20, size=61)
    rows = TrainingRows(form(X[again]))
    W = rng.standard_normal((rows.rows.shape[1], 5))
    Z = rows.project(W)
    np.testing.assert_allclose(Z, rows.rows @ W)
    for sample in range(20):
        assert len(np.unique(Z[again == sample], axis=0)) <= 1
