"""Columns of tags as people write them: separators, lists, JSON, spellings."""

import json

import numpy as np
import pytest

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.datasets import FormatError, RawTable, read_table
from labelkin.datasets.formats._raw_table import Guess
from labelkin.tabular import LabelColumns, find_training_data, split_labels, table_of_records
from labelkin.tabular._tags import read_tags
from support.damaged import cpu_limit

pd = pytest.importorskip("pandas")


def find(cells, **options):
    data = RawTable("t.csv", pd.DataFrame({"x": range(len(cells)), "tags": cells}), ["x", "tags"])
    return LabelColumns.find(data, "tags", **options), data


def names(cells, **options):
    return list(find(cells, **options)[0].names)


def doubts(cells, **options):
    _, data = find(cells, **options)
    return {guess.arguments[0]: guess.text for guess in data.guesses if guess.doubtful}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (['["python", "web"]', "[]", '["web"]'], ["python", "web"]),
        (['[{"id": 37, "name": "a"}]', '[{"name": "b"}, {"name": "a"}]'], ["a", "b"]),
        (["[{'id': 37, 'name': 'python'}]", "[{'id': 1, 'name': \"it's\"}]"], ["it's", "python"]),
        (['["a \\"b\\"", "\\u00e9t\\u00e9"]'], ['a "b"', "été"]),
        (["[3, 10]", "[27]"], ["3", "10", "27"]),
        (["('a', 'b')", "('b',)", "()"], ["a", "b"]),
        (["[np.str_('a'), np.str_('b')]", "[np.str_('b')]"], ["a", "b"]),
        (["{'a', 'b'}", "set()", "{'b'}"], ["a", "b"]),
        (["<python><pandas>", "<python>"], ["pandas", "python"]),
        (['{quality,"last mile"}', "{}", '{NULL,quality,"a \\"b\\", c"}', "{1e3}"],
         ["1e3", 'a "b", c', "last mile", "quality"]),
    ],
)  # fmt: skip
def test_lists(cells, expected):
    assert names(cells) == expected


@pytest.mark.parametrize(
    "cell",
    [
        '[{"id": 37}]',
        '{"name": "python"}',
        "{a, {b}}",
        '[{"name": "a"}, {"na',
        '[["a"], ["b"]]',
        '[{"name": null}]',
        "[{" * 50_000 + "}]" * 50_000,
    ],
)
def test_other_json_is_refused_with_the_cure(cell):
    with cpu_limit(5), pytest.raises(FormatError, match=r"in row 2, which names no labels; write"):
        names(["[]", cell])


def test_lists_of_objects_in_a_frame():
    cells = [[{"id": 1, "name": "a"}], [], [{"id": 2, "name": "b"}, {"id": 1, "name": "a"}]]
    assert names(cells) == ["a", "b"]
    with pytest.raises(FormatError, match="in row 1, which names no labels"):
        names([[{"id": 1}]])


@pytest.mark.parametrize("write", [list, json.dumps, str])
def test_the_field_of_objects_that_names_a_label(write):
    lists = [[{"code": "late", "by": {"id": i % 2}}, {"code": None}][i % 3 :] for i in range(9)]
    frame = pd.DataFrame({"x": range(9), "events": map(write, lists)})
    training = find_training_data(frame, "events.code")
    assert training.schema.columns == {"x": "number"}
    assert training.y.tolist() == [[1], [0], [0]] * 3
    assert [*split_labels(frame, "events.by.id")[1]] == ["0", "1"]
    with pytest.raises(FormatError, match=r"'events.code', among events.code, events.by.id"):
        find_training_data(frame, "events")
    later = frame.assign(events=[write([{"kode": "late"}])] * 9)
    with pytest.raises(FormatError, match="has a field 'code'; their fields are kode"):
        training.labels.read(RawTable.of(later))


