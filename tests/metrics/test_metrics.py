"""The metrics against the equations written out as loops, scikit-learn and Mulan's rules."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.metrics as skm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelkin import metrics
from labelkin.metrics import METRICS, PAPER_METRICS, SCORERS, evaluate, get_scorer, score_all
from support.data import DATA, REFERENCE, needs_reference
from support.mulan import break_ties_as_mulan, mulan_ranks

# ---------------------------------------------------------- the equations, literally


def ranks(scores, relevant):
    """Positions from 1 when of tied labels the irrelevant ones stand first."""
    order = sorted(range(len(scores)), key=lambda a: (-scores[a], relevant[a]))
    return {label: place for place, label in enumerate(order, start=1)}


def split(row):
    relevant = [a for a, y in enumerate(row) if y]
    return relevant, [a for a, y in enumerate(row) if not y]


def ranking_loss_row(y, r):
    yes, no = split(y)
    if not yes or not no:
        return 0.0
    return sum(r[a] > r[b] for a in yes for b in no) / (len(yes) * len(no))


def one_error_row(y, r):
    return float(not y[min(r, key=r.get)])


def coverage_row(y, r):
    yes, _ = split(y)
    return max(r[a] for a in yes) - 1 if yes else 0


def average_precision_row(y, r):
    yes, no = split(y)
    if not yes or not no:
        return 1.0
    return sum(sum(r[b] <= r[a] for b in yes) / r[a] for a in yes) / len(yes)


def hamming_loss_row(y, z):
    return sum(a != b for a, b in zip(y, z, strict=True)) / len(y)


def f1_row(y, z):
    Y, Z = set(np.flatnonzero(y)), set(np.flatnonzero(z))
    return 2 * len(Y & Z) / (len(Y) + len(Z)) if Y or Z else 1.0


def recall_row(y, z):
    Y, Z = set(np.flatnonzero(y)), set(np.flatnonzero(z))
    return len(Y & Z) / len(Y) if Y else float(not Z)


def precision_row(y, z):
    return recall_row(z, y)


def jaccard_row(y, z):
    Y, Z = set(np.flatnonzero(y)), set(np.flatnonzero(z))
    return len(Y & Z) / len(Y | Z) if Y or Z else 1.0


def subset_accuracy_row(y, z):
    return float(list(y) == list(z))


RANKING_ROWS = {
    "ranking_loss": ranking_loss_row,
    "one_error": one_error_row,
    "coverage": coverage_row,
}
LABEL_ROWS = {
    "hamming_loss": hamming_loss_row,
    "f1": f1_row,
    "recall": recall_row,
    "precision": precision_row,
    "jaccard": jaccard_row,
    "subset_accuracy": subset_accuracy_row,
}
BY_LABEL = {"f1": f1_row, "precision": precision_row, "recall": recall_row}


@st.composite
def cases(draw):
    """True labels, scores with many ties and predicted labels."""
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 6)))
    binary = arrays(np.int8, shape, elements=st.integers(0, 1))
    scores = arrays(float, shape, elements=st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]))
    return draw(binary), draw(scores), draw(binary)


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_ranking_metrics_are_their_equations(case):
    Y, S, _ = case
    for name, row in RANKING_ROWS.items():
        rows = [row(y, ranks(s, y)) for y, s in zip(Y, S, strict=True)]
        assert METRICS[name](Y, S) == pytest.approx(np.mean(rows), abs=1e-12), name


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_average_precision_is_its_equation(case):
    """With ties a label's rank is the last place of its group, for Eq. 12's both ranks."""
    Y, S, _ = case
    rows = []
    for y, s in zip(Y, S, strict=True):
        r = {a: sum(other >= s[a] for other in s) for a in range(len(s))}
        rows.append(average_precision_row(y, r))
    assert METRICS["average_precision"](Y, S) == pytest.approx(np.mean(rows), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_label_set_metrics_are_their_equations(case):
    Y, _, Z = case
    for name, row in LABEL_ROWS.items():
        rows = [row(y, z) for y, z in zip(Y, Z, strict=True)]
        assert METRICS[name](Y, Z) == pytest.approx(np.mean(rows), abs=1e-12), name


@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_averages_over_labels(case):
    Y, _, Z = case
    support = Y.sum(axis=0)
    for name, row in BY_LABEL.items():
        values = [row(y, z) for y, z in zip(Y.T, Z.T, strict=True)]
        expected = {
            "macro": np.mean(values),
            "micro": row(Y.ravel(), Z.ravel()),
            "weighted": np.average(values, weights=support) if support.any() else np.mean(values),
        }
        found = {average: METRICS[f"{average}_{name}"](Y, Z) for average in expected}
        assert found == pytest.approx(expected, abs=1e-12), name


@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_auc_counts_pairs(case):
    Y, S, _ = case

    def area(y, s):
        pairs = [(s[a] > s[b]) + (s[a] == s[b]) / 2 for a, b in itertools.product(*split(y))]
        return np.mean(pairs) if pairs else np.nan

    areas = np.array([area(y, s) for y, s in zip(Y.T, S.T, strict=True)])
    defined = areas[~np.isnan(areas)]
    macro = defined.mean() if len(defined) else np.nan
    assert METRICS["macro_auc"](Y, S) == pytest.approx(macro, nan_ok=True)
    assert METRICS["micro_auc"](Y, S) == pytest.approx(area(Y.ravel(), S.ravel()), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_log_loss_is_the_mean_over_cells(case):
    Y, S, _ = case
    p = np.clip(np.where(Y == 1, S, 1 - S), np.finfo(float).eps, 1)
    assert METRICS["log_loss"](Y, S) == pytest.approx(-np.log(p).mean(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(case=cases(), data=st.data())
def test_order_of_rows_and_labels_does_not_matter(case, data):
    Y, S, Z = case
    rows = data.draw(st.permutations(range(Y.shape[0])))
    labels = data.draw(st.permutations(range(Y.shape[1])))
    mixed = np.ix_(rows, labels)
    for name, metric in METRICS.items():
        prediction = {"score": S, "label": Z}[metric.needs]
        expected = pytest.approx(metric(Y, prediction), nan_ok=True)
        assert metric(Y[mixed], prediction[mixed]) == expected, name


# ------------------------------------------------------------------- Mulan's rules


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_with_ties_broken_in_mulans_way_the_figures_are_mulans(case):
    """Rows without relevant labels too, as the reference lists them.

    Average precision skips those; here they count 1, so it is compared on the others. A row
    where all labels are relevant has average precision 1 either way.
    """
    Y, S, _ = case
    broken = break_ties_as_mulan(S)
    order = [mulan_ranks(s) for s in S]
    for name, row in RANKING_ROWS.items():
        mulan = np.mean([row(y, r) for y, r in zip(Y, order, strict=True)])
        assert METRICS[name](Y, broken) == pytest.approx(mulan, abs=1e-12), name
    kept = Y.any(axis=1)
    if kept.any():
        rows = [average_precision_row(y, r) for y, r, k in zip(Y, order, kept, strict=True) if k]
        ours = METRICS["average_precision"](Y[kept], broken[kept])
        assert ours == pytest.approx(np.mean(rows), abs=1e-12)


def ml_knn(X, Y, X_test, k=10):
    """Posteriors of ML-kNN with smoothing 1, as the reference describes it."""
    index = NearestNeighbors(n_neighbors=k).fit(X)
    counts = Y[index.kneighbors(return_distance=False)].sum(axis=1)
    test_counts = Y[index.kneighbors(X_test, return_distance=False)].sum(axis=1)
    scores = np.empty(test_counts.shape)
    for label, y in enumerate(Y.T):
        prior = (1 + y.sum()) / (2 + len(y))
        weight = []
        for value, p in ((1, prior), (0, 1 - prior)):
            seen = np.bincount(counts[y == value, label], minlength=k + 1)
            weight.append(p * ((1 + seen) / (k + 1 + seen.sum()))[test_counts[:, label]])
        scores[:, label] = weight[0] / (weight[0] + weight[1])
    return scores


@needs_reference
@pytest.mark.parametrize("fold", range(5))
def test_mulans_own_figures(fold):
    """ML-kNN on yeast has no ties between neighbours, so every figure must be Mulan's."""
    published = json.loads(REFERENCE.read_text())["yeast"]["MLkNN_raw"]
    with np.load(DATA / "yeast.npz") as data:
        parts = [data[f"X_{part}"] for part in ("data", "indices", "indptr")]
        X, Y = sparse.csr_array(tuple(parts)).toarray(), data["Y"].astype(int)
    test = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)[fold]
    train = np.setdiff1d(np.arange(len(X)), test)
    scores = ml_knn(X[train], Y[train], X[test])
    names = [
        "HammingLoss",
        "RankingLoss",
        "OneError",
        "Coverage",
        "AveragePrecision",
        "ExampleBasedFMeasure",
        "ExampleBasedRecall",
    ]
    expected = [published[name][fold] for name in names]
    broken = break_ties_as_mulan(scores)
    assert list(evaluate(Y[test], broken, scores > 0.5).values()) == pytest.approx(
        expected, rel=1e-10
    )


