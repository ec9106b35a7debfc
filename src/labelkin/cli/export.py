"""``labelkin export``: a model for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer

from labelkin.cli import _common as common

EXAMPLES = """Example:

labelkin export scenes.skops scenes.onnx"""


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that labelkin fit wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .onnx file to write.")],
    overwrite: common.Overwrite = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Write a model as ONNX, which runs without Python; needs the onnx extra."""
    if out.suffix.lower() != ".onnx":
        raise ValueError(f"{out}: models are exported as ONNX; end the name in .onnx.")
    common.check_model(model)
    common.check_output(out, overwrite, [model])
    try:
        from labelkin.onnx import to_onnx
    except ModuleNotFoundError as error:
        if error.name == "labelkin.onnx":
            raise ImportError("this labelkin has no ONNX export; upgrade labelkin.") from error
        raise ImportError(
            f"{error.name} is needed here and not installed; pip install 'labelkin[onnx]'"
        ) from error
    from labelkin.persistence import write_whole

    raw = to_onnx(common.load(model).model).SerializeToString()
    with write_whole(out) as file:
        file.write(raw)
    if as_json:
        common.print_json({"out": str(out), "bytes": len(raw)})
    elif not quiet:
        typer.echo(f"written: {out} ({len(raw) / 1e6:.1f} MB)")
