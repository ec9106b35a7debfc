"""Embeddings and n-grams of texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from labelkin import KinEnsembleClassifier, MultiLabelLogisticRegression, TableClassifier
from labelkin.explain import explain
from labelkin.kin._views import WithEmbedding, WithoutLast
from labelkin.persistence import load_model, save_model
from labelkin.tabular import Schema, TextEmbedding, TextFeatures
from labelkin.tabular._pipeline import make_pipeline as prepare
from labelkin.tabular._text import can_embed, static_embeddings

TEXTS = ["the app crashes", "a crash of the app", "pay the bill", "the bill is wrong"] * 8
Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 8)

static = pytest.mark.skipif(not can_embed(), reason="needs labelkin[text]")


def lengths(texts):
    return [[len(text), 1 + text.count(" ")] for text in texts]


def test_rows_of_length_one():
    found = TextEmbedding(lengths).fit_transform(["abc", "a b"])
    np.testing.assert_allclose(found, [[3 / 10**0.5, 1 / 10**0.5], [3 / 13**0.5, 2 / 13**0.5]])


def test_an_embedding_that_returns_no_rows():
    with pytest.raises(ValueError, match="one row per text"):
        TextEmbedding(lambda texts: np.zeros(3)).fit(TEXTS)


def test_words_before_ngrams_before_embeddings():
    words = TfidfVectorizer(sublinear_tf=True, strip_accents="unicode").fit_transform(TEXTS)
    for ngrams in (False, True):
        features = TextFeatures(ngrams, embedding=lengths)
        found = features.fit_transform(TEXTS).toarray()
        np.testing.assert_allclose(found, features.transform(TEXTS).toarray(), atol=1e-12)
        np.testing.assert_allclose(found[:, : words.shape[1]], words.toarray())
        np.testing.assert_allclose(found[:, -2:], TextEmbedding(lengths).fit_transform(TEXTS))
        assert len(features.get_feature_names_out()) == found.shape[1]
        assert features.n_embedding_ == 2
    assert {"app crashes", "crash"} <= set(features.get_feature_names_out())


@static
def test_the_mean_of_the_tokens():
    single = static_embeddings(["crash", "bill", "crash bill", ""])
    assert single.shape == (4, 256)
    np.testing.assert_allclose(single[2], (single[0] + single[1]) / 2, atol=1e-6)
    assert not single[3].any()


@static
def test_words_of_like_meaning():
    car, vehicle, cheese = TextEmbedding().fit_transform(["cars", "vehicles", "cheese"])
    assert car @ vehicle > 0.5 > car @ cheese


@static
def test_words_never_seen_in_training():
    texts = ["a fast car", "an old car", "a big truck", "the red truck"] * 5
    texts += ["green cheese", "old bread", "fresh bread", "the cheese melts"] * 5
    labels = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    new = ["vehicles", "butter"]
    for embedding, expected in (("auto", [[1, 0], [0, 1]]), (None, None)):
        model = make_pipeline(TextFeatures(embedding=embedding), MultiLabelLogisticRegression())
        found = model.fit(texts, labels).predict_proba(new)
        if expected is None:  # both are texts without known words
            np.testing.assert_allclose(found[0], found[1])
        else:
            assert (found > 0.5).astype(int).tolist() == expected


@static
def test_columns_are_prepared_without_a_classifier():
    preparation = prepare(Schema({"note": "text"}), None)[:-1]
    assert preparation.fit_transform(pd.DataFrame({"note": TEXTS})).shape == (32, 9 + 256)


def test_explanations_name_the_words_beside_an_embedding():
    model = make_pipeline(TextFeatures(embedding=lengths), MultiLabelLogisticRegression())
    names = explain(model.fit(TEXTS, Y), "My App crashes").features
    assert {"App", "crashes", "meaning"} <= {*names}


@static
@pytest.mark.parametrize("estimator", [None, MultiLabelLogisticRegression()])
def test_a_table(estimator, tmp_path):
    table = pd.DataFrame({"note": TEXTS, "hours": np.arange(32.0), "x": Y[:, 0], "y": Y[:, 1]})
    model = TableClassifier(estimator, labels=["x", "y"], columns={"note": "text"}).fit(table)
    plain = TableClassifier(
        estimator, labels=["x", "y"], columns={"note": "text"}, embedding="none"
    ).fit(table)
    assert model.estimator_.n_features_in_ == plain.estimator_.n_features_in_ + 256
    proba = model.predict_proba(table)
    save_model(model, tmp_path / "model.labelkin")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.labelkin").predict_proba(table), proba
    )
    assert (tmp_path / "model.labelkin").stat().st_size < 3e6  # without the vectors of tokens
    names = explain(model, table[["note", "hours"]].iloc[[0]]).features
    assert not any("embedding" in name for name in names)
    assert names.count("meaning of note") == (estimator is not None)


def test_kin_keeps_embeddings_out_of_the_kernels_of_words():
    rng = np.random.default_rng(0)
    words = rng.poisson(0.05, (200, 120)) * rng.uniform(size=(200, 120))
    embedding = rng.normal(size=(200, 4))
    labels = (embedding[:, :2] > 0).astype(int)
    X = np.hstack([words, embedding])
    model = KinEnsembleClassifier(n_embedding=4, random_state=0).fit(X, labels)
    views = model.views_
    assert isinstance(views["topics"], WithEmbedding)
    assert isinstance(views["raw"], WithoutLast)
    np.testing.assert_array_equal(views["raw"](X), words)
    np.testing.assert_array_equal(views["topics"](X)[:, -4:], embedding)
    alone = KinEnsembleClassifier(random_state=0).fit(words, labels)
    assert model.oob_score_ > alone.oob_score_ + 0.1


def test_more_embeddings_than_columns():
    with pytest.raises(ValueError, match="n_embedding"):
        KinEnsembleClassifier(n_embedding=3).fit(np.ones((8, 3)), np.tile([[0, 1]], (8, 1)))


def test_an_embedding_by_a_name():
    with pytest.raises(ValueError, match="must be a function of texts or None, got 'none'"):
        TextFeatures(embedding="none").fit(["a cat", "the dog"])
