"""Commands that load a model refuse one that is not the expected one, or was altered."""

import hashlib
import json
import shutil

import pytest

from labelkin.cli import main
from labelkin.persistence import model_info
from support.model_files import rewritten
from support.tables import write_films

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digest")
    films, model = write_films(folder / "films.csv", 40), folder / "m.labelkin"
    words = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--model", "mlknn"]
    plain = ["--embedding", "none"]  # which can be exported
    assert main(["fit", str(films), *words, *plain, "--out", str(model), "-q"]) == 0
    return model, films


COMMANDS = ["predict", "explain", "export"]


def words_of(command, fitted, tmp_path):
    model, films = fitted
    if command == "export":
        pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    return [command, str(model), str(tmp_path / "m.onnx" if command == "export" else films)]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_expected_model(command, fitted, tmp_path, capsys):
    digest = hashlib.sha256(fitted[0].read_bytes()).hexdigest()
    assert main([*words_of(command, fitted, tmp_path), "--sha256", digest, "-q"]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_another_model(command, fitted, tmp_path, capsys):
    assert main([*words_of(command, fitted, tmp_path), "--sha256", "0" * 64]) == 2
    assert "not the expected one; nothing was loaded" in capsys.readouterr().err


def test_no_digest(fitted, capsys):
    model, films = fitted
    assert main(["predict", str(model), str(films), "--sha256", "abc"]) == 2
    assert "--sha256" in capsys.readouterr().err


def test_fit_reports_it(fitted, tmp_path, capsys):
    _, films = fitted
    out = tmp_path / "m.labelkin"
    words = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--model", "mlknn", "--json"]
    assert main(["fit", str(films), *words, "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)["sha256"]
    assert found == hashlib.sha256(out.read_bytes()).hexdigest()


def test_thresholds_of_other_labels_are_refused(fitted, tmp_path, capsys):
    model, films = fitted
    altered = tmp_path / "m.labelkin"
    shutil.copy(model, altered)
    one = {"macro_f1": {"thresholds": [0.5], "at_least_one": False}}
    rewritten(altered, head={"details": {**model_info(model).details, "decisions": one}})
    assert main(["predict", str(altered), str(films), "--decide", "macro_f1"]) == 2
    assert "holds no thresholds for it" in capsys.readouterr().err
