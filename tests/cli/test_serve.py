"""``labelkin serve``: a fitted model behind the application, and in a browser."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("starlette", reason="needs the extra 'serve'")
pytest.importorskip("uvicorn", reason="needs the extra 'serve'")
pytest.importorskip("httpx")
pd = pytest.importorskip("pandas")

from starlette.testclient import TestClient

from labelkin import MLkNNClassifier
from labelkin.cli import main
from labelkin.cli._data import load_saved_model
from labelkin.cli._options import Decision
from labelkin.cli.serve import make_service
from labelkin.explain._explain import explain_parts, find_vectorizers
from labelkin.persistence import save_model
from labelkin.serve import Limits, make_app
from support.browser import js, open_page, requested_urls, resize, too_wide, wait_for
from support.data import make_data
from support.tables import VOCABULARY, write_films

FILMS = ["--text", "plot", "--ignore", "id", "--labels", ",".join(VOCABULARY)]
PLOT = "a detective finds evidence of murder, the police and a gang"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model of films, and films to predict."""
    folder = tmp_path_factory.mktemp("serve")
    write_films(folder / "movies.csv", 60)
    write_films(folder / "new.csv", 12, seed=1, first=60)
    words = ["fit", folder / "movies.csv", *FILMS, "--model", "logistic", "-q"]
    assert main([str(word) for word in [*words, "--out", folder / "model.labelkin"]]) == 0
    return folder


def client_of(path, decision=None):
    saved = load_saved_model(path, decision=decision)
    app = make_app(make_service(saved), Limits(seconds=300))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(folder):
    return client_of(folder / "model.labelkin")


def predict(client, *rows, **fields):
    answer = client.post("/predict", json={"rows": list(rows), **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["rows"]


def error_of(client, *rows):
    body = json.dumps({"rows": list(rows)})  # in ASCII, which can hold halves of characters
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    return answer.json()["error"]


def test_json_and_csv_give_what_predict_writes(client, folder):
    out = folder / "predictions.jsonl"
    words = ["predict", folder / "model.labelkin", folder / "new.csv", "--proba", "-q", "-o", out]
    assert main([str(word) for word in words]) == 0
    expected = [json.loads(line) for line in out.read_text().splitlines()]
    names = [{name: row.pop(name) for name in ("id", "plot")} for row in expected]
    assert names[0] == {"id": "tt0060", "plot": names[0]["plot"]}
    frame = pd.read_csv(folder / "new.csv").drop(columns=list(VOCABULARY))
    found = predict(client, *json.loads(frame.to_json(orient="records")))
    assert [row.pop("shown") for row in found] == names
    assert [row.pop("row") for row in found] == list(range(1, len(names) + 1))
    assert found == expected
    content = (folder / "new.csv").read_bytes()
    answer = client.post("/predict", content=content, headers={"content-type": "text/csv"})
    rows = answer.json()["rows"]
    assert [row["shown"] for row in rows] == names
    assert [row["probabilities"] for row in rows] == [row["probabilities"] for row in expected]


def test_columns_are_described(client):
    schema = client.get("/schema").json()
    kinds = {column["name"]: column["kind"] for column in schema["columns"]}
    assert kinds == {"plot": "text", "country": "category", "runtime": "number"}
    assert schema["columns"][1]["values"] == ["fr", "in", "uk", "us"]
    assert schema["labels"] == list(VOCABULARY)
    assert schema["method"] == "Logistic regression, all labels"


def test_values_of_many_kinds(client):
    row = {"plot": PLOT, "country": "fr", "runtime": 100}
    (number,) = predict(client, row)
    assert "crime" in number["labels"]
    others = predict(client, row | {"runtime": "100"}, row | {"runtime": 100.0, "other": [1]})
    for other in others:
        assert other["probabilities"] == number["probabilities"]
    missing = predict(client, row, {"plot": PLOT}, {"plot": None, "country": "", "runtime": None})
    assert len(missing) == 3  # what a row lacks is missing
    # Also where no row has it.
    alone, empty = predict(client, {"plot": PLOT}), predict(client, {"plot": PLOT, "runtime": None})
    assert alone == empty
    assert alone[0]["probabilities"] == missing[1]["probabilities"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"plott": "x", "country": "fr", "runtime": 1}, "no column 'plott'. Did you mean plot?"),
        ({"text": "x"}, "no column 'plot'. Its columns are text. It also lacks country, runtime"),
        ({"plot": "x", "country": "fr", "runtime": "long"}, "'runtime' holds 'long' in row 1"),
        ({"plot": "x", "country": "fr", "runtime": [1]}, "'runtime' holds a list"),
        ({"plot": {"a": 1}, "country": "fr", "runtime": 1}, "'plot' holds an object"),
        ({"plot": "x", "country": "fr", "runtime": 10**400}, "beyond the range"),
        ([1, 2, 3], "row 1 is not an object"),
        ({"plot": "\ud800", "country": "fr", "runtime": 1}, "surrogates not allowed"),
    ],
)
def test_rows_that_do_not_fit(client, row, words):
    error = error_of(client, row)
    assert words in error
    assert error.count("\n") == 0


