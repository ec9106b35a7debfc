"""``labelkin export``: a model as ONNX, for other runtimes."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.cli import _options as options
from labelkin.cli._data import check_model_file, load_saved_model
from labelkin.cli._output import check_output, echo, print_json, progress_bar

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
    included, but no embeddings and n-grams of texts: fit with --embedding none --ngrams none. A
    model of numbers has one input, X; a model with other columns has one input per column.
    """
    if out.suffix.lower() != ".onnx":
        raise ValueError(f"{out}: models are exported as ONNX; end the name in .onnx.")
    check_model_file(model)
    check_output(out, overwrite, inputs=[model])
    import_optional("onnx", "onnx")
    from labelkin._utils.files import open_for_writing
    from labelkin.onnx import to_onnx

    with progress_bar("exporting", hidden=quiet or as_json):
        saved = load_saved_model(model, expected_sha256)
        exported = to_onnx(saved.classifier, dtype="float32" if float32 else "float64")
        raw = exported.SerializeToString()
    with open_for_writing(out) as file:
        file.write(raw)

    inputs = [tensor.name for tensor in exported.graph.input]
    outputs = [tensor.name for tensor in exported.graph.output]
    if as_json:
        metadata = {entry.key: entry.value for entry in exported.metadata_props}
        facts = {"out": str(out), "bytes": len(raw), "inputs": inputs, "outputs": outputs}
        facts["columns"] = json.loads(metadata.get("feature_names", "[]"))
        print_json(facts | {"labels": json.loads(metadata["label_names"])})
    elif not quiet:
        feed = ", ".join(f"{name!r}: …" for name in inputs[:6]) + ", …" * (len(inputs) > 6)
        echo(f"written: {out} ({decimal(len(raw))})")
        echo(f"inputs:  {join_names(inputs, 6)}", f"outputs: {join_names(outputs, 6)}")
        echo(f"next:    onnxruntime.InferenceSession({str(out)!r}).run(None, {{{feed}}})")
