"""Explanations of kernels and of their ensemble add up to the predictions."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from labelkin import KernelRidgeLOOClassifier, KinEnsembleClassifier
from labelkin.explain import Explanation
from labelkin.explain._fields import occlude_features, typical_values
from labelkin.kernel._regression import KernelRidge
from labelkin.rows import array_api_dispatch
from support.arrays import import_library
from support.data import make_data


def quadratic(A, B):
    return (1 + A @ B.T) ** 2


KERNELS = [
    KernelRidgeLOOClassifier(random_state=0),
    KernelRidgeLOOClassifier("laplacian", scale=True),
    KernelRidgeLOOClassifier("linear"),
    KernelRidgeLOOClassifier("cosine"),
    KernelRidgeLOOClassifier(quadratic),
    KernelRidgeLOOClassifier(max_exact=50, n_landmarks=30, random_state=0),
]
KIN = KinEnsembleClassifier(n_projections=2, n_trees=10, n_jobs=1, random_state=0)


def has_rows(model):
    return getattr(model, "kernel", None) not in ("linear", "cosine") and (
        getattr(model, "landmarks_", None) is None
    )


@pytest.fixture(scope="module")
def data():
    X, Y = make_data(120, 5, 4)
    return X[:90], Y[:90], X[90:]


@pytest.fixture(
    scope="module", params=[*KERNELS, KIN], ids=lambda model: str(model).split(" at 0x")[0]
)
def model(request, data):
    X, Y, _ = data
    return clone(request.param).fit(X, Y)


@pytest.fixture(scope="module")
def kin(data):
    return clone(KIN).fit(*data[:2])


def test_adds_up_to_the_prediction(model, data):
    for x in data[2][:5]:
        why = model.explain(x)
        np.testing.assert_array_equal(why.probability, model.predict_proba(x[None])[0])
        np.testing.assert_array_equal(why.predicted, model.predict(x[None])[0])
        total = why.member_effects.sum(axis=0) + why.intercept
        np.testing.assert_allclose(total, logit(why.probability), atol=1e-9)
        assert why.member_weights.sum() == pytest.approx(1)


def test_rows_add_up_to_the_score(model, data):
    _, Y, test = data
    why = model.explain(test[3])
    if not has_rows(model):
        assert why.row_effects is None
        assert len(why.rows) == 0
        assert "training row" not in str(why)
        return
    np.testing.assert_array_equal(why.row_labels, Y[why.rows])
    assert (np.diff(why.row_measures["similarity"]) <= 0).all()
    total = why.row_effects.sum(axis=0) + Y.mean(axis=0)
    if isinstance(model, KernelRidgeLOOClassifier):
        score = model._regression.scores(test[3:4])[0]
    else:  # of the kernel with the largest weight
        kernels = [m for m in model.estimators_ if isinstance(m.learners[0], KernelRidge)]
        weight_of = dict(zip(why.member_names, why.member_weights, strict=True))
        best = max(kernels, key=lambda member: weight_of[member.name])
        score = best.scores(model.views_[best.view](test[3:4]))[0]
    np.testing.assert_allclose(total, score, atol=1e-6)


def test_rows_for_and_against(model, data):
    """A copy of a training sample is explained by that sample, and rows for a label have it."""
    X, _, test = data
    if not has_rows(model) or callable(getattr(model, "kernel", None)):
        return
    why = model.explain(X[7])
    assert why.rows[0] == 7
    assert why.row_measures["similarity"][0] == pytest.approx(1)
    why = model.explain(test[0])
    for label in range(4):
        for sign in (1, -1):
            effects = [effect for _, effect in why.strongest_rows(label, sign)]
            assert all(sign * effect > 0 for effect in effects)
            assert effects[0] == sign * (sign * why.row_effects[:, label]).max()


@pytest.mark.parametrize("model", [KERNELS[0], KIN], ids=["kernel ridge", "Kin"])
def test_rows_with_unknown_labels(model, data):
    """A row counts for the labels that are known; the others are named."""
    X, Y, test = data
    known = np.random.default_rng(0).random(Y.shape) > 0.3
    model = clone(model).fit(X, np.where(known, Y, np.nan))
    why = model.explain(test[0])
    np.testing.assert_array_equal(why.row_known, known[why.rows])
    np.testing.assert_array_equal(why.row_effects != 0, known[why.rows])
    if isinstance(model, KernelRidgeLOOClassifier):
        total = why.row_effects.sum(axis=0) + np.average(Y, axis=0, weights=known)
        np.testing.assert_allclose(total, model._regression.scores(test[:1])[0], atol=1e-6)
    for i, line in enumerate(why.to_dict()["nearest"]):
        unknown = ", ".join(str(j) for j in np.flatnonzero(~why.row_known[i]))
        assert line.partition("unknown: ")[2] == unknown
        assert "no label" not in line or known[why.rows[i]].all()


def test_neighbours_and_other_rows_are_apart():
    """A row against a label that it has, and one for a label that it lacks, are marked."""
    why = Explanation(
        ["a"],
        np.array([True]),
        np.array([0.7]),
        rows=np.arange(8),
        row_labels=np.array([[1, 0, 1, 0, 1, 0, 1, 0]], dtype=bool).T,
        row_effects=np.array([[0.3, -0.1, 0.02, 0, 0, 0, -0.2, 0.2]]).T,
    )
    text = str(why)
    assert "a  for 0 +0.30, 7 (lacks it) +0.20; against 6 (has it) -0.20, 1 -0.10" in text
    found = why.to_dict()
    assert [line.split(":")[0] for line in found["nearest"]] == [
        f"training row {i}" for i in range(5)
    ]
    assert found["others"] == ["training row 6: a", "training row 7: no label"]
    assert text.endswith(
        "other training rows named above:\n  training row 6: a\n  training row 7: no label"
    )
    html = why.to_html()
    assert "6 (has it)" in html
    assert html.index("Other training rows") < html.index("training row 6: a")


def test_members_of_the_ensemble(kin, data):
    why = kin.explain(data[2][0])
    assert why.member_names == [name for name, _ in kin.members_]
    np.testing.assert_array_equal(why.member_weights, kin.weights_)
    slope = kin.combination_.mean_curves_.slope_
    effects = slope * kin.label_weights_ * logit(why.member_probability)
    np.testing.assert_allclose(why.member_effects, effects)


def test_features_by_hand(model, data):
    X, _, test = data
    why = model.explain(test[0])
    assert why.features == [f"x{i}" for i in range(5)]
    np.testing.assert_array_equal(why.feature_values, test[0])
    before = logit(model.predict_proba(test[:1])[0])
    for feature in range(5):
        x = test[:1].copy()
        x[0, feature] = np.median(X[:, feature])
        change = before - logit(model.predict_proba(x)[0])
        np.testing.assert_allclose(why.feature_effects[:, feature], change, atol=1e-8)


def test_few_features_are_tried(kin, data):
    X, _, test = data
    gaps = np.abs(test[0] - np.median(X, axis=0)) / X.std(axis=0)
    why = kin.explain(test[0], max_features=2)
    assert why.features == [f"x{i}" for i in np.sort(np.argsort(-gaps)[:2])]
    assert kin.explain(test[0], max_features=0).features == []


def test_effects_of_a_linear_model_are_its_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 3
    model = LogisticRegression().fit(X, X[:, 0] > 3)
    typical = typical_values(X)
    found = occlude_features(lambda rows: model.decision_function(rows)[:, None], X[:1], typical, 4)
    np.testing.assert_array_equal(found["features"], range(4))
    np.testing.assert_allclose(
        found["feature_effects"], model.coef_ * (X[:1] - np.median(X, axis=0))
    )


def test_words_are_removed():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.2, size=(80, 30)).astype(float))
    Y = (X[:, :3].toarray() > 0).astype(int)
    for model in (KernelRidgeLOOClassifier(), clone(KIN)):
        model.fit(X, Y)
        row = X[[5]]
        why = model.explain(row, [f"w{i}" for i in range(30)])
        assert why.features == [f"w{i}" for i in row.indices]
        for i, feature in enumerate(row.indices):
            x = row.toarray()
            x[0, feature] = 0
            pair = [model.predict_proba(one)[0] for one in (row, sparse.csr_array(x))]
            before, after = logit(np.clip(pair, 1e-6, 1 - 1e-6))
            np.testing.assert_allclose(why.feature_effects[:, i], before - after, atol=1e-6)
        present = np.flatnonzero(Y[5])
        for label in present:  # the label is the word
            assert why.strongest_features(label)[0][0] == f"w{label}"
    assert model.explain(sparse.csr_array((1, 30))).features == []  # an empty text


def test_forms_of_a_sample(data):
    pandas = pytest.importorskip("pandas")
    X, Y, test = data
    names = list("abcde")
    frame = pandas.DataFrame(X, columns=names)
    target = pandas.DataFrame(Y, columns=["<b>&", "x", "y", "z"])
    model = KernelRidgeLOOClassifier().fit(frame, target)
    why = model.explain(pandas.DataFrame(test, columns=names).iloc[2])
    assert why.features == names
    assert why.label_names[0] == "<b>&"
    assert why.strongest_features("x")[0][0].split(" = ")[0] in names
    with pytest.raises(ValueError, match=r"no label is called 'xx'\. Did you mean x\?"):
        why.strongest_features("xx")
    for html in (why._repr_html_(), why.to_html()):
        assert "<bdi>&lt;b&gt;&amp;" in html  # apart from what stands beside it
        assert "<b>" not in html
    assert why.member_effects.shape == (1, 4)
    assert why.feature_effects.shape == (4, 5)
    assert why.row_labels.shape == (90, 4)
    with pytest.raises(ValueError, match="one name for each of the 5 features, got 2"):
        model.explain(frame.iloc[0], ["a", "b"])
    with pytest.raises(ValueError, match="x must be one sample, got 2"):
        model.explain(frame.iloc[:2])


def test_one_dimensional_target(data):
    X, Y, test = data
    y = np.where(Y[:, 0] == 1, "yes", "no")
    for model in (KernelRidgeLOOClassifier(), clone(KIN)):
        why = model.fit(X, y).explain(test[0])
        assert why.label_names == ["yes"]
        np.testing.assert_array_equal(why.probability, model.predict_proba(test[:1])[0, 1:])
        np.testing.assert_array_equal(why.row_labels[:, 0], y[why.rows] == "yes")


def test_text(kin, data):
    why = kin.explain(data[2][0])
    text = str(why)
    for name, weight in zip(why.member_names, why.member_weights, strict=True):
        assert any(line.split()[:2] == [name, f"{weight:.2f}"] for line in text.splitlines())
    first = int(why.probability.argmax())
    row, effect = why.strongest_rows(first)[0]
    assert f"{row} {effect:+.2f}" in text
    name, effect = why.strongest_features(first)[0]
    assert f"{name} {effect:+.1f}" in text
    json.dumps(why.to_dict())


def test_picture(kin, data):
    pytest.importorskip("matplotlib")
    figure = kin.explain(data[2][0]).plot()
    assert len(figure.axes[0].patches) == 4
    assert len(figure.axes[0].collections) == len(kin.members_)


def test_characters_that_the_usual_font_lacks(kin, data):
    pytest.importorskip("matplotlib")
    found = kin.explain(data[2][0])
    for name, words in (
        ("\u1d81", []),  # in a font of matplotlib's own
        ("\U0003134f\U0003134e", ["HTML"]),  # in none
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            replace(found, label_names=[name, *found.label_names[1:]]).plot().canvas.draw()
        assert len(caught) == len(words)
        assert all(word in str(one.message) for word, one in zip(words, caught, strict=True))


def test_weighted_samples(data):
    X, Y, test = data
    weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    model = KernelRidgeLOOClassifier(random_state=0).fit(X, Y, sample_weight=weight)
    why = model.explain(test[0])
    assert not why.row_effects[weight[why.rows] == 0].any()
    total = why.row_effects.sum(axis=0) + np.average(Y, axis=0, weights=weight)
    np.testing.assert_allclose(total, model._regression.scores(test[:1])[0], atol=1e-7)
    np.testing.assert_array_equal(why.row_labels, Y[why.rows])


def test_precomputed_kernel(data):
    X, Y, test = data
    why = KernelRidgeLOOClassifier("precomputed").fit(X @ X.T, Y).explain(test[0] @ X.T)
    assert len(why.features) == len(why.rows) == 0


def test_fitted_on_a_device(data):
    strict = import_library()
    X, Y, test = data
    expected = KernelRidgeLOOClassifier(random_state=0).fit(X, Y).explain(test[0])
    with array_api_dispatch():
        there = KernelRidgeLOOClassifier(random_state=0).fit(strict.asarray(X), strict.asarray(Y))
        found = there.explain(strict.asarray(test[0]))
    np.testing.assert_allclose(found.row_effects, expected.row_effects, atol=1e-6)
    np.testing.assert_allclose(found.feature_effects, expected.feature_effects, atol=1e-5)