def test_a_path_through_lists_and_objects():
    """As annotation tools export rows, with several annotations of each."""

    def annotate(*names):
        results = [{"id": f"r{i}", "value": {"choices": [n]}, "n": 1} for i, n in enumerate(names)]
        return {"id": 5, "result": results}

    annotations = [[annotate("b", "a"), annotate("a")], [annotate()], [annotate("b")], None]
    frame = pd.DataFrame({"x": range(8), "annotations": annotations * 2})
    labels = LabelColumns.find(RawTable.of(frame), "annotations.result.value.choices")
    assert labels.names == ("a", "b")
    assert labels.read(RawTable.of(frame)).tolist() == [[1, 1], [0, 0], [0, 1], [0, 0]] * 2
    tags = read_tags(RawTable.of(frame), "annotations", ";", "result.value.choices")
    assert tags[0] == ["b", "a"]
    only_empty = frame.assign(annotations=[[annotate()]] * 8)
    assert not labels.read(RawTable.of(only_empty)).any()
    listed = "'annotations.result.value.choices', among annotations.result.value.choices, "
    with pytest.raises(FormatError, match=f"{listed}annotations.result.id, annotations.id and 1"):
        LabelColumns.find(RawTable.of(frame), "annotations")
    for path in ("annotations.result.choices", "annotations.results"):
        with pytest.raises(FormatError, match=r"fields are result.value.choices, result.id"):
            LabelColumns.find(RawTable.of(frame), path)


def test_an_object_with_one_list_of_names():
    cells = ["a", '{"choices": ["a", "b"]}', "{'choices': ['b'], 'by': 'me'}", "b"]
    assert names(cells) == ["a", "b"]
    frame = pd.DataFrame({"x": range(4), "tags": cells})
    _, y = split_labels(frame, "tags")
    assert y.to_numpy().tolist() == [[1, 0], [1, 1], [0, 1], [0, 1]]
    assert split_labels(frame, "tags.choices")[1].equals(y)
    with pytest.raises(FormatError, match="in row 1, which names no labels"):
        names(['{"choices": ["a"], "others": ["b"]}'])


IN_PLACE = {
    "mixed": ["a", {"choices": ["a", "b"]}, "b", {"choices": ["b"]}],
    "texts": ["a", "b", "b", "a"],
    "objects": [{"choices": ["a"]}, {"choices": ["a", "b"]}, {"choices": ["b"]}, None],
    "lists": [["a"], "a", "b", ["a", "b"]],
}
MEANT = {
    "mixed": [[1, 0], [1, 1], [0, 1], [0, 1]],
    "texts": [[1, 0], [0, 1], [0, 1], [1, 0]],
    "objects": [[1, 0], [1, 1], [0, 1], [0, 0]],
    "lists": [[1, 0], [1, 0], [0, 1], [1, 1]],
}


@pytest.fixture(params=["frame", "json"])
def in_place(request, tmp_path):
    """Return tables of the same labels, by how they are written."""

    def read(form):
        frame = pd.DataFrame({"n": [1.5, 2, 3, 4.5], "topic": IN_PLACE[form]})
        if request.param == "frame":
            return RawTable.of(frame)
        frame.to_json(tmp_path / "t.json", orient="records")
        return read_table(tmp_path / "t.json")

    return read


@pytest.mark.parametrize("form", IN_PLACE)
def test_a_text_or_an_object_in_its_place(form, in_place):
    training = find_training_data(table := in_place(form), "topic")
    assert training.y.tolist() == MEANT[form]
    assert training.schema.columns == {"n": "number"}
    found = [guess.text for guess in table.guesses if "ignore" in guess.arguments]
    assert found == ["tags in topic, topic.choices"] * (form == "mixed")
    for other, expected in MEANT.items():
        assert training.labels.read(in_place(other)).tolist() == expected
    rows = [{"n": 2, "topic": cell} for cell in IN_PLACE["mixed"]]
    assert table_of_records(rows, training.schema).names == ["n"]


def test_an_object_in_the_place_of_a_text_is_found_by_either_name(in_place):
    for labels in ("topic.choices", "topic,topic.choices"):
        found = find_training_data(in_place("mixed"), labels)
        assert found.y.tolist() == MEANT["mixed"]
        assert found.schema.columns == {"n": "number"}


