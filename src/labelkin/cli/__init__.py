"""The command line ``labelkin``.

One module a command; this one only finds the command and turns errors into the
promised form: one sentence on stderr, an exit code, no traceback.
"""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv` (default: ``sys.argv[1:]``) and return its exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        print(
            "error: the command line needs packages that are not installed. "
            "Install them with: pip install 'labelkin[cli]'",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return _interrupted()
    try:
        from labelkin.cli._app import run

        return run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # before the commands were there to see to it
        return _interrupted()


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130
