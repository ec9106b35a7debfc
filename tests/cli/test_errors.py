"""The library names its arguments, the command line its options."""

import pytest

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError
from labelkin.cli import main
from labelkin.cli._app import report_error

pytest.importorskip("typer")

OPTIONS = {"labels": "--labels", "separator": "--separator"}


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ArgumentError("pass labels=a,b.", "labels"), "pass --labels a,b."),
        (
            FormatError("a.csv", "pass labels= or separator=", 2, "labels", "separator"),
            "a.csv, line 2: pass --labels or --separator",
        ),
        (
            ArgumentError("pass format=", "format"),
            "pass format= (format= can be passed in Python only)",
        ),
        (ValueError("pass labels="), "pass labels="),
        (
            ValueError("""pass columns={'How old?': 'number'} or columns={"it's": 'ignore'}"""),
            """pass --number 'How old?' or --ignore 'it'"'"'s'""",
        ),
    ],
)
def test_arguments_become_options(error, shown, capsys):
    assert report_error(error, OPTIONS) == 2
    assert capsys.readouterr().err == f"error: {shown}\n"


def test_only_options_of_the_command_are_named(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,a\n1,0\n".encode("latin-1"))
    assert main(["fit", str(path), "--labels", "a", "--encoding", "utf-8"]) == 2
    assert "as in --encoding latin-1" in capsys.readouterr().err


@pytest.mark.parametrize("labels", ["-1", "b"])
def test_the_delimiter_that_was_not_found_is_named(labels, tmp_path, capsys):
    path = tmp_path / "colons.csv"
    path.write_text("a:b\n1:0\n2:1\n")
    assert main(["fit", str(path), "--labels", labels]) == 2
    assert "pass --delimiter if another character" in capsys.readouterr().err