def test_columns_beside_tags_are_not_in_their_place():
    frame = pd.DataFrame(
        {"topic": ["a", "b", None], "topic.other": ["b", None, "c"], "n": [1, 2, 3]}
    )
    assert LabelColumns.find(RawTable.of(frame), "topic").columns == ("topic",)
    later = pd.DataFrame({"topic": [None, "a"], "topic.other": ["x", None]})
    labels = LabelColumns(("a", "b"), "topic")
    assert labels.read(RawTable.of(later)).tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("form", IN_PLACE)
def test_a_series_of_texts_and_objects(form):
    X = pd.DataFrame({"n": np.arange(4.0)})
    model = TableClassifier(MLkNNClassifier(1)).fit(X, pd.Series(IN_PLACE[form], name="topic"))
    for other, expected in MEANT.items():
        y = pd.Series(IN_PLACE[other], name="topic")
        assert model.label_columns_.read_target(y, []).tolist() == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["#red #blue", "#blue", "#red"], ["#blue", "#red"]),
        (["doc/docs, perl/x", "doc/api", "perl/x"], ["doc/api", "doc/docs", "perl/x"]),
        (["doc/docs", "perl/x", "doc/api"], ["doc/api", "doc/docs", "perl/x"]),
        (["a/b", "b", "a", "a/b/c", "c"], ["a", "b", "c"]),
        (["Smith, J.; Doe, A.", "Doe, A.", "Smith, J."], ["Doe, A.", "Smith, J."]),
        (["a b c", "b c", "a c", "c", "a", "b", "a b"], ["a", "b", "c"]),
        (["new york", "san jose", "new york"], ["new york", "san jose"]),
        (["27", "3;10", "1;27"], ["1", "3", "10", "27"]),
        (["صحة،  علوم", "علوم", "صحة", "فن الرسم، صحة"], ["صحة", "علوم", "فن الرسم"]),
        (["صحة؛ علوم", "علوم", "صحة", "فن الرسم؛ صحة"], ["صحة", "علوم", "فن الرسم"]),
        (["old maps -- Prague", "Prague", "old maps", "art -- Prague"],
         ["Prague", "art", "old maps"]),
        (["R&B + hot jazz", "R&B", "jazz + R&B", "jazz", "hot jazz + jazz"],
         ["R&B", "hot jazz", "jazz"]),
        ([f"{a} & {b}" for a in "abcdef" for b in "abcdef" if a < b], [*"abcdef"]),
        (["Arts & Crafts", "Food & Drink", "Music", "R & B", "Food & Wine"],
         ["Arts & Crafts", "Food & Drink", "Food & Wine", "Music", "R & B"]),
        (["Arts & Crafts, Music", "R & B, Hip - Hop", "Music, R & B", "Arts & Crafts"],
         ["Arts & Crafts", "Hip - Hop", "Music", "R & B"]),
        (["Toys", "Toys - All", "Toys - Cars"], ["Toys", "Toys - All", "Toys - Cars"]),
        ([27, 3, 10, 27, 3, 10], ["3", "10", "27"]),
        (["寿司、麺", "麺", "寿司、", "麺、寿司"], ["寿司", "麺"]),
        (["no;se", "de", "se", "de;no"], ["de", "no", "se"]),
        (["Net (Mail, X), Friends", "Friends", "Net (Mail, X)"], ["Friends", "Net (Mail, X)"]),
        (['"Ham, eggs", Tea', "Tea", '"Ham, eggs"'], ["Ham, eggs", "Tea"]),
        (['"Ham, eggs", 27" wide', '"Ham, eggs"', '27" wide'], ['"Ham, eggs"', '27" wide']),
        (["a), b)", "b)", "a)"], ["a)", "b)"]),
        (["sad :(, happy :)", "sad :(", "happy :)"], ["happy :)", "sad :("]),
        (['27" wide, 24" wide', '24" wide', '27" wide'], ['24" wide', '27" wide']),
        (["a|b", "b", "[a]", "a"], ["a", "b"]),
        (["[a (b, c), d]", "[d]"], ["a (b, c)", "d"]),
    ],
)  # fmt: skip
def test_the_separator_that_makes_the_fewest_labels(cells, expected):
    assert names(cells) == expected


