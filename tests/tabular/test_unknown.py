"""Empty label cells of tables: no, unknown, or rows to be left out."""

import numpy as np
import pandas as pd
import pytest

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.datasets import FormatError, describe, read
from labelkin.persistence import load_model, save_model
from labelkin.tabular import find_training_data, split_labels

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((N, 2)), columns=["a", "b"])
Y = (X.to_numpy() > 0).astype(int)
HIDDEN = RNG.random(Y.shape) < 0.4


def table(no, yes, empty=None, hidden=HIDDEN):
    """Return features and two labels, written as given; hidden ones are empty."""
    cells = np.where(hidden, empty, np.where(Y == 1, yes, no).astype(object))
    return X.assign(hot=cells[:, 0], wet=cells[:, 1])


@pytest.mark.parametrize(
    ("no", "yes"), [(0, 1), ("no", "yes"), (-1, 1), (False, True), ("0", "1"), ("nein", "ja")]
)
def test_where_no_is_written_empty_cells_are_unknown(no, yes):
    found = find_training_data(table(no, yes), ["hot", "wet"])
    np.testing.assert_array_equal(found.y, np.where(HIDDEN, np.nan, Y))
    texts = [guess.text for guess in found.guesses]
    assert "empty cells of hot, wet are unknown labels" in texts
    assert found.summary()["known_labels"] == (~HIDDEN).sum()
    assert f"{(~HIDDEN).sum()} of 120 labels known" in str(found)
    empty = (~HIDDEN).any(axis=1) & (HIDDEN | (Y == 0)).all(axis=1)
    assert f"{empty.sum()} rows without any among the known ones" in str(found)
    assert found.summary()["rows_without_labels"] == empty.sum()


@pytest.mark.parametrize("yes", [1, "yes", "x", "✓", True, "1", "Advice, service"])
@pytest.mark.parametrize("empty", [None, "", np.nan])
def test_where_only_yes_is_written_empty_cells_mean_no(yes, empty):
    if empty == "" and not isinstance(yes, str):
        pytest.skip("a column of numbers has no empty strings")
    found = find_training_data(table(None, yes, empty, hidden=Y == 0), ["hot", "wet"])
    np.testing.assert_array_equal(found.y, Y)
    assert found.y.dtype == np.uint8
    assert "empty cells of hot, wet mean no" in [guess.text for guess in found.guesses]


def test_labels_of_one_table_agree():
    """Where empty cells of one label are unknown, those of a label without any no are, too."""
    frame = table(0, 1)
    frame["wet"] = frame["wet"].where(frame["wet"] == 1, None)
    found = find_training_data(frame, ["hot", "wet"])
    assert np.isnan(found.y[:, 1]).sum() == N - (frame["wet"] == 1).sum()
    frame["wet"] = frame["wet"].where(frame["wet"] != 1, "x")  # but marks on a form mean no
    found = find_training_data(frame, ["hot", "wet"])
    assert not np.isnan(found.y[:, 1]).any()
    assert np.isnan(found.y[:, 0]).any()


def test_the_parameter_decides():
    frame = table(0, 1)
    no = find_training_data(frame, ["hot", "wet"], missing_labels="no")
    np.testing.assert_array_equal(no.y, np.where(HIDDEN, 0, Y))
    assert no.guesses == []
    only_yes = table(None, 1, None, hidden=Y == 0)
    unknown = find_training_data(only_yes, ["hot", "wet"], missing_labels="unknown")
    np.testing.assert_array_equal(unknown.y, np.where(Y == 1, 1, np.nan))
    kept = ~HIDDEN.any(axis=1)
    dropped = find_training_data(frame, ["hot", "wet"], missing_labels="drop")
    np.testing.assert_array_equal(dropped.y, Y[kept])
    np.testing.assert_array_equal(dropped.X, X[kept])
    assert f"{(~kept).sum()} rows with empty label cells left out" in " ".join(dropped.notes)
    with pytest.raises(ValueError, match="missing_labels='maybe': choose no, unknown or drop"):
        find_training_data(frame, ["hot", "wet"], missing_labels="maybe")
    nothing = frame.assign(hot=None)
    with pytest.raises(ValueError, match="missing_labels=drop leaves no row"):
        find_training_data(nothing, ["hot", "wet"], missing_labels="drop")


def test_tags():
    tags = pd.DataFrame({"a": range(6), "tags": ["p;r", "", None, "r", "p", "p"]})
    assert find_training_data(tags, "tags").y.sum() == 5
    found = find_training_data(tags, "tags", missing_labels="unknown").y
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [0, 1, 1, 0, 0, 0])
    assert len(find_training_data(tags, "tags", missing_labels="drop").y) == 4


def test_other_words_are_refused_as_before():
    with pytest.raises(FormatError, match="label 'hot' holds 'perhaps' in row 3"):
        find_training_data(table("perhaps", "yes", hidden=np.zeros(Y.shape, bool)), ["hot", "wet"])


