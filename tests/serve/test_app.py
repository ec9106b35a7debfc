"""The application around a model: answers, limits, refusals, documents."""

import json
import threading

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra 'serve'")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from labelkin.serve import BadRows, Limits, make_app
from labelkin.serve._guard import HEADERS
from labelkin.serve._service import RequestRows


class Echo:
    """A service without a model: rows have the label that they name."""

    def __init__(self):
        self.explained = []
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()

    def describe(self):
        columns = [
            {"name": "text", "kind": "text"},
            {"name": "kind", "kind": "category", "values": ["a", "b"]},
            {"name": "size", "kind": "number"},
        ]
        return {"name": "echo", "method": "Echo", "labels": ["a", "b"], "columns": columns,
                "separator": ";", "n_features": 3}  # fmt: skip

    def read(self, sent, charset=None):
        if isinstance(sent, bytes):
            return RequestRows(np.array(sent.decode().splitlines()[1:]), {}, ["mind"])
        if "bad" in sent:
            raise BadRows("row 1 is bad.")
        return RequestRows(np.array(sent, dtype=object), {})

    def predict(self, rows, part):
        self.started.set()
        self.gate.wait(300)
        if "crash" in rows.features:
            raise RuntimeError("a secret of the model")
        found = []
        for number, row in enumerate(rows.features[part], start=part.start + 1):
            probabilities = {"a": 0.9, "b": 0.1}
            found.append({"row": number, "labels": [row], "confidence": 0.9,
                          "probabilities": probabilities})  # fmt: skip
        return found

    def explain(self, rows, number):
        self.explained.append(number)
        return {"labels": [], "nearest": []}


@pytest.fixture
def service():
    return Echo()


@pytest.fixture
def client(service):
    app = make_app(service, Limits(bytes=1000, rows=5, explained=2, seconds=300, waiting=1))
    with TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False) as client:
        yield client


def post(client, value, **headers):
    return client.post("/predict", json=value, headers=headers)


def error_of(answer, status):
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    return answer.json()["error"]


# ------------------------------------------------------------------------------ answers


def test_rows_of_json(client, service):
    answer = post(client, {"rows": ["a", "b"], "explain": [2]})
    assert answer.status_code == 200
    found = answer.json()
    assert found["model"] == "echo"
    assert [row["labels"] for row in found["rows"]] == [["a"], ["b"]]
    assert "explanation" not in found["rows"][0]
    assert found["rows"][1]["explanation"] == {"labels": [], "nearest": []}
    assert service.explained == [1]
    assert post(client, {"rows": ["a", "b"], "explain": True}).status_code == 200
    assert service.explained == [1, 0, 1]


@pytest.mark.parametrize("kind", ["text/csv", "application/csv", "text/tab-separated-values"])
def test_rows_of_csv(client, service, kind):
    csv = {"content-type": f"{kind}; charset=utf-8"}
    answer = client.post("/predict?explain=1", content=b"text\na\nb\n", headers=csv)
    assert [row["labels"] for row in answer.json()["rows"]] == [["a"], ["b"]]
    assert answer.json()["notes"] == ["mind"]
    assert service.explained == [0]


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ('["a", "b"]', ["a", "b"]),
        ('"a"\n"b"\n', ["a", "b"]),
        ('{"size": 1}', [{"size": 1}]),
        ('[{"size": 1}]', [{"size": 1}]),
        ('{"size": 1}\r\n\r\n{"size": 2}', [{"size": 1}, {"size": 2}]),
        ("\ufeff[1]", [1]),
    ],
)
def test_rows_alone(client, service, kind, body, labels):
    sent = {"content": body.encode(), "headers": {"content-type": kind}}
    answer = client.post("/predict?explain=1", **sent)
    assert answer.status_code == 200, answer.text
    assert [row["labels"] for row in answer.json()["rows"]] == [[one] for one in labels]
    assert service.explained == [0]


@pytest.mark.parametrize("explain", ["1_0", "１", "+1", " 1", "1.0", "9" * 5000, "-1", "x"])
def test_rows_to_explain_that_are_no_numbers(client, explain):
    csv = {"content-type": "text/csv"}
    answer = client.post("/predict", params={"explain": explain}, content=b"text\na\n", headers=csv)
    assert answer.status_code == 422
    assert "explain is a list of row numbers" in answer.json()["error"]


def test_documents(client):
    schema = client.get("/schema").json()
    assert schema["labels"] == ["a", "b"]
    rows = schema["request"]["properties"]["rows"]
    assert rows["maxItems"] == 5
    assert set(rows["items"]["properties"]) == {"text", "kind", "size"}
    assert schema["limits"]["bytes"] == 1000
    assert client.get("/health").json() == {"status": "ok"}


