"""Every public estimator through scikit-learn's checks, and through our own contract."""

import inspect
import pickle
from functools import cache

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import has_fit_parameter

import labelkin
from labelkin.base import MultiLabelClassifier
from support.data import make_data
from support.estimators import NAMES, make

CLASSIFIERS = [name for name in NAMES if isinstance(make(name), MultiLabelClassifier)]
TRANSFORMERS = [name for name in NAMES if hasattr(make(name), "transform")]
EACH = pytest.mark.parametrize("name", CLASSIFIERS)
EACH_TRANSFORMER = pytest.mark.parametrize("name", TRANSFORMERS)


@cache
def fitted(name):
    """Return a classifier fitted to `make_data()`, for tests that leave it as it is."""
    return make(name).fit(*make_data())


# ---------------------------------------------------------------- scikit-learn's own checks

# The only checks that do not hold, each with its reason.
HARD_VOTE = "the paper's hard vote need not agree with the mean of the members' probabilities"
DRAWN = "pairs or rows are drawn by weight: repeated rows agree with weights in distribution only"
PURE_LEAF = "a leaf of one class has probability 0 or 1, as in J48; the check excludes both"
LEARNED_CUT = "labels are cut elsewhere than at one half, as in scikit-learn's own threshold tuners"
LEFT_OUT = "a sample is left out with its whole weight, of repeated ones not every copy"
HELD_OUT = "rows are held out by their number: repeated rows are held out separately"
CLASSES = "the check reads classes_ as one row for all labels; here each label has its own row"

OLD_SKLEARN = parse_version(sklearn.__version__) < parse_version("1.7")
WEIGHT_CHECKS = [
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]
PAIRED = ["VPCMEClassifier", "BaggingVPCPClassifier", "PairwiseConstraintProjection"]
LEAVES = ["BinaryRelevance", "Chain", "LabelPowerset", "RAkEL"]


def expected_failures(estimator):
    """Return the checks that do not hold for an estimator, each with its reason."""
    name = type(estimator).__name__
    failures = {}
    if name in PAIRED:
        failures |= dict.fromkeys(WEIGHT_CHECKS, DRAWN)
    if name in PAIRED and getattr(estimator, "voting", None) == "hard":
        failures["check_classifier_multioutput"] = HARD_VOTE
        if name == "BaggingVPCPClassifier":
            failures["check_classifiers_train"] = HARD_VOTE
    if name in ("KernelRidgeLOOClassifier", "KinEnsembleClassifier"):
        failures |= dict.fromkeys(WEIGHT_CHECKS, LEFT_OUT)
    smooth = isinstance(getattr(estimator, "estimator", None), LogisticRegression)
    if name.removesuffix("Classifier") in LEAVES and not smooth:
        failures["check_classifiers_multilabel_output_format_predict_proba"] = PURE_LEAF
    if name in ("MultiLabelLogisticRegression", "TableClassifier"):
        failures["check_classifier_multioutput"] = CLASSES
    if name == "LabelTreeClassifier":
        failures |= dict.fromkeys(WEIGHT_CHECKS, HELD_OUT)
        failures["check_classifier_multioutput"] = LEARNED_CUT
    if name == "DecisionClassifier":
        failures["check_classifiers_train"] = LEARNED_CUT
    return failures


VARIANTS = [
    labelkin.VPCMEClassifier(n_estimators=3, voting="soft", random_state=0),
    labelkin.VPCMEClassifier(
        n_estimators=3, voting="soft", bag=0.6, calibrate=True, random_state=0
    ),
    labelkin.BaggingVPCPClassifier(n_estimators=3, bag=0.5, voting="soft", random_state=0),
    labelkin.IBLRClassifier(add_features=True),
    labelkin.BinaryRelevanceClassifier(LogisticRegression()),
    labelkin.ChainClassifier(LogisticRegression()),
    labelkin.ChainClassifier(n_estimators=3, voting="soft", random_state=0),
    labelkin.LabelPowersetClassifier(DecisionTreeClassifier(random_state=0)),
    labelkin.RAkELClassifier(overlapping=False, random_state=0),
    labelkin.CalibratedLabelRankingClassifier(GaussianNB()),
    labelkin.AdaBoostPDTClassifier(LogisticRegression(), n_estimators=3, random_state=0),
    labelkin.MultiLabelLogisticRegression(C=3.0),
    labelkin.MultiLabelLogisticRegression(calibrate=True, random_state=0),
    labelkin.C45TreeClassifier(nominal_features="binary", pruning=False),
]
ESTIMATORS = [make(name) for name in NAMES] + VARIANTS


