"""``labelkin serve``: a model as a web page and a JSON endpoint on this machine."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelkin.cli import _options as options
from labelkin.cli._data import SavedModel, check_model_file, load_saved_model
from labelkin.cli._output import echo

if TYPE_CHECKING:
    from socket import socket

    from labelkin.datasets import RawTable
    from labelkin.serve import Service

EXAMPLES = """Examples:

labelkin serve model.labelkin

labelkin serve model.labelkin --port 9000 --sha256 DIGEST

curl -H content-type:text/csv --data-binary @new.csv localhost:8000/predict"""

limit_option = partial(typer.Option, rich_help_panel="Limits of a request")


@options.expand_groups
def command(
    model: options.ModelFile,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 also serves other machines.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name by which browsers reach this machine, besides localhost and its "
            "addresses. May be repeated.",
        ),
    ] = None,
    deciding: options.DecisionOptions,
    training: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The training data, to show its rows in explanations; by default the file that "
            "the model was fitted on, if it still exists.",
        ),
    ] = None,
    megabytes: Annotated[
        float,
        limit_option(
            "--max-mb", min=0.001, max=1000, help="Maximum size of a request in megabytes."
        ),
    ] = 5,
    rows: Annotated[
        int, limit_option("--max-rows", min=1, help="Maximum number of rows of a request.")
    ] = 10_000,
    seconds: Annotated[
        float, limit_option("--timeout", min=0.1, help="Maximum time for a request in seconds.")
    ] = 30,
    expected_sha256: options.Sha256 = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve a model as a web page, and to programs as JSON.

    On the page, type a row or drop a file to see the labels, the confidence and an explanation.
    Programs send rows to POST /predict; GET /schema describes how. Nothing is stored, and nothing
    leaves the machine. Ctrl-C stops the server.
    """
    from labelkin._utils.optional import import_optional

    check_model_file(model)
    decision = options.parse_decision(deciding)
    uvicorn = import_optional("uvicorn", "serve")
    from labelkin.serve import Limits, make_app

    listener = _listen(host, port)
    with listener:
        saved = load_saved_model(model, expected_sha256, decision=decision)
        service = make_service(saved, saved.read_training(training, options.ReadingOptions()))
        limits = Limits(bytes=round(1e6 * megabytes), rows=rows, seconds=seconds)
        app = make_app(service, limits, [host, *(allow_host or ())])
        config = uvicorn.Config(
            app,
            http="h11",  # bounds the size of headers, unlike faster parsers
            ws="none",
            limit_concurrency=1000,
            timeout_keep_alive=5,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        if not quiet:
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listener.getsockname()[1]}"
            echo(f"serving {model} on {address} (Ctrl-C stops)")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            if not quiet:
                typer.echo("stopped", err=True)


def make_service(saved: SavedModel, training: "RawTable | None" = None) -> "Service":
    """Return what predicts the rows of requests."""
    from labelkin.methods import METHODS
    from labelkin.serve import Service

    known = METHODS.get(str(saved.info.details.get("model")))
    method = "" if known is None else known.title
    return Service(saved.classifier, saved.path.name, method, saved.info.sha256, training)


def _listen(host: str, port: int) -> "socket":
    """Return a socket that listens at an address, or say why it cannot."""
    import errno
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"--port {port}: another program listens there; choose another port."
            ) from None
        raise ValueError(f"--host {host}: {error.strerror or error}.") from None
