"""The library names its arguments, the command line its options."""

import pytest

pytest.importorskip("typer")

import typer

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError
from labelkin.cli._app import app
from labelkin.cli._errors import _OPTIONS, report_error


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ArgumentError("encoding=klingon is unknown.", "encoding"), "--encoding klingon is"),
        (FormatError("a.csv", "pass labels= or text=", None, "labels", "text"), "--labels or --te"),
        (ArgumentError("label_column= (one column)", "label_column"), "--label-column (one"),
        (ArgumentError("pass format=", "format"), "pass format="),
        (ValueError("pass labels="), "pass labels="),
    ],
)
def test_arguments_become_options(error, shown, capsys):
    assert report_error(error) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert shown in message


def test_options_exist():
    root = typer.main.get_command(app)
    commands = [*root.commands.values(), *root.commands["datasets"].commands.values()]
    known = {name for command in commands for option in command.params for name in option.opts}
    assert set(_OPTIONS.values()) <= known
