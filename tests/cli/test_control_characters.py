"""What would act on a terminal is printed with escapes, whichever file it comes from."""

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelkin import MLkNNClassifier
from labelkin._utils.names import printable
from labelkin.cli import main
from labelkin.datasets import write
from labelkin.persistence import save_model
from support.model_files import rewritten

pytest.importorskip("typer")

HOSTILE = [
    "\x1b[31mred",  # ANSI: colours, and worse
    "\x1b]0;title\x07",  # OSC: the window's title, the clipboard
    "\x9b2J",  # C1: the same in one character
    "\u202eflow\u202c",  # bidi override
    "\u2066x\u2069",
    "a\nwritten: /etc/passwd",  # a line of its own
    "a\rerror: none",
    "a\x08\x08\x7f",
    "a\u2028b",
    "a\u200bb",
]


def assert_harmless(*texts):
    for text in texts:
        found = [c for c in text if c != "\n" and printable(c) != c]
        assert not found, (text, found)
        assert not [line for line in text.split("\n") if line.startswith("written: /etc")]


def test_printable():
    assert all(printable(text).isprintable() for text in HOSTILE)
    assert printable("a\x1b[1mb\n\u202e\x9b\ud800") == r"a\u001b[1mb\n\u202e\u009b\ud800"
    for text in ["été, 日本語 (ü) ~", "می\u200cخواهم", "👩\u200d👩\u200d👧", "a\\b"]:
        assert printable(text) == text
    for text in ["\x9b\u202e", "\U000e0041", "\ud800", "\x1b\n"]:
        assert json.loads(f'"{printable(text)}"') == text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table whose names are hostile, and a model of it."""
    folder = tmp_path_factory.mktemp("hostile")
    pandas = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    q = len(HOSTILE)
    data = {f"{text}!": rng.randint(0, 2, 40) * (j + 1.5) for j, text in enumerate(HOSTILE)}
    data["colour\x1b[7m"] = rng.choice(["\x1b[32mgreen", "\u202eblue", "a\nb"], 40)
    labels = {text: rng.randint(0, 2, 40) for text in HOSTILE}
    frame = pandas.DataFrame({**data, **labels})
    frame.to_csv(folder / "t\x1b[31m.csv", index=False, quoting=csv.QUOTE_ALL)
    command = ["fit", "t\x1b[31m.csv", "--labels", str(-q), "--model", "mlknn", "--out"]
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert main([*command, "m\x1b[31m\n.labelkin", "--quiet"]) == 0
    finally:
        os.chdir(before)
    return folder


COMMANDS = {
    "fit": ["fit", "T", "--labels", str(-len(HOSTILE)), "--model", "mlknn", "--out", "N"],
    "predict": ["predict", "M", "T", "--json", "--proba"],
    "predict to a file": ["predict", "M", "T", "--keep", "all", "--out", "P"],
    "explain": ["explain", "M", "T", "--row", "2"],
    "explain as JSON": ["explain", "M", "T", "--json"],
    "evaluate": ["evaluate", "T", "--labels", str(-len(HOSTILE)), "--model", "mlknn,logistic"],
    "evaluate a model": ["evaluate", "M", "T"],
    "describe": ["datasets", "describe", "T", "--labels", str(-len(HOSTILE))],
    "no such label": ["evaluate", "T", "--labels", "\x1b[31m,\u202e"],
    "no such file": ["predict", "M", "\x1b[31m\nwritten: /etc/passwd.csv"],
    "no such option": ["fit", "T", "\x1b]0;x\x07", "--\x1b[31m"],
    "no such command": ["x\x1b[31m"],
    "no such method": ["fit", "T", "--model", "\x9b2J"],
    "not a model": ["predict", "T", "T"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {"T": "t\x1b[31m.csv", "M": "m\x1b[31m\n.labelkin", "N": "n\x1b\n.labelkin"}
    names["P"] = "p\x1b[31m\nwritten: \n.csv"
    words = [names.get(word, word) for word in COMMANDS[name]]
    code = main([*words, *(["--overwrite"] if "--out" in words else [])])
    out, err = capsys.readouterr()
    assert code == (2 if name.startswith(("no such", "not a")) else 0), err
    assert out + err
    assert_harmless(out, err)
    if "--json" in words:
        found = json.loads(out.splitlines()[0])
        assert "\x9b2J" in json.dumps(found, ensure_ascii=False)


def test_a_dataset_and_a_model_from_python(tmp_path, monkeypatch, capsys):
    """Their names reach the terminal by other ways: an .npz file, the details of a model."""
    monkeypatch.chdir(tmp_path)
    X, Y = np.random.RandomState(0).rand(30, 3), np.eye(3, dtype=int).repeat(10, axis=0)
    names = ["\x1b[31mred", "a\nwritten: /etc/passwd", "\u202e"]
    write("d.npz", X, Y, feature_names=[f"f{name}" for name in names], label_names=names)
    save_model(MLkNNClassifier(1).fit(X, Y), "m.labelkin", label_names=names)
    write_csv = ["datasets", "convert", "d.npz", "d\x1b[1m.csv"]
    for words in (
        ["datasets", "describe", "d.npz"],
        write_csv,
        write_csv,
        ["explain", "m.labelkin", "d.npz"],
        ["evaluate", "m.labelkin", "d.npz"],
        ["reproduce", "figure2", "--data", "\x1b[31mx=d.npz", "--methods", "mlknn", "--jobs", "1"],
        ["report", "results.db", "--out", "r\x1b[31m"],
    ):
        exists = words is write_csv and Path("d\x1b[1m.csv").exists()
        assert main(words) == (2 if exists else 0)
        assert_harmless(*capsys.readouterr())


def test_a_table_is_left_as_it_is_for_programs_and_escaped_on_a_terminal(folder):
    words = ["predict", "m\x1b[31m\n.labelkin", "t\x1b[31m.csv", "--no-per-label", "--quiet"]
    command = [sys.executable, "-m", "labelkin", *words, "--keep", "colour\x1b[7m"]
    piped = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert "\x1b[32mgreen" in piped.stdout
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(command, cwd=folder, stdout=theirs) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the end, on Linux
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    text = shown.decode().replace("\r\n", "\n")
    assert r"\u001b[32mgreen" in text
    assert_harmless(text)


def test_the_version_in_a_model(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    model = tmp_path / "m.labelkin"
    model.write_bytes(Path("m\x1b[31m\n.labelkin").read_bytes())
    rewritten(model, head={"scikit-learn": "a\x1b]0;x\x07", "labelkin": "a\x1b]0;x\x07"})
    assert main(["predict", str(model), "t\x1b[31m.csv", "--out", str(tmp_path / "p.csv")]) == 0
    found = capsys.readouterr().err
    assert "\\u001b]0;x" in found
    assert_harmless(found)