def test_rows_without_relevant_labels_as_mulan_counts_them():
    Y, S = [[0, 0, 0]], [[0.3, 0.2, 0.1]]
    assert METRICS["ranking_loss"](Y, S) == 0
    assert METRICS["coverage"](Y, S) == 0
    assert METRICS["one_error"](Y, S) == 1


# ----------------------------------------------------------------- scikit-learn's


def test_values_equal_scikit_learns_where_it_has_them():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 300)) < 0.3).astype(int)  # more labels than int8 can count
    S = np.round(rng.random(Y.shape), 1)
    Z = (S > 0.5).astype(int)
    for average in ("micro", "macro", "weighted", "samples"):
        prefix = "" if average == "samples" else f"{average}_"
        for name in ("f1", "precision", "recall"):
            theirs = getattr(skm, f"{name}_score")(Y, Z, average=average)
            assert METRICS[prefix + name](Y, Z) == pytest.approx(theirs)
    assert METRICS["coverage"](Y, S) == pytest.approx(skm.coverage_error(Y, S) - 1)
    theirs = skm.label_ranking_average_precision_score(Y, S)
    for memory in (0.001, 1024):  # a few rows at a time, all rows
        with sklearn.config_context(working_memory=memory):
            assert METRICS["ranking_loss"](Y, S) == pytest.approx(skm.label_ranking_loss(Y, S))
            assert METRICS["average_precision"](Y, S) == pytest.approx(theirs)
    assert METRICS["jaccard"](Y, Z) == pytest.approx(skm.jaccard_score(Y, Z, average="samples"))
    assert METRICS["macro_auc"](Y, S) == pytest.approx(skm.roc_auc_score(Y, S))


