"""What commands print and write: notes, JSON, progress bars, checks of output files."""

import json
import os
import shlex
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import typer

from labelkin._utils.errors import name_options
from labelkin._utils.names import plural as plural
from labelkin._utils.names import printable
from labelkin._utils.progress_bar import progress_bar as progress_bar


def echo(*lines: str) -> None:
    """Print lines; names in them, of files and of what is in files, begin no other line."""
    typer.echo("\n".join(map(printable, lines)))


class Interrupted(Exception):
    """The user interrupted a command that has a line of its own to print."""


class _EscapedStream:
    """A text stream that writes control characters, which files may contain, as escapes.

    Rich, which writes colours, looks for `rich_proxied_file` and writes to the stream itself.
    """

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(printable(text, keep="\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Write control characters to stdout and stderr as escapes, while the block runs."""
    streams: Any = _EscapedStream(sys.stdout), _EscapedStream(sys.stderr)
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        yield


class Notes:
    """Remarks on stderr, one line each, unless quiet."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.pending: list[str] = []
        """Remarks of the library, collected until `flush`."""

    def flush(self) -> None:
        """Print the collected remarks, each once."""
        for note in dict.fromkeys(self.pending):
            # The only argument of the library that remarks on tables name.
            self.print(f"note: {name_options(note, {'scale': '--scale'})}")
        self.pending.clear()

    def print(self, text: str) -> None:
        """Print a line on stderr; on a terminal it is broken between words."""
        from rich.console import Console
        from rich.text import Text

        if not self.quiet:
            is_line = not sys.stderr.isatty()
            Console(stderr=True).print(Text(printable(text)), soft_wrap=is_line)


def print_json(value: object, indent: int | None = None) -> None:
    """Print a value as JSON, by default on one line."""
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=False))


def shell_line(*words: str | Path) -> str:
    """Return a command line that can be pasted into a shell."""
    return shlex.join(str(word) for word in words)


def given_options(context: typer.Context, names: Container[str]) -> list[str]:
    """Return the options among `names` that stand on the command line, as words for a shell."""
    words: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name not in names or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):  # a flag, such as --header or --no-header
                words += (parameter.opts if one else parameter.secondary_opts)[:1]
            else:
                words += [parameter.opts[0], str(getattr(one, "value", one))]
    return words


def split_names(text: str | None) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def check_output(path: Path, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse an output file that cannot be written, before anything is computed."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; create it first.")
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise ValueError(f"{path} is also an input; choose another name.")
    if path.is_file() and not overwrite:
        raise ValueError(f"{path} exists already; choose another name or add --overwrite.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied.")
