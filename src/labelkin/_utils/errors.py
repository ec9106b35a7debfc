"""Errors that name the arguments to change, so that a command line can name its options."""

import re
from collections.abc import Mapping


class ArgumentError(ValueError):
    """An argument cannot be used as it was given.

    The message writes each of `arguments` as ``name=``, so that `rename_arguments` can translate
    it.
    """

    def __init__(self, message: str, *arguments: str) -> None:
        self.arguments = arguments
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[str, ...]]:
        """Pickle by the constructor's arguments, so that the error crosses processes unchanged."""
        return type(self), (str(self), *self.arguments)


def rename_arguments(error: Exception, names: Mapping[str, str]) -> str:
    """Return an error's message with its arguments renamed, such as ``labels=`` to ``--labels``.

    Only an `ArgumentError` or a `FormatError` has names to replace.
    """
    arguments = getattr(error, "arguments", ())
    return name_options(str(error), {one: names[one] for one in arguments if one in names})


def name_options(message: str, names: Mapping[str, str]) -> str:
    """Return a message with arguments renamed, such as ``labels=`` to ``--labels``."""
    for argument, option in names.items():
        flag = option.removeprefix("--")
        message = message.replace(f"{argument}=False", f"--no-{flag}")
        message = message.replace(f"{argument}=True", f"--{flag}")
        # A space separates an option from its value, as in "--labels a,b".
        message = re.sub(rf"\b{argument}=(?=[^\s,;:.)])", f"{option} ", message)
        message = re.sub(rf"\b{argument}=", option, message)
    return message
