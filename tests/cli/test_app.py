import subprocess
import sys

import pytest

import labelkin
from labelkin.cli import main

pytest.importorskip("typer")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"labelkin {labelkin.__version__}\n"


def test_no_command_shows_help(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_unknown_command(capsys):
    assert main(["dmeo"]) == 2
    assert "dmeo" in capsys.readouterr().err


def test_help_loads_no_estimator():
    """``--help`` must answer at once: nothing heavy is imported for it."""
    code = (
        "import sys; from labelkin.cli import main; main(['--help']);"
        "heavy = {'sklearn', 'scipy', 'pandas', 'matplotlib', 'numba'} & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_demo(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["demo", "--samples", "200", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    for word in ("ML-kNN", "VPCME", "Hamming loss", "Recall", "fit time", "30/30"):
        assert word in shown
    assert "explained" in shown
    for picture in ("scenes.png", "explain.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")


def test_demo_into_a_file_is_refused(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert main(["demo", "--out", str(taken)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "taken" in error
    assert taken.read_text() == "mine"


def test_without_the_extra_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["demo"]) == 2
    assert "labelkin[cli]" in capsys.readouterr().err


def test_public_names():
    for name in labelkin.__all__:
        assert getattr(labelkin, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = labelkin.Nothing
    assert set(labelkin.__all__) <= set(dir(labelkin))