def test_marks_between_spaces_that_may_separate():
    cells = [f"{a} - {b}" for a in ("Men", "Women") for b in ("Fine shoes", "Hats", "Coats")]
    text = "6 labels not split at ' - ', though the parts recur, such as 'Men - Coats'"
    assert doubts(cells) == {"separator": text}
    assert doubts(["Arts & Crafts", "R & B", "Arts & Food"]) == {}
    cells = ["R & B", "R & B & Soul", "Soul", "Soul & Pop", "Pop", "R & B & Pop", "Pop & R & B"]
    assert "'R' and 'B' always stand side by side: if ' & ' is" in doubts(cells * 2)["separator"]


def test_hashes_are_split_at_spaces():
    for cells in (["#red", "#blue"], ["#red/a #blue", "#blue"]):
        assert find(cells)[0].separator == " "
    assert names(["#red\n#blue", "#blue\n"]) == ["#blue", "#red"]


def test_a_row_for_each_label_is_remarked_on():
    texts = [f"text {i // 2}" for i in range(20)]
    for tags, is_said in (
        (["a", "b"] * 10, True),
        (["a", "a"] * 10, False),
        (["a;b", "b"] * 10, False),
    ):
        found = find_training_data(pd.DataFrame({"text": texts, "tags": tags}), "tags")
        assert any("join them into one row" in note for note in found.notes) == is_said


def test_measurements_are_no_tags():
    for cells in ([1.5, 2.5, 1.5, 2.5], [3, 1, 4, 15, 92]):
        found, data = find(cells)
        with pytest.raises(FormatError, match="a label column takes 0 and 1"):
            found.read(data, [])


def test_words_between_tags_are_doubted():
    colours = ["red", "blue", "green", "grey"]
    found = doubts([f"{one} and {two}" for one in colours for two in colours if one != two])
    assert found["separator"] == "learned as a label, though it may join two: and"


def test_doubtful_labels_name_what_decides():
    found = doubts(["Audio; video", "audio", "none", "a, b; video", "audio"])
    assert "1 label not split at ',', such as 'a, b'" in found["separator"]
    assert "audio (2) and Audio (1)" in found["ignore_case"]
    assert "none (1)" in found["no_label"]
    assert doubts(["a;b", "b", "c"]) == {}
    found = doubts([f"this is sentence {i}; and another {i + 1}" for i in range(20)])
    assert found["labels"].startswith("40 labels in 20 rows, of which most occur once")
    assert doubts(["a, b;c", "c"], separator=";") == {}
    assert doubts(['"Juniors","Pisos, ES"', '"Juniors"', '"Pisos, ES"']) == {}


@pytest.mark.parametrize("separator", [",", ", ", ";"])
def test_separators_in_brackets_with_a_given_separator(separator):
    cells = [separator.join(["a (b, c; d)", "e"]), "e", "a (b, c; d)"]
    assert names(cells, separator=separator) == ["a (b, c; d)", "e"]


def test_several_separators():
    cells = ["a;b", "a, b", "b;c (x, y; z)", "c (x, y; z), d", "d"]
    found, data = find(cells, separator=[";", ","])
    assert found.names == ("a", "b", "c (x, y; z)", "d")
    notes = []
    assert found.read(data, notes)[:2].tolist() == [[1, 1, 0, 0]] * 2
    assert notes == []
    for separator in (None, ";", ","):
        _, data = find(["a;b", "a, b", "b;c", "c", "a"], separator=separator)
        (values,) = (guess.values for guess in data.guesses if guess.doubtful)
        assert {*values} == {";", ","}
    with pytest.raises(FormatError, match="choose with separator=';', separator=',' or both"):
        find(["a;b", "a, b", "a"])
    assert doubts([["a", "b"], ["a, b"]]) == {}  # no separator splits the items of a list
    with pytest.raises(ValueError, match="takes at least one character"):
        find(cells, separator=[";", ""])


def test_many_brackets_take_linear_time():
    with cpu_limit(5):
        names(["(a, " * 100_000, "(a, " * 100_000 + ")" * 100_000, '"a, ' * 100_000])


def test_labels_in_brackets_are_not_doubted():
    assert doubts(["a (b, c); d", "d", "a (b, c)"]) == {}