def test_the_page_names_only_its_own_files(client):
    page = client.get("/").text
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    for path, kind in (("/serve.css", "text/css"), ("/serve.js", "text/javascript")):
        assert f'"{path}"' in page
        answer = client.get(path)
        assert answer.headers["content-type"].startswith(kind)
        assert "https://" not in answer.text


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "at least one row"),
        ({}, "at least one row"),
        ({"rows": []}, "at least one row"),
        ({"rows": "a"}, "at least one row"),
        ({"rows": ["a"], "explian": True}, "no field 'explian'"),
        ({"rows": ["a"], "explain": "yes"}, "explain is true, false, or a list"),
        ({"rows": ["a"], "explain": [1.5]}, "explain is true, false, or a list"),
        ({"rows": ["a"], "explain": [0]}, "there is no row 0"),
        ({"rows": ["a"], "explain": [2]}, "there is no row 2"),
        ({"rows": ["a"] * 3, "explain": True}, "At most 2 rows can be explained"),
        ({"rows": ["bad"]}, "row 1 is bad."),
    ],
)
def test_bad_rows(client, value, words):
    assert words in error_of(post(client, value), 422)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b'{"rows": [NaN]}', b"[" * 500, b"\xff\xfe", b'{"rows": [1e999999]} x'),
        *(b'{"rows": ["a"], "rows": ["b"]}', b'{"rows": [{"size": 1, "size": 2}]}'),
    ],
)
def test_bodies_that_are_no_json(client, body):
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert "not JSON" in error_of(answer, 422)


def test_limits_of_size(client):
    assert "0.001 MB" in error_of(post(client, {"rows": ["a" * 1000]}), 413)
    assert "send at most 5" in error_of(post(client, {"rows": ["a"] * 6}), 413)

    def endless():  # of unknown length
        yield b'{"rows": ["'
        for _ in range(100):
            yield b"a" * 100

    answer = client.post(
        "/predict", content=endless(), headers={"content-type": "application/json"}
    )
    assert "0.001 MB" in error_of(answer, 413)
    csv = b"text\n" + b"a\n" * 6
    answer = client.post("/predict", content=csv, headers={"content-type": "text/csv"})
    assert "send at most 5" in error_of(answer, 413)


def test_other_types_paths_and_methods(client):
    answer = client.post("/predict", content=b"a", headers={"content-type": "text/plain"})
    assert "application/json" in error_of(answer, 415)
    assert error_of(client.get("/absent"), 404)
    assert error_of(client.get("/predict"), 405)


def test_a_failing_model_tells_no_details(client):
    error = error_of(post(client, {"rows": ["crash"]}), 500)
    assert "RuntimeError" in error
    assert "secret" not in error


def test_every_answer_has_the_headers(client):
    answers = [
        client.get("/"),
        client.get("/absent"),
        client.get("/", headers={"host": "evil.com"}),
    ]
    answers += [post(client, {"rows": ["crash"]}), post(client, {"rows": ["a"]})]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "default-src 'none'" in HEADERS["content-security-policy"]


# ------------------------------------------------------------------- hosts and origins


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("localhost.", 200),
        ("127.0.0.1:8000", 200),
        ("192.168.1.7:8000", 200),
        ("[::1]:8000", 200),
        ("labels.example:8000", 200),
        ("evil.com", 421),
        ("evil.com:8000", 421),
        ("localhost.evil.com", 421),
        ("127.0.0.1.evil.com", 421),
        ("[::1].evil.com", 421),
        ("", 421),
    ],
)
def test_hosts(service, host, status):
    client = TestClient(make_app(service, hosts=["labels.example"]), base_url="http://localhost")
    assert client.get("/health", headers={"host": host}).status_code == status


def test_requests_of_other_pages(client):
    value = {"rows": ["a"]}
    assert error_of(post(client, value, origin="https://evil.com"), 403)
    assert error_of(post(client, value, origin="null"), 403)
    assert error_of(post(client, value, origin="http://["), 403)
    assert error_of(post(client, value, **{"sec-fetch-site": "cross-site"}), 403)
    assert post(client, value, origin="http://localhost:8000").status_code == 200


def test_no_answer_allows_other_origins(client):
    answer = client.options("/predict", headers={"origin": "http://localhost:8000"})
    assert "access-control-allow-origin" not in answer.headers


# ----------------------------------------------------------------------- time and load


def test_a_slow_model_is_answered_in_time(service):
    service.gate.clear()
    app = make_app(service, Limits(seconds=0.2))
    with TestClient(app, base_url="http://localhost") as client:
        assert "0.2 s" in error_of(post(client, {"rows": ["a"]}), 504)
        service.gate.set()


def test_too_many_requests_are_turned_away(service):
    service.gate.clear()
    app = make_app(service, Limits(seconds=300, waiting=0))
    with TestClient(app, base_url="http://localhost") as client:
        found = []
        thread = threading.Thread(target=lambda: found.append(post(client, {"rows": ["a"]})))
        thread.start()
        assert service.started.wait(300)
        answer = post(client, {"rows": ["a"]})
        assert "Too many requests" in error_of(answer, 503)
        assert int(answer.headers["retry-after"]) > 0
        service.gate.set()
        thread.join()
        assert found[0].status_code == 200


def test_json_is_plain(client):
    """No answer holds NaN or Infinity, which JSON lacks."""
    text = post(client, {"rows": ["a"]}).text
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