@pytest.mark.parametrize("form", ["in the table", "frame", "nullable", "array"])
def test_table_classifier(form, tmp_path):
    partial = np.where(HIDDEN, np.nan, Y)
    model = TableClassifier(MLkNNClassifier())
    if form == "in the table":
        model.set_params(labels=["hot", "wet"]).fit(table(0, 1))
    elif form == "array":
        model.fit(X, partial)
    else:
        y = pd.DataFrame(partial, columns=["hot", "wet"])
        model.fit(X, y.astype("Int8") if form == "nullable" else y)
    expected = TableClassifier(MLkNNClassifier()).fit(X, pd.DataFrame(partial)).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    save_model(model, tmp_path / "m.labelkin")
    same = load_model(tmp_path / "m.labelkin")
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    if form != "array":
        assert model.guesses_ == ["empty cells of hot, wet are unknown labels"]


@pytest.mark.parametrize("form", ["in the table", "frame", "array"])
@pytest.mark.parametrize("missing", ["no", "drop"])
def test_table_classifier_with_the_parameter(form, missing):
    partial = np.where(HIDDEN, np.nan, Y)
    model = TableClassifier(MLkNNClassifier(), missing_labels=missing)
    if form == "in the table":
        model.set_params(labels=["hot", "wet"]).fit(table(0, 1))
    else:
        y = pd.DataFrame(partial, columns=["hot", "wet"])
        model.fit(X, y if form == "frame" else partial)
    rows = ~HIDDEN.any(axis=1) if missing == "drop" else np.ones(N, dtype=bool)
    expected = TableClassifier(MLkNNClassifier()).fit(X[rows], np.nan_to_num(partial[rows]))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))


def test_split_labels():
    features, y = split_labels(table(0, 1), ["hot", "wet"])
    np.testing.assert_array_equal(y, np.where(HIDDEN, np.nan, Y))
    features, y = split_labels(table(0, 1), ["hot", "wet"], missing_labels="drop")
    assert len(features) == len(y) == (~HIDDEN.any(axis=1)).sum()
    assert y.index.equals(features.index)


def test_read_and_describe(tmp_path):
    table(0, 1).to_csv(tmp_path / "partial.csv", index=False)
    bunch = read(tmp_path / "partial.csv", labels="hot,wet")
    np.testing.assert_array_equal(bunch.target, np.where(HIDDEN, np.nan, Y))
    assert bunch.guesses == ["empty cells of hot, wet are unknown labels"]
    figures = describe(bunch.target, bunch.data)
    positives = Y[~HIDDEN].sum()
    assert figures.known == pytest.approx((~HIDDEN).mean())
    assert figures.density == pytest.approx(positives / (~HIDDEN).sum())
    assert figures.label_counts == tuple((Y * ~HIDDEN).sum(axis=0))
    assert "of the cells" in str(figures)
    assert read(tmp_path / "partial.csv", labels="hot,wet", missing_labels="no").target.max() == 1
    dropped = read(tmp_path / "partial.csv", labels="hot,wet", missing_labels="drop")
    assert len(dropped.data) == len(dropped.target) == (~HIDDEN.any(axis=1)).sum()
    assert dropped.target.dtype == np.uint8


def test_the_word_of_a_choice_is_said():
    frame = table(None, "Price ", hidden=Y == 0)
    found = find_training_data(frame, ["hot", "wet"])
    assert "read as yes: 'Price' (hot), 'Price' (wet)" in [guess.text for guess in found.guesses]
    for other in ("Quality", "no", "x"):
        frame.loc[frame["hot"].isna().idxmax(), "hot"] = other
        with pytest.raises(ValueError, match="one word where the label applies"):
            find_training_data(frame, ["hot", "wet"])


def test_score_counts_known_labels():
    frame = table(0, 1)
    model = TableClassifier(MLkNNClassifier(3), labels=["hot", "wet"]).fit(frame)
    right = ((model.predict(frame) == Y) | HIDDEN).all(axis=1)
    assert model.score(frame) == pytest.approx(right[~HIDDEN.all(axis=1)].mean())


def test_rows_without_text_and_tags_are_doubted():
    texts = [f"a shirt of cotton {i}" if i % 3 else None for i in range(30)]
    tags = ["new;red" if i % 2 else "red" for i in range(30)]
    frame = pd.DataFrame({"text": texts, "tags": tags}).assign(x=range(30))
    assert not any(guess.doubtful for guess in find_training_data(frame, "tags").guesses)
    frame.loc[frame["text"].isna(), "tags"] = ""  # further sizes of the article above
    (doubt,) = (guess for guess in find_training_data(frame, "tags").guesses if guess.doubtful)
    assert doubt.text.startswith(
        "10 rows have neither text nor label and are learned as rows of no"
    )
    assert doubt.arguments == ("missing_labels",)
    assert len(find_training_data(frame, "tags", missing_labels="drop").y) == 20
