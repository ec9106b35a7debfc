"""The export of a fitted model: inputs, outputs, metadata, file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

import labelkin
from labelkin._utils.files import open_for_writing
from labelkin._utils.labels import label_names, label_names_of
from labelkin.onnx import _classifiers, _text  # noqa: F401  (fill the table)
from labelkin.onnx._graph import Graph, Shape, Tensor
from labelkin.onnx._transformers import convert, final_step, reads_strings, unwrap
from labelkin.rows import ensure_on_host, to_host


def to_onnx(model: Any, *, dtype: DTypeLike = np.float64) -> Any:
    """Return a fitted classifier as an ONNX model.

    The model has one input ``X``, (N, n_features), for any number of rows. Where some columns
    are strings, each column is an input of its own instead, (N, 1), with the column's name (and
    an underscore where that is the name of an output). A missing string is the empty string.

    The outputs are ``probabilities``, (N, n_labels), and ``labels``, (N, n_labels) of 0 and 1.
    The names of the labels, or numbers from 0, are in the model's metadata, as a JSON list under
    ``label_names``; those of the columns, where they are known, under ``feature_names``.

    Parameters
    ----------
    model : fitted classifier
        `KinEnsembleClassifier`, `VPCMEClassifier` and `BaggingVPCPClassifier` whose base can be
        exported, `MLkNNClassifier`, `IBLRClassifier`, `MultiLabelLogisticRegression`,
        `KernelRidgeLOOClassifier` except with a callable kernel; one of them in a
        `DecisionClassifier` of thresholds; a `TableClassifier` of one, which is also what
        ``labelkin fit`` writes; or a pipeline or a search that ends in one, after scalers,
        `SimpleImputer`, `MissingIndicator` of all features, `OneHotEncoder` that keeps all
        categories, `TfidfVectorizer` of single words, a `ColumnTransformer` of these,
        `PairwiseConstraintProjection` or `MDDM`. It may have been fitted on a device.
    dtype : {float32, float64}, default=float64
        Type of the numeric inputs and of the probabilities. Inside, the arithmetic has the
        classifier's own types; that of `KernelRidgeLOOClassifier` and `KinEnsembleClassifier` is
        always double.

    Returns
    -------
    onnx.ModelProto
        Opset 17, or 20 with texts. Its size is that of ``SerializeToString()``.

    Notes
    -----
    The model holds the training samples, as neighbour and kernel methods must; an ensemble holds
    their projections or views, one for each member. Values that are zero are not stored if they
    are many. While it runs, the distances from each row to each training sample are
    held for one member at a time: N · n_samples numbers. Run many rows in batches.

    Nothing is validated: a missing value that no imputer replaces gives an arbitrary result,
    a category that `OneHotEncoder` would refuse is encoded as zeros, and a date that does not
    exist becomes some other one.

    Texts and dates are split by ONNX Runtime's own operator ``Tokenizer``, which other runtimes
    lack. Words are the same as in Python in every script, with one exception: the Greek capital
    sigma at the end of a word in capitals becomes σ in ONNX and ς in Python.

    Probabilities agree to rounding, and neighbours at exactly equal distances are taken in the
    same order. Where two distances differ by rounding only, as is possible in float32 or with
    texts of few words, ONNX and Python may choose different neighbours; so may Python itself
    with a sparse and a dense matrix.

    Examples
    --------
    >>> from labelkin import MLkNNClassifier
    >>> from labelkin.datasets import load_digit_scenes
    >>> from labelkin.onnx import to_onnx
    >>> scenes = load_digit_scenes(n_samples=100)
    >>> exported = to_onnx(MLkNNClassifier().fit(scenes.data, scenes.target))
    >>> [output.name for output in exported.graph.output]
    ['probabilities', 'labels']
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    if not hasattr(model, "fit"):
        raise ValueError(f"model must be a fitted classifier, got {type(model).__name__}.")
    check_is_fitted(model)
    names, features = label_names_of(model), getattr(model, "feature_names_in_", None)
    model = unwrap(model)
    if ensure_on_host(final := final_step(model)) is not final:
        model = to_host(model)
        final = final_step(model)
    inputs = _inputs(model, Graph(), dtype, features)
    columns = [tensor for tensor, _ in inputs]
    prediction = convert(model, columns[0] if columns[0].name == "X" else columns)
    if final._one_target:
        raise ValueError(
            "A model of a one-dimensional target cannot be exported to ONNX; fit it to y as a "
            "matrix of 0 and 1 with one column."
        )
    lists = {"label_names": label_names(final) if names is None else names}
    lists |= {} if features is None else {"feature_names": features}
    metadata = {
        name: json.dumps([str(value) for value in values], ensure_ascii=False)
        for name, values in lists.items()
    }
    metadata |= {"estimator": type(final).__name__, "labelkin_version": labelkin.__version__}
    shape: Shape = ["N", len(final.classes_)]
    outputs = {
        "probabilities": (prediction.probabilities.astype(dtype), shape),
        "labels": (prediction.labels.astype(np.int64), shape),
    }
    version = labelkin.__version__
    return columns[0].graph.model(inputs, outputs, metadata, producer_version=version)


def _inputs(
    model: Any, graph: Graph, dtype: np.dtype, features: Sequence[str] | None
) -> list[tuple[Tensor, Shape]]:
    """Return the inputs with their shapes: X, or one for each column."""
    width = getattr(model, "n_features_in_", None)
    strings = reads_strings(model, width or 1)
    if width is None or not strings.any():  # without a width: texts, not a table
        return [(Tensor(graph, "X", object if width is None else dtype), ["N", width or 1])]
    found: dict[str, Any] = {}
    for i, is_string in enumerate(strings):
        name = f"x{i}" if features is None else str(features[i]) or "_"
        while name in found or name in ("probabilities", "labels"):
            name += "_"
        found[name] = Tensor(graph, name, object if is_string else dtype), ["N", 1]
    return list(found.values())


def save_onnx(model: Any, path: str | Path, *, dtype: DTypeLike = np.float64) -> None:
    """Write a fitted classifier as an ONNX file, whole or not at all.

    Parameters
    ----------
    model, dtype
        See `to_onnx`.
    path : str or Path
        The file; an existing one is replaced.
    """
    content = to_onnx(model, dtype=dtype).SerializeToString()
    with open_for_writing(path) as file:
        file.write(content)
