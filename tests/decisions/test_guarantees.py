"""Decisions with a guarantee: the stated share over many draws, exact cuts, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelkin import DecisionClassifier, KinEnsembleClassifier, MultiLabelLogisticRegression
from labelkin.cli import main
from labelkin.decisions import LabelDecision, learn_thresholds, parse_guarantee
from labelkin.decisions._risk import _betting_p_values, compare_with_half
from labelkin.persistence import load_model, save_model
from support.data import make_data

LEVELS = np.linspace(0, 1, 401)


def draw(n, rng, q=6):
    """Labels, and probabilities that rank them but are not calibrated."""
    z = rng.normal(size=(n, q)) + rng.normal(size=(n, 1)) - 1
    Y = (rng.random((n, q)) < 1 / (1 + np.exp(-2 * z))).astype(int)
    return 1 / (1 + np.exp(-2 * z + 0.7 * rng.normal(size=(n, q)))), Y


def row_recall(Y, Z):
    rows = Y.any(axis=1)
    return ((Y & Z).sum(axis=1)[rows] / Y.sum(axis=1)[rows]).mean()


def row_precision(Y, Z):
    rows = Z.any(axis=1)
    return ((Y & Z).sum(axis=1)[rows] / Z.sum(axis=1)[rows]).mean() if rows.any() else 1.0


@pytest.fixture(scope="module")
def population():
    scores, Y = draw(10_000, np.random.default_rng(0))
    return {
        "recall": [row_recall(Y, scores > t) for t in LEVELS],
        "precision": [row_precision(Y, scores > t) for t in LEVELS],
        "scores": scores,
        "Y": Y,
    }


# ------------------------------------------------------------------ over many draws of the rows


@pytest.mark.parametrize("n", [40, 200])
def test_expected_recall_is_the_level(population, n):
    rng = np.random.default_rng(1)
    cuts = [LabelDecision("recall:0.9").fit(*draw(n, rng)).thresholds_[0] for _ in range(250)]
    recalls = np.interp(cuts, LEVELS, population["recall"])
    error = recalls.std() / np.sqrt(len(cuts))
    # Not below the level, and not much above it: no more labels than needed.
    assert 0.9 - 3 * error < recalls.mean() < 0.9 + 1 / n + 3 * error + 0.005


def test_precision_holds_in_the_stated_share_of_draws(population):
    rng = np.random.default_rng(2)
    cuts = [LabelDecision("precision:0.75").fit(*draw(500, rng)).thresholds_[0] for _ in range(120)]
    reached = np.interp(cuts, LEVELS, population["precision"])
    assert (reached >= 0.75).mean() >= 0.9
    assert reached.mean() < 0.9  # it does not just predict next to nothing


@pytest.mark.filterwarnings("ignore:decision='macro_precision")
def test_each_label_reaches_its_level(population):
    rng = np.random.default_rng(3)
    recall, precision = [], []
    for _ in range(80):
        scores, Y = draw(600, rng)
        cuts = LabelDecision("macro_recall:0.8").fit(scores, Y).thresholds_
        recall.append(
            [(s[y > 0] > t).mean() for s, y, t in columns(population, cuts)],
        )
        cuts = LabelDecision("macro_precision:0.6").fit(scores, Y).thresholds_
        precision.append([y[s > t].mean() if t < 1 else 1 for s, y, t in columns(population, cuts)])
    error = np.std(recall, axis=0) / np.sqrt(80)
    assert (np.abs(np.mean(recall, axis=0) - 0.8) < 3 * error + 0.01).all()
    assert ((np.array(precision) >= 0.6).mean(axis=0) >= 0.9).all()
    assert 0.6 < np.mean(precision) < 0.75  # few labels are never predicted


def columns(population, cuts):
    return zip(population["scores"].T, population["Y"].T, cuts, strict=True)


def test_betting_p_values_are_valid():
    rng = np.random.default_rng(4)
    losses = rng.choice([0, 0.5, 1], p=[0.85, 0.1, 0.05], size=(100, 2_000))  # of mean 0.1
    counted = np.ones(losses.shape, bool)
    counted[60:] = rng.random((40, 2_000)) < 0.5
    p = _betting_p_values(losses, counted, 0.1)
    assert (p < 0.1).mean() < 0.1
    assert (p < 0.02).mean() < 0.02
    assert np.median(_betting_p_values(losses * 0.3, counted, 0.1)) < 0.02  # and has power


# ------------------------------------------------------------------------------------ exact cuts


def test_recall_cut_is_the_largest_that_is_allowed():
    scores, Y = draw(60, np.random.default_rng(5))
    cut = LabelDecision("recall:0.85").fit(scores, Y).thresholds_[0]
    n = int(Y.any(axis=1).sum())

    def bound(t):
        return (n * (1 - row_recall(Y, scores > t)) + 1) / (n + 1)

    above = scores[scores > cut].min()
    assert bound(cut) <= 0.15 < bound(above)


def test_rows_without_labels_do_not_count_for_recall():
    scores, Y = draw(80, np.random.default_rng(6))
    more, none = np.vstack([scores, np.ones((50, 6))]), np.vstack([Y, np.zeros((50, 6), int)])
    cuts = [
        LabelDecision("recall:0.9").fit(*rows).thresholds_ for rows in ((scores, Y), (more, none))
    ]
    np.testing.assert_array_equal(*cuts)


def test_scores_of_any_scale_and_at_least_one():
    scores, Y = draw(600, np.random.default_rng(7))
    margins = np.log(scores / (1 - scores))
    for name in ("recall:0.9", "precision:0.8"):
        sets = [LabelDecision(name).fit(s, Y).apply(s) for s in (scores, margins)]
        np.testing.assert_array_equal(*sets)
    filled = LabelDecision("recall:0.9", at_least_one=True).fit(scores, Y)
    assert filled.apply(scores).any(axis=1).all()
    assert filled.thresholds_[0] >= LabelDecision("recall:0.9").fit(scores, Y).thresholds_[0]


# ----------------------------------------------------------------------------- too few, and wrong


def test_levels_out_of_reach_are_refused():
    scores, Y = draw(8, np.random.default_rng(8))
    with pytest.raises(ValueError, match=r"recall:0.95' needs at least 19 rows that have a label"):
        LabelDecision("recall:0.95").fit(scores, Y)
    with pytest.raises(ValueError, match=r"precision:0.9' cannot be reached with these 8 rows"):
        LabelDecision("precision:0.9").fit(scores, Y)
    assert "recall:0.9" in learn_thresholds(model_with(*draw(50, np.random.default_rng(9))), Y50())


def model_with(scores, Y):
    model = MultiLabelLogisticRegression()
    model.oob_proba_ = scores
    return model


def Y50():
    return draw(50, np.random.default_rng(9))[1]


def test_labels_out_of_reach_are_counted():
    scores, Y = draw(300, np.random.default_rng(10))
    Y[:, 0], Y[:3, 0] = 0, 1
    with pytest.warns(UserWarning, match="1 of 6 labels with these 300 rows: they are predicted"):
        cuts = LabelDecision("macro_recall:0.9").fit(scores, Y).thresholds_
    assert (scores[:3, 0] > cuts[0]).all()
    with pytest.warns(UserWarning, match="of 6 labels with these 300 rows: they are never"):
        cuts = LabelDecision("macro_precision:0.7").fit(scores, Y).thresholds_
    assert np.isinf(cuts[0])
    with pytest.raises(ValueError, match=r"macro_precision:0.9' cannot be reached for any label"):
        LabelDecision("macro_precision:0.9").fit(scores[:9], Y[:9])


@pytest.mark.parametrize("name", ["recall:1", "recall:0", "precision:high", "macro_recall:90"])
def test_wrong_levels(name):
    with pytest.raises(ValueError, match=r"a number between 0 and 1, as in \w+:0.9"):
        LabelDecision(name).fit([[0.5]], [[1]])
    with pytest.raises(ValueError, match="a number between 0 and 1"):
        KinEnsembleClassifier(decision=name).fit(*make_data())


def test_a_metric_without_level_names_the_cure():
    with pytest.raises(
        ValueError, match=r"a level such as precision:0.9, or costs such as cost:FN=5"
    ):
        LabelDecision("precision").fit([[0.5]], [[1]])
    assert parse_guarantee("f1") is None


# ------------------------------------------------------------------------------------ classifiers


def test_kin_and_any_classifier(tmp_path):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(500, 4))
    Y = (X[:, :3] + rng.normal(size=(500, 3)) > 0).astype(int)
    kin = KinEnsembleClassifier(n_trees=20, decision="recall:0.95", random_state=0)
    other = DecisionClassifier(OneVsRestClassifier(LogisticRegression()), "recall:0.95")
    for model in (kin, other):
        model.fit(X[:300], Y[:300])
        sets = model.predict(X[300:])
        assert row_recall(Y[300:], sets) > 0.92
        assert sets.mean() < 0.95
    save_model(kin, tmp_path / "kin.labelkin")
    np.testing.assert_array_equal(
        load_model(tmp_path / "kin.labelkin").predict(X[300:]), kin.predict(X[300:])
    )


def test_weights_of_kin_are_not_more_observations():
    X, Y = make_data(n=60)
    weight = np.linspace(0, 2, len(X))
    model = KinEnsembleClassifier(
        n_trees=0, n_projections=0, decision="recall:0.8", random_state=0
    ).fit(X, Y, sample_weight=weight)
    rows = model.oob_indices_
    assert len(rows) == 59
    expected = LabelDecision("recall:0.8").fit(model.oob_proba_, Y[rows]).thresholds_
    np.testing.assert_allclose(model.decision_.thresholds_, expected, rtol=1e-5)


def test_held_out_rows_of_a_fitted_classifier():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(400, 4))
    Y = (X[:, :3] + rng.normal(size=(400, 3)) > 0).astype(int)
    fitted = KinEnsembleClassifier(n_trees=0, n_projections=0, random_state=0).fit(X[:100], Y[:100])
    model = DecisionClassifier(FrozenEstimator(fitted), "recall:0.9").fit(X[100:], Y[100:])
    assert model.scores_from_ == "frozen"
    np.testing.assert_allclose(model.training_scores_, fitted.predict_proba(X[100:]))
    expected = LabelDecision("recall:0.9").fit(fitted.predict_proba(X[100:]), Y[100:])
    np.testing.assert_array_equal(model.thresholds_, expected.thresholds_)


@pytest.mark.parametrize(("level", "others"), [("recall:0.9", "fewer"), ("precision:0.9", "more")])
def test_levels_that_one_half_exceeds_are_noted(level, others, tmp_path, capsys):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3))
    table = pd.DataFrame(x, columns=list("abc"))
    table[["p", "q"]] = (x[:, :2] + 0.02 * rng.normal(size=(300, 2)) > 0).astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    files = str(tmp_path / "t.csv"), str(tmp_path / "m.labelkin")
    assert main(["fit", files[0], "--out", files[1], "--labels", "p,q", "-m", "logistic"]) == 0
    assert main(["predict", files[1], files[0], "--decide", level]) == 0
    text = f"{level} predicts {others} labels than a threshold of one half, which reaches"
    assert text in capsys.readouterr().err
    for decision in (level, "f1", None):  # one label above one half, one below it
        assert compare_with_half(decision, np.array([0.4, 0.6, np.inf])) is None