def test_notes_are_those_of_predict(client, folder, capsys):
    row = {"plot": PLOT, "country": "xx", "runtime": 5000}
    path = folder / "strange.csv"
    path.write_text(f'plot,country,runtime\n"{PLOT}",xx,5000\n"{PLOT}",fr,\n')
    assert main(["predict", str(folder / "model.labelkin"), str(path)]) == 0
    printed = " ".join(capsys.readouterr().err.split())
    csv = {"content": path.read_bytes(), "headers": {"content-type": "text/csv"}}
    for sent, name in (
        ({"json": [row, {"plot": PLOT, "country": "fr"}]}, "request"),
        (csv, "table"),
    ):
        notes = client.post("/predict", **sent).json()["notes"]
        assert len(notes) == 3
        for note, words in zip(notes, ("runtime above any", "missing value", "'xx'"), strict=True):
            assert words in note
            assert note.removeprefix(f"The {name}: ") in printed
    assert (
        client.post("/predict", json=row | {"country": "fr", "runtime": 100}).json()["notes"] == []
    )


def test_percentages_and_numbers_of_a_german_table(tmp_path):
    places = ["nord", "süd"] * 15
    rows = [
        f"{5 + i % 20},5 %;8{i % 25:02}.187;{one};{i} m²;2025-03-{i + 1:02};{i % 2}"
        for i, one in enumerate(places)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["rabatt;umsatz;ort;größe;tag;ja", *rows]))
    out = ["--model", "logistic", "-q", "--out", tmp_path / "m.labelkin"]
    words = ["fit", tmp_path / "t.csv", "--labels", "ja", *out]
    assert main([str(word) for word in words]) == 0
    client = client_of(tmp_path / "m.labelkin")
    schema = client.get("/schema").json()
    assert [column.get("unit") for column in schema["columns"]] == ["%", None, None, "m²", None]
    of = schema["request"]["properties"]["rows"]["items"]["properties"]
    assert of["rabatt"]["type"] == ["string", "null"]
    assert of["größe"]["type"] == ["number", "string", "null"]
    assert "m²" in of["größe"]["description"]
    row = {"rabatt": "7,5 %", "umsatz": "819.187", "ort": "nord", "größe": 7, "tag": "2025-03-25"}
    written, given = predict(client, row, row | {"umsatz": 819187, "größe": "7 m²"})
    assert written["probabilities"] == given["probabilities"]
    assert client.post("/predict", json=row).json()["notes"] == []
    # One date alone has the day first if there is no other way to read it.
    dated = client.post("/predict", json=row | {"tag": "25/03/2025"}).json()
    assert dated["rows"][0]["probabilities"] == written["probabilities"]
    assert dated["notes"] == []
    assert error_of(client, row | {"tag": "04/03/2025"}).endswith(
        "in which the day or the month may be first; write the year first, as in 2025-12-31"
    )
    sent = {"content": "rabatt;umsatz;ort;größe;tag\n5 %;7;süd;7;2025-03-25\n".encode("cp1252")}
    answer = client.post("/predict", **sent, headers={"content-type": "text/csv"}).json()
    assert answer["csv"] == {"delimiter": ";", "decimal": ",", "encoding": "utf-8-sig"}
    for wrong in (7.5, "7,5"):
        error = error_of(client, row | {"rabatt": wrong})
        assert "'rabatt' holds percentages, and 7.5 in row 1 has no percent sign" in error


