"""The command line ``labelkin``: one module per command, the underscored ones are shared."""

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv` (default: ``sys.argv[1:]``) and return its exit code.

    An error is one sentence on stderr and an exit code, never a traceback.
    """
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

        if argv is not None:
            return run(list(argv))
        code = run(sys.argv[1:])
        if code == 130:
            # Python would wait for threads that still compute.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        return code
    except KeyboardInterrupt:  # while the commands were still being imported
        print("interrupted", file=sys.stderr)
        return 130
