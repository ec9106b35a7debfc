"""Samples of any layout and any size of numbers: the right result, or a sentence."""

import numpy as np
import pytest
from scipy import sparse

import labelkin
from labelkin import (
    IBLRClassifier,
    KernelRidgeLOOClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    VPCMEClassifier,
)
from labelkin.kernel._regression import descend_width
from labelkin.rows import Labels
from support.data import make_data
from support.estimators import NAMES, make


def target_of(name, Y):
    return Y[:, 0] if name == "C45TreeClassifier" else Y


def output(model, X):
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)
    return found.toarray() if sparse.issparse(found) else found


# --------------------------------------------------------------------- layouts


def with_duplicates(X, shuffled=False):
    """Return X as a CSR matrix in which every value is the sum of two entries."""
    row, column = np.nonzero(X)
    order = (
        np.random.default_rng(0).permutation(2 * len(row)) if shuffled else np.arange(2 * len(row))
    )
    rows, columns = np.repeat(row, 2)[order], np.repeat(column, 2)[order]
    # Whole numbers in quarters: their sums are exact.
    values = (X[row, column][:, None] * [0.25, 0.75]).ravel()[order]
    by_row = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[by_row], np.arange(X.shape[0] + 1))
    return sparse.csr_matrix((values[by_row], columns[by_row], starts), shape=X.shape)


def stale(X):
    """Return a matrix with duplicates that claims to have none."""
    matrix = with_duplicates(X)
    matrix.has_canonical_format = True
    return matrix


LAYOUTS = {
    "duplicates": with_duplicates,
    "duplicates, unsorted": lambda X: with_duplicates(X, shuffled=True),
    "wrong flag": stale,
    "array": lambda X: sparse.csr_array(with_duplicates(X)),
    "by column": lambda X: sparse.csc_matrix(
        (with_duplicates(X.T).data, with_duplicates(X.T).indices, with_duplicates(X.T).indptr),
        shape=X.shape,
    ),
    "coordinates": lambda X: with_duplicates(X).tocoo(),
    "with zeros": lambda X: sparse.csr_matrix(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(len(X) + 1) * X.shape[1]),
        shape=X.shape,
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_layout_of_a_sparse_matrix(name):
    X, Y = make_data(40)
    X, y = np.rint(2 * X), target_of(name, Y)
    plain = sparse.csr_matrix(X)
    model = make(name).fit(plain, y)
    expected = output(model, plain)
    for layout, change in LAYOUTS.items():
        matrix = change(X)
        before = [part.copy() for part in (matrix.data,)]
        np.testing.assert_allclose(matrix.toarray(), X, err_msg=layout)
        np.testing.assert_allclose(output(model, matrix), expected, atol=1e-9, err_msg=layout)
        fitted = make(name).fit(matrix, y)
        np.testing.assert_allclose(output(fitted, plain), expected, atol=1e-9, err_msg=layout)
        np.testing.assert_array_equal(matrix.data, before[0])  # it belongs to the caller


def test_duplicates_whose_sum_is_infinite():
    X, Y = make_data(20)
    matrix = with_duplicates(np.rint(2 * X))
    matrix.data[:2] = 1.7e308
    with pytest.raises(ValueError, match="infinity"):
        MLkNNClassifier(3).fit(matrix, Y)


# --------------------------------------------------------------------- sizes of numbers

# Of those that leave it to their base estimator, trees compare values only.
SQUARING = [name for name in NAMES if getattr(getattr(labelkin, name), "_squares_values", True)]
SQUARING.remove("C45TreeClassifier")


@pytest.mark.parametrize("name", SQUARING)
@pytest.mark.parametrize(
    ("dtype", "value", "cure"),
    [(np.float32, 1e20, "scale it or use float64"), (np.float64, 1e155, "scale it")],
)
def test_one_value_that_is_too_large(name, dtype, value, cure):
    X, Y = make_data(30)
    X = X.astype(dtype)
    model = make(name).fit(X, Y)
    X[4, 3] = -value
    message = rf"column 3 holds {value:.0e}.*overflow in {np.dtype(dtype)}.*: {cure}\."
    message = message.replace("+", r"\+")
    for form in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=message):
            make(name).fit(form, Y)
    if not isinstance(model, labelkin.SelectByConstraints):
        with pytest.raises(ValueError, match=message):
            output(model, X)


@pytest.mark.parametrize("name", SQUARING)
def test_values_that_are_all_too_small(name):
    X, Y = make_data(30)
    with pytest.raises(ValueError, match=r"varies by more than .*underflow in float64"):
        make(name).fit(1e-160 * X, Y)
    with pytest.raises(ValueError, match="underflow in float64"):
        make(name).fit(np.column_stack([np.ones(30), 1e-160 * X]), Y)
    make(name).fit(np.column_stack([1e-160 * X, X]), Y)  # the usual ones decide


@pytest.mark.parametrize(
    ("dtype", "exponent"), [(float, 110), (float, -480), (np.float32, 40), (np.float32, -40)]
)
@pytest.mark.parametrize(
    "model",
    [
        MLkNNClassifier(3),
        IBLRClassifier(3),
        VPCMEClassifier(n_estimators=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_results_do_not_depend_on_the_unit(model, dtype, exponent):
    X, Y = make_data(40)
    X = X.astype(dtype)
    expected = model.fit(X, Y).predict_proba(X)
    scaled = X * dtype(2) ** exponent
    np.testing.assert_allclose(model.fit(scaled, Y).predict_proba(scaled), expected, atol=1e-5)


def test_the_search_for_a_width_ends():
    """Errors that are NaN are never lower than others."""
    distances = np.full((6, 6), np.nan)
    with pytest.raises(ValueError, match=r"not finite|infs or NaNs|not converge"):
        descend_width(distances, Labels(np.eye(6, 2)), "rbf", start=1.0)


@pytest.mark.parametrize("model", [KernelRidgeLOOClassifier(), KinEnsembleClassifier()])
def test_constant_columns_are_no_underflow(model):
    _, Y = make_data(30)
    proba = model.fit(np.zeros((30, 2)), Y).predict_proba(np.zeros((1, 2)))
    assert np.isfinite(proba).all()


def test_dates_get_one_sentence():
    pd = pytest.importorskip("pandas")
    X, Y = make_data()
    frame = pd.DataFrame(X).add_prefix("x").assign(day=pd.Timestamp("2020-01-01"))
    with pytest.raises(ValueError, match=r"X must hold numbers .* TableClassifier does it by"):
        MLkNNClassifier().fit(frame, Y)
