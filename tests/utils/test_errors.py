"""Errors name the arguments to change, and survive the way between processes."""

import pickle

from labelkin._utils.errors import ArgumentError, rename_arguments
from labelkin._utils.files import FormatError


def test_a_command_line_names_its_options_instead_of_arguments():
    error = FormatError("a.csv", "no labels; pass labels= or separator=", 3, "labels")
    options = {"labels": "--labels", "separator": "--separator"}
    assert (
        rename_arguments(error, options) == "a.csv, line 3: no labels; pass --labels or separator="
    )
    error = ArgumentError("labels=a,b or (labels=), labels=-3.", "labels")
    assert rename_arguments(error, options) == "--labels a,b or (--labels), --labels -3."
    assert rename_arguments(ValueError("pass labels="), options) == "pass labels="
    assert rename_arguments(ArgumentError("pass format=", "format"), options) == "pass format="


def test_errors_are_pickled_whole():
    for error in (ArgumentError("x= is 1", "x"), FormatError("a.csv", "broken", None, "x", "y")):
        copy = pickle.loads(pickle.dumps(error))
        assert str(copy) == str(error)
        assert copy.arguments == error.arguments
