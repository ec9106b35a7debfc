"""Mutated details in model files: used, or refused in one sentence."""

import contextlib
import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

from labelkin.cli import main
from labelkin.cli._data import load_saved_model
from labelkin.datasets import read_table
from support.damaged import cpu_limit
from support.mutations import inputs, mutate_details, with_details

ROWS = b"""text,kind,size,day,tags
"red apple, green",a,1.5,2020-01-31,warm;wet
a blue sky at night,b,,2021-02-28,wet
red sky at night,a,-2e3,2020-12-01,
"the grey, grey sea",b,7,2019-05-06,warm;dark
"""
DAMAGED = [
    {"decisions": {"f1": {"thresholds": ["0.5"], "at_least_one": True}}},
    {"decisions": {"f1": {"thresholds": [float("nan")], "at_least_one": 1}}},
    {"model": 3},
]


@pytest.mark.filterwarnings("ignore:.*was saved with scikit-learn")
def test_details(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "model.labelkin"
    rows.write_bytes(ROWS)
    words = ["fit", rows, "--labels", "tags", "--model", "mlknn", "-q"]
    words += ["--text", "text", "--category", "kind", "--out", path]
    assert main([str(word) for word in words]) == 0
    raw = path.read_bytes()
    corpus = [raw, *(with_details(raw, **change) for change in DAMAGED)]
    outcomes = set()
    for content in inputs(corpus, mutate_details, count=60):
        path.write_bytes(content)
        message = ""
        try:
            with cpu_limit(20):
                found = load_saved_model(path)
                table = read_table(rows, as_strings=found.classifier.schema_.reading["as_strings"])
                json.dumps(found.info.label_names, ensure_ascii=False).encode()
                with found.checked():
                    found.classifier.count_training_rows(table)
                with contextlib.suppress(ValueError):  # the file may name other labels
                    found.predict(table)
        except ValueError as error:
            message = str(error)
            assert message.startswith(str(path))
        assert "\n" not in message
        outcomes.add(not message)
    assert outcomes == {True, False}
