"""Evaluation of thousands of labels, whose labels and scores are sparse."""

import json
import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("jinja2")

from labelkin import LabelTreeClassifier
from labelkin.cli import main
from labelkin.evaluation import compare, evaluate_model
from labelkin.evaluation._figures import MANY_METRICS, OutOfSample, label_figures
from labelkin.evaluation._page import find_label_errors, render_report, worst_rows
from labelkin.metrics import evaluate
from support.predicted import Predicted
from support.shared import build_once

N_LABELS = 2000


def write_titles(path, n, seed=0):
    """Write titles with two labels, named by their words; each label once, then frequent ones."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write("title,tags\n")
        for row in range(n):
            first = row if row < N_LABELS else int(N_LABELS * rng.random() ** 3)
            second = int(N_LABELS * rng.random() ** 3)
            words = f"word{first} of word{second} {rng.integers(3)}a"
            file.write(f"{words},label{first};label{second}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_once(tmp_path_factory, "many", write_pages)


def write_pages(folder):
    write_titles(folder / "titles.csv", 2400)
    labels = ["--labels", "tags"]
    model, page = folder / "model.labelkin", ["--report", folder / "folds.html"]

    def run(*words):
        assert main([str(word) for word in words]) == 0

    run("evaluate", folder / "titles.csv", *labels, "--folds", "2", "-q", *page)
    run("fit", folder / "titles.csv", *labels, "--out", model, "-q")
    run("evaluate", model, folder / "titles.csv", "-q", "--report", folder / "model.html")


def read(path):
    return path.read_text(encoding="utf-8")


def inline_data(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


@pytest.mark.parametrize("page", ["folds.html", "model.html"])
def test_the_page_shows_head_tail_and_worst(folder, page):
    text = read(folder / page)
    assert len(text) < 500_000
    assert "Precision at 1" in text
    assert re.search(r"Of 2,000 labels \d\d are shown below \(the most frequent, the rarest", text)
    reasons = ", ".join(re.findall(r"</button> <small>(.*?)</small>", text))
    assert set(reasons.split(", ")) == {"frequent", "rare", "weak"}
    data = inline_data(text)
    assert 20 <= len(data["labels"]) <= 60
    shown = sum(label["rows"] for label in data["labels"])
    assert shown + data["others"]["rows"] == data["all"]["rows"]
    assert bool(re.search("More rows (would|may)", text)) == (page == "folds.html")
    assert "NaN" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)


def test_a_model_and_its_thresholds(folder, capsys):
    words = ["evaluate", str(folder / "model.labelkin"), str(folder / "titles.csv"), "--json"]
    assert main(words) == 0
    own = json.loads(capsys.readouterr().out)
    assert list(own["results"]["model.labelkin"]) == list(MANY_METRICS)
    assert len(own["per_label"]) == N_LABELS
    assert own["per_label"][0]["threshold"] != 0.5  # that of the classifier
    assert own["decisions"] == []
    assert any("labels that rows have are never predicted" in note for note in own["notes"])
    assert main([*words, "--threshold", "0.01", "--metrics", "micro_recall,micro_precision"]) == 0
    low = json.loads(capsys.readouterr().out)
    assert low["per_label"][0]["threshold"] == 0.01
    assert low["results"]["model.labelkin"]["micro_recall"]["mean"] > 0.99


# ------------------------------------------------------------------------------- in Python


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 2600
    chosen = np.column_stack([np.arange(n) % N_LABELS, (N_LABELS * rng.random(n) ** 3).astype(int)])
    y = sparse.csr_array(
        (np.ones(2 * n), (np.repeat(np.arange(n), 2), chosen.ravel())), shape=(n, N_LABELS)
    )
    y.data[:] = 1
    return sparse.csr_array(y + sparse.random_array(y.shape, density=1e-3, rng=1)), y > 0


@pytest.fixture(scope="module")
def found(data):
    methods = {
        "sparse": LabelTreeClassifier(1, sparse_output=True, random_state=0),
        "dense": LabelTreeClassifier(1, random_state=0),
    }
    return compare(methods, *data, folds=2)


def test_figures_are_those_of_dense_matrices(data, found):
    for fold, (_, test) in enumerate(found.splits):
        one = found.results["sparse"]
        dense = (matrix.toarray() for matrix in (data[1][test], one.scores[fold], one.labels[fold]))
        expected = evaluate(*dense, metrics=MANY_METRICS[:-1])
        assert {key: one.figures[key][fold] for key in expected} == pytest.approx(expected)


def test_dense_scores_are_kept_as_the_highest_of_each_row(found):
    for key in ("precision_at_1", "micro_f1", "macro_f1"):
        dense, same = (found.results[name].figures[key] for name in ("dense", "sparse"))
        assert dense == pytest.approx(same, abs=0.02)
    assert all(sparse.issparse(scores) for scores in found.results["dense"].scores)
    assert found.results["dense"].scores[0].nnz <= 110 * found.y.shape[0]


def test_figures_of_labels(found):
    once = found.predictions()
    y, labels, scores = (m.toarray() for m in (once.y, once.labels, once.scores))
    rows = {row["label"]: row for row in label_figures(once)}
    for j in range(0, N_LABELS, 50):
        row, hits = rows[str(j)], (labels[:, j] * y[:, j]).sum()
        assert row["rows"] == y[:, j].sum()
        assert row["recall"] == pytest.approx(hits / y[:, j].sum())
        expected = average_precision_score(y[:, j], scores[:, j])
        assert row["average_precision"] == pytest.approx(expected)


def small_case(seed=0):
    """Return the same predictions with dense and with sparse matrices; a third has no score."""
    rng = np.random.default_rng(seed)
    y = (rng.random((200, 6)) < 0.3).astype(int)
    scores = rng.integers(1, 9, y.shape) / 10 * (rng.random(y.shape) < 2 / 3)
    y[scores == 0] &= rng.random(np.count_nonzero(scores == 0)) < 0.1
    names, labels, cuts = tuple("abcdef"), (scores > 0.5).astype(int), np.full(6, 0.5)
    dense = OutOfSample(names, np.arange(200), y, labels, scores, cuts)
    as_csr = (sparse.csr_array(one) for one in (y, labels, scores))
    return dense, OutOfSample(names, np.arange(200), *as_csr, cuts)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_and_dense_predictions_agree(seed):
    dense, same = small_case(seed)
    for row, other in zip(label_figures(dense), label_figures(same), strict=True):
        assert row == pytest.approx(other)
        j = "abcdef".index(row["label"])
        expected = average_precision_score(dense.y[:, j], dense.scores[:, j])
        assert row["average_precision"] == pytest.approx(expected)
    # Labels without a score are no mistakes of a sparse prediction.
    wrong = ((dense.y != dense.labels) & (dense.scores > 0)).any(axis=1)
    assert set(worst_rows(same, 200)) == set(np.flatnonzero(wrong))


def test_a_sure_label_that_is_not_given_is_suspected():
    n = 1000
    label = np.arange(n) % 10
    scores = sparse.csr_array((np.full(n, 0.998), (np.arange(n), label)), shape=(n, 10))
    y = sparse.csr_array(scores > 0, dtype=np.uint8)
    y.data[7] = 0
    y.eliminate_zeros()
    names = tuple("abcdefghij")
    found = OutOfSample(names, np.arange(n), y, scores > 0.5, scores, np.full(10, 0.5))
    suspects, count = find_label_errors(found, 5)
    assert count == 1
    assert (suspects[0]["row"], suspects[0]["label"], suspects[0]["given"]) == (8, "h", False)


def test_nothing_of_the_size_of_rows_times_labels_is_dense():
    """As bytes, a dense matrix would take 64 MB."""
    n, q = 8_000, 8_000
    y = sparse.random_array((n, q), density=3e-4, rng=0, data_sampler=lambda size: np.ones(size))
    y = sparse.csr_array(y)
    scores = sparse.csr_array(y * 0.7 + sparse.random_array((n, q), density=3e-3, rng=1) * 0.2)
    model = Predicted(scores > 0.5, scores)
    tracemalloc.start()
    found = evaluate_model(model, np.arange(n)[:, None], y)
    page = render_report(found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.to_frame()["precision_at_1"].item() > 0.7
    assert len(page) < 500_000
    assert peak < 40e6
