"""Explanations agree with the predictions, and a person can check them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from labelkin import BaggingVPCPClassifier, IBLRClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.explain import explain
from labelkin.rows import array_api_dispatch
from support.arrays import import_library

MODELS = [
    MLkNNClassifier(7),
    VPCMEClassifier(n_estimators=6, random_state=0),
    VPCMEClassifier(n_estimators=4, voting="soft", random_state=0),
    VPCMEClassifier(IBLRClassifier(ridge=0.1), n_estimators=2, random_state=0),
    BaggingVPCPClassifier(MLkNNClassifier(4), n_estimators=5, random_state=0),
    VPCMEClassifier(n_estimators=14, bag=0.5, random_state=0),
    VPCMEClassifier(n_estimators=20, bag=0.6, calibrate=True, random_state=0),
    BaggingVPCPClassifier(n_estimators=14, bag=0.5, calibrate=True, random_state=0),
]


@pytest.fixture(scope="module")
def scenes():
    bunch = load_digit_scenes(n_samples=400, random_state=0)
    train, test = bunch.split == 0, bunch.split == 1
    return bunch.data[train], bunch.target[train], bunch.data[test]


def members_of(model):
    """Classifiers and projections, the single ML-kNN being its own member."""
    if isinstance(model, MLkNNClassifier):
        return [(model, np.eye(model.n_features_in_))]
    return [(e, p.components_) for e, p in zip(model.estimators_, model.projections_, strict=True)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_agrees_with_the_predictions(model, scenes):
    X, Y, test = scenes
    model.fit(X, Y)
    for x in test[:30]:
        found = model.explain(x)
        np.testing.assert_array_equal(found.probability, model.predict_proba(x[None])[0])
        np.testing.assert_array_equal(found.predicted, model.predict(x[None])[0])
        np.testing.assert_array_equal(found.votes, (found.member_probability > 0.5).sum(axis=0))
        assert found.n_members == len(found.counts) == getattr(model, "n_estimators", 1)


@pytest.mark.parametrize("model", MODELS[:3], ids=str)
def test_bayes_rule_on_the_counts_gives_the_probability(model, scenes):
    X, Y, test = scenes
    model.fit(X, Y)
    found = model.explain(test[3])
    labels = np.arange(Y.shape[1])
    posteriors = []
    for (member, _), counts in zip(members_of(model), found.counts, strict=True):
        absent, present = member.likelihood_[:, labels, counts]
        present, absent = member.prior_ * present, (1 - member.prior_) * absent
        posteriors.append(present / (present + absent))
    np.testing.assert_array_equal(found.member_probability, posteriors)
    np.testing.assert_array_equal(found.probability, sum(posteriors) / len(posteriors))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_neighbours_by_hand(model, scenes):
    X, Y, test = scenes
    model.fit(X, Y)
    found = model.explain(test[5])
    members, ranks, distances, counts = {}, {}, {}, []
    for _, components in members_of(model):
        distance = np.linalg.norm((X - test[5]) @ components.T, axis=1)
        nearest = np.argsort(distance, kind="stable")[: found.n_neighbors]
        counts.append(Y[nearest].sum(axis=0))
        for rank, sample in enumerate(nearest, start=1):
            members[sample] = members.get(sample, 0) + 1
            ranks.setdefault(sample, []).append(rank)
            distances.setdefault(sample, []).append(distance[sample])
    np.testing.assert_array_equal(found.counts, counts)
    assert dict(zip(found.rows, found.row_measures["members"], strict=True)) == members
    np.testing.assert_allclose(found.row_measures["rank"], [np.mean(ranks[s]) for s in found.rows])
    np.testing.assert_allclose(
        found.row_measures["distance"], [np.mean(distances[s]) for s in found.rows]
    )
    np.testing.assert_array_equal(found.row_labels, Y[found.rows])
    assert found.row_measures["members"].sum() == found.n_members * found.n_neighbors
    order = list(zip(-found.row_measures["members"], found.row_measures["rank"], strict=True))
    assert order == sorted(order)
    # Members and labels of the neighbours add up to the counts.
    np.testing.assert_array_equal(
        found.row_measures["members"] @ found.row_labels.astype(int), found.counts.sum(axis=0)
    )


def test_text_of_one_member():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    Y = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 0]])
    found = MLkNNClassifier(n_neighbors=2).fit(X, Y).explain([1.19])
    assert str(found).splitlines() == [
        "✓ 0  0.82 ████████████████      1 of 2 neighbours",  # 0.75 · 3/8 to 0.25 · 1/4
        "✓ 1  0.72 ██████████████        1 of 2 neighbours",  # 3/8 · 3/5 to 5/8 · 1/7
        "most similar training rows:",
        "  training row 5: no label",
        "  training row 4: 0, 1",
    ]
    assert repr(found) == "<Explanation: 0, 1>"


def test_text_and_html_of_an_ensemble(scenes):
    pandas = pytest.importorskip("pandas")
    X, Y, test = scenes
    target = pandas.DataFrame(Y, columns=["<b>&", *"abcdefghi"])
    model = VPCMEClassifier(n_estimators=6, random_state=0).fit(X, target)
    found = model.explain(test[0])
    assert f"{found.votes.max()} of 6 members" in str(found)
    for html in (found._repr_html_(), found.to_html()):
        assert "&lt;b&gt;&amp;" in html
        assert "<b>" not in html
        assert html.count("<tr") == 8  # the most probable labels


def test_every_predicted_label_is_shown():
    X = np.arange(20.0)[:, None]
    Y = np.tile(np.arange(25) < 14, (20, 1)).astype(int)
    Y[:2, :14], Y[2:4, 14:] = 0, 1
    text = str(MLkNNClassifier(3).fit(X, Y).explain([15.0]))
    assert text.count("✓") == 14


def test_forms_of_a_sample(scenes):
    pandas = pytest.importorskip("pandas")
    X, Y, test = scenes
    names = [f"p{i}" for i in range(X.shape[1])]
    frame = pandas.DataFrame(test, columns=names)
    plain = MLkNNClassifier().fit(X, Y)
    named = MLkNNClassifier().fit(pandas.DataFrame(X, columns=names), Y)
    sparse_model = MLkNNClassifier().fit(sparse.csr_array(X), Y)
    expected = plain.explain(test[4])
    for found in (
        plain.explain(test[4:5]),
        plain.explain(list(test[4])),
        plain.explain(sparse.csr_array(test[4:5])),
        named.explain(frame.iloc[4]),
        named.explain(frame.iloc[4:5]),
        sparse_model.explain(sparse.csr_array(test[4:5])),
        sparse_model.explain(test[4]),
    ):
        assert str(found) == str(expected)
        np.testing.assert_allclose(found.row_measures["distance"],
                                   expected.row_measures["distance"])  # fmt: skip


def test_one_dimensional_target(scenes):
    X, Y, test = scenes
    y = np.where(Y[:, 3] == 1, "three", "other")
    for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=3, random_state=0)):
        found = model.fit(X, y).explain(test[0])
        assert found.label_names == ["three"]
        np.testing.assert_array_equal(found.probability, model.predict_proba(test[:1])[0, 1:])
        assert ("three" if found.predicted[0] else "other") == model.predict(test[:1])[0]


def test_a_lone_training_sample():
    found = MLkNNClassifier().fit([[0.0]], [[1, 0]]).explain([1.0])
    assert found.n_neighbors == len(found.rows) == 0
    assert "most similar training rows" not in str(found)


def test_refusals(scenes):
    X, Y, test = scenes
    with pytest.raises(ValueError, match="x must be one sample, got 2: explain them one after"):
        MLkNNClassifier().fit(X, Y).explain(test[:2])
    with pytest.raises(ValueError, match="features"):
        MLkNNClassifier().fit(X, Y).explain(test[0, :5])
    with pytest.raises(NotFittedError):
        MLkNNClassifier().explain(test[0])
    base = MultiOutputClassifier(LogisticRegression())
    model = VPCMEClassifier(base, n_estimators=1, random_state=0).fit(X, Y)
    assert not len(model.explain(test[0]).rows)  # no neighbours


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[-2]], ids=str)
def test_fitted_on_a_device(model, scenes):
    """The model comes to the host by itself, whether dispatch is on or not."""
    strict = import_library()
    X, Y, test = scenes
    expected = clone(model).fit(X, Y).explain(test[0])
    with array_api_dispatch():
        there = clone(model).fit(strict.asarray(X), strict.asarray(Y))
        found = [there.explain(strict.asarray(test[0])), there.explain(test[0])]
    found.append(there.explain(test[0]))
    for explanation in found:
        assert str(explanation) == str(expected)
        np.testing.assert_allclose(explanation.probability, expected.probability, atol=1e-8)


def test_a_row_of_a_frame_needs_no_background(scenes):
    pd = pytest.importorskip("pandas")
    X, Y, test = scenes
    frame = pd.DataFrame(X).add_prefix("p")
    model = MLkNNClassifier().fit(frame, Y)
    row = pd.DataFrame(test[:1]).add_prefix("p")
    assert str(explain(model, row)) == str(model.explain(row))


def test_unknown_labels_are_named():
    X = np.arange(12.0)[:, None]
    Y = np.column_stack([X[:, 0] > 5, X[:, 0] < 9]).astype(float)
    Y[0] = np.nan
    Y[1, 1] = np.nan
    why = MLkNNClassifier(3).fit(X, Y).explain([0.0])
    assert why.to_dict()["nearest"] == [
        "training row 0: unknown: 0, 1",
        "training row 1: unknown: 1",
        "training row 2: 1",
    ]