# ------------------------------------------------------------------ hand-computed


def test_a_case_computed_by_hand():
    Y = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])
    S = np.array([[0.9, 0.6, 0.6, 0.1], [0.8, 0.4, 0.3, 0.2]])
    Z = np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
    # Row 1: the relevant third label ties with the irrelevant second: place 3, one wrong
    # pair of 4. Row 2: the relevant second label is at place 2, one wrong pair of 3.
    figures = evaluate(Y, S, Z)
    expected = {
        "hamming_loss": 4 / 8,
        "ranking_loss": (1 / 4 + 1 / 3) / 2,
        "one_error": 1 / 2,
        "coverage": (2 + 1) / 2,
        "average_precision": ((1 + 2 / 3) / 2 + 1 / 2) / 2,
        "f1": (2 / 4 + 0) / 2,
        "recall": (1 / 2 + 0) / 2,
    }
    assert figures == pytest.approx(expected)
    assert list(figures) == list(expected) == list(PAPER_METRICS)
    more = evaluate(Y, S, Z, metrics=["jaccard", "subset_accuracy"])
    assert more == pytest.approx({"jaccard": (1 / 3 + 0) / 2, "subset_accuracy": 0})


def test_evaluate_takes_labels_above_one_half_when_none_are_given():
    Y, S = [[1, 0, 1]], [[0.5, 0.2, 0.51]]
    assert evaluate(Y, S) == evaluate(Y, S, [[0, 0, 1]])
    assert evaluate(Y, S) != evaluate(Y, S, [[1, 0, 1]])


def test_constant_scores_are_no_information():
    """A classifier that says the same of every label gains nothing from the tie rule."""
    Y = np.array([[1, 0, 0], [0, 0, 1]])
    S = np.full(Y.shape, 0.5)
    assert METRICS["one_error"](Y, S) == 1
    assert METRICS["ranking_loss"](Y, S) == 1
    assert METRICS["coverage"](Y, S) == 2