def test_the_charset_of_a_csv_file(client):
    def notes(charset):
        kind = f"text/csv; charset={charset}"
        content = "plot,country,runtime\nmurder,Żory,90\n".encode("iso8859-2")
        return client.post("/predict", content=content, headers={"content-type": kind})

    assert "Żory" in str(notes("ISO-8859-2").json()["notes"])
    assert "¯ory" in str(notes("windows-1252").json()["notes"])
    for charset in ("klingon", "punycode"):
        assert f"encoding={charset} is unknown" in notes(charset).json()["error"]


def test_csv_that_does_not_fit(client):
    for content in (b"", b"a,b\n1,2\n", b'plot,country\n"open', b"\x00\x01\x02"):
        answer = client.post("/predict", content=content, headers={"content-type": "text/csv"})
        assert answer.status_code == 422, answer.text
    # The cure is one that the sender has.
    assert "(it holds NUL characters); send a spreadsheet, JSON, or" in answer.json()["error"]


def test_csv_of_too_many_columns(client):
    content = ",".join(f"c{i}" for i in range(100_000)).encode() + b"\n"
    answer = client.post("/predict", content=content, headers={"content-type": "text/csv"})
    assert answer.status_code == 422
    assert "a table of 100,000 columns unpacks to more than" in answer.json()["error"]


def test_explanations_name_the_words(client):
    (row,) = predict(client, {"plot": PLOT, "country": "fr", "runtime": 100}, explain=True)
    labels = {one["label"]: one for one in row["explanation"]["labels"]}
    assert set(labels) == set(VOCABULARY)
    parts = [one["part"] for one in labels["crime"]["added"] if one["log_odds"] > 0]
    assert {"detective", "murder", "police", "evidence", "gang"} & set(parts)
    assert labels["crime"]["probability"] == row["probabilities"]["crime"]


def test_a_very_long_text_is_explained_by_a_few_words(folder):
    saved = load_saved_model(folder / "model.labelkin")
    text = " ".join([*VOCABULARY["crime"].split(), *(["murder"] * 250_000), *(["unknown"] * 9)])
    row = pd.DataFrame([{"plot": text, "country": "fr", "runtime": 90.0}])
    tried = []

    def proba(rows):
        tried.extend(rows["plot"])
        return np.full((len(rows), 3), 0.5)

    found = explain_parts(proba, row, find_vectorizers(saved.classifier), None, 400, {})
    # Eight of thirteen parts: all rows together hold fourteen million characters.
    assert len(found["features"]) == len(tried) - 1 == 8
    assert tried[0] == text
    assert tried[2].split() == text.replace(" murder", "").replace("murder", "").split()


def test_decisions(folder):
    row = {"plot": PLOT, "country": "fr", "runtime": 100}
    (low,) = predict(client_of(folder / "model.labelkin", Decision("fixed", {"": 0.0})), row)
    assert low["labels"] == list(VOCABULARY)
    (high,) = predict(client_of(folder / "model.labelkin", Decision("fixed", {"": 1.0})), row)
    assert high["labels"] == []


def test_a_model_of_numbers_without_names(tmp_path):
    X, Y = make_data(40)
    model = MLkNNClassifier().fit(X, Y)
    save_model(model, tmp_path / "plain.labelkin")
    client = client_of(tmp_path / "plain.labelkin")
    schema = client.get("/schema").json()
    assert (schema["columns"], schema["method"]) == (None, "MLkNNClassifier")
    found = predict(client, *X[:3].tolist(), explain=[1])
    proba = [list(row["probabilities"].values()) for row in found]
    np.testing.assert_allclose(proba, model.predict_proba(X[:3]), atol=1e-6)
    assert found[0]["explanation"]["nearest"]
    assert "not a list of 5 numbers" in error_of(client, [1, 2])
    assert "feature 2 holds a text, not a number" in error_of(client, [1, "2", 3, 4, 5])
    assert "not a list of 5 numbers" in error_of(client, {"a": 1})
    nested = X[:2, :, None, None].tolist()  # as images are
    assert predict(client, *nested) == predict(client, *X[:2].tolist())
    assert "not a list of 5 numbers" in error_of(client, [[1, 2], [3, 4, 5]])


