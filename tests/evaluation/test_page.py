"""``evaluate --report``: the page, in the file and in a browser."""

import csv
import inspect
import json
import random
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")

from labelkin import MLkNNClassifier, MultiLabelLogisticRegression
from labelkin.cli import main
from labelkin.decisions import DecisionClassifier
from labelkin.evaluation import compare, evaluate_model
from labelkin.evaluation._page import render_report
from support.browser import (
    js,
    open_page,
    requested_urls,
    resize,
    too_wide,
    wait_for,
    wait_until_equal,
)
from support.html import Elements
from support.predicted import Predicted
from support.shared import build_once
from support.tables import VOCABULARY, films, write_films, write_numbers

EVIL = "<script>window.evil = 1</script>"
HOSTILE_LABELS = [f"drama{EVIL}", "comedy\"'><img src=x onerror=alert(1)>", "crime</script>&amp;"]


def write_noisy_films(path, n, hostile=False, seed=5):
    """Write films with a few wrong marks; hostile ones try to be part of a page."""
    rng = random.Random(seed)
    evil, labels = ("", list(VOCABULARY)) if not hostile else (EVIL, HOSTILE_LABELS)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"plot{evil}", f"country{evil}", "runtime", *labels])
        for row in films(n, seed=seed):
            marks = [mark if rng.random() > 0.08 else 1 - mark for mark in row[4:]]
            writer.writerow([f"{row[1]} {evil}", f"{row[2]}{evil}", row[3], *marks])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the folder of three pages: of folds, of a fitted model, and of hostile data."""
    return build_once(tmp_path_factory, "pages", write_pages)


def write_pages(folder):
    write_noisy_films(folder / "movies.csv", 150)
    write_noisy_films(folder / "new.csv", 40, seed=6)
    columns = ["--text", "plot", "--labels", ",".join(VOCABULARY)]
    fast = ["--model", "mlknn,logistic", "--folds", "3", "--quiet"]

    def run(*words):
        assert main([str(word) for word in words]) == 0

    run("evaluate", folder / "movies.csv", *columns, *fast, "--report", folder / "folds.html")
    model = folder / "model.labelkin"
    run("fit", folder / "movies.csv", *columns, "--model", "logistic", "--out", model, "-q")
    run("evaluate", model, folder / "new.csv", "--report", folder / "model.html", "-q")
    write_noisy_films(folder / "hostile.csv", 60, hostile=True)
    labels = ["--text", f"plot{EVIL}", "--labels", "-3"]
    page = folder / "hostile.html"
    run("evaluate", folder / "hostile.csv", *labels, "-m", "logistic", "-q", "--report", page)


def read(path):
    return path.read_text(encoding="utf-8")


def inline_data(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_the_page_shows_all_it_promises(pages):
    page = Elements.of_file(pages / "folds.html")
    assert "Logistic regression" in page.text
    for heading in (
        "Labels, the weakest first",
        "What a threshold does",
        "Would more rows help?",
        "The worst mistakes",
        "Likely labelling errors",
        "Model card",
    ):
        assert heading in page.text
    assert re.search(
        r"More rows (would|may|would hardly) help: from 50 to 100 training rows", page.text
    )
    for fact in ("seed", "versions", "SHA-256 of the data", "settings", "command"):
        assert fact in page.text
    assert "labelkin fit" in page.text


def test_figures_are_those_of_the_folds(pages, capsys):
    """The counts of the page are those of the same folds in the JSON of the command."""
    columns = ["--text", "plot", "--labels", ",".join(VOCABULARY)]
    words = ["--model", "logistic", "--folds", "3", "--json"]
    assert main(["evaluate", str(pages / "movies.csv"), *columns, *words]) == 0
    found = {row["label"]: row for row in json.loads(capsys.readouterr().out)["per_label"]}
    data = inline_data(read(pages / "folds.html"))
    place = data["thresholds"].index(0.5)
    for label in data["labels"]:
        hits, wrong = label["hits"][place], label["wrong"][place]
        assert hits / (hits + wrong) == pytest.approx(found[label["name"]]["precision"])
        assert hits / label["rows"] == pytest.approx(found[label["name"]]["recall"])


@pytest.mark.parametrize(
    ("page", "data"), [("folds.html", "movies.csv"), ("model.html", "new.csv")]
)
def test_mistakes_name_their_rows(pages, page, data):
    with open(pages / data, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = read(pages / page)
    listed = text[text.index('id="mistakes"') : text.index('id="card"')]
    shown = re.findall(r"row (\d+)</span> (.*?)</p>", listed)
    assert len(shown) >= 5
    for number, words in shown:
        assert words == " ".join(rows[int(number) - 1]["plot"].split())


def test_the_page_of_a_model_names_it_and_has_no_learning_curve(pages):
    page = Elements.of_file(pages / "model.html")
    assert "model.labelkin: Micro F1" in page.text
    assert "SHA-256 of the model" in page.text
    assert "A learning curve needs models fitted to fewer rows" in page.text
    assert "rows also in training 0" in page.text


def test_training_rows_are_pointed_out(pages, tmp_path):
    page = tmp_path / "seen.html"
    words = [pages / "model.labelkin", pages / "movies.csv", "--report", page, "-q"]
    assert main(["evaluate", *map(str, words)]) == 0
    assert "150 of 150 rows are among those the model was trained on" in Elements.of_file(page).text


def test_everything_is_escaped(pages):
    text = read(pages / "hostile.html")
    page = Elements(text)
    assert [tag for tag, _ in page.tags].count("script") == 2  # the data and our own
    assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "a b")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert EVIL in page.text  # as words
    assert {label["option"] for label in inline_data(text)["labels"]} == set(HOSTILE_LABELS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report", "page.pdf"], "end the name in .html"),
        (["--report", "absent/page.html"], "there is no folder absent"),
        (["--report", "movies.html"], "exists already; choose another name or add --overwrite"),
    ],
)
def test_pages_that_cannot_be_written(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_films("movies.csv", 30)
    (tmp_path / "movies.html").write_text("mine")
    assert main(["evaluate", "movies.csv", "--labels", "drama", *words]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "movies.html").read_text() == "mine"


def test_the_command_tells_where_the_page_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_films("movies.csv", 40)
    words = ["movies.csv", "--labels", ",".join(VOCABULARY), "--model", "mlknn", "--folds", "2"]
    words += ["--repeats", "2", "--report", "page.html"]
    assert main(["evaluate", *words]) == 0
    assert "page: page.html (curves" in capsys.readouterr().out
    page = Elements.of_file(tmp_path / "page.html")
    assert "There are too few rows" in page.text  # 20 training rows
    assert inline_data(read(tmp_path / "page.html"))["rows"] == 40  # each row once
    assert main(["evaluate", *words, "--json", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == "page.html"


def make_svm(seed=0):
    """Return a classifier without probabilities, whose scores have one dimension for one label."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    return OneVsRestClassifier(LinearSVC())


