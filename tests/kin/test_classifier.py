"""The Kin ensemble: out-of-sample scores, fitted attributes, edge cases."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss

from labelkin import KernelRidgeLOOClassifier, KinEnsembleClassifier
from labelkin.kin import Limits
from labelkin.metrics import average_precision
from support.data import make_data


def small(**parameters):
    return KinEnsembleClassifier(
        **{"n_projections": 2, "n_trees": 12, "random_state": 0, **parameters}
    )


def texts(n=120, seed=0):
    """Counts of words, most of them zero, and labels that go with them."""
    X, Y = make_multilabel_classification(
        n, n_features=60, n_classes=5, length=12, random_state=seed
    )
    return X, Y


# ----------------------------------------------------------------------- out of sample


def test_random_labels_are_not_learned():
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((150, 30)), (rng.rand(150, 6) < 0.4).astype(int)
    model = small().fit(X, Y)
    chance = average_precision(Y, np.tile(Y.mean(axis=0), (len(Y), 1)))
    assert model.oob_score_ < chance + 0.05
    unseen = (rng.rand(150, 6) < 0.4).astype(int)
    assert abs(model.oob_score_ - average_precision(unseen, model.predict_proba(X))) < 0.1
    for value in model.member_scores_.values():
        assert value < chance + 0.07


def test_the_out_of_bag_score_predicts_the_test_score():
    X, Y = make_data(500, 6, 4, seed=2)
    model = small().fit(X[:250], Y[:250])
    new = average_precision(Y[250:], model.predict_proba(X[250:]))
    assert abs(model.oob_score_ - new) < 0.04


def test_sure_members_do_not_make_it_overconfident(paper_data):
    X, Y, folds = paper_data("genbase")
    # Nearly every label is separable: each curve on another would be surer than the last.
    train = np.sort(np.concatenate(folds[1:]))[:250]
    model = small().fit(X[train], Y[train])
    test = model.predict_proba(X[folds[0]])
    assert model.oob_proba_.min() > 1e-5
    krr = KernelRidgeLOOClassifier(random_state=0).fit(X[train], Y[train])
    assert (
        average_precision(Y[folds[0]], test)
        > average_precision(Y[folds[0]], krr.predict_proba(X[folds[0]])) - 0.015
    )


# ------------------------------------------------------------------------ fitted state


def test_fitted_attributes():
    X, Y = make_data(80, 5, 3)
    model = small().fit(X, Y)
    names = [name for name, _ in model.members_]
    assert set(names) <= {"raw_rbf", "ranks_laplacian", "linear", "trees", "projections"}
    assert model.estimators_ == [member for _, member in model.members_]
    assert len(dict(model.members_)["projections"].learners) == 2
    assert model.weights_.shape == (len(names),)
    assert model.label_weights_.shape == (len(names), 3)
    assert model.weights_.min() >= 0
    assert model.weights_.sum() == pytest.approx(1)
    assert set(names) <= set(model.member_scores_)
    assert model.oob_proba_.shape == Y.shape
    assert model.oob_score_ == pytest.approx(average_precision(Y, model.oob_proba_))
    none = small(n_projections=0, n_trees=0).fit(X, Y)
    assert list(none.member_scores_) == ["raw_rbf", "ranks_laplacian", "linear"]


def test_threads_change_nothing():
    X, Y = make_data(80)
    expected, *others = (small(n_jobs=n).fit(X, Y).predict_proba(X) for n in (None, 1, 2))
    for proba in others:
        np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-10)


def test_decisions():
    X, Y = make_data(120, 5, 4)
    fixed, chosen = (small(decision=d).fit(X, Y) for d in ("fixed", "cardinality"))
    proba = fixed.predict_proba(X)
    np.testing.assert_array_equal(fixed.predict(X), proba > 0.5)
    np.testing.assert_array_equal(chosen.predict_proba(X), proba)
    np.testing.assert_array_equal(chosen.predict(X), chosen.decision_.apply(proba))
    predicted = chosen.decision_.apply(chosen.oob_proba_)
    assert predicted.sum() == pytest.approx(Y.sum(), abs=1)
    with pytest.raises(ValueError, match="decision"):
        small(decision="nonsense").fit(X, Y)


def test_one_dimensional_target():
    X, Y = make_data(80)
    y = np.where(Y[:, 0], "yes", "no")
    model = small().fit(X, y)
    assert model.oob_proba_.shape == (80, 2)
    assert (model.predict(X) == y).mean() > 0.9


def test_progress(capsys):
    X, Y = make_data(30)
    model = small(verbose=2).fit(X, Y)
    out = capsys.readouterr().out
    assert "Plan for 30 rows" in out
    for name, member in model.members_:
        assert f"{name}: {member.reason}." in out
    assert "[KinEnsembleClassifier] 6 of 6 learners" in out


# -------------------------------------------------------------------------- robustness


def test_members_that_fail_on_raw_scales_lose_their_weight():
    # Steps in a few of many features, on scales that tell nothing.
    rng = np.random.RandomState(0)
    Z = rng.standard_normal((300, 40))
    Y = np.column_stack([Z[:, 0] > 0, (Z[:, 1] > -0.5) & (Z[:, 2] > -0.5), Z[:, 3] > 1]).astype(int)
    X = np.sinh(2 * Z) * 10.0 ** rng.uniform(-3, 3, 40)
    model = small(n_trees=100).fit(X, Y)
    scores = model.member_scores_
    assert scores["trees"] > scores["raw_rbf"] + 0.05
    weights = dict(zip(dict(model.members_), model.label_weights_, strict=True))
    assert np.abs(weights.get("raw_rbf", 0)).max() < 0.1 < weights["trees"].min()
    assert model.oob_score_ > max(scores.values()) - 0.01


def test_members_without_weight_are_not_stored():
    X, Y = make_data(200, 4, 3)
    model = small(effort=Limits(member_ridge=1e-9, label_ridge=1e9, few_rows=1)).fit(X, Y)
    names = list(dict(model.members_))
    assert len(names) < len(model.member_scores_) == 5
    assert len(model.combination_.curves_) == len(model.weights_) == len(names)
    assert set(model.views_) == {member.view for member in model.estimators_}


def test_rare_and_constant_labels():
    X, Y = make_data(100, 5, 2)
    rare = np.zeros((100, 3), dtype=int)
    rare[0, 0] = 1
    rare[:, 2] = 1
    model = small().fit(X, np.hstack([Y, rare]))
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba[:, 3], 1 / 102)
    np.testing.assert_allclose(proba[:, 4], 101 / 102)
    assert (proba[1:, 2] < 0.5).all()  # the only row that has the label may be known


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20])
def test_few_rows(n):
    X, Y = make_data(n)
    proba = small().fit(X, Y).predict_proba(X)
    assert np.isfinite(proba).all()


def test_more_labels_than_rows():
    X, Y = make_data(15, 4, 40)
    model = small().fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_duplicates_and_constant_features():
    X, Y = make_data(60)
    X[:, 0] = 7
    X = np.repeat(X[:20], 3, axis=0)
    assert np.isfinite(small().fit(X, Y).predict_proba(X)).all()


def test_single_precision_is_converted_to_double():
    X, Y = texts()
    single = X.astype(np.float32)  # counts: the same numbers
    np.testing.assert_allclose(
        small().fit(single, Y).predict_proba(single), small().fit(X, Y).predict_proba(X)
    )


def test_large_sparse_rows_stay_sparse(monkeypatch):
    X, Y = texts()
    dense = small().fit(X, Y)
    S = sparse.csr_matrix(X)
    monkeypatch.setattr(S, "toarray", None)
    model = small(effort=Limits(dense_entries=0)).fit(S, Y)
    assert not model._dense
    for name in ("raw_laplacian", "root_laplacian", "trees"):
        assert model.member_scores_[name] == pytest.approx(dense.member_scores_[name], abs=1e-6)
    proba = model.predict_proba(S)
    assert np.abs(proba - dense.predict_proba(X)).mean() < 0.05


def test_many_rows_are_approximated():
    X, Y = make_data(400, 4, 3)
    exact = small(n_trees=0).fit(X[:250], Y[:250])
    reasons = {(exact.members_[0][1].reason, type(exact.members_[0][1].learners[0]).__name__)}
    expected = average_precision(Y[250:], exact.predict_proba(X[250:]))
    for number, effort in enumerate(
        [
            Limits(exact_rows=100),  # one factorisation
            Limits(exact_rows=100, part_work=250 * 130**2),  # two parts
            Limits(exact_rows=100, part_work=0.1),  # landmarks
        ]
    ):
        model = small(effort=effort, n_trees=0).fit(X[:250], Y[:250])
        member = model.members_[0][1]
        reasons.add((member.reason, type(member.learners[0]).__name__))
        assert len(reasons) == number + 2
        assert average_precision(Y[250:], model.predict_proba(X[250:])) > expected - 0.02
        assert abs(model.oob_score_ - exact.oob_score_) < 0.02


def test_members_that_take_too_long_are_left_out_with_a_reason():
    X, Y = make_data(100, 5, 3)
    model = small(effort=Limits(seconds=1e-9)).fit(X, Y)
    assert list(model.member_scores_) == ["raw_rbf"]
    assert set(model.left_out_) == {"ranks_laplacian", "linear", "trees", "projections"}
    assert "s of one processor" in model.left_out_["trees"]


def test_very_many_predictions_have_a_linear_model_and_some_scores():
    X, Y = texts(300)
    rows = sparse.csr_matrix(X)
    model = small(effort=Limits(large_entries=1000, sample_rows=120)).fit(rows[:250], Y[:250])
    assert [name for name, _ in model.members_] == ["linear"]
    assert model.oob_proba_.shape == (120, 5)
    assert len(model.oob_indices_) == 120
    assert model.oob_score_ == pytest.approx(
        average_precision(Y[model.oob_indices_], model.oob_proba_), abs=1e-6
    )
    new = average_precision(Y[250:], model.predict_proba(rows[250:]))
    assert new > average_precision(Y[250:], np.tile(Y[:250].mean(axis=0), (50, 1))) + 0.03
    np.testing.assert_array_equal(small().fit(X, Y).oob_indices_, np.arange(300))


def test_out_of_sample_scores_of_a_sample_of_the_rows():
    X, Y = make_data(300, 4, 3)
    model = small(effort=Limits(sample_rows=100)).fit(X, Y)
    assert model.oob_proba_.shape == (100, 3)
    assert len(model.member_scores_) == 5
    assert average_precision(Y[model.oob_indices_], model.oob_proba_) == pytest.approx(
        model.oob_score_, abs=1e-6
    )
    parts = Limits(sample_rows=100, exact_rows=50, part_work=300 * 160**2)
    assert small(effort=parts).fit(X, Y).oob_score_ == pytest.approx(model.oob_score_, abs=0.03)


def test_unknown_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    Y = (X[:, :4] + 0.5 * rng.normal(size=(240, 4)) > 0.5).astype(float)
    new = rng.normal(size=(300, 5))
    truth = new[:, :4] > 0.5
    known = rng.random(Y.shape) < [0.5, 0.5, 0.3, 0]
    known[:3] = False  # rows of which nothing is known
    model = small()
    proba = model.fit(X, np.where(known, Y, np.nan)).predict_proba(new)
    # Half of the labels unknown, read as 0, are worth much less.
    zeros = small().fit(X, np.where(known, Y, 0))
    found, read_as_zero = (
        log_loss(truth[:, :3].ravel(), p[:, :3].ravel()) for p in (proba, zeros.predict_proba(new))
    )
    assert found < 0.6 * read_as_zero
    assert np.mean((proba[:, :3] > 0.5) == truth[:, :3]) > 0.85
    np.testing.assert_allclose(proba[:, 3], 0.5, atol=1e-12)
    assert model.oob_proba_.shape == Y.shape
    assert 0.5 < model.oob_score_ <= 1
    # What stands in unknown cells has no influence; a weight of one is none.
    again = small().fit(X, pd.DataFrame(np.where(known, Y, np.nan)).astype("Int64"), np.ones(240))
    np.testing.assert_allclose(again.predict_proba(new), proba, atol=1e-6)