def test_labels_that_always_stand_side_by_side_are_doubted():
    cells = ["Ham, Egg, Tea", "Tea", "Ham, Egg", "Toast, Tea", "Toast, Ham, Egg", "Tea, Toast"]
    found = doubts(3 * cells)["separator"]
    assert "'Ham' and 'Egg' always stand side by side: if ',' is part of a label" in found
    assert "'Ham' and 'Egg' always" in doubts(3 * cells, separator=", ")["separator"]
    assert doubts([*3 * cells, "Egg"]) == {}
    assert doubts(cells) == {}  # too few rows to tell


def test_choices_of_a_form_with_commas_are_one_label():
    cells = ["Ham, eggs and peas, Tea", "Tea", "Toast, Tea", "Toast, Ham, eggs and peas"]
    found, data = find(3 * cells)
    assert found.names == ("Ham, eggs and peas", "Tea", "Toast")
    assert "one label, with a comma: Ham, eggs and peas" in [guess.text for guess in data.guesses]
    new = RawTable.of(pd.DataFrame({"tags": ["Ham, eggs and peas", "Tea, Toast, Ham, Tea"]}))
    notes = []
    assert found.read(new, notes).tolist() == [[1, 0, 0], [0, 1, 1]]
    assert notes == ["X: labels unknown to the model are left out: Ham"]
    lower = [cell.lower() for cell in 3 * cells]
    assert names(lower) == ["eggs and peas", "ham", "tea", "toast"]


def test_tags_between_plus_signs_without_spaces():
    cells = ["MAN+CON", "CON", "CON+AMM", "AMM", "MAN", "AMM+CON", "MAN+AMM+CON"]
    assert names(3 * cells) == ["AMM", "CON", "MAN"]
    assert names(["R&D", "Q&A", "C++", "R&D; C++"]) == ["C++", "Q&A", "R&D"]
    assert "not split at '+'" in doubts(["MAN+CON", "CON", "MAN", "AMM", "VER"])["separator"]


def test_numbers_that_a_spreadsheet_made_of_two_tags_are_doubted():
    found = doubts(["1, 7", "7", "1.7", "3, 7", "1", "3"])["separator"]
    assert found == "1.7 is learned as one label, though 1 and 7 are labels, too"


def test_single_tags_between_spaces_that_also_stand_alone():
    cells = ["indoor", "night", "indoor night", "outdoor", "outdoor night"]
    assert names(cells) == ["indoor", "night", "outdoor"]
    cells = [*cells, "New York"]
    assert len(names(cells)) == 6
    assert "2 labels not split at spaces" in doubts(cells)["separator"]


@pytest.mark.parametrize(
    "word",
    ["(no genres listed)", "(none)", "untagged", "none of the above", "keine", "RAS", "o. B."],
)
def test_words_for_none_are_doubted(word):
    cells = ["a|b", word, "b", "a"]
    assert f"{word} (1)" in doubts(cells)["no_label"]
    assert names(cells, no_label=word.strip("()[]").upper()) == ["a", "b"]


def test_words_for_none_that_are_no_tags_are_noted():
    cells = ["a;b", "none", "keine", "b", "a", None]
    _, data = find(cells, no_label="none,keine")
    assert Guess("no tag 'none,keine'", ("no_label",), True, ("none", "keine")) in data.guesses
    assert doubts(cells, no_label=["none", "keine", "x"]) == {"no_label": "no tag 'x'"}
    assert doubts(cells, no_label=["None", "keine", "-"]) == {}


def test_cells_that_are_missing_in_a_file_list_no_tags(tmp_path):
    data = pd.DataFrame({"x": range(5), "tags": ["a;b", "-", "b", "n/a", "a"]})
    data.to_csv(tmp_path / "t.csv", index=False)
    for table in (data, read_table(tmp_path / "t.csv")):
        assert [*split_labels(table, "tags")[1]] == ["a", "b"]
        assert len(split_labels(table, "tags", missing_labels="drop")[1]) == 3


def test_other_words_are_not_doubted():
    assert doubts(["no smoking|nonfiction", "nonfiction", "no smoking|unknown"]) == {}