# Checks with a single class, or a single sample, leave no cannot-link: a warning, rightly.
@pytest.mark.filterwarnings("ignore:No two samples are a (cannot|must)-link:UserWarning")
@pytest.mark.filterwarnings("ignore:.* no out-of-bag prediction:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check, monkeypatch):
    if OLD_SKLEARN and check.func.__name__ in WEIGHT_CHECKS:
        pytest.skip("scikit-learn 1.6 gives the repeated rows other labels than the weighted ones")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else those of array libraries would be skipped
    check(estimator)


# -------------------------------------------------------------------------- sample weights


WEIGHTED = [
    model
    for model in ESTIMATORS
    if has_fit_parameter(model, "sample_weight")
    and hasattr(model, "estimator")
    and type(model).__name__ not in PAIRED
]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", WEIGHTED, ids=repr)
def test_weights_are_repetitions(model, kind):
    """A sample of weight 3 is one seen three times, of weight 0 one never seen."""
    if kind is not np.asarray and not get_tags(model).input_tags.sparse:
        pytest.skip("the base classifier takes no sparse data")
    X, Y = make_data(60, 4, 3)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    weight[Y[:, 2] == 1] = 0  # a label, and label sets, that only samples never seen have
    again = np.repeat(np.arange(60), weight)
    weighted = clone(model).fit(kind(X), Y, sample_weight=weight)
    repeated = clone(model).fit(kind(X[again]), Y[again])
    queries = kind(X + 0.1)
    np.testing.assert_allclose(
        weighted.predict_proba(queries), repeated.predict_proba(queries), atol=1e-4
    )
    plain = clone(model).fit(kind(X), Y)
    assert np.abs(plain.predict_proba(queries) - weighted.predict_proba(queries)).max() > 0.01


@pytest.mark.parametrize("model", WEIGHTED, ids=repr)
def test_bad_weights(model):
    X, Y = make_data(20, 3, 2)
    for weight, message in [
        (np.zeros(20), "sample_weight.*not only zeros"),
        (np.full(20, -1.0), "sample_weight.*at least 0"),
        (np.ones(19), r"sample_weight.*shape"),
        (np.full(20, np.nan), "sample_weight.*finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, Y, sample_weight=weight)


# ------------------------------------------------------------------- forms of input and output


@EACH
def test_shapes_types_and_range(name, data):
    X, Y = data
    model = fitted(name)
    labels, proba = model.predict(X), model.predict_proba(X)
    assert isinstance(proba, np.ndarray)
    assert labels.shape == proba.shape == Y.shape
    assert labels.dtype.kind == "i"
    assert set(np.unique(labels)) <= {0, 1}
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    assert model.n_features_in_ == X.shape[1]
    assert len(model.classes_) == Y.shape[1]
    assert 0 <= model.score(X, Y) <= 1


@EACH
def test_it_learns(name):
    X, Y = make_data(200, 5, 3)
    model = make(name).fit(X[:150], Y[:150])
    accuracy = (model.predict(X[150:]) == Y[150:]).mean()
    assert accuracy > 0.75


@EACH
def test_sparse_equals_dense(name):
    X, Y = make_data(80, 6)
    X = np.rint(X)
    expected = make(name).fit(X, Y).predict_proba(X)
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        model = make(name).fit(form(X), form(Y))
        np.testing.assert_allclose(model.predict_proba(form(X)), expected, atol=1e-8)


@EACH
def test_data_frames_keep_their_names(name, data):
    pd = pytest.importorskip("pandas")
    X, Y = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    target = pd.DataFrame(Y, columns=["red", "green", "blue", "grey"])
    model = make(name).fit(frame, target)
    assert list(model.label_names_) == ["red", "green", "blue", "grey"]
    assert list(model.feature_names_in_) == list(frame.columns)
    # A frame lies elsewhere in memory, and BLAS may round differently there.
    np.testing.assert_allclose(
        model.predict_proba(frame), fitted(name).predict_proba(X), rtol=1e-6, atol=1e-9
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    assert not hasattr(model.fit(X, Y), "label_names_")


@EACH
@pytest.mark.parametrize("form", ["bool", "float", "list"])
def test_forms_of_labels(name, form, data):
    X, Y = data
    target = {"bool": Y.astype(bool), "float": Y.astype(float), "list": Y.tolist()}[form]
    found = make(name).fit(X, target).predict(X)
    np.testing.assert_array_equal(found, fitted(name).predict(X))


@EACH
def test_a_one_dimensional_target_after_a_sparse_one(name, data):
    X, Y = data
    model = make(name).fit(X, sparse.csr_array(Y)).fit(X, Y[:, 0])
    expected = make(name).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.predict_proba(X).shape == (len(X), 2)


# ------------------------------------------------------------------- awkward, but legal


@EACH
def test_constant_labels(name, data):
    X, Y = data
    Y = np.column_stack([Y, np.ones(len(Y)), np.zeros(len(Y))]).astype(int)
    labels = make(name).fit(X, Y).predict(X)
    assert labels[:, -2].all()
    assert not labels[:, -1].any()


@EACH
def test_empty_label_sets(name, data):
    X, Y = data
    Y = Y.copy()
    Y[::2] = 0
    assert make(name).fit(X, Y).predict(X).shape == Y.shape


@EACH
@pytest.mark.filterwarnings("ignore:No two samples are a cannot-link:UserWarning")
def test_no_label_at_all(name, data):
    X, _ = data
    labels = make(name).fit(X, np.zeros((len(X), 3), dtype=int)).predict(X)
    assert not labels.any()


@EACH
@pytest.mark.filterwarnings("ignore:No two samples are a cannot-link:UserWarning")
def test_one_sample(name):
    model = make(name).fit([[1.0, 2.0]], [[1, 0]])
    assert model.predict([[1.0, 2.0]]).tolist() == [[1, 0]]


@EACH
@pytest.mark.filterwarnings("ignore:No two samples are a must-link:UserWarning")
def test_two_samples(name):
    model = make(name).fit([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [0, 1]])
    assert model.predict([[1.0, 2.0]]).shape == (1, 2)


@EACH
def test_one_label(name, data):
    X, Y = data
    model = make(name).fit(X, Y[:, :1])
    assert model.predict(X).shape == model.predict_proba(X).shape == (len(X), 1)
    vector = make(name).fit(X, Y[:, 0])
    np.testing.assert_array_equal(vector.predict(X), model.predict(X)[:, 0])
    np.testing.assert_allclose(vector.predict_proba(X)[:, 1], model.predict_proba(X)[:, 0])


@EACH
def test_one_feature_and_duplicated_rows(name):
    X, Y = np.zeros((12, 1)), make_data(12)[1]
    X[6:] = 1
    assert make(name).fit(X, Y).predict(X).shape == Y.shape


# -------------------------------------------------------------------- as scikit-learn has it


@pytest.mark.parametrize("name", NAMES)
def test_at_most_two_parameters_are_positional(name):
    parameters = inspect.signature(getattr(labelkin, name)).parameters.values()
    assert sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) <= 2


@EACH
def test_reproducible(name, data):
    X, Y = data
    again = make(name).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(again, fitted(name).predict_proba(X))


@EACH
def test_cloning_and_pickling(name, data):
    X, _ = data
    model = fitted(name)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys()
    with pytest.raises(NotFittedError):
        copy.predict(X)


@EACH
def test_inputs_are_left_alone(name, data):
    X, Y = data
    X_before, Y_before = X.copy(), Y.copy()
    X.flags.writeable = Y.flags.writeable = False
    make(name).fit(X, Y).predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Y, Y_before)


@EACH
def test_in_pipelines_and_searches(name, data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), make(name))
    scores = cross_validate(pipeline, X, Y, cv=3, error_score="raise")
    assert len(scores["test_score"]) == 3
    search = GridSearchCV(make(name), {}, cv=3, scoring="f1_samples", error_score="raise")
    # A row without labels has no F1; scikit-learn would warn.
    Y = np.maximum(Y, np.eye(1, Y.shape[1], dtype=int))
    assert search.fit(X, Y).best_score_ > 0


# -------------------------------------------------------------------------------- bad input


BAD = {
    "NaN": (lambda X, Y: (np.where(X > 1, np.nan, X), Y), "NaN"),
    "infinity": (lambda X, Y: (np.where(X > 1, np.inf, X), Y), "infinity"),
    "X a vector": (lambda X, Y: (X[:, 0], Y), "Expected 2D array"),
    "X of images": (lambda X, Y: (X[:, None, :], Y), r"pass X\.reshape\(len\(X\), -1\)"),
    "X of words": (lambda X, Y: (np.char.add(X.astype(str), "x"), Y), "could not convert|dtype"),
    "fewer rows in Y": (lambda X, Y: (X, Y[:-1]), "inconsistent numbers of samples"),
    "Y not binary": (lambda X, Y: (X, Y + 1), "must hold only 0 and 1"),
    "Y of -1 and 1": (lambda X, Y: (X, 2 * Y - 1), r"holds -1: use \(y > 0\)\.astype\(int\)\.$"),
    "Y of yes and no": (
        lambda X, Y: (X, np.where(Y, "yes", "no")),
        r"only 0 and 1, but holds no and yes: use \(y == 'yes'\)\.astype\(int\), if 'yes'",
    ),
    "Y of words": (
        lambda X, Y: (X, np.where(Y, "a", np.where(X[:, :1] > 0, "b", "c"))),
        "MultiLabelBinarizer",
    ),
    "Y three-dimensional": (lambda X, Y: (X, Y[:, :, None]), r"\(n, q\)"),
    "Y without columns": (lambda X, Y: (X, Y[:, :0]), "empty"),
    "Y multiclass": (lambda X, Y: (X, np.arange(len(Y)) % 3), "Only binary classification"),
    "Y of tags with gaps": (
        lambda X, Y: (X, np.where(Y[:, 0], "a;b", np.where(Y[:, 1], "b", None))),
        "^y contains NaN or None: leave out the rows .* labelkin.tabular.split_labels makes one",
    ),
    "Y continuous": (lambda X, Y: (X, X[:, 0]), "Unknown label type|continuous"),
    "Y missing": (lambda X, Y: (X, None), "requires y"),
    "no samples": (lambda X, Y: (X[:0], Y[:0]), r"0 sample\(s\)"),
    "no features": (lambda X, Y: (X[:, :0], Y), r"0 feature\(s\)"),
}


@EACH
def test_unknown_labels(name, data):
    # NaN in y is an unknown label: learned around by estimators that can, else refused.
    X, Y = data
    model, Y = make(name), np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    if not model._fits_unknown:
        with pytest.raises(ValueError, match=f"{type(model).__name__} cannot .* use KinEnsemble"):
            model.fit(X, Y)
        return
    proba = model.fit(X, Y).predict_proba(X)
    assert proba.shape == Y.shape
    assert ((proba >= 0) & (proba <= 1)).all()
    again = make(name).fit(X, [[None if v != v else int(v) for v in row] for row in Y])
    np.testing.assert_array_equal(again.predict_proba(X), proba)
    with pytest.raises(ValueError, match="y holds no known label"):
        model.fit(X, np.full(Y.shape, np.nan))


@EACH
@pytest.mark.parametrize("case", BAD)
def test_bad_training_data(name, case, data):
    make_bad, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        make(name).fit(*make_bad(*data))


@EACH
def test_bad_queries(name, data):
    X, _ = data
    with pytest.raises(NotFittedError):
        make(name).predict(X)
    model = fitted(name)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match=r"has 4 features, but \w+ is expecting 5"):
            method(X[:, :4])
        with pytest.raises(ValueError, match="NaN"):
            method(np.full((1, 5), np.nan))


# ----------------------------------------------------------------------------- transformers


@EACH_TRANSFORMER
def test_transformers_take_all_forms_of_data(name, data):
    pd = pytest.importorskip("pandas")
    X, Y = data
    expected = make(name).fit(X, Y).transform(X)
    assert expected.shape[0] == len(X)
    for form in (sparse.csr_matrix, sparse.csr_array):
        found = make(name).fit(form(X), form(Y)).transform(form(X))
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(found, expected, atol=1e-8)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = make(name).fit(frame, pd.DataFrame(Y, columns=["red", "green", "blue", "grey"]))
    np.testing.assert_allclose(model.transform(frame), expected, rtol=1e-6, atol=1e-9)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert len(model.get_feature_names_out()) == expected.shape[1]


@EACH_TRANSFORMER
def test_transformers_are_cloned_and_pickled(name, data):
    X, Y = data
    model = make(name).fit(X, Y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.transform(X), model.transform(X))
    with pytest.raises(NotFittedError):
        clone(model).transform(X)


@EACH_TRANSFORMER
@pytest.mark.parametrize("case", ["NaN", "fewer rows in Y", "Y missing"])
def test_transformers_refuse_bad_data(name, case, data):
    make_bad, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        make(name).fit(*make_bad(*data))