def test_a_missing_text_of_a_model_that_prepares_columns_itself(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "movies.csv")
    words = ColumnTransformer([("words", TfidfVectorizer(), "plot")])
    model = make_pipeline(words, MLkNNClassifier()).fit(frame, frame[list(VOCABULARY)])
    path = tmp_path / "own.labelkin"
    save_model(model, path)
    frame.assign(plot=frame["plot"].where(frame.index != 1)).to_csv(tmp_path / "new.csv")
    assert main(["predict", str(path), str(tmp_path / "new.csv"), "-q"]) == 2
    answer = error_of(client_of(path), {"plot": PLOT}, {"plot": None})
    for error in (capsys.readouterr().err, answer):
        assert "values are missing in plot (row 2)" in error
        assert "which the model's own preparation may not take ('NoneType'" in error


@pytest.mark.parametrize("word", ["n/a", "N/A", "-", "?", "unknown", " "])
def test_words_for_a_missing_number_are_those_of_files(word, client):
    rows = [{"plot": PLOT, "country": "fr", "runtime": value} for value in (word, None)]
    found, missing = predict(client, *rows)
    assert found["probabilities"] == missing["probabilities"]


def test_nothing_is_stored(client, folder):
    before = sorted(os.listdir(folder))
    predict(client, {"plot": "a secret", "country": "fr", "runtime": 1}, explain=True)
    content = (folder / "new.csv").read_bytes()
    client.post("/predict", content=content, headers={"content-type": "text/csv"})
    assert sorted(os.listdir(folder)) == before


# --------------------------------------------------------------------------- the command


def run(capsys, *words):
    code = main(["serve", *(str(word) for word in words)])
    return code, capsys.readouterr().err


def test_refusals(folder, capsys, monkeypatch):
    model = folder / "model.labelkin"
    code, error = run(capsys, folder / "absent.labelkin")
    assert (code, "There is no file" in error) == (2, True)
    code, error = run(capsys, model, "--port", 0, "--sha256", "0" * 64)
    assert (code, "SHA-256" in error) == (2, True)
    code, error = run(capsys, model, "--host", "203.0.113.7", "--port", 0)
    assert (code, "--host 203.0.113.7: " in error) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, error = run(capsys, model, "--port", taken.getsockname()[1])
        assert (code, "another program listens there" in error) == (2, True)
    code, error = run(capsys, model, "--port", 0, "--threshold", "absent=0.3")
    assert (code, "no such label" in error) == (2, True)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, error = run(capsys, model)
    assert (code, "pip install 'labelkin[serve]'" in error) == (2, True)
    assert error.count("\n") == 1


