"""The command line ``labelkin``: one module per command, the underscored ones are shared."""

import os
import sys
from collections.abc import Sequence

from labelkin.cli._signals import terminable


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv` (default: ``sys.argv[1:]``) and return its exit code.

    An error is one sentence on stderr and an exit code, never a traceback.
    """
    with terminable() as interrupted:  # also while the commands are imported
        code = _run(sys.argv[1:] if argv is None else list(argv), interrupted)
    if argv is None and code == 130:
        # Python would wait for threads that still compute.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run(argv: list[str], interrupted: list[int]) -> int:
    try:
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
        from labelkin.cli._app import run

        return run(argv, interrupted)
    except KeyboardInterrupt as end:
        line = str(end) or "interrupted"
    except Exception:  # what a signal cuts short may fail in any way
        if not interrupted:
            raise
        line = "interrupted"
    print(line, file=sys.stderr)
    return 130