def test_spellings_and_words_for_none():
    cells = ["Audio; video", "audio", "None", "AUDIO", "audio ;Web  site", "web site."]
    found, data = find(cells, ignore_case=True, no_label=["none"])
    assert found.names == ("audio", "video", "web site.")
    assert found.read(data, [])[:, 0].tolist() == [1, 1, 0, 1, 1, 0]
    later = RawTable("n.csv", pd.DataFrame({"tags": ["VIDEO", "NONE"]}), ["tags"])
    notes = []
    assert found.read(later, notes).tolist() == [[0, 1, 0], [0, 0, 0]]
    assert notes == []
    assert doubts(cells, ignore_case=True, no_label="none") == {}


def test_the_classifier_warns_and_takes_the_choice():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=12), "tags": ["Audio;none", "audio", "video"] * 4})
    model = TableClassifier(MLkNNClassifier(n_neighbors=2), labels="tags")
    with pytest.warns(UserWarning, match="set ") as caught:
        model.fit(frame)
    texts = "".join(str(warning.message) for warning in caught)
    assert "set ignore_case=" in texts
    assert "set no_label=" in texts
    assert len(model.label_names_) == 4
    model.set_params(ignore_case=True, no_label="none").fit(frame)
    assert model.label_names_.tolist() == ["audio", "video"]
    assert model.fit(frame[["x"]], frame["tags"]).label_names_.tolist() == ["audio", "video"]
    _, y = split_labels(frame, "tags", ignore_case=True, no_label="none")
    assert list(y.columns) == ["audio", "video"]


@pytest.mark.parametrize(
    ("second", "is_tagged"),
    [
        (["b", None, "a", ""], True),
        (["b", "a", "a", "b"], False),  # answers to two questions
        (["yes", None, "no", None], False),
        (["b", None, "d", "c"], False),  # a second tag without a first
        ([None, None, "e", "f"], False),  # names, which hardly recur
    ],
)
def test_a_tag_in_each_of_several_columns(second, is_tagged):
    first = ["a", "b", "b", None if "c" in second else "a"]
    frame = pd.DataFrame({"one": first, "two": second})
    data = RawTable("t.csv", frame, ["one", "two"])
    found = LabelColumns.find(data, "one,two", missing_labels="unknown")
    other = LabelColumns.find(data, "two,one", missing_labels="unknown")
    assert other.columns == (("one", "two") if is_tagged else ("two", "one"))
    if not is_tagged:
        assert found.names == ("one", "two")
        with pytest.raises(FormatError, match="a label column takes 0 and 1"):
            found.read(data, [])
        return
    assert (found.names, found.columns) == (("a", "b"), ("one", "two"))
    assert found.read(data, []).tolist() == [[1, 1], [0, 1], [1, 1], [1, 0]]
    data.data.loc[3, "one"] = None
    assert np.isnan(found.read(data, [])[3]).all()


def test_columns_that_repeat_the_name_of_a_column_of_tags():
    tags = [["a", "b"], ["b", "c"], ["c", "a"]]  # both columns are filled
    twice = pd.DataFrame(tags, columns=["tag", "tag"])
    found = LabelColumns.find(RawTable.of(twice), "tag")
    assert (found.names, found.columns) == (("a", "b", "c"), ("tag", "tag_2"))
    # pandas has read them; the tags recur, and a row has a second one only beside a first.
    tags = [["a", "b"], ["b", None], ["b", "a"]]
    numbered = pd.DataFrame(tags, columns=["tag", "tag.1"])
    assert LabelColumns.find(RawTable.of(numbered), "tag").columns == ("tag", "tag.1")
    assert LabelColumns.find(RawTable.of(numbered), "tag", others={"tag.1"}).columns == ("tag",)
    _, y = split_labels(numbered, ["tag"])
    assert y.to_numpy().tolist() == [[1, 1], [0, 1], [1, 1]]


