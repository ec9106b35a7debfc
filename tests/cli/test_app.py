import re
import subprocess
import sys

import pytest

import labelkin
from labelkin.cli import main
from labelkin.tabular._text import can_embed
from support.tables import write_films

pytest.importorskip("typer")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"labelkin {labelkin.__version__}\n"


def test_no_command_shows_help(capsys):
    assert main([]) in (0, 2)  # by the version of click
    assert "demo" in capsys.readouterr().out


def test_unknown_command(capsys):
    assert main(["dmeo"]) == 2
    assert "dmeo" in capsys.readouterr().err


def loaded_by(argv, folder):
    """Return the top-level packages, and labelkin's own modules, that a command line imports."""
    code = "import sys; from labelkin.cli import main; main(sys.argv[1:]); print('#', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=folder, capture_output=True, text=True, check=True
    )
    names = done.stdout.rpartition("#")[2].split()
    return {name if name.startswith("labelkin.") else name.partition(".")[0] for name in names}


LIGHT = [
    "--help",
    "fit --help",
    "datasets --help",
    "--version",
    "nonsense",
    "fit",
    "fit nowhere.csv --labels a,b",
    "fit here.csv --labels a,b --out here.csv",
    "fit here.csv --labels a,b --set n_estimators",
    "predict nowhere.labelkin here.csv",
    "predict here.csv nowhere.csv",
    "evaluate nowhere.csv --labels a,b",
]


def test_help_and_mistyped_commands_load_nothing_heavy(tmp_path):
    """They end in a fraction of the second that scikit-learn takes to import."""
    (tmp_path / "here.csv").write_text("x,a,b\n1,0,1\n")
    code = """
import sys
from labelkin.cli import main

heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "joblib"}
for line in sys.argv[1:]:
    main(line.split())
    assert not heavy & sys.modules.keys(), line
"""
    subprocess.run([sys.executable, "-c", code, *LIGHT], cwd=tmp_path, check=True)


def test_demo(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["demo", "--samples", "200", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    for word in ("Kin", "ML-kNN", "fitting VPCME", "Micro F1", "Subset accuracy", "fit time"):
        assert word in shown
    assert "✓ Of 50 test scenes, all digits are right in: Kin " in shown
    assert (out / "scenes.png").read_bytes().startswith(b"\x89PNG")
    right = [int(count) for count in re.findall(r"label is right in (\d+) of 20", shown)]
    assert len(right) == 1 + can_embed()
    assert right[0] >= 7  # by chance: 4
    assert right[-1] >= right[0] + 4 * can_embed()


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


def test_predict_loads_no_more_than_its_model_needs(tmp_path):
    """Each of these takes a tenth of a second or more to import, or belongs to other commands."""
    pytest.importorskip("pandas")
    films, model = write_films(tmp_path / "films.csv", 30), tmp_path / "m.labelkin"
    options = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--set", "n_estimators=2"]
    assert main(["fit", str(films), *options, "--model", "vpcme", "--out", str(model)]) == 0
    loaded = loaded_by(["predict", str(model), str(films)], tmp_path)
    assert "sklearn" in loaded
    assert not loaded & {"matplotlib", "numba", "pytest", "dask", "requests", "pooch"}
    others = ("labelkin.experiments", "labelkin.kin", "labelkin.onnx", "labelkin.methods.")
    assert not [name for name in loaded if name.startswith(others)]


def test_help_fills_the_lines_of_any_terminal():
    from typer.main import get_command

    from labelkin.cli._app import app

    for name, command in get_command(app).commands.items():
        assert "\n" not in command.help.replace("\n\n", ""), name