# ------------------------------------------------------------------- forms of input


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("q", [1, 4])
def test_all_forms_of_input_agree(name, q):
    rng = np.random.default_rng(q)
    Y = rng.integers(0, 2, (30, q))
    S = rng.random((30, q))
    prediction = {"score": S, "label": (S > 0.5).astype(int)}[METRICS[name].needs]
    expected = METRICS[name](Y, prediction)
    columns = [f"label {j}" for j in range(q)]
    assert METRICS[name](Y.tolist(), prediction.tolist()) == expected
    assert METRICS[name](Y.astype(bool), prediction) == expected
    assert METRICS[name](Y.astype(float), prediction) == expected
    for form in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
        assert METRICS[name](form(Y), prediction) == expected
        assert METRICS[name](form(Y), form(prediction)) == expected
    frames = [pd.DataFrame(values, columns=columns) for values in (Y, prediction)]
    assert METRICS[name](*frames) == expected
    if q == 1:
        assert METRICS[name](Y.ravel(), prediction.ravel()) == expected
    assert np.array_equal(Y, np.random.default_rng(q).integers(0, 2, (30, q)))


def test_stored_zeros_and_repeated_entries_of_a_sparse_matrix():
    Y = sparse.csr_array(([1, 0, 1], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert METRICS["hamming_loss"](Y, [[1, 0], [0, 1]]) == 0
    twice = sparse.csr_array(([1, 1], [0, 0], [0, 2, 2]), shape=(2, 2))
    assert not twice.has_canonical_format
    with pytest.raises(ValueError, match="holds 2"):
        METRICS["hamming_loss"](twice, [[1, 0], [0, 1]])
    assert twice.nnz == 2  # the caller's matrix is left alone


@pytest.mark.parametrize(
    ("Y", "S", "sentence"),
    [
        ([[1, 0]], [[0.1, 0.2, 0.3]], r"same shape, but have \(1, 2\) and \(1, 3\)"),
        ([[1, 0]], [[0.1, 0.2], [0.3, 0.4]], "same shape"),
        ([[1, 2]], [[0.1, 0.2]], "y_true must hold only 0 and 1, but holds 2"),
        ([[2, np.nan]], [[0.1, 0.2]], "y_true must hold only 0 and 1, but holds 2"),
        ([["a", "b"]], [[0.1, 0.2]], "y_true must hold only 0 and 1, but holds a"),
        ([[1, 0]], [[0.1, np.nan]], "y_score must be finite"),
        ([[1, 0]], [[0.1, np.inf]], "y_score must be finite"),
        ([[1, 0]], [["a", "b"]], "y_score must hold numbers"),
        ([], [], "y_true is empty"),
        (np.zeros((0, 3)), np.zeros((0, 3)), r"y_true is empty: its shape is \(0, 3\)"),
        ([[1], [0, 1]], [[0.1, 0.2]], "y_true must be a matrix"),
        (np.zeros((1, 2, 2)), [[0.1, 0.2]], "not 3 dimensions"),
        ([[1, 0]], None, "y_score must"),
    ],
)
@pytest.mark.parametrize("name", ["ranking_loss", "one_error", "log_loss"])
def test_bad_input_gets_one_sentence(name, Y, S, sentence):
    with pytest.raises(ValueError, match=sentence):
        METRICS[name](Y, S)


def test_other_refusals():
    with pytest.raises(ValueError, match=r"y_pred must hold only 0 and 1, but holds 0\.5"):
        METRICS["f1"]([[1, 0]], [[0.5, 0]])
    with pytest.raises(ValueError, match="probabilities"):
        METRICS["log_loss"]([[1, 0]], [[2.0, 0]])
    with pytest.raises(ValueError, match="average must be 'micro' or 'macro'"):
        metrics.auc([[1, 0]], [[2.0, 0]], average="weighted")
    with pytest.raises(ValueError, match="average must be 'micro', 'macro' or 'weighted'"):
        metrics.label_f1([[1, 0]], [[1, 0]], average="mean")
    with pytest.raises(ValueError, match="no metric is called 'F2'; known: hamming_loss, "):
        evaluate([[1, 0]], [[1, 0]], metrics=["F2"])


def test_frames_with_the_labels_in_another_order_are_refused():
    Y = pd.DataFrame([[1, 0]], columns=["a", "b"])
    with pytest.raises(ValueError, match="same labels in different orders"):
        METRICS["f1"](Y, Y[["b", "a"]])
    assert METRICS["f1"](Y, pd.DataFrame([[1, 0]])) == 1  # other names: by position


# ---------------------------------------------------------------------- registry


def test_registry_is_complete_and_its_directions_are_right():
    """The truth itself scores best, its opposite worst, on the side the registry says."""
    Y = np.array([[1, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0, 1]])
    for name, metric in METRICS.items():
        assert metric.name == name
        best, worst = metric(Y, Y), metric(Y, 1 - Y)
        assert (best > worst) == metric.greater_is_better, name
        assert metric.arrow == ("↑" if best > worst else "↓")
    assert tuple(METRICS)[:7] == PAPER_METRICS
    assert [m.name for m in METRICS.values() if not m.percent] == ["coverage", "log_loss"]
    assert set(metrics.__all__) <= set(dir(metrics))


# ----------------------------------------------------------------------- scorers


@pytest.fixture(scope="module")
def problem():
    return make_multilabel_classification(
        n_samples=80, n_features=6, n_classes=4, n_labels=2, random_state=0
    )


MODELS = [
    RandomForestClassifier(n_estimators=5, random_state=0),
    KNeighborsClassifier(),
    OneVsRestClassifier(LogisticRegression()),
    OneVsRestClassifier(RidgeClassifier()),
    MultiOutputClassifier(LogisticRegression()),
    ClassifierChain(LogisticRegression()),
    MLPClassifier(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=20, random_state=0),
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
]


def positive_scores(model, X):
    """The scores asked for by hand, in the way each kind of model gives them."""
    if not hasattr(model, "predict_proba"):
        return model.decision_function(X)
    scores = model.predict_proba(X)
    return np.stack([part[:, 1] for part in scores], axis=1) if isinstance(scores, list) else scores


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scorers_understand_every_form_of_predict_proba(model, q, problem):
    X, Y = problem[0], problem[1][:, :q]
    model.fit(X, Y)
    figures = evaluate(Y, positive_scores(model, X), model.predict(X))
    for name, value in figures.items():
        sign = 1 if METRICS[name].greater_is_better else -1
        assert get_scorer(name)(model, X, Y) == sign * value
    assert [abs(v) for v in score_all(model, X, Y).values()] == list(figures.values())


def test_scorers_in_searches_and_cross_validation(problem):
    X, Y = problem
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 7]}, scoring=get_scorer("average_precision")
    ).fit(X, Y)
    assert 0 < search.best_score_ <= 1
    forest = RandomForestClassifier(5, random_state=0)
    separate = cross_validate(forest, X, Y, scoring=SCORERS, cv=3, error_score="raise")
    together = cross_validate(forest, X, Y, scoring=score_all, cv=3, error_score="raise")
    assert len(SCORERS) == len(METRICS)
    for name in PAPER_METRICS:
        key = f"test_{METRICS[name].scorer_name}"
        assert np.array_equal(separate[key], together[key])
    assert (separate["test_neg_coverage"] < 0).all()


