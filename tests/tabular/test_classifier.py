"""TableClassifier: DataFrames and files with columns of any kind, by scikit-learn's conventions."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from labelkin import (
    DecisionClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
    VPCMEClassifier,
)
from labelkin.cli import main
from labelkin.datasets import RawTable, read_table
from labelkin.persistence import load_model, save_model
from labelkin.tabular import TextFeatures, find_training_data, predict_frame, split_labels
from labelkin.tabular._records import table_of_records
from support.data import make_data
from support.tables import FILM_COLUMNS, VOCABULARY, films, write_films

pd = pytest.importorskip("pandas")

LABELS = list(VOCABULARY)


def film_frame(n=60, seed=0):
    frame = pd.DataFrame(films(n, seed), columns=FILM_COLUMNS)
    return frame.assign(runtime=pd.to_numeric(frame["runtime"]))


def with_tags(frame, form=";".join):
    marks = frame[LABELS].to_numpy(bool)
    tags = [form([name for name, here in zip(LABELS, row, strict=True) if here]) for row in marks]
    return frame.drop(columns=LABELS).assign(tags=tags)


def small(**options):
    return TableClassifier(MLkNNClassifier(n_neighbors=3), **options)


def test_labels_from_columns_of_the_table_or_from_y():
    frame = film_frame()
    expected = small(labels=LABELS).fit(frame)
    assert expected.columns_ == {"plot": "text", "country": "category", "runtime": "number"}
    assert expected.guesses_ == ["id left out: an identifier", "plot: text"]
    assert expected.label_names_.tolist() == LABELS
    new = film_frame(20, seed=1)
    proba = expected.predict_proba(new)
    assert proba.shape == (20, 3)
    features = frame.drop(columns=LABELS)
    for model in (
        small().fit(frame, labels=",".join(LABELS)),
        small(labels=-3).fit(frame),
        small().fit(features, frame[LABELS]),
        small().fit(frame, frame[LABELS]),  # its columns are no features
        small().fit(frame, LABELS),
        small().fit(frame, ",".join(LABELS)),
        small().fit(features, frame[LABELS].replace({0: "no", 1: "yes"})),
    ):
        np.testing.assert_array_equal(model.predict_proba(new), proba)
        assert model.label_names_.tolist() == LABELS


@pytest.mark.parametrize("form", [";".join, "|".join, list])
def test_one_column_of_tags(form):
    frame = film_frame()
    expected = small(labels=LABELS).fit(frame)
    order = [LABELS.index(name) for name in sorted(LABELS)]
    tagged = with_tags(frame, form)
    for model in (
        small().fit(tagged, labels="tags"),
        small().fit(tagged, "tags"),
        small().fit(tagged.drop(columns="tags"), tagged["tags"]),
    ):
        assert model.label_names_.tolist() == sorted(LABELS)
        np.testing.assert_allclose(
            model.predict_proba(frame), expected.predict_proba(frame)[:, order]
        )


def test_the_command_line_fits_the_same_model(tmp_path):
    path = write_films(tmp_path / "films.csv", 60)
    out = tmp_path / "m.labelkin"
    assert main(["fit", str(path), "--labels", "-3", "--model", "mlknn", "--out", str(out)]) == 0
    saved = load_model(out)
    assert isinstance(saved, TableClassifier)
    table = read_table(path)
    here = TableClassifier(MLkNNClassifier(), labels=-3).fit(table)
    assert [guess.text for guess in table.guesses] == here.guesses_
    np.testing.assert_array_equal(here.predict_proba(table), saved.predict_proba(table))
    save_model(here, out)
    np.testing.assert_array_equal(load_model(out).predict(table), here.predict(table))
    again = clone(load_model(out)).fit(table)
    np.testing.assert_array_equal(again.predict(table), here.predict(table))


def test_types_of_pandas():
    n = 40
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "whole": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "truth": pd.array(rng.random(n) > 0.5, dtype="boolean"),
            "level": pd.Categorical(rng.choice(["low", "high"], n)),
            "grade": pd.Categorical(rng.integers(1, 4, n)),
            "when": pd.date_range("2024-01-01", periods=n),
            "text": pd.array([f"word{i % 7} and more words" for i in range(n)], dtype="string"),
        }
    )
    frame.loc[3, :] = None
    y = pd.DataFrame(rng.integers(0, 2, (n, 2)), columns=["a", "b"])
    model = small().fit(frame, y)
    kinds = ["number", "number", "category", "category", "date", "text"]
    assert model.columns_ == dict(zip(frame.columns, kinds, strict=True))
    assert model.predict(frame.iloc[:5]).shape == (5, 2)
    chosen = small(columns={"whole": "category", "when": "ignore"}).fit(frame, y)
    assert chosen.columns_["whole"] == "category"
    assert "when" not in chosen.columns_


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_as_the_output_of_all_transformers(output, tmp_path):
    pytest.importorskip(output)
    frame = film_frame().assign(seen=pd.date_range("2024-01-01", periods=60))
    frame = frame.drop(columns="country").assign(country=["fr", "it", None] * 20)
    linear = MultiLabelLogisticRegression(C=1.0)
    model = TableClassifier(linear, labels=LABELS).fit(frame)
    assert {*model.columns_.values()} == {"text", "category", "number", "date"}
    save_model(model, tmp_path / "m.labelkin")
    loaded = load_model(tmp_path / "m.labelkin")
    expected, reasons = model.predict_proba(frame), model.explain(frame.head(1)).to_dict()
    numbers = np.c_[frame["runtime"], np.arange(60)]
    matrix = TableClassifier(linear, scale="standard").fit(numbers, frame[LABELS])
    X, y = frame["plot"].tolist(), frame[LABELS]
    texts = make_pipeline(TextFeatures(True, embedding=embed_lengths), MLkNNClassifier(3)).fit(X, y)
    with config_context(transform_output=output):
        for one in (model, loaded, clone(model).fit(frame)):
            np.testing.assert_array_equal(one.predict_proba(frame), expected)
            assert one.explain(frame.head(1)).to_dict() == reasons
        for one, rows in ((matrix, numbers), (texts, X)):
            again = clone(one).fit(rows, y)
            np.testing.assert_array_equal(again.predict_proba(rows), one.predict_proba(rows))


def embed_lengths(texts):
    return np.array([[len(text), text.count("a")] for text in texts], dtype=float)


def test_searches_and_scores():
    X, y = split_labels(with_tags(film_frame()), "tags")
    assert y.columns.tolist() == sorted(LABELS)
    scores = cross_val_score(small(), X, y, cv=3, scoring="f1_micro")
    assert scores.min() > 0.3
    grid = {"estimator__n_neighbors": [1, 5], "scale": ["none", "robust"]}
    search = GridSearchCV(small(), grid, scoring="f1_micro", cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    frame = predict_frame(search.best_estimator_, X.head(2))
    assert frame.columns.tolist() == sorted(LABELS)
    assert (frame - y.head(2)).to_numpy().min() >= -1  # no unsigned integers, which wrap around
    whole = film_frame()
    search = GridSearchCV(small(labels=LABELS), {"estimator__n_neighbors": [1, 5]}, cv=2).fit(whole)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert best.score(whole) == best.score(whole, whole[LABELS]) == best.score(whole, LABELS)
    words = whole[LABELS].replace({0: "no", 1: "yes"})
    assert best.score(whole, words) == best.score(whole)
    assert np.isfinite(cross_val_score(small(), X, words, cv=3)).all()
    for form in (";".join, list):
        tags = with_tags(whole, form)["tags"]
        model = small().fit(X, tags)
        assert model.score(X, tags) == model.score(X, y)
        tags[0] = form(["western"])
        with pytest.warns(UserWarning, match="y: labels unknown to the model .*: western"):
            model.score(X, tags)
    for method in (small().score, small().explain):
        with pytest.raises(NotFittedError):
            method(whole)


@pytest.mark.parametrize("form", ["list", "string", "y", "polars"])
def test_labels_keep_the_order_in_which_they_are_listed(form, tmp_path):
    frame, order = film_frame(), LABELS[::-1]
    model, X = small(labels=order), frame
    if form == "polars":
        X = pytest.importorskip("polars").from_pandas(frame)
    if form == "string":
        model.set_params(labels=",".join(order))
    model.fit(X, order) if form == "y" else model.fit(X)
    assert model.label_names_.tolist() == order
    expected = small().fit(frame.drop(columns=LABELS), frame[order])
    new = film_frame(20, seed=1)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(frame))
    truth = new[order]
    assert model.score(new) == model.score(new, truth) == expected.score(new, truth)
    np.testing.assert_array_equal(model.label_columns_.read(RawTable.of(new)), truth)
    np.testing.assert_array_equal(predict_frame(model, new), model.predict(new))
    save_model(model, tmp_path / "m.labelkin")
    loaded = load_model(tmp_path / "m.labelkin")
    assert loaded.label_names_.tolist() == order
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


def test_the_order_of_labels_in_patterns_counts_and_thresholds():
    frame = pd.DataFrame({"x": np.arange(8.0), "t_b": 1, "o": [0, 1] * 4, "t_a": [0, 0, 1, 1] * 2})

    def names(labels):
        return split_labels(frame, labels)[1].columns.tolist()

    assert names("o,t_*") == ["o", "t_b", "t_a"]
    assert names(["t_*", "o"]) == ["t_b", "t_a", "o"]
    assert names(-3) == ["t_b", "o", "t_a"]
    with pytest.raises(ValueError, match="column 't_a' is named twice"):
        names("t_a,t_*")
    cut = [0.999, 0.001]
    decided = DecisionClassifier(MLkNNClassifier(n_neighbors=3), "fixed", cut=cut)
    model = TableClassifier(decided, labels=["t_a", "o"], columns={"t_b": "ignore"}).fit(frame)
    assert model.thresholds_.tolist() == cut
    assert model.predict(frame).mean(axis=0).tolist() == [0, 1]


def test_scikit_learns_classifiers_and_decisions():
    frame = film_frame()
    forest = TableClassifier(MultiOutputClassifier(LogisticRegression()), labels=LABELS).fit(frame)
    assert forest.predict(frame).shape == (60, 3)
    labels, scores = forest.predict_with_scores(frame)
    assert scores.shape == labels.shape
    np.testing.assert_array_equal(forest.predict_proba(frame), scores)
    X, y = split_labels(frame, LABELS)
    proba = cross_val_predict(clone(forest), X, y, cv=3, method="predict_proba")
    assert proba.shape == scores.shape
    assert TableClassifier(RidgeClassifier()).fit(X, y).score(X, y) > 0.5  # -1 is one of its codes
    decided = TableClassifier(DecisionClassifier(MLkNNClassifier(), "f1"), labels=LABELS).fit(frame)
    assert decided.thresholds_.shape == (3,)
    weights = np.r_[np.ones(30), np.zeros(30)]
    model = TableClassifier(VPCMEClassifier(n_estimators=2, random_state=0), labels=LABELS)
    assert model.fit(frame, sample_weight=weights).predict(frame).shape == (60, 3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_matrix_of_numbers(form):
    X, Y = make_data(40)
    model = small().fit(form(X), Y)
    assert model.columns_ is None
    assert model.n_features_in_ == X.shape[1]
    assert not hasattr(model, "label_names_")
    expected = MLkNNClassifier(n_neighbors=3).fit(form(X), Y)
    np.testing.assert_array_equal(model.predict_proba(form(X)), expected.predict_proba(form(X)))


def test_images_are_flattened():
    X, Y = make_data(40, 6)
    images = X.reshape(40, 3, 2, 1)
    model = small().fit(images, Y)
    assert model.guesses_ == ["X: arrays of 3 × 2 × 1 flattened to 6 features"]
    np.testing.assert_array_equal(model.predict_proba(images), model.predict_proba(X))
    with pytest.raises(ValueError, match="X has 4 features, but TableClassifier is expecting 6"):
        model.predict(images[:, :2])


def test_errors_name_the_column_and_the_cure():
    frame = film_frame()
    with pytest.raises(ValueError, match="the label columns are unknown; name them with labels="):
        small().fit(frame)
    for labels in ("drama,comdy", ["drama", "comdy"]):
        with pytest.raises(ValueError, match=r"no column 'comdy'. Columns .* be meant: comedy"):
            small().fit(frame, labels)
    with pytest.raises(ValueError, match="no such kind"):
        small(labels=LABELS, columns={"plot": "txt"}).fit(frame)
    model = small(labels=LABELS).fit(frame)
    with pytest.raises(ValueError, match="no column 'plot'"):
        model.predict(frame.drop(columns="plot"))
    mixed = frame.assign(code=["other"] * 9 + [*map(str, range(51))])
    with pytest.raises(ValueError, match=r"columns=\{'code': 'category'\} or"):
        small(labels=LABELS).fit(mixed)
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        small().fit(frame, [["drama"], ["drama", "crime"]] * 30)
    for words in (frame["plot"], frame["plot"].tolist(), frame.astype(str).to_numpy()):
        with pytest.raises(ValueError, match="X must be a DataFrame if it holds words"):
            small().fit(words, frame[LABELS])
    for wrong, cure in (
        (frame["plot"], r"X\.to_frame\(\) for one column"),
        (frame.iloc[0], r"X\.to_frame\(\)\.T for one row"),
        (frame[LABELS].iloc[0], r"X\.to_frame\(\)\.T for one row"),
        ("films.csv", "labelkin.datasets.read_table"),
    ):
        with pytest.raises(ValueError, match=cure):
            model.predict(wrong)


def test_a_copy_of_a_label_is_noted():
    frame = film_frame()
    copied = frame.assign(again=frame["drama"], seen=frame["comedy"].replace({0: "no", 1: "yes"}))
    with pytest.warns(UserWarning, match=r"again is a copy of the label drama.*set columns="):
        small(labels=LABELS).fit(copied)
    words = copied.assign(comedy=copied["seen"])
    with pytest.warns(UserWarning, match="again is .* drama, seen is a copy of comedy: kept"):
        small(labels=LABELS).fit(words)
    tagged = with_tags(frame)
    for topics in (tagged["tags"], tagged["tags"].str.replace(";", ", ")):
        with pytest.warns(UserWarning, match="topics is a copy of tags"):
            small(labels="tags").fit(tagged.assign(topics=topics))
    for values in (["No", "Yes"], [1, 0], [None, "x"]):
        other = frame["drama"].map(lambda value, values=values: values[value])
        with pytest.warns(UserWarning, match="mark is a copy of the label drama"):
            small(labels=LABELS).fit(frame.assign(mark=other))
    with pytest.warns(UserWarning, match="drama is a copy of the label y1"):
        small().fit(frame.drop(columns=LABELS[1:]), frame[["drama"]].to_numpy())
    with pytest.warns(UserWarning, match="n is a copy of the number of labels of a row: kept"):
        small(labels=LABELS).fit(frame.assign(n=frame[list(LABELS)].sum(axis=1)))
    small(labels=LABELS, columns={"again": "ignore", "seen": "ignore"}).fit(words)
    with pytest.warns(UserWarning, match="again is a copy of the label drama"):
        inside = DecisionClassifier(small(), cv=2).fit(copied.drop(columns="seen"), frame[LABELS])
    assert {*LABELS}.isdisjoint(inside.estimator_.columns_)


@pytest.mark.parametrize("values", [(0, 1), ("ok", "failed"), ("yes", "no"), (None, "x")])
def test_a_column_that_tells_which_rows_have_labels_is_noted(values):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((300, 4)) < (0.5, 0.5, 0.1, 0.1), columns=[*"abyz"])
    has_any = frame["y"] | frame["z"]
    marks = (has_any != (frame.index == 7)).map(lambda has: values[has])  # one row is an exception
    said = "failure tells which rows have any label: kept as a feature; leave out what new rows do"
    with pytest.warns(UserWarning, match=said):
        small(labels=["y", "z"]).fit(frame.astype(int).assign(failure=marks))
    small(labels=["y", "z"]).fit(frame.astype(int))


def test_rows_in_another_order_than_the_labels_are_noted():
    X, y = split_labels(film_frame(), LABELS)
    with pytest.warns(UserWarning, match=r"matched by position: pass y\.loc\[X\.index\]"):
        small().fit(X[::-1], y)
    small().fit(X[::-1], y[::-1])
    small().fit(X[1::2], y[1::2].reset_index(drop=True))
    levels = pd.MultiIndex.from_product([["a", "b"], range(len(X) // 2)])
    small().fit(X.set_index(levels), y)
    with pytest.warns(UserWarning, match="matched by position"):
        small().fit(X.set_index(levels)[::-1], y.set_index(levels))


def test_a_lazy_frame_is_refused():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"x": [1.5, 2.5], "y": [0, 1]})
    with pytest.raises(TypeError, match=r"not a LazyFrame: pass X\.collect\(\)"):
        small(labels="y").fit(frame)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library):
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.normal(size=30).tolist(),
        "colour": rng.choice(["red", "blue"], 30).tolist(),
        "tags": ["a;b", "b", None] * 10,
        "listed": [["a", "b"], ["b"], []] * 10,
    }
    other = pytest.importorskip(library)
    frame = other.DataFrame(columns) if library == "polars" else other.table(columns)
    model = TableClassifier(MLkNNClassifier(n_neighbors=3), columns={"listed": "ignore"})
    expected = (
        clone(model).fit(pd.DataFrame(columns), labels="tags").predict_proba(pd.DataFrame(columns))
    )
    model.fit(frame, labels="tags")
    assert model.columns_ == {"x": "number", "colour": "category"}
    np.testing.assert_allclose(model.predict_proba(frame), expected)
    if library == "polars":
        X = frame.select("x", "colour")
        model.set_params(columns=None).fit(X, frame["listed"])
        assert model.label_names_.tolist() == ["a", "b"]
        np.testing.assert_allclose(model.predict_proba(X), expected)


@pytest.mark.parametrize("form", [None, "timestamp[us, tz=America/New_York][pyarrow]"])
def test_dates_of_another_time_zone_are_converted(form, tmp_path):
    if form:
        pytest.importorskip("pyarrow")
    times = pd.Series(pd.date_range("2024-01-01", periods=200, freq="37min", tz="Europe/Berlin"))
    y = pd.DataFrame({"late": (times.dt.hour > 12) * 1, "early": (times.dt.hour < 7) * 1})
    table = pd.DataFrame({"x": np.arange(200) % 7 / 7, "time": times})
    model = TableClassifier(MLkNNClassifier(3)).fit(table, y)
    save_model(model, tmp_path / "model.labelkin")
    other = times.astype(form) if form else times.dt.tz_convert("America/New_York")
    assert other.dt.hour[0] == 18
    for one in (model, load_model(tmp_path / "model.labelkin")):
        expected = one.predict_proba(table)
        np.testing.assert_array_equal(one.predict_proba(table.assign(time=other)), expected)
        without = table.assign(time=times.dt.tz_localize(None))
        np.testing.assert_array_equal(one.predict_proba(without), expected)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
@pytest.mark.parametrize("form", [str, lambda time: time.strftime("%d %b %Y %H:%M %z")])
def test_offsets_written_in_dates(zone, form):
    times = pd.Series(pd.date_range("2024-01-01", periods=200, freq="97min", tz=zone))
    y = pd.DataFrame({"late": (times.dt.hour > 12) * 1, "early": (times.dt.hour < 7) * 1})
    written = times.map(form)
    elsewhere = times.dt.tz_convert("America/New_York").map(form)
    local = times.dt.tz_localize(None).map(str)
    for column in (times, written):  # a zone, or one offset
        model = TableClassifier(MLkNNClassifier(3)).fit(column.to_frame("time"), y)
        expected = model.predict_proba(times.to_frame("time"))
        for other in (written, elsewhere, local, times.dt.tz_convert("Asia/Tokyo")):
            found = model.predict_proba(other.to_frame("time"))
            np.testing.assert_array_equal(found, expected)


def test_lists_of_numbers_are_columns(tmp_path):
    X, Y = make_data(60, 4, 2)
    y = pd.DataFrame(Y, columns=["a", "b"])
    X[:, 2], X[7] = X[0, 2], np.nan  # a constant, and a missing list
    wide = pd.DataFrame(X).rename(columns=lambda i: f"v_{i + 1}")
    cells = [None if np.isnan(row).all() else row for row in X]
    frame = pd.DataFrame({"v": pd.Series(cells, dtype=object)})
    kinds = dict.fromkeys(wide, "number")
    estimator = MultiLabelLogisticRegression(random_state=0)
    model = TableClassifier(estimator, labels=["a", "b"]).fit(frame.join(y))
    expected = TableClassifier(estimator, columns=kinds).fit(wide, y).predict_proba(wide)
    assert model.columns_ == kinds
    assert model.guesses_ == ["v: lists of 4 numbers, spread over columns v_1, v_2 and 2 more"]
    assert TableClassifier(estimator, columns={"v": "number"}).fit(frame, y).guesses_ == []
    rows = [{"v": cell if cell is None else cell.tolist()} for cell in cells]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    read = read_table(tmp_path / "new.jsonl", **model.schema_.reading)
    for new in (frame, wide, pd.DataFrame(rows), read, table_of_records(rows, model.schema_)):
        np.testing.assert_array_equal(model.predict_proba(new), expected)
    gone = [{"v": None}]
    for new in (pd.DataFrame(gone), table_of_records(gone, model.schema_)):
        np.testing.assert_array_equal(model.predict_proba(new), expected[[7]])
    short = [rows[0], {"v": [1, 2]}]
    for read in (lambda: pd.DataFrame(short), lambda: table_of_records(short, model.schema_)):
        with pytest.raises(ValueError, match=r"a list of 2 numbers in row 2, .* lists of 4"):
            model.predict(read())


@pytest.mark.parametrize("form", ["[{}, {}, {}]", "[{} {}\n {}]"])
def test_lists_of_numbers_that_are_written_are_columns(form, tmp_path):
    X, Y = make_data(60, 3, 2)
    cells = [form.format(*row.tolist()) for row in X]
    frame = pd.DataFrame({"v": cells, "u": ["[1]", "[1, 2]"] * 30}).assign(a=Y[:, 0], b=Y[:, 1])
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, read_table(tmp_path / "t.csv")):
        model = TableClassifier(MLkNNClassifier(3), labels=["a", "b"]).fit(data)
        assert [*model.columns_] == ["u", "v_1", "v_2", "v_3"]
        for new in (frame, read_table(tmp_path / "t.csv", **model.schema_.reading)):
            found = model.schema_.read(new)
            np.testing.assert_allclose(found[["v_1", "v_2", "v_3"]], X)


def test_lists_of_words_may_be_empty(tmp_path):
    words = [["camera"] if i % 3 else [] for i in range(30)]
    frame = pd.DataFrame({"words": words, "x": range(0, 60, 2)})
    frame["tags"] = ["hot;red" if i % 5 else "red" if i % 2 else "" for i in range(30)]
    frame.loc[::6, "tags"] = ""
    frame.to_parquet(tmp_path / "t.parquet")  # which makes arrays of lists
    for data in (frame, pd.read_parquet(tmp_path / "t.parquet")):
        training = find_training_data(data, "tags", missing_labels="no")
        assert training.schema.columns["words"] == "text"
    training = find_training_data(frame, "tags")
    assert not any("neither text nor label" in guess.text for guess in training.guesses)


def test_lists_of_unequal_length_are_left_out():
    frame = pd.DataFrame({"v": [[1.0] * (1 + i % 2) for i in range(10)], "x": [*range(0, 20, 2)]})
    y = pd.DataFrame({"y": [0, 1] * 5})
    with pytest.warns(UserWarning, match="v left out: it holds lists of numbers of unequal length"):
        model = TableClassifier(MLkNNClassifier(3), columns={"x": "number"}).fit(frame, y)
    assert [*model.columns_] == ["x"]


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet"])
def test_objects_are_columns_of_their_fields(form, tmp_path):
    rng = np.random.default_rng(0)
    cells = [{"n": float(n), "of": {"team": "ab"[int(n > 5)]}} for n in rng.integers(0, 9, 60)]
    cells[3] = None
    y = [[int(cell is not None and cell["n"] > 5)] for cell in cells]
    frame = pd.DataFrame({"who": pd.Series(cells, dtype=object), "x": rng.normal(size=60)})
    if form == "parquet":
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
    else:
        table = pytest.importorskip("polars").from_pandas(frame) if form == "polars" else frame
    model = TableClassifier(MLkNNClassifier(3)).fit(table, np.array(y))
    assert model.columns_ == {"who.n": "number", "who.of.team": "category", "x": "number"}
    records = table_of_records(
        [{"who": cells[0], "x": 1.0}, {"who": None, "x": 1.0}], model.schema_
    )
    gone = frame.iloc[[0, 3]].assign(x=1.0)
    np.testing.assert_array_equal(model.predict_proba(gone), model.predict_proba(records))
    assert model.predict(gone[1:]).shape == (1, 1)
    model = TableClassifier(MLkNNClassifier(3), columns={"who": "ignore"}).fit(table, np.array(y))
    assert [*model.columns_] == ["x"]


def test_dates_with_several_offsets_are_local_times():
    times = pd.Series(pd.date_range("2024-03-20", periods=200, freq="137min", tz="Europe/Berlin"))
    y = pd.DataFrame({"late": (times.dt.hour > 12) * 1, "early": (times.dt.hour < 7) * 1})
    frames = [column.to_frame("time") for column in (times, times.map(str))]
    assert frames[1]["time"].str[-6:].nunique() == 2
    for one in frames:
        model = TableClassifier(MLkNNClassifier(3)).fit(one, y)
        first, second = (model.predict_proba(other) for other in frames)
        np.testing.assert_array_equal(first, second)


def test_a_named_series_of_one_label():
    frame = film_frame()
    y, X = frame[LABELS[0]], frame.drop(columns=LABELS)
    model = small().fit(frame.drop(columns=LABELS[1:]), y)
    assert model.label_names_.tolist() == [LABELS[0]]
    assert LABELS[0] not in model.columns_
    assert model.predict(X).shape == (60,)
    np.testing.assert_array_equal(model.predict(X), small().fit(X, y.rename(None)).predict(X))
    assert predict_frame(model, X).columns.tolist() == [LABELS[0]]


def test_a_model_of_a_named_series_is_used_by_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = film_frame()
    frame.to_csv("films.csv", index=False)
    model = small().fit(frame.drop(columns=LABELS), frame[LABELS[0]])
    save_model(model, "one.labelkin")
    assert main(["predict", "one.labelkin", "films.csv", "--keep", "none", "--proba"]) == 0
    assert LABELS[0] in capsys.readouterr().out.splitlines()[0]
    assert main(["evaluate", "one.labelkin", "films.csv"]) == 0


def test_a_count_of_labels_in_the_place_of_y():
    frame = film_frame()
    n = len(LABELS)
    X = frame[[name for name in frame if name not in LABELS] + LABELS]
    assert small().fit(X, -n).label_names_.tolist() == LABELS


def test_all_labels_unknown():
    frame = film_frame()
    with pytest.raises(ValueError, match="y holds no known label"):
        small().fit(frame.drop(columns=LABELS), frame[LABELS] * np.nan)


def test_intervals_are_categories():
    x = np.random.default_rng(0).normal(size=60)
    table = pd.DataFrame({"part": pd.cut(x, [-9, -0.5, 0.5, 9]), "z": x})
    y = pd.DataFrame({"a": x > 0.5, "b": x < -0.5})
    model = TableClassifier(MLkNNClassifier(3), columns={"z": "ignore"}).fit(table, y)
    assert model.columns_ == {"part": "category"}
    assert model.score(table, y) == 1
    assert model.score(table.astype({"part": object}), y) == 1
    with pytest.raises(ValueError, match=r"'part' holds '\(.*\]' in row 1, not a number"):
        TableClassifier(MLkNNClassifier(3), columns={"part": "number"}).fit(table, y)


def test_two_levels_of_names_are_two_rows_of_names(tmp_path):
    names = [("pulse", "mean"), ("pulse", "max"), ("oxygen", "mean"), ("age", ""), ("has", "fever")]
    cells = np.random.default_rng(0).normal(size=(60, 5))
    cells[:, 4] = cells[:, 0] > 0
    table = pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(names))
    table.to_csv(tmp_path / "t.csv", index=False)
    frame = TableClassifier(MLkNNClassifier(3)).fit(table, "fever")
    file = TableClassifier(MLkNNClassifier(3)).fit(read_table(tmp_path / "t.csv"), "fever")
    assert [*frame.columns_] == [*file.columns_] == ["pulse / mean", "max", "oxygen / mean", "age"]
    assert frame.predict(table).tolist() == file.predict(table).tolist()


def test_words_of_arrow_are_categories(tmp_path):
    table = pd.DataFrame({"part": pd.Categorical(["a", "b", "c"] * 20), "y": [0, 1, 0] * 20})
    table.to_parquet(tmp_path / "t.parquet")
    table = pd.read_parquet(tmp_path / "t.parquet", dtype_backend="pyarrow")
    assert TableClassifier(MLkNNClassifier(3)).fit(table, "y").columns_ == {"part": "category"}


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"x": [1.0, 2.0] * 20}, r"pass pandas.DataFrame\(X\)"),
        ({"x": 1.0, "z": "word"}, r"pass pandas.DataFrame\(\[X\]\)"),
        ([{"x": 1.0}, {"x": 2.0}] * 20, "pass pandas.DataFrame"),
        (pd.DataFrame({"x": pd.period_range("2025", periods=40)}), "convert them, or leave"),
        (pd.DataFrame({"x": [1, np.inf] * 20}), "write a number, or leave the cell empty"),
    ],
)
def test_tables_of_other_forms_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small().fit(X, pd.DataFrame({"a": [0, 1] * 20, "b": [1, 0] * 20}))


def test_columns_of_numbers_dates_and_texts_are_read_as_in_a_spreadsheet(tmp_path):
    pytest.importorskip("openpyxl")
    days, n = pd.date_range("2024-01-02", periods=60), 60
    cells = {
        "day": [f"{day:%d.%m.%Y}" if i % 3 else day.to_pydatetime() for i, day in enumerate(days)],
        "price": [f"1.{100 + i},5 €" if i % 2 else 1100.5 + i for i in range(n)],
        "year": ["unbekannt" if i == 7 else 1950 + 7 * i % 60 for i in range(n)],
        "code": [f"0{i}" if i < 10 else i for i in range(n)],
        "tag": ["old" if i % 5 else "new" for i in range(n)],
    }
    frame = pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in cells.items()})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(tmp_path / "t.xlsx")
    base = TableClassifier(MLkNNClassifier(n_neighbors=3), labels="tag", separator=";")
    model, other = (clone(base).fit(X) for X in (frame, table))
    assert model.columns_ == other.columns_
    assert {*model.columns_.items()} >= {("day", "day_first_date"), ("price", "number")}
    assert model.columns_["year"] == "number"
    new = frame.iloc[[7, 1]]
    np.testing.assert_allclose(model.schema_.read(new)["price"], [1107.5, 1101.5])
    assert model.predict_proba(new).tolist() == other.predict_proba(new).tolist()
    assert isinstance(frame["price"][0], float)  # the user's own table is unchanged


def test_labels_by_the_start_of_their_names_are_not_ignored_ones():
    table = pd.DataFrame({"x": [1, 2, 5] * 10, "q_a": [0, 1] * 15, "q_b": [1, 0, 0] * 10})
    table = table.assign(q_other=["too dirty", *[None] * 29], r_a=table["q_a"], r_b=table["q_b"])
    columns = {"q_other": "ignore", "r_*": "ignore"}
    model = TableClassifier(MLkNNClassifier(3), columns=columns).fit(table, "q_*")
    assert model.label_names_.tolist() == ["q_a", "q_b"]
    assert [*model.columns_] == ["x"]


def test_the_fields_of_an_object_are_labels():
    rows = [{"x": i % 5, "is": {"a": i % 2 == 0, "b": i % 3 == 0}} for i in range(30)]
    model = TableClassifier(MLkNNClassifier(3)).fit(pd.DataFrame(rows), "is")
    assert model.label_names_.tolist() == ["is.a", "is.b"]
    assert [*model.columns_] == ["x"]
