"""Embeddings and n-grams of texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as Logistic
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from labelkin import (
    KinEnsembleClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
)
from labelkin.explain import explain
from labelkin.kin import Limits
from labelkin.kin._views import Beside, Columns
from labelkin.persistence import load_model, save_model
from labelkin.tabular import Schema, TextEmbedding, TextFeatures, find_training_data
from labelkin.tabular._pipeline import make_pipeline as prepare
from labelkin.tabular._text import (
    NGrams,
    affordable_ngrams,
    can_embed,
    is_unspaced,
    make_vectorizer,
    static_embeddings,
)

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


def test_words_before_embeddings_before_ngrams():
    words = make_vectorizer(unspaced=False).fit_transform(TEXTS)
    for ngrams in (False, True):
        features = TextFeatures(ngrams, embedding=lengths)
        found = features.fit_transform(TEXTS).toarray()
        np.testing.assert_allclose(found, features.transform(TEXTS).toarray(), atol=1e-12)
        np.testing.assert_allclose(found[:, : words.shape[1]], words.toarray())
        last = found[:, words.shape[1] :]
        np.testing.assert_allclose(last[:, :2], TextEmbedding(lengths).fit_transform(TEXTS))
        assert len(features.get_feature_names_out()) == found.shape[1]
        assert features.n_embedding_ == 2
        assert features.n_ngrams_ == last.shape[1] - 2
        assert (features.n_ngrams_ > 0) == ngrams
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
    assert preparation.fit_transform(pd.DataFrame({"note": TEXTS})).shape == (32, 10 + 256)


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
    assert isinstance(views["topics"], Beside)
    assert isinstance(views["raw"], Columns)
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


def test_missing_texts_are_empty():
    features = TextFeatures(embedding=None).fit(["one red", None, float("nan")])
    with pytest.raises(ValueError, match=r"not one text: pass \[X\]"):
        features.transform("a cat")
    assert features.transform([None, "red"]).toarray().tolist() == [[0, 0], [0, 1]]


# --------------------------------------------------------------------------------- n-grams


def test_pairs_and_parts_of_words():
    found = NGrams().fit(["Ab cd", "cd"]).get_feature_names_out()
    pairs, parts = ["ab cd"], [" a", " ab", " ab ", "ab", "ab ", "b "]
    parts += [" c", " cd", " cd ", "cd", "cd ", "d "]
    assert sorted(found) == sorted(pairs + parts)


def test_ngrams_of_single_texts_are_left_out_of_many():
    found = NGrams(["pairs"]).fit(["red car", *["old car"] * 999]).get_feature_names_out()
    assert found.tolist() == ["old car"]


def test_texts_of_single_words_have_no_pairs():
    texts = ["car", "bike"]
    assert NGrams(["pairs"]).fit_transform(texts).shape == (2, 0)
    assert NGrams().fit(texts).transform(["a bike"]).nnz > 5


@pytest.mark.parametrize(
    ("n_texts", "length", "n_labels", "expected"),
    [
        (43_410, 68, 28, ("pairs", "parts")),
        (9_743, 428, 28, ("pairs", "parts")),
        (9_743, 428, 363, ()),  # too long a fit
        (1_000_000, 400, 5, ()),  # too large
    ],
)
def test_ngrams_that_are_affordable(n_texts, length, n_labels, expected):
    assert affordable_ngrams(n_texts, n_texts * length, n_labels) == expected


def test_only_the_linear_member_has_ngrams():
    rng = np.random.default_rng(0)
    words, ngrams = (rng.poisson(0.05, (300, 40)).astype(float) for _ in range(2))
    labels = ((words[:, :2] > 0) | (ngrams[:, :2] > 0)).astype(int)
    X, short = np.hstack([words, ngrams]), Limits(seconds=0.001, linear_rows=300)
    model = KinEnsembleClassifier(n_ngrams=40, effort=Limits(linear_rows=300), random_state=0)
    model.fit(X, labels)
    views = {name: member.view for name, member in model.members_}
    assert views["linear"] == "ngrams"
    for name, view in model.views_.items():
        assert (view(X) == view(np.hstack([words, 0 * ngrams]))).all() == (name != "ngrams")
    assert model.member_scores_["linear"] > 0.99
    model.set_params(effort=short).fit(X, labels)  # n-grams would take too long
    assert dict(model.members_)["linear"].view == "linear"


def many_texts(n=3_000):
    rng = np.random.default_rng(0)
    stems = np.array(["lock", "crash", "bill", "pay", "ship", "send", "box", "key"])
    ends = np.array(["", "s", "ed", "ing", "er", "ers", "able"])
    words = np.char.add(rng.choice(stems, (n, 3)), rng.choice(ends, (n, 3)))
    texts = [" ".join(row) for row in words]
    labels = [[int("lock" in text), int("bill" in text or "pay" in text)] for text in texts]
    return pd.DataFrame({"note": texts}), np.array(labels)


@pytest.fixture(scope="module")
def with_ngrams():
    X, y = many_texts()
    kinds = {"note": "text"}
    return TableClassifier(MultiLabelLogisticRegression(), columns=kinds, embedding="none").fit(
        X, y
    )


def test_tables_of_many_texts_have_ngrams(with_ngrams, tmp_path):
    assert with_ngrams.schema_.ngrams == ("pairs", "parts")
    new = pd.DataFrame({"note": ["unlocking paid", "shipment"]})  # words that never occurred
    proba = with_ngrams.predict_proba(new)
    assert proba[0, 0] > 0.9 > 0.1 > proba[1].max()
    save_model(with_ngrams, tmp_path / "model.labelkin")
    loaded = load_model(tmp_path / "model.labelkin")
    np.testing.assert_array_equal(loaded.predict_proba(new), proba)


@static
@pytest.mark.parametrize(
    ("classifier", "length"), [(MultiLabelLogisticRegression(), 0.7), (KinEnsembleClassifier(), 1)]
)
def test_classifiers_that_do_not_know_embeddings_weigh_them_less(classifier, length):
    rows = pd.DataFrame({"note": ["the app crashed", "send the bill again", "it does not start"]})
    columns = prepare(Schema({"note": "text"}), classifier)[:-1].fit_transform(rows)
    meaning = columns[:, -256:]
    np.testing.assert_allclose(np.linalg.norm(meaning, axis=1), length, rtol=1e-5)


def test_what_a_linear_model_adds_is_the_log_odds():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(50, 5, (200, 8)), columns=[*"abcdefgh"])
    model = TableClassifier(MultiLabelLogisticRegression()).fit(X, (X[["a", "b"]] > 47).astype(int))
    found = model.explain(X.iloc[[3]]).to_dict()["labels"]
    for one in found:
        assert one["added"][-1]["part"] == "start"
        total = sum(part["log_odds"] for part in one["added"])
        assert one["probability"] == pytest.approx(1 / (1 + np.exp(-total)), abs=0.03)


def test_the_effects_of_ngrams_are_those_of_their_words(with_ngrams):
    row = pd.DataFrame({"note": ["Unlocking, box"]})
    found = with_ngrams.explain(row)
    assert {*found.features} <= {"Unlocking", "box", "other characters"}
    effects = dict(zip(found.features, found.feature_effects[0], strict=True))
    assert effects["Unlocking"] > 2 > effects["box"]
    total = found.intercept[0] + sum(effects.values())
    np.testing.assert_allclose(1 / (1 + np.exp(-total)), with_ngrams.predict_proba(row)[0, 0])


@pytest.mark.parametrize("parameters", [{"ngrams": "none"}, {"estimator": MLkNNClassifier(3)}])
def test_tables_without_ngrams(parameters):
    X, y = many_texts()
    estimator = parameters.pop("estimator", MultiLabelLogisticRegression())
    model = TableClassifier(estimator, columns={"note": "text"}, embedding="none", **parameters)
    assert model.fit(X, y).estimator_.n_features_in_ < 60


def test_ngrams_are_not_exported(with_ngrams, tmp_path):
    pytest.importorskip("onnx")
    from labelkin.onnx import save_onnx

    with pytest.raises(ValueError, match="--embedding none --ngrams none"):
        save_onnx(with_ngrams, tmp_path / "model.onnx")


# ------------------------------------------------------ scripts without spaces between words

CHINESE = ["手机坏了", "手机充不进电", "账单错了", "请退款和账单", "我的手机", "账单太高"] * 6


@pytest.mark.parametrize("estimator", [None, MultiLabelLogisticRegression()])
def test_texts_without_spaces(estimator):
    table = pd.DataFrame({"note": CHINESE})
    y = np.array([["手机" in text, "账单" in text] for text in CHINESE]).astype(int)
    model = TableClassifier(estimator, columns={"note": "text"}, embedding="none").fit(table, y)
    new = pd.DataFrame({"note": ["新手机很好", "没有收到账单"]})
    np.testing.assert_array_equal(model.predict(new), [[1, 0], [0, 1]])
    found = model.explain(new.iloc[:1])
    effects = dict(zip(found.features, found.feature_effects[0], strict=True))
    assert effects["手机"] > 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ภาษาไทยไม่มีช่องว่าง", True),
        ("私の CSV ファイル", True),
        ("MKVLAAGIVGLCAKAYEK", True),
        ("acgtacgtacgtacgtacgt", True),
        ("CC(=O)Oc1ccccc1C(=O)O", True),
        ("see https://example.org/wiki/Ring_(chemistry)", False),
        ("colours(s) and shapes(s)", False),
        ("한국어 문장", False),
        ("Rechnungsprüfung Straßenbeleuchtung", False),
        ("a.muster@donaudampfschiff.example", False),
        ("", False),
    ],
)
def test_scripts_without_spaces(text, expected):
    assert is_unspaced([text]) == expected


def test_chemical_formulas_are_texts_without_spaces():
    parts = ["CC", "c1ccccc1", "C(=O)O", "N", "S(=O)(=O)", "C(F)(F)F"]
    formulas = [
        "".join(parts[(i + k * k) % 6] for k in range(3 + i % 4)) + "O" * i for i in range(30)
    ]
    assert len({*formulas}) == 30
    table = pd.DataFrame({"smiles": formulas, "y": [0, 1] * 15})
    found = find_training_data(table, "y").schema
    assert (found.columns, found.unspaced) == ({"smiles": "text"}, ("smiles",))


# ------------------------------------------------------------------------------------ words


def test_single_letters_signs_and_emojis_are_words():
    texts = ["C++ or C# in R?", "love it 🍔🍕 :)", "हिन्दी!!! ★"]
    found = TextFeatures(embedding=None).fit(texts).get_feature_names_out()
    assert " ".join(sorted(found)) == "!!! :) ? c# c++ in it love or r हिनदी ★ 🍔 🍕"


def test_explanations_name_emojis_and_words_that_are_not_known():
    happy, sad = ["so 🎉 today", "well 🎉 now"] * 8, ["so 😢 today", "well 😢 now"] * 8
    y = np.repeat([[1, 0], [0, 1]], 16, axis=0)
    model = make_pipeline(TextFeatures(embedding=lengths), OneVsRestClassifier(Logistic()))
    model.fit(happy + sad, y)
    found = explain(model, "so long 🎉🎉 today, so what")
    effects = dict(zip(found.features, found.feature_effects[0], strict=True))
    assert max(effects, key=effects.get) == "🎉"
    assert [*effects] == ["so", "🎉", "today", "long", "what"]  # those that are known first
