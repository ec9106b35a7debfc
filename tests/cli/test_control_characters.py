"""Control characters in files never reach the terminal as they are."""

import json

import pytest

from labelkin.cli import main
from support.model_files import rewritten

pytest.importorskip("pandas")

NASTY = "a\x1b]0;owned\x07\x1b[2J\x9b1A"  # sets the title of a window, and clears it


@pytest.fixture
def table(tmp_path):
    lines = [f"x,{NASTY},b\u202e"] + [f"{i % 7},{i % 2},{i % 3 == 0:d}" for i in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def model(table, tmp_path):
    out = tmp_path / "m.labelkin"
    assert main(["fit", str(table), "--labels", "-2", "--model", "mlknn", "--out", str(out)]) == 0
    return out


COMMANDS = {
    "fit": ["fit", "TABLE", "--labels", "-2", "--model", "mlknn", "--out", "OUT"],
    "wrong labels": ["fit", "TABLE", "--labels", "c", "--out", "OUT"],
    "evaluate": ["evaluate", "TABLE", "--labels", "-2", "--model", "mlknn", "--per-label"],
    "explain": ["explain", "MODEL", "TABLE", "--row", "1"],
    "explain as JSON": ["explain", "MODEL", "TABLE", "--row", "1", "--json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name, table, model, tmp_path, capsys):
    capsys.readouterr()
    places = {"TABLE": str(table), "MODEL": str(model), "OUT": str(tmp_path / "o.labelkin")}
    main([places.get(word, word) for word in COMMANDS[name]])
    found = "".join(capsys.readouterr())
    assert not set(found) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_json_stays_valid(table, model, capsys):
    capsys.readouterr()
    assert main(["explain", str(model), str(table), "--row", "1", "--json", "-q"]) == 0
    labels = json.loads(capsys.readouterr().out)["labels"]
    assert {label["label"] for label in labels} == {NASTY, "b\u202e"}


def test_the_version_in_a_model(table, model, capsys):
    capsys.readouterr()
    rewritten(model, head={"scikit-learn": NASTY, "labelkin": NASTY})
    assert main(["predict", str(model), str(table)]) == 0
    found = "".join(capsys.readouterr().err)
    assert "\\u001b]0;owned" in found
    assert "\x1b" not in found


def test_data_for_another_program_are_as_they_are(table, model, capsys):
    capsys.readouterr()
    assert main(["predict", str(model), str(table)]) == 0
    assert NASTY in capsys.readouterr().out
