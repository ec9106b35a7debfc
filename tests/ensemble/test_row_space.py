"""With more features than samples, members share a basis and hold W in its coordinates."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from labelkin import BaggingVPCPClassifier, MLkNNClassifier
from labelkin.persistence import load_model, save_model
from labelkin.projection._selection import feature_shares
from support.data import make_data
from support.model_files import refused, save_unchecked

N_FEATURES = 300
KINDS = {
    "sparse": sparse.csr_array,
    "dense, far from zero": lambda X: X + 1000.0,
    "float32": lambda X: X.astype(np.float32),
}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    rng = np.random.default_rng(0)
    X = rng.random((80, N_FEATURES)) * (rng.random((80, N_FEATURES)) < 0.1)
    X[7] = X[3]  # equal samples
    X, (_, Y) = KINDS[request.param](X), make_data(80)
    model = BaggingVPCPClassifier(n_estimators=4, random_state=0, n_jobs=1).fit(X[:60], Y[:60])
    return model, X, Y


def test_members_share_a_basis_and_hold_no_components(fitted):
    model, _, _ = fitted
    assert len({id(projection._basis) for projection in model.projections_}) == 1
    needed = sum(projection._directions.nbytes for projection in model.projections_)
    needed += model.projections_[0]._basis.nbytes
    stored = len(pickle.dumps(model.projections_))
    assert stored < needed + model.projections_[0].components_.nbytes


def test_shares_of_features_are_those_of_the_eigenvectors(fitted):
    model, X, _ = fitted
    shares = []
    for member in model.projections_:
        alone = clone(member).fit_pairs(X[:60], member.must_link_, member.cannot_link_)
        shares.append(feature_shares(alone))
    np.testing.assert_allclose(model.feature_importances_, np.mean(shares, axis=0), rtol=1e-3)


def test_other_base_classifiers_have_eigenvectors(fitted):
    _, X, Y = fitted
    base = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = BaggingVPCPClassifier(base, n_estimators=1, random_state=0).fit(X[:60], Y[:60])
    member = model.projections_[0]
    alone = clone(member).fit_pairs(X[:60], member.must_link_, member.cannot_link_)
    np.testing.assert_allclose(member.components_[0], alone.components_[0], atol=1e-4)


@pytest.mark.parametrize("n_queries", [5, 80])  # with many, the samples are projected
def test_neighbours_are_those_among_the_projected_samples(fitted, n_queries):
    model, X, Y = fitted
    queries = X[80 - n_queries :]
    proba = []
    for projection, member in zip(model.projections_, model.estimators_, strict=True):
        Z = X @ projection.components_.T
        Z[7] = Z[3]  # a product may round equal rows differently
        direct = MLkNNClassifier().fit(Z[:60], Y[:60])
        proba.append(direct.predict_proba(Z[80 - n_queries :]))
        found = projection.transform(queries)
        np.testing.assert_allclose(found, Z[80 - n_queries :], rtol=1e-4, atol=1e-4)
        nearest = member._counts.search.query(found[:1])[0]
        np.testing.assert_allclose(
            member._counts.search.distances(found[:1], nearest),
            np.linalg.norm(found[:1] - Z[nearest], axis=1),
            rtol=1e-3,
            atol=1e-3,
        )
    np.testing.assert_allclose(model.predict_proba(queries), np.mean(proba, axis=0), rtol=1e-6)


def test_components_are_orthonormal_and_as_learned_alone(fitted):
    model, X, _ = fitted
    member = model.projections_[0]
    alone = clone(member).fit_pairs(X[:60], member.must_link_, member.cannot_link_)
    components = member.components_
    assert components.dtype == X.dtype
    identity = np.eye(len(components))
    np.testing.assert_allclose(components @ components.T, identity, atol=1e-4)
    np.testing.assert_allclose(
        components.T @ components, alone.components_.T @ alone.components_, atol=1e-4
    )


def test_a_saved_model_predicts_the_same(fitted, tmp_path):
    model, X, _ = fitted
    save_model(model, tmp_path / "m.labelkin")
    back = load_model(tmp_path / "m.labelkin")
    assert back.projections_[0]._basis is back.projections_[-1]._basis
    for queries in (X[60:], X):
        np.testing.assert_array_equal(back.predict_proba(queries), model.predict_proba(queries))
        np.testing.assert_array_equal(back.predict(queries), model.predict(queries))


@pytest.mark.parametrize("attribute", ["X", "squared_norms"])
def test_arrays_that_do_not_fit_together_are_refused(fitted, attribute, tmp_path):
    model = pickle.loads(pickle.dumps(fitted[0]))
    search = model.estimators_[1]._counts.search
    setattr(search, attribute, getattr(search, attribute)[:3])
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "damaged or tampered with")