def test_scorers_with_a_label_constant_in_training():
    X = np.arange(6.0).reshape(-1, 1)
    Y = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 1, 1], [0, 1, 1]])
    model = KNeighborsClassifier(1).fit(X, Y)
    assert [part.shape[1] for part in model.predict_proba(X)] == [1, 1, 2]
    assert get_scorer("average_precision")(model, X, Y) == 1
    assert get_scorer("log_loss")(model, X, Y) == pytest.approx(0)


def test_scorers_of_one_label(problem):
    X, y = problem[0], problem[1][:, 0]
    for model in (KNeighborsClassifier(), RidgeClassifier(), LogisticRegression()):
        model.fit(X, y)
        score = positive_scores(model, X)
        score = score[:, 1] if score.ndim == 2 else score
        assert get_scorer("macro_auc")(model, X, y) == skm.roc_auc_score(y, score)
        assert get_scorer("f1")(model, X, y) == skm.accuracy_score(y, model.predict(X))


def test_scorer_names_and_refusals(problem):
    assert get_scorer("hamming_loss") is get_scorer("neg_hamming_loss")
    assert repr(get_scorer("hamming_loss")) == "get_scorer('neg_hamming_loss')"
    assert pickle.loads(pickle.dumps(get_scorer("f1"))) == get_scorer("f1")
    with pytest.raises(ValueError, match="no metric is called 'accuracy'"):
        get_scorer("accuracy")
    with pytest.raises(ValueError, match="NearestNeighbors has neither"):
        get_scorer("one_error")(NearestNeighbors().fit(*problem[:1]), *problem)
