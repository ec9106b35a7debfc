"""Explanations of pipelines, tables, texts and classifiers of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from labelkin import (
    DecisionClassifier,
    KernelRidgeLOOClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
)
from labelkin.explain import explain
from support.data import make_data

pandas = pytest.importorskip("pandas")

TEXTS = ["App crashes after Größe", "pay the Bill", "refund this bill please", "my app is slow"]


@pytest.fixture(scope="module")
def tickets():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=60),
            "country": rng.choice(["us", "fr"], 60),
            "text": [TEXTS[i % 4] for i in range(60)],
        }
    )
    frame.loc[7, "size"] = np.nan
    bug = frame["text"].str.contains("App|app")
    return frame, pandas.DataFrame({"bug": bug, "us": frame["country"] == "us"}).astype(int)


def pipeline_of(classifier):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["country"]),
        (TfidfVectorizer(strip_accents="unicode"), "text"),
    )
    return make_pipeline(columns, classifier)


@pytest.mark.parametrize(
    "classifier",
    [
        MultiLabelLogisticRegression(),
        MLkNNClassifier(),
        DecisionClassifier(KernelRidgeLOOClassifier(random_state=0), "f1"),
        RandomForestClassifier(20, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_table_is_explained_in_its_own_words(classifier, tickets):
    X, Y = tickets
    model = pipeline_of(classifier).fit(X, Y)
    why = explain(model, X.iloc[[0]], training=X)
    assert why.title == f'"{TEXTS[0]}"'
    if not isinstance(classifier, RandomForestClassifier):
        assert why.label_names == ["bug", "us"]
    assert {"App", "Größe"} <= set(why.features)
    if not isinstance(classifier, MLkNNClassifier):  # one word changes no neighbours
        assert why.strongest_features(0, 1)[0][0] in ("App", "crashes", "after", "Größe")
    assert why.strongest_features(1, 1)[0][0] == f"country = {X['country'][0]}"
    np.testing.assert_array_equal(why.predicted, model.predict(X.iloc[[0]])[0])
    shown = str(why)
    has_rows = isinstance(classifier, MLkNNClassifier | DecisionClassifier)
    assert ('training row 0 "App crashes' in shown) == has_rows
    assert str(explain(model, X.iloc[0], training=X)) == shown  # a row instead of a table


def test_a_linear_model_of_a_table_names_columns_and_values(tickets):
    X, Y = tickets
    why = TableClassifier(MultiLabelLogisticRegression()).fit(X, Y).explain(X.iloc[0])
    parts = {name for name, _ in why.strongest_features("us", 10)}
    assert {f"country = {X['country'][0]}", f"size = {X['size'][0]:g}", "Größe"} <= parts


def test_large_numbers_are_written_in_full():
    X = pandas.DataFrame(
        {"amount": 1_234_567.4 + 500 * np.arange(40), "country": ["us", "fr"] * 20}
    )
    model = TableClassifier(MultiLabelLogisticRegression()).fit(X, np.arange(40)[:, None] > 20)
    why = model.explain(X.iloc[[1]])
    assert "amount = 1235067" in why.title
    assert "amount = 1235067" in [name for name, _ in why.strongest_features(0)]


def test_effects_are_differences_of_log_odds(tickets):
    X, Y = tickets
    model = pipeline_of(OneVsRestClassifier(LogisticRegression())).fit(X, Y)
    why = explain(model, X.iloc[[0]])
    changed = X.iloc[[0]].assign(text="App crashes after")
    change = logit(model.predict_proba(X.iloc[[0]])) - logit(model.predict_proba(changed))
    effects = dict(zip(why.features, why.feature_effects.T, strict=True))
    np.testing.assert_allclose(effects["Größe"], change[0], atol=1e-9)
    changed = X.iloc[[0]].assign(size=np.nan)
    change = logit(model.predict_proba(X.iloc[[0]])) - logit(model.predict_proba(changed))
    np.testing.assert_allclose(effects["size"], change[0], atol=1e-9)


def test_missing_values_that_are_refused(tickets):
    X, Y = tickets
    X = X[["size"]].fillna(0)
    forest = OneVsRestClassifier(LogisticRegression())
    model = make_pipeline(StandardScaler(), forest).fit(X, Y)
    with pytest.raises(ValueError, match="refuses missing values: give background"):
        explain(model, X.iloc[[0]])
    why = explain(model, X.iloc[[0]], background=X)
    assert why.features == ["size"]
    assert why.title == f"size = {X['size'][0]:g}"


def test_texts_without_a_table():
    Y = np.array([[1, 0], [0, 1], [0, 1], [1, 0]] * 5)
    for classifier in (KernelRidgeLOOClassifier(random_state=0), RandomForestClassifier(10)):
        model = make_pipeline(TfidfVectorizer(), classifier).fit(TEXTS * 5, Y)
        why = explain(model, "The APP crashes", training=TEXTS * 5)
        assert set(why.features) == {"The", "APP", "crashes"}
        assert why.title == '"The APP crashes"'
        assert (f'"{TEXTS[0]}"' in str(why)) == hasattr(classifier, "explain")


def test_matrices():
    X, Y = make_data(80, 5, 3)
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="background is needed"):
        explain(forest, X[0])
    with pytest.raises(ValueError, match=r"x must be one sample, got 2.* pass x.ravel\(\)"):
        explain(forest, X[:2])
    assert explain(forest, X[0], background=X, feature_names=list("abcde")).features == list(
        "abcde"
    )
    words = sparse.csr_array(np.where(X > 0, X, 0))
    found = explain(forest.fit(words, Y), words[[3]])
    assert len(found.features) == (X[3] > 0).sum()
    scaled = make_pipeline(StandardScaler(), KernelRidgeLOOClassifier(random_state=0)).fit(X, Y)
    assert explain(scaled, X[0]).features == [f"x{i}" for i in range(5)]
    scaled = make_pipeline(StandardScaler(), MLkNNClassifier()).fit(X, Y)
    assert explain(scaled, X[0]).features == []  # neighbours only
    assert len(explain(scaled, X[0], background=X).features) == 5


def test_images():
    X, Y = make_data(60, 12, 2)
    images = X.reshape(-1, 2, 3, 2)
    flatten = FunctionTransformer(lambda rows: np.reshape(rows, (len(rows), -1)))
    model = make_pipeline(flatten, RandomForestClassifier(10, random_state=0)).fit(images, Y)
    for x in (images[:1], X[0]):
        why = explain(model, x, background=images)
        assert why.features == [f"x{i}" for i in range(12)]
        flat = explain(model[-1], X[0], background=X)
        np.testing.assert_allclose(why.feature_effects, flat.feature_effects)


def test_a_classifier_of_tables(tickets):
    X, Y = tickets
    model = TableClassifier(KernelRidgeLOOClassifier(random_state=0)).fit(X, Y)
    why = model.explain(X.iloc[0], training=X)
    assert why.label_names == ["bug", "us"]
    assert {"App", "size", "country"} <= set(why.features)
    assert why.strongest_features("us", 1)[0][0].startswith("country = ")
    assert 'training row 0 "App crashes' in str(why)
    assert str(explain(model, X.iloc[[0]], training=X)) == str(why)
    with pytest.raises(TypeError, match=r"pass pandas.DataFrame\(\[x\]\)"):
        model.explain(X.iloc[0].to_dict())


class NoLearning(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    "classifier", [MultiLabelLogisticRegression(C=1.0), RandomForestClassifier(10, random_state=0)]
)
def test_a_classifier_of_tables_inside_others(classifier, tickets):
    X, Y = tickets
    X = X.assign(
        price=[f"{i % 30}.50 €" for i in range(60)],
        paid=pandas.array([pandas.NA, True, False] * 20, dtype="boolean"),
        wait=pandas.to_timedelta(np.arange(60) % 7, unit="min"),
    )
    table = TableClassifier(classifier)
    alone = explain(clone(table).fit(X, Y), X.head(1))
    for model in (
        GridSearchCV(table, {"trend": [False]}, cv=2),
        make_pipeline(clone(table)),
        DecisionClassifier(clone(table), "fixed"),
    ):
        why = explain(model.fit(X, Y), X.head(1))
        assert why.features == alone.features
        np.testing.assert_allclose(why.feature_effects, alone.feature_effects)
    why = explain(make_pipeline(NoLearning(), table).fit(X, Y), X.head(1))
    assert {"country", "price"} <= {*why.features}
    assert why.title == alone.title == f'"{TEXTS[0]}"'
    np.testing.assert_allclose(why.probability, alone.probability)