@pytest.mark.parametrize("labels", ["a", "a,b"])
def test_methods_without_probabilities(labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("numbers.csv", 60)
    (tmp_path / "without_proba.py").write_text(f"{inspect.getsource(make_svm)}\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = ["--labels", labels, "--ignore", "b", "--model", "without_proba:make_svm"]
    words = [word for word in words if labels == "a" or word not in ("--ignore", "b")]
    assert main(["evaluate", "numbers.csv", *words, "--report", "page.html", "-q"]) == 0
    page = Elements.of_file(tmp_path / "page.html")
    assert "Given labels cannot be checked, because the model has no probabilities." in page.text
    data = inline_data(read(tmp_path / "page.html"))
    assert not data["are_probabilities"]
    assert data["thresholds"][0] < 0 < data["thresholds"][-1]
    assert {label["threshold"] for label in data["labels"]} == {0}


def test_pages_of_large_data_stay_small():
    rng = np.random.default_rng(0)
    n, q = 1000, 600
    names = tuple(f"label number {j} {'with a long name ' * 20}" for j in range(q))
    p = rng.beta(0.2, 4, size=(n, q))
    y = (rng.random((n, q)) < p).astype(np.uint8)
    X = pd.DataFrame({"text": ["word " * 10_000] * n})
    found = evaluate_model(Predicted(1 - y, p), X, y, label_names=names)
    text = render_report(found, source="large.csv", card=[("columns", "column, " * 100_000)])
    assert len(text.encode()) < 5_000_000
    assert len(inline_data(text)["labels"]) == 500
    assert "and 590 more" in Elements(text).text
    assert "Of 600 labels the 500 most frequent are shown" in Elements(text).text


def test_python_writes_the_same_page(pages, tmp_path):
    """A comparison in Python has the figures of the command line, and writes the same page."""
    films = pd.read_csv(pages / "movies.csv")
    labels = list(VOCABULARY)
    model = make_pipeline(TfidfVectorizer(), MultiLabelLogisticRegression())
    methods = {"knn": make_pipeline(TfidfVectorizer(), MLkNNClassifier()), "logistic": model}
    X = films["plot"].tolist()
    found = compare(methods, X, films[labels], folds=3)
    assert found.best == "logistic"
    assert "logistic" in str(found)
    assert found.to_frame().shape == (2, 6)
    assert [row["label"] for row in found.per_label] == [
        row["label"] for row in sorted(found.per_label, key=lambda row: row["f1"])
    ]
    json.dumps(found.to_dict())
    found.write_report(tmp_path / "python.html", source="films")
    page = Elements.of_file(tmp_path / "python.html")
    assert "logistic: Micro F1" in page.text
    for heading in ("Would more rows help?", "The worst mistakes", "Likely labelling errors"):
        assert heading in page.text
    shown = read(tmp_path / "python.html")
    row, words = re.search(r"row (\d+)</span> (.*?)</p>", shown).groups()
    assert words == " ".join(X[int(row) - 1].split())
    table = compare(MultiLabelLogisticRegression(), films, labels=labels, folds=2)
    assert table.label_names == tuple(labels)
    assert table.results["MultiLabelLogisticRegression"].figures["micro_f1"][0] > 0.5
    alone = evaluate_model(model.fit(X[:100], films[labels][:100]), X[100:], films[labels][100:])
    assert set(alone.results) == {"Pipeline"}
    assert alone.label_names == tuple(labels)


def test_mistakes_of_a_pipeline_that_refuses_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["height", "width", "depth"])
    y = (X.to_numpy()[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    found = compare(make_pipeline(StandardScaler(), MLkNNClassifier()), X, y, folds=2)
    found.write_report(tmp_path / "page.html")
    assert re.search('class="(for|against)">(height|width|depth) = ', read(tmp_path / "page.html"))


# --------------------------------------------------------------------------- in a browser


@pytest.fixture
def visit(browser, pages):
    """Return a function that opens a page; no test may leave an error behind."""

    def visit(name, **options):
        ready = "document.getElementById('tool')?.hidden === false"
        open_page(browser, (pages / name).as_uri(), ready, **options)
        return browser

    yield visit
    assert browser.get_log("browser") == []


NUMBERS = """
const text = (id) => document.getElementById(id).firstChild.textContent;
return Object.fromEntries(["cut", "precision", "recall", "f1", "hits", "missed", "wrong",
  "micro-precision", "micro-recall", "micro-f1"].map((id) => [id, text(id)]));
"""


def set_slider(page, place):
    js(
        page,
        "const s = document.getElementById('slider'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', { bubbles: true }))",
        place,
    )


def test_the_slider_changes_precision_and_recall(visit, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page = visit("folds.html")
    data = inline_data(read(pages / "folds.html"))
    label = next(one for one in data["labels"] if one["name"] == "comedy")
    page.find_element(By.XPATH, "//button[text()='comedy']").click()
    choice = "return document.getElementById('label').selectedOptions[0].text"
    wait_until_equal(page, lambda: js(page, choice), "comedy")
    before = js(page, NUMBERS)
    assert before["cut"] == "0.50"
    for threshold in (0.1, 0.8):
        place = data["thresholds"].index(threshold)
        set_slider(page, place)
        now = js(page, NUMBERS)
        hits, wrong = label["hits"][place], label["wrong"][place]
        assert now["cut"] == f"{threshold:.2f}"
        assert now["precision"] == f"{100 * hits / (hits + wrong):.1f}"
        assert now["recall"] == f"{100 * hits / label['rows']:.1f}"
        assert (now["hits"], now["wrong"]) == (str(hits), str(wrong))
        assert now["missed"] == str(label["rows"] - hits)
        assert now["micro-recall"] != before["micro-recall"]
    assert page.find_element(By.ID, "options").text == "--threshold comedy=0.80"
    # By keyboard, and back.
    page.find_element(By.ID, "slider").send_keys(Keys.ARROW_RIGHT)
    wait_until_equal(page, lambda: js(page, NUMBERS)["cut"], "0.81")
    page.find_element(By.ID, "reset").click()
    wait_until_equal(page, lambda: js(page, NUMBERS), before)
    assert not page.find_element(By.ID, "options").is_displayed()


def test_best_f1_is_the_best(visit, pages):
    from selenium.webdriver.common.by import By

    page = visit("folds.html")
    label = inline_data(read(pages / "folds.html"))["labels"][0]
    pairs = zip(label["hits"], label["wrong"], strict=True)
    best = max(2 * hits / (label["rows"] + hits + wrong) for hits, wrong in pairs)
    page.find_element(By.ID, "best-f1").click()
    wait_until_equal(page, lambda: js(page, NUMBERS)["f1"], f"{100 * best:.1f}")


def test_one_threshold_for_all_labels(visit, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    page = visit("folds.html")
    data = inline_data(read(pages / "folds.html"))
    Select(page.find_element(By.ID, "label")).select_by_visible_text("all labels together")
    wait_for(page, "return !document.querySelector('#label-table tr.chosen')")
    place = data["thresholds"].index(0.3)
    set_slider(page, place)
    now = js(page, NUMBERS)
    hits = sum(label["hits"][place] for label in data["labels"])
    rows = sum(label["rows"] for label in data["labels"])
    assert now["recall"] == now["micro-recall"] == f"{100 * hits / rows:.1f}"
    assert page.find_element(By.ID, "options").text == "--threshold 0.30"


def test_curves_are_drawn(visit):
    page = visit("folds.html")
    assert js(page, "return document.querySelector('#pr .curve').getTotalLength()") > 100
    assert js(page, "return document.querySelectorAll('#calibration circle').length") >= 2


def test_sorting(visit):
    from selenium.webdriver.common.by import By

    page = visit("folds.html")
    page.find_element(By.XPATH, "//th/button[text()='rows']").click()
    wait_for(page, "return document.querySelector('th[aria-sort=ascending]')")
    rows = [
        int(cell.get_attribute("data-value"))
        for cell in page.find_elements(By.CSS_SELECTOR, "#label-table tbody td:nth-child(2)")
    ]
    assert rows == sorted(rows)


@pytest.mark.parametrize("name", ["folds.html", "model.html", "hostile.html"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_window(visit, name, width):
    page = visit(name)
    resize(page, width)
    assert too_wide(page) == []


def test_dark_and_light(visit):
    colours = []
    for theme in ("light", "dark"):
        page = visit("folds.html", theme=theme)
        colours.append(js(page, "return getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"]


def test_hostile_data_run_nothing_and_nothing_is_requested(visit):
    page = visit("hostile.html")
    assert js(page, "return window.evil ?? null") is None
    assert js(page, "return document.images.length") == 0
    js(page, "document.querySelectorAll('.choose').forEach((b) => b.click())")
    js(
        page,
        """
    const picker = document.getElementById("label");
    for (const option of picker.options) {
      picker.value = option.value;
      picker.dispatchEvent(new Event("change"));
    }""",
    )
    set_slider(page, 3)
    assert js(page, "return window.evil ?? null") is None
    asked = requested_urls(page, "file:")
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked), asked


def test_rows_are_named_by_their_identifier(pages, tmp_path):
    table = pd.read_csv(pages / "movies.csv")
    labels = list(VOCABULARY)
    table.insert(0, "film_id", [f"F-{7 * i}" for i in range(len(table))])
    table.loc[0, labels] = np.nan  # left out: numbers are still those of the file
    table.to_csv(tmp_path / "ids.csv", index=False)
    data, model = str(tmp_path / "ids.csv"), str(tmp_path / "m.labelkin")
    drop, quick = (
        ["--missing-labels", "drop", "-q"],
        ["--labels", ",".join(labels), "-m", "logistic"],
    )
    assert main(["evaluate", data, *quick, *drop, "--report", str(tmp_path / "folds.html")]) == 0
    assert main(["fit", data, *quick, *drop, "--out", model]) == 0
    assert main(["evaluate", model, data, *drop, "--report", str(tmp_path / "model.html")]) == 0
    found = compare(MultiLabelLogisticRegression(), table, labels=labels, folds=2)
    found.write_report(tmp_path / "python.html")
    for name in ("folds.html", "model.html", "python.html"):
        shown = re.findall(r"row (\d+) \((F-\d+)\)</span> (.*?)</p>", read(tmp_path / name))
        assert shown
        for number, identifier, words in shown:
            row = table.iloc[int(number) - 1]
            assert row["film_id"] == identifier
            assert " ".join(row["plot"].split()[:3]) in words


def test_labels_of_few_rows_are_marked_as_uncertain(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = pd.DataFrame({"common": X[:, 0] > 0, "rare": np.arange(60) % 15 == 0}).astype(int)
    found = compare(MultiLabelLogisticRegression(), X, y, folds=3)
    assert [row["label"] for row in found.per_label] == ["rare", "common"]
    assert re.search(r"rare +~4 ", str(found))
    assert "~ fewer than 10 rows: figures are uncertain" in str(found)
    found.write_report(tmp_path / "page.html")
    text = read(tmp_path / "page.html")
    assert "rare</button> <small>uncertain: few rows</small>" in text
    assert "common</button></th>" in text
    # Thresholds that each fold has learned are not those of the slider.
    assert "threshold of its own" not in text
    model = DecisionClassifier(MultiLabelLogisticRegression(C=1.0), "macro_f1", random_state=0)
    compare(model, X, y, folds=3).write_report(tmp_path / "page.html")
    assert "threshold of its own" in read(tmp_path / "page.html")
