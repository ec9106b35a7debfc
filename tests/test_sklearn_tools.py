"""labelkin used only through scikit-learn's own tools."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.inspection import (
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    MultiLabelBinarizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.fixes import parse_version

import labelkin
from labelkin import (
    MDDM,
    AdaBoostPDTClassifier,
    BaggingVPCPClassifier,
    BinaryRelevanceClassifier,
    CalibratedLabelRankingClassifier,
    ChainClassifier,
    DecisionClassifier,
    IBLRClassifier,
    LabelPowersetClassifier,
    MLkNNClassifier,
    PairwiseConstraintProjection,
    RAkELClassifier,
    VPCMEClassifier,
)
from labelkin.evaluation import evaluate_model
from labelkin.metrics import SCORERS, get_scorer, hamming_loss, score_all
from labelkin.model_selection import IterativeStratifiedKFold
from support.data import make_data

TRANSFORMERS = [PairwiseConstraintProjection(random_state=0), MDDM(n_components=2)]
CLASSIFIERS = [
    MLkNNClassifier(5),
    IBLRClassifier(5, ridge=0.1),
    VPCMEClassifier(n_estimators=3, random_state=0),
    BinaryRelevanceClassifier(LogisticRegression()),
    ChainClassifier(LogisticRegression(), random_state=0),
    LabelPowersetClassifier(LogisticRegression()),
    RAkELClassifier(LogisticRegression(), n_estimators=4, random_state=0),
]


def by_name(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    Y = (X @ rng.standard_normal((6, 4)) + 0.3 * rng.standard_normal((120, 4)) > 0.3).astype(int)
    return X, Y


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# ------------------------------------------------------------------------ imports


def test_the_package_is_imported_before_its_estimators():
    code = "import labelkin, sys\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "labelkin" in loaded
    assert not {"numpy", "sklearn"} & set(loaded)


# ------------------------------------------------------------------------ pipelines


@pytest.mark.parametrize("model", CLASSIFIERS, ids=by_name)
def test_end_of_a_pipeline(model, data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), MDDM(), clone(model)).fit(X, Y)
    assert is_classifier(pipeline)
    assert pipeline.predict(X).shape == pipeline.predict_proba(X).shape == Y.shape
    assert 0 < pipeline.score(X, Y) <= 1
    assert pipeline[:-1].transform(X).shape[1] <= 4


def test_pipeline_with_a_cache(data, tmp_path):
    X, Y = data
    steps = (PairwiseConstraintProjection(random_state=0), MLkNNClassifier(5))
    cached = make_pipeline(*steps, memory=str(tmp_path))
    first = cached.fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(first, clone(cached).fit(X, Y).predict_proba(X))
    np.testing.assert_array_equal(first, make_pipeline(*steps).fit(X, Y).predict_proba(X))


def test_columns_of_a_frame(data):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame["colour"] = np.where(X[:, 0] > 0, "red", "blue")
    target = pandas.DataFrame(Y, columns=["sun", "rain", "wind", "snow"])
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(StandardScaler(), MDDM()), list("abcdef")),
            ("words", OneHotEncoder(), ["colour"]),
        ]
    )
    pipeline = make_pipeline(columns, MLkNNClassifier(5)).fit(frame, target)
    assert list(pipeline[-1].label_names_) == list(target.columns)
    assert list(pipeline.feature_names_in_) == list(frame.columns)
    names = list(pipeline[:-1].get_feature_names_out())
    assert names[0] == "numbers__mddm0"
    assert names[-1] == "words__colour_red"


def test_union_and_function(data):
    X, Y = data
    features = make_union(FunctionTransformer(np.tanh), PairwiseConstraintProjection())
    pipeline = make_pipeline(features, VarianceThreshold(), MLkNNClassifier(5)).fit(X, Y)
    assert pipeline.predict(X).shape == Y.shape


def test_text_and_lists_of_sets():
    texts = ["cats purr", "dogs bark", "cats and dogs", "sun", "rain on cats", "dogs in sun"] * 5
    tags = [{"cat"}, {"dog"}, {"cat", "dog"}, {"sky"}, {"cat", "sky"}, {"dog", "sky"}] * 5
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = binarizer.fit_transform(tags)
    pipeline = make_pipeline(TfidfVectorizer(), VPCMEClassifier(MLkNNClassifier(3), random_state=0))
    pipeline.fit(texts, Y)
    found = binarizer.inverse_transform(pipeline.predict(["cats purr", "dogs in sun"]))
    assert found == [("cat",), ("dog", "sky")]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=by_name)
def test_forms_of_the_target(model, data):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    expected = clone(model).fit(X, Y).predict_proba(X)
    forms = [
        sparse.csr_matrix(Y),
        sparse.csc_array(Y),
        pandas.DataFrame(Y, columns=list("abcd")),
        pandas.DataFrame(Y.astype(bool), columns=list("abcd")),
        Y.astype(float),
        Y.astype(bool),
        Y.tolist(),
    ]
    for form in forms:
        np.testing.assert_array_equal(clone(model).fit(X, form).predict_proba(X), expected)


@pytest.mark.parametrize("kind", [set, frozenset, list, tuple, np.array])
@pytest.mark.parametrize("model", [MLkNNClassifier(), MDDM(), RAkELClassifier()], ids=by_name)
def test_lists_of_sets_are_refused_with_the_cure(model, kind, data):
    X, Y = data
    sets = [kind(list(np.flatnonzero(row))) for row in Y]
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        model.fit(X, sets)


def test_words_are_refused_with_the_cure():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": [1.0, 2.0], "city": ["Bern", "Lyon"]})
    for X in (table, [["Bern"], ["Lyon"]], ["a text", "another"]):
        with pytest.raises(ValueError, match="OneHotEncoder, or TfidfVectorizer"):
            MLkNNClassifier(1).fit(X, [[0, 1], [1, 0]])


# ---------------------------------------------------------------------- model selection


@pytest.mark.parametrize("y_form", [np.asarray, sparse.csr_matrix])
def test_grid_search(y_form, data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), VPCMEClassifier(n_estimators=2, random_state=0))
    grid = {
        "vpcmeclassifier__threshold": [0.5, (0.2, 0.9)],
        "vpcmeclassifier__estimator": [MLkNNClassifier(5), IBLRClassifier(5, ridge=1.0)],
    }
    search = GridSearchCV(
        pipeline,
        grid,
        scoring=SCORERS["average_precision"],
        cv=IterativeStratifiedKFold(3, random_state=0),
    )
    search.fit(X, y_form(Y))
    assert search.best_params_.keys() == grid.keys()
    assert search.predict(X).shape == search.predict_proba(X).shape == Y.shape
    assert 0.5 < search.best_score_ <= search.score(X, Y) <= 1


def test_nested_parameters_of_the_base(data):
    X, Y = data
    model = VPCMEClassifier(MLkNNClassifier(), n_estimators=2, random_state=0)
    space = {"estimator__n_neighbors": range(1, 9), "voting": ["hard", "soft"]}
    search = RandomizedSearchCV(
        model, space, n_iter=3, cv=2, scoring=score_all, refit="neg_hamming_loss", random_state=0
    )
    search.fit(X, Y)
    assert search.best_params_.keys() == space.keys()
    assert "mean_test_average_precision" in search.cv_results_


@pytest.mark.parametrize("model", CLASSIFIERS, ids=by_name)
def test_cross_validate_with_all_scorers(model, data):
    X, Y = data
    found = cross_validate(model, X, Y, scoring=SCORERS, cv=3)
    for name in SCORERS:
        assert np.isfinite(found[f"test_{name}"]).all(), name
    assert (found["test_neg_hamming_loss"] <= 0).all()
    assert found["test_average_precision"].mean() > 0.7


def test_scores_of_scikit_learn(data):
    """Scorer names and make_scorer treat these classifiers as any multi-label ones."""
    X, Y = data
    model = MLkNNClassifier(5)
    for scoring in ("accuracy", "f1_macro", "jaccard_micro"):
        assert (cross_val_score(model, X, Y, scoring=scoring, cv=3) > 0).all()
    ours = cross_val_score(model, X, Y, scoring=make_scorer(hamming_loss), cv=3)
    theirs = cross_val_score(model, X, Y, scoring=SCORERS["neg_hamming_loss"], cv=3)
    np.testing.assert_array_equal(ours, -theirs)


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision"])
def test_ranking_scores_of_scikit_learn(scoring, data):
    X, Y = data
    assert (cross_val_score(MLkNNClassifier(5), X, Y, scoring=scoring, cv=3) > 0.5).all()


def test_cross_val_predict_and_curves(data):
    X, Y = data
    model = MLkNNClassifier(5)
    cv = KFold(3)
    proba = cross_val_predict(model, X, Y, cv=cv, method="predict_proba")
    labels = cross_val_predict(model, X, Y, cv=cv)
    np.testing.assert_array_equal(labels, proba > 0.5)
    scoring = SCORERS["neg_ranking_loss"]
    _, train, test = learning_curve(model, X, Y, cv=cv, scoring=scoring, train_sizes=[20, 60])
    assert train.shape == test.shape == (2, 3)
    _, test = validation_curve(
        model, X, Y, param_name="n_neighbors", param_range=[1, 5], cv=cv, scoring=scoring
    )
    assert test[1].mean() > test[0].mean()


def test_permutation_importance(data):
    X, Y = data
    noise = np.random.default_rng(0).standard_normal((len(X), 1))
    wider = np.hstack([X, 0.01 * noise])
    model = MLkNNClassifier(5).fit(wider, Y)
    found = permutation_importance(
        model, wider, Y, scoring=SCORERS["average_precision"], n_repeats=3, random_state=0
    )
    assert found.importances_mean[-1] < 0.01 < found.importances_mean[:-1].max()


# ------------------------------------------------------------- meta-estimators


@pytest.mark.parametrize(
    "model", [MLkNNClassifier(5), VPCMEClassifier(n_estimators=3, random_state=0)], ids=by_name
)
def test_calibration_of_one_label(model, data):
    """CalibratedClassifierCV takes one label; ours then act as binary classifiers."""
    X, Y = data
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, Y[:, 0])
    assert calibrated.predict_proba(X).shape == (len(X), 2)
    assert calibrated.score(X, Y[:, 0]) > 0.7


def test_calibration_of_every_label(data):
    """MultiOutputClassifier carries it to several labels, one model each."""
    X, Y = data
    calibrated = MultiOutputClassifier(CalibratedClassifierCV(MLkNNClassifier(5), cv=3)).fit(X, Y)
    proba = np.column_stack([part[:, 1] for part in calibrated.predict_proba(X)])
    assert proba.shape == Y.shape
    assert 0 < SCORERS["average_precision"](calibrated, X, Y) <= 1


def test_threshold_of_one_label(data):
    X, Y = data
    tuned = TunedThresholdClassifierCV(MLkNNClassifier(5), scoring="f1", cv=3).fit(X, Y[:, 0])
    assert 0 < tuned.best_threshold_ < 1


def test_voting_and_stacking_of_one_label(data):
    X, Y = data
    members = [("near", MLkNNClassifier(5)), ("vote", VPCMEClassifier(n_estimators=2))]
    for model in (
        VotingClassifier(members, voting="soft"),
        StackingClassifier(members, LogisticRegression(), cv=3),
    ):
        assert model.fit(X, Y[:, 0]).score(X, Y[:, 0]) > 0.7


def test_stacking_of_all_labels(data):
    X, Y = data
    members = [
        ("near", MLkNNClassifier(5)),
        ("chain", ChainClassifier(LogisticRegression(), random_state=0)),
    ]
    stack = StackingClassifier(members, IBLRClassifier(5, ridge=1.0), cv=3).fit(X, Y)
    assert stack.predict(X).shape == Y.shape
    assert stack.final_estimator_.n_features_in_ == 2 * Y.shape[1]


def test_inside_the_chains_of_scikit_learn(data):
    X, Y = data
    chain = ClassifierChain(MLkNNClassifier(5), order="random", random_state=0).fit(X, Y)
    assert chain.predict_proba(X).shape == Y.shape


def test_members_of_scikit_learn_in_ours(data):
    X, Y = data
    base = MultiOutputClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    model = VPCMEClassifier(base, n_estimators=2, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape


# ---------------------------------------------------------------- frames, weights, notebooks


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=by_name)
def test_frames_out(transformer, data):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(len(X)) + 7)
    plain = clone(transformer).fit(frame, Y).transform(frame)
    with sklearn.config_context(transform_output="pandas"):
        fitted = clone(transformer).fit(frame, Y)
        made = fitted.transform(frame)
        piped = make_pipeline(StandardScaler(), clone(transformer), MLkNNClassifier(5))
        assert list(piped.fit(frame, Y)[-1].feature_names_in_) == list(
            piped[:-1].get_feature_names_out()
        )
    assert isinstance(plain, np.ndarray)
    assert list(made.columns) == list(fitted.get_feature_names_out())
    assert made.columns[0] == f"{type(transformer).__name__.lower()}0"
    assert list(made.index) == list(frame.index)
    np.testing.assert_array_equal(made, plain)
    chosen = clone(transformer).set_output(transform="pandas").fit_transform(frame, Y)
    assert isinstance(chosen, pandas.DataFrame)


def test_weights_are_routed(data, routing):
    X, Y = data
    weight = np.zeros(len(X))
    weight[:40] = 1.0
    projection = PairwiseConstraintProjection(random_state=0).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(projection, MLkNNClassifier(5))
    pipeline.fit(X, Y, sample_weight=weight)
    assert pipeline[0].must_link_.max() < 40
    assert pipeline[0].cannot_link_.max() < 40
    unweighted = clone(pipeline).fit(X, Y)
    assert unweighted[0].must_link_.max() >= 40


def test_weights_through_a_search(data, routing):
    X, Y = data
    weight = np.random.default_rng(0).random(len(X))
    projection = PairwiseConstraintProjection(random_state=0).set_fit_request(sample_weight=True)
    search = GridSearchCV(
        make_pipeline(projection, MLkNNClassifier(5)),
        {"mlknnclassifier__n_neighbors": [3, 5]},
        scoring=SCORERS["average_precision"],
        cv=2,
    )
    assert search.fit(X, Y, sample_weight=weight).predict(X).shape == Y.shape


def asking(estimator):
    """Return a classifier that requests the weights."""
    return estimator.set_fit_request(sample_weight=True)


def weighted_models():
    """Meta-estimators whose members request the weights, and one that takes them itself."""
    return [
        BinaryRelevanceClassifier(asking(LogisticRegression())),
        BinaryRelevanceClassifier(),  # its default tree requests them by itself
        BinaryRelevanceClassifier(make_pipeline(MinMaxScaler(), asking(LogisticRegression()))),
        ChainClassifier(asking(LogisticRegression()), n_estimators=2, random_state=0),
        LabelPowersetClassifier(asking(LogisticRegression())),
        RAkELClassifier(asking(LogisticRegression()), random_state=0),
        CalibratedLabelRankingClassifier(asking(LogisticRegression())),
        asking(AdaBoostPDTClassifier(n_estimators=3)),
        DecisionClassifier(BinaryRelevanceClassifier(asking(LogisticRegression())), cv=3),
    ]


@pytest.mark.parametrize("number", range(9))
def test_weights_reach_the_members(number, data, routing):
    """Through a pipeline, weights of zero and one train on a part of the rows."""
    X, Y = data
    model = weighted_models()[number]
    some = np.arange(len(X)) % 3 > 0
    scaler = FunctionTransformer()
    weighted = make_pipeline(scaler, model).fit(X, Y, sample_weight=some.astype(float))
    expected = make_pipeline(scaler, clone(model)).fit(X[some], Y[some])
    np.testing.assert_allclose(weighted.predict_proba(X), expected.predict_proba(X), atol=1e-3)
    plain = make_pipeline(scaler, clone(model)).fit(X, Y)
    assert np.abs(weighted.predict_proba(X) - plain.predict_proba(X)).max() > 0.01


@pytest.mark.parametrize("number", range(9))
def test_weights_through_cross_validation(number, data, routing):
    X, Y = data
    weight = np.random.default_rng(0).random(len(X)) + 0.5
    found = cross_validate(
        make_pipeline(MinMaxScaler(), weighted_models()[number]),
        X,
        Y,
        cv=2,
        scoring=SCORERS["neg_hamming_loss"],
        params={"sample_weight": weight},
        error_score="raise",
    )
    assert (found["test_score"] > -0.4).all()


@pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])
def test_weights_steer_the_pairs_of_an_ensemble(Ensemble, data, routing):
    X, Y = data
    weight = (np.arange(len(X)) < 40).astype(float)
    pipeline = make_pipeline(MinMaxScaler(), asking(Ensemble(n_estimators=2, random_state=0)))
    fitted = clone(pipeline).fit(X, Y, sample_weight=weight)
    assert max(p.must_link_.max() for p in fitted[-1].projections_) < 40
    found = cross_validate(
        pipeline,
        X,
        Y,
        cv=2,
        scoring=SCORERS["average_precision"],
        params={"sample_weight": weight + 0.5},
    )
    assert (found["test_score"] > 0.7).all()


def test_weights_through_a_search_of_members(data, routing):
    X, Y = data
    weight = np.random.default_rng(0).random(len(X))
    model = ChainClassifier(asking(LogisticRegression()))
    search = GridSearchCV(
        model, {"estimator__C": [0.1, 1.0]}, scoring=SCORERS["average_precision"], cv=2
    ).fit(X, Y, sample_weight=weight)
    expected = clone(search.best_estimator_).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(X))


def test_members_that_take_no_weights(data):
    X, Y = data
    weight = np.ones(len(X))
    for model in (
        BinaryRelevanceClassifier(KNeighborsClassifier()),
        DecisionClassifier(MLkNNClassifier()),
    ):
        with pytest.raises(ValueError, match="takes no sample_weight"):
            model.fit(X, Y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            BinaryRelevanceClassifier(LogisticRegression()).fit(X, Y, sample_weight=weight)
        with pytest.raises(TypeError, match="sample_weight"):
            DecisionClassifier(MLkNNClassifier()).fit(X, Y, sample_weight=weight)


def test_weights_that_no_step_takes_are_refused(data, routing):
    X, Y = data
    pipeline = make_pipeline(MDDM(), MLkNNClassifier(5))
    with pytest.raises(TypeError, match="sample_weight"):
        pipeline.fit(X, Y, sample_weight=np.ones(len(X)))


@pytest.mark.parametrize("name", [n for n in labelkin.__all__ if n[0].isupper()])
def test_diagram(name):
    kind = getattr(labelkin, name)
    html = estimator_html_repr(make_pipeline(StandardScaler(), kind()))
    assert name in html
    assert name in kind()._repr_html_()


def test_diagram_of_a_fitted_ensemble(data):
    X, Y = data
    model = VPCMEClassifier(MLkNNClassifier(5), n_estimators=2).fit(X, Y)
    html = model._repr_html_()
    assert "MLkNNClassifier" in html
    assert "fitted" in html
    assert (
        repr(model) == "VPCMEClassifier(estimator=MLkNNClassifier(n_neighbors=5), n_estimators=2)"
    )


@pytest.mark.parametrize("n_labels", [1, 2, 4])
def test_partial_dependence(n_labels):
    """The probability of each label as one feature changes, drawn for one label at a time."""
    if n_labels == 2 and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn 1.6 takes two columns for the classes of one label")
    X, Y = make_data(60, 4, n_labels)
    for model in (MLkNNClassifier(), make_pipeline(StandardScaler(), MLkNNClassifier())):
        model.fit(X, Y)
        found = partial_dependence(model, X, [1], grid_resolution=5)
        assert found["average"].shape == (n_labels, 5)
        moved = X.copy()
        moved[:, 1] = found["grid_values"][0][2]
        expected = model.predict_proba(moved).mean(axis=0)
        np.testing.assert_allclose(found["average"][:, 2], expected)
        pytest.importorskip("matplotlib")
        target = None if n_labels == 1 else n_labels - 1
        display = PartialDependenceDisplay.from_estimator(
            model, X, [1], target=target, grid_resolution=5
        )
        line = display.lines_[0, 0].get_ydata()
        np.testing.assert_allclose(line, found["average"][n_labels - 1])
    np.testing.assert_array_equal(MLkNNClassifier().fit(X, Y).classes_, [[0, 1]] * n_labels)


def test_labels_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    X, Y = make_data()
    y = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    mixed = y[["d", "c", "b", "a"]]
    model = make_pipeline(StandardScaler(), MLkNNClassifier()).fit(X, y)
    for score in (
        get_scorer("macro_f1"),
        score_all,
        evaluate_model,
        lambda model, X, y: model[-1].score(X, y),
    ):
        score(model, X, y)
        with pytest.raises(ValueError, match="labels of the model in another order"):
            score(model, X, mixed)


@pytest.mark.parametrize(
    "wrapper",
    [VPCMEClassifier, DecisionClassifier, labelkin.HierarchyClassifier, labelkin.TableClassifier],
)
def test_a_base_of_one_label_gets_one_sentence(wrapper):
    X, Y = make_data()
    with pytest.raises(ValueError, match="LogisticRegression takes one label per sample: put it"):
        wrapper(LogisticRegression()).fit(X, Y)


@pytest.mark.parametrize(
    "wrap",
    [BinaryRelevanceClassifier, ChainClassifier, RAkELClassifier, DecisionClassifier,
     VPCMEClassifier, labelkin.TableClassifier],
)  # fmt: skip
def test_regressors_are_refused(wrap):
    X, Y = make_data(n=40, q=3, seed=0)
    with pytest.raises(ValueError, match="LinearRegression is a regressor: pass a classifier"):
        wrap(LinearRegression()).fit(X, Y)