def test_columns_of_tags_of_which_one_lists_several():
    kinds, rng = ["red", "blue", "green"], np.random.default_rng(0)
    marks = ["old", "heavy", "fragile", "rare"]
    more = [", ".join(sorted(rng.choice(marks, rng.integers(3), replace=False))) for _ in range(60)]
    frame = pd.DataFrame({"x": range(60), "first": kinds * 20, "others": more})
    data = RawTable("t.csv", frame, [*frame])
    assert {*LabelColumns.find(data, "first,others").names} == {*kinds, *marks}
    assert [guess.text for guess in data.guesses] == ["tags in first, others, split at ','"]
    songs = frame.assign(others=["Music, singing", "Sports", ""] * 20)
    whole = LabelColumns.find(RawTable("t.csv", songs, [*songs]), "first,others")
    assert {*whole.names} == {*kinds, "Music, singing", "Sports"}


def test_lists_of_objects_with_a_name_are_features_of_their_names():
    two = [{"id": 7, "name": "new york"}, {"id": 5, "name": "war"}]
    lists = [two[i % 3 :] for i in range(9)]
    expected = [", ".join(one["name"] for one in cell) or None for cell in lists]
    written = [json.dumps(cell) for cell in lists]
    for cells in (lists, written, [str(cell) for cell in lists]):
        frame = pd.DataFrame({"words": cells, "a": [0, 1, 1] * 3, "b": [1, 1, 0] * 3})
        training = find_training_data(frame, ["a", "b"])
        assert [guess.text for guess in training.guesses] == ["words: lists of words, read as text"]
        assert training.X["words"].tolist() == expected
        for rows in (lists, written, expected, [*written[:4], *expected[4:]]):
            found = training.schema.read(pd.DataFrame({"words": rows}))
            assert found["words"].tolist() == expected
        records = table_of_records([{"words": cell} for cell in lists], training.schema)
        assert training.schema.read(records)["words"].tolist() == expected
    frame["words"] = [[{"login": "ann"}]] * 9
    guesses = find_training_data(frame.assign(x=range(9)), ["a", "b"]).guesses
    assert "words left out: it holds lists" in [guess.text for guess in guesses]


def test_lists_without_words_are_left_out():
    """As of persons without a name; their login stands for it."""
    frame = pd.DataFrame({"x": np.arange(30) % 7, "a": [0, 1] * 15, "b": [1, 1, 0] * 10})
    people = [[{"login": f"user{i % 3}", "name": ""}] for i in range(30)]
    found = find_training_data(frame.assign(none=[[]] * 30, blank=[[""]] * 30, who=people), "a,b")
    assert found.schema.columns == {"x": "number", "who": "text"}
    assert found.X["who"].tolist()[:3] == ["user0", "user1", "user2"]
    assert [guess.text for guess in found.guesses if "left out" in guess.text] == [
        "none left out: it is empty",
        "blank left out: its lists hold no words",
    ]
    chats = [[{"from": "a", "text": "hello"}, {"from": "b", "text": f"no {i}"}] for i in range(30)]
    assert find_training_data(frame.assign(who=chats), "a,b").X["who"][3] == "hello, no 3"
    new = pd.DataFrame({"x": [1.0], "who": [[]]})
    assert found.schema.read(new)["who"].isna().all()


@pytest.mark.parametrize("own", [" ", ";", ", "])
@pytest.mark.parametrize("other", [" ", ";", ", ", "|"])
def test_another_mark_between_the_labels_of_a_model(own, other):
    rows = [["a", "b"], ["b"], ["c", "a", "d"], ["d"]] * 5

    def table(mark):
        return pd.DataFrame({"x": range(20), "tags": [mark.join(row) for row in rows]})

    found = LabelColumns.find(RawTable.of(table(own)), "tags", own.strip() or " ")
    notes = []
    Y = found.read(RawTable.of(table(other)), notes)
    np.testing.assert_array_equal(Y, found.read(RawTable.of(table(own))))
    mark = other.strip() or " "
    assert notes == [f"X: tags split at {mark!r}, which separates labels of the model"] * (
        own != other
    )


def test_new_labels_are_no_reason_for_another_mark():
    found = LabelColumns(("a b", "c"), "tags", ";")
    notes = []
    Y = found.read(RawTable.of(pd.DataFrame({"tags": ["a b;c", "c", "c d;x"]})), notes)
    assert Y.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert notes == ["X: labels unknown to the model are left out: c d, x"]
