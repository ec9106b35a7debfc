"""``labelkin export``: a model as ONNX, for other runtimes."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.cli import _options as options
from labelkin.cli._data import check_model_file, load_saved_model
from labelkin.cli._output import check_output, file_size, print_json

EXAMPLES = """Examples:

labelkin export model.labelkin model.onnx

labelkin export model.labelkin small.onnx --float32 --json"""


def command(
    model: options.ModelFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .onnx file to write.")],
    float32: Annotated[
        bool,
        options.output_option(
            "--float32",
            help="Take numbers and return probabilities as float32 instead of float64.",
        ),
    ] = False,
    expected_sha256: options.Sha256 = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, which runs without labelkin; needs the onnx extra.

    The preparation of the columns (missing numbers, scaling, categories, dates, texts) is
    included. A model of numbers has one input, X; a model with other columns has one input per
    column.
    """
    if out.suffix.lower() != ".onnx":
        raise ValueError(f"{out}: models are exported as ONNX; end the name in .onnx.")
    check_model_file(model)
    check_output(out, overwrite, inputs=[model])
    import_optional("onnx", "onnx")
    from labelkin._utils.files import open_for_writing
    from labelkin.onnx import to_onnx

    saved = load_saved_model(model, expected_sha256)
    exported = to_onnx(
        saved.classifier.pipeline_,
        dtype="float32" if float32 else "float64",
        names=saved.labels.names,
        features=saved.schema.names,
    )
    raw = exported.SerializeToString()
    with open_for_writing(out) as file:
        file.write(raw)

    inputs, outputs = _describe(exported.graph.input), _describe(exported.graph.output)
    metadata = {
        entry.key: json.loads(entry.value)
        for entry in exported.metadata_props
        if entry.key in ("feature_names", "label_names")
    }
    columns = metadata.get("feature_names", [])
    if as_json:
        facts = {"out": str(out), "bytes": len(raw), "columns": columns}
        print_json(
            facts | {"labels": metadata["label_names"], "inputs": inputs, "outputs": outputs}
        )
    elif not quiet:
        names = f": {join_names(columns, 6)}" if columns and len(inputs) == 1 else ""
        feed = ", ".join(
            [f"{tensor['name']!r}: …" for tensor in inputs[:6]] + ["…"][: len(inputs) > 6]
        )
        typer.echo(f"written: {out} ({file_size(len(raw))})")
        typer.echo(f"inputs:  {_list_tensors(inputs)}{names}")
        typer.echo(f"outputs: {_list_tensors(outputs)}")
        typer.echo(f"next:    onnxruntime.InferenceSession({str(out)!r}).run(None, {{{feed}}})")


def _describe(tensors: Any) -> list[dict[str, Any]]:
    """Return name, type and shape of a graph's inputs or outputs."""
    types = {1: "float32", 7: "int64", 8: "string", 9: "bool", 11: "float64"}  # ONNX's numbers
    return [
        {
            "name": tensor.name,
            "type": types[tensor.type.tensor_type.elem_type],
            "shape": [dim.dim_param or dim.dim_value for dim in tensor.type.tensor_type.shape.dim],
        }
        for tensor in tensors
    ]


def _list_tensors(tensors: list[dict[str, Any]]) -> str:
    shapes = [" × ".join(map(str, one["shape"])) for one in tensors]
    pairs = zip(tensors, shapes, strict=True)
    return join_names([f"{one['name']} ({one['type']}, {shape})" for one, shape in pairs], 6)
