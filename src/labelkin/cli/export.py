"""``labelkin export``: a model for other runtimes."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from labelkin.cli import _common as common

EXAMPLES = """Examples:

labelkin export model.skops model.onnx

labelkin export model.skops small.onnx --float32 --json"""

_FEW = 6  # inputs shown


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that labelkin fit wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .onnx file to write.")],
    float32: Annotated[
        bool,
        typer.Option(
            "--float32",
            help="Numbers go in and probabilities come out as float32, not as float64.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = False,
    overwrite: common.Overwrite = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Write a model as ONNX, which runs without labelkin; needs the onnx extra.

    All that fit put into the model goes along: missing numbers, scaling, categories, texts.
    Columns of numbers are one input, X; beside words, each column is an input of its name.
    """
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
    from labelkin._utils.files import open_for_writing

    loaded = common.load(model)
    exported = to_onnx(
        loaded.model,
        dtype="float32" if float32 else "float64",
        names=loaded.info.label_names,
        features=loaded.schema.names,
    )
    raw = exported.SerializeToString()
    with open_for_writing(out) as file:
        file.write(raw)
    inputs, outputs = (_described(part) for part in (exported.graph.input, exported.graph.output))
    said = {entry.key: entry.value for entry in exported.metadata_props}
    columns = json.loads(said.get("feature_names", "[]"))
    if as_json:
        facts = {"out": str(out), "bytes": len(raw), "columns": columns}
        facts["labels"] = json.loads(said["label_names"])
        common.print_json({**facts, "inputs": inputs, "outputs": outputs})
    elif not quiet:
        typer.echo(f"written: {out} ({len(raw) / 1e6:.1f} MB)")
        of = f": {_few(columns)}" if columns and len(inputs) == 1 else ""
        typer.echo(f"inputs:  {_listed(inputs)}{of}")
        typer.echo(f"outputs: {_listed(outputs)}")
        given = ", ".join(f"{item['name']!r}: …" for item in inputs[:_FEW])
        more = ", …" if len(inputs) > _FEW else ""
        typer.echo(
            f"next:    onnxruntime.InferenceSession({str(out)!r}).run(None, {{{given}{more}}})"
        )


def _described(tensors: Any) -> list[dict[str, Any]]:
    """Return name, type and shape of a graph's inputs or outputs."""
    words = {1: "float32", 7: "int64", 8: "string", 9: "bool", 11: "float64"}  # of the format
    return [
        {
            "name": tensor.name,
            "type": words[tensor.type.tensor_type.elem_type],
            "shape": [dim.dim_param or dim.dim_value for dim in tensor.type.tensor_type.shape.dim],
        }
        for tensor in tensors
    ]


def _listed(tensors: list[dict[str, Any]]) -> str:
    return _few([f"{t['name']} ({t['type']}, {' × '.join(map(str, t['shape']))})" for t in tensors])


def _few(texts: list[str]) -> str:
    more = len(texts) - _FEW
    return ", ".join(texts[:_FEW]) + (f" and {more} more" if more > 0 else "")