@pytest.fixture(scope="module")
def address(folder):
    """Return the address of a real server, in a process of its own."""
    command = [sys.executable, "-m", "labelkin", "serve", str(folder / "model.labelkin")]
    server = subprocess.Popen(
        [*command, "--port", "0", "--timeout", "300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = server.stdout.readline()
    assert line.startswith("serving "), server.stderr.read()
    yield line.split(" on ")[1].split()[0]
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=120)
    assert (server.returncode, out, err) == (0, "", "stopped\n")


def test_a_real_server(address, folder):
    assert address.startswith("http://127.0.0.1:")
    content = (folder / "new.csv").read_bytes()
    request = urllib.request.Request(f"{address}/predict", content, {"content-type": "text/csv"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert len(json.load(answer)["rows"]) == 12
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: local",
        b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\n"
        b"content-length: 9\r\n\r\na",
    ],
)
def test_unfinished_requests_block_no_other(address, begun):
    place = urllib.parse.urlsplit(address)
    with contextlib.ExitStack() as stack:
        for _ in range(120):
            client = stack.enter_context(
                socket.create_connection((place.hostname, place.port), timeout=120)
            )
            client.sendall(begun)
        with urllib.request.urlopen(f"{address}/health", timeout=120) as answer:
            assert json.load(answer) == {"status": "ok"}


def test_the_page_in_a_browser(address, folder, browser):
    from selenium.webdriver.common.by import By

    open_page(browser, address, "document.getElementById('main')?.hidden === false")
    assert browser.title == "model.labelkin · labelkin"
    # Type a row.
    hostile = f"{PLOT} <img src=x onerror='window.evil = 1'>"
    browser.find_element(By.CSS_SELECTOR, '[data-column="plot"]').send_keys(hostile)
    browser.find_element(By.CSS_SELECTOR, '[data-column="country"]').send_keys("fr")
    browser.find_element(By.CSS_SELECTOR, '[data-column="runtime"]').send_keys("100")
    browser.find_element(By.CSS_SELECTOR, "button.main").click()
    wait_for(browser, "return !document.getElementById('result').hidden")
    shown = browser.find_element(By.ID, "one").text
    assert "confidence" in shown
    assert "crime" in [tag.text for tag in browser.find_elements(By.CSS_SELECTOR, "#one .tag")]
    assert "detective" in shown
    # Names from right to left do not move what stands beside them.
    assert "detective" in [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".part bdi")]
    for width in (390, 1280):
        resize(browser, width)
        assert too_wide(browser) == []
    # A wrong row is answered by a sentence.
    field = browser.find_element(By.CSS_SELECTOR, '[data-column="runtime"]')
    js(browser, "arguments[0].dataset.unit = ' %'", field)  # which is added to bare numbers only
    field.send_keys("minutes")
    browser.find_element(By.CSS_SELECTOR, "button.main").click()
    wait_for(browser, "return document.getElementById('status').classList.contains('error')")
    assert "'100minutes' in row 1, not a number" in browser.find_element(By.ID, "status").text
    assert js(browser, "return document.getElementById('result').hidden")  # of the row before
    # Drop a file, and see why.
    browser.find_element(By.ID, "file").send_keys(str(folder / "new.csv"))
    wait_for(browser, "return document.querySelectorAll('#body tr.row').length === 12")
    shown = browser.find_element(By.CSS_SELECTOR, "#body tr.row").text
    assert "tt0060" in shown
    head = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "#head th")]
    assert head == ["row", "id", "plot", "predicted labels", "confidence"]
    for width in (390, 1280):
        resize(browser, width)
        assert too_wide(browser) == []
    # No header is broken inside a word.
    lines = "[...document.querySelectorAll('#head th')].map((cell) => cell.offsetHeight)"
    assert max(js(browser, f"return {lines}")) < 50
    browser.find_elements(By.CSS_SELECTOR, "#body tr.row")[2].click()
    wait_for(browser, "return document.querySelector('#body .open .why li') !== null")
    assert js(browser, "return window.evil ?? null") is None
    asked = requested_urls(browser, address)
    assert all(url.startswith((address, "data:")) for url in asked), asked
    refused = [entry for entry in browser.get_log("browser") if "422" not in entry["message"]]
    assert refused == []


def test_a_file_chosen_while_the_page_loads_scrolls_to_its_predictions(address, folder, browser):
    from selenium.webdriver.common.by import By

    late = """const real = window.fetch;
    window.fetch = async (...args) => {
      if (args[0] === "/schema") await new Promise((go) => { window.go = go; });
      return real(...args);
    };"""
    script = {"source": late}
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        open_page(browser, address, "window.go !== undefined")
        resize(browser, 390, 500)
        browser.find_element(By.ID, "file").send_keys(str(folder / "new.csv"))
        js(browser, "window.go()")
        wait_for(browser, "return document.querySelectorAll('#body tr.row').length === 12")
        place = "document.getElementById('table-title').getBoundingClientRect().top"
        wait_for(browser, f"return {place} >= 0 && {place} < innerHeight / 2")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
