"""The export of a fitted model: inputs, outputs, metadata, file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

import labelkin
from labelkin._utils.array_api import ensure_on_host, to_host
from labelkin._utils.files import open_for_writing
from labelkin._utils.labels import label_names
from labelkin.base import Array
from labelkin.onnx import _dates, _kin, _text, _transformers  # noqa: F401  (fill the tables)
from labelkin.onnx._columns import reads_strings
from labelkin.onnx._convert import Prediction, classify, final_estimator
from labelkin.onnx._graph import Columns, Graph, Tensor

_OUTPUTS = ("probabilities", "labels")


def to_onnx(
    model: Any,
    *,
    dtype: DTypeLike = np.float64,
    names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
) -> Any:
    """Return a fitted classifier as an ONNX model.

    The model has one input ``X``, (N, n_features), for any number of rows. Where some columns
    are strings, each column is an input of its own instead, (N, 1), with the column's name (and
    an underscore where that is the name of an output). A missing string is the empty string.

    The outputs are ``probabilities``, (N, n_labels), and ``labels``, (N, n_labels) of 0 and 1.
    After a one-dimensional target they have the form of ``predict_proba`` and ``predict``: one
    column per class, and the class of each row. The names of the labels are in the model's
    metadata, as a JSON list under ``label_names``; those of the columns, where they are known,
    under ``feature_names``.

    Parameters
    ----------
    model : fitted classifier
        `KinEnsembleClassifier`, `VPCMEClassifier` and `BaggingVPCPClassifier` whose base can be
        exported, `MLkNNClassifier`, `IBLRClassifier`, `MultiLabelLogisticRegression`,
        `KernelRidgeLOOClassifier` except with a callable kernel; one of them in a
        `DecisionClassifier` of thresholds; or a pipeline or a search that ends in one, after
        scalers, `SimpleImputer`, `PairwiseConstraintProjection`, `MDDM`,
        `OneHotEncoder`, `CountVectorizer`, `TfidfTransformer`, `TfidfVectorizer`, or a
        `ColumnTransformer` of these, which covers the pipelines of ``labelkin fit``. It may have
        been fitted on a device.
    dtype : {float32, float64}, default=float64
        Type of the numeric inputs and of the probabilities. Inside, the arithmetic has the
        classifier's own types; that of `KernelRidgeLOOClassifier` and `KinEnsembleClassifier` is
        always double.
    names : sequence of str, default=None
        Names of the labels; None stands for the model's own, else numbers from 0.
    features : sequence of str, default=None
        Names of the columns; None stands for the model's own, where it has any.

    Returns
    -------
    onnx.ModelProto
        Opset 17, or 20 with texts. Its size is that of ``SerializeToString()``.

    Notes
    -----
    The model holds the training samples, as neighbour and kernel methods must; an ensemble holds
    their projections or views, one for each member. Kernels store the values that are not zero,
    neighbours all of them. While it runs, the distances from each row to each training sample are
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
    if ensure_on_host(final := final_estimator(model)) is not final:
        model = to_host(model)
        final = final_estimator(model)
    inputs, rows = _inputs(model, dtype, features)
    graph = Graph(list(inputs))
    prediction = classify(model, graph, rows)
    outputs = _add_outputs(final, graph, prediction, dtype)
    known = features if features is not None else getattr(model, "feature_names_in_", None)
    metadata = {
        "label_names": _listed(label_names(final) if names is None else names),
        "estimator": type(final).__name__,
        "labelkin_version": labelkin.__version__,
    }
    if known is not None:
        metadata["feature_names"] = _listed(known)
    return graph.model(inputs, outputs, metadata, producer_version=labelkin.__version__)


def _listed(names: Any) -> str:
    return json.dumps([str(name) for name in names], ensure_ascii=False)


def _inputs(
    model: Any, dtype: np.dtype, features: Sequence[str] | None
) -> tuple[dict[str, Any], Any]:
    """Return types and shapes of the inputs by name, and the tensors of the samples."""
    width = getattr(model, "n_features_in_", None)
    strings = reads_strings(model, 1 if width is None else width)
    if width is None:  # raw texts, not a table
        return {"X": (object, ["N", 1])}, Tensor("X", np.dtype(object))
    if not strings.any():
        return {"X": (dtype, ["N", width])}, Tensor("X", dtype)
    if features is None:
        features = getattr(model, "feature_names_in_", [f"x{i}" for i in range(width)])
    inputs: dict[str, Any] = {}
    columns = []
    for column, is_string in zip(features, strings, strict=True):
        name = str(column) or "_"
        while name in inputs or name in _OUTPUTS:
            name += "_"
        kind = np.dtype(object) if is_string else dtype
        inputs[name] = (kind, ["N", 1])
        columns.append(Tensor(name, kind))
    return inputs, Columns(columns)


def save_onnx(
    model: Any,
    path: str | Path,
    *,
    dtype: DTypeLike = np.float64,
    names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
) -> None:
    """Write a fitted classifier as an ONNX file, whole or not at all.

    Parameters
    ----------
    model, dtype, names, features
        See `to_onnx`.
    path : str or Path
        The file; an existing one is replaced.
    """
    exported = to_onnx(model, dtype=dtype, names=names, features=features)
    content = exported.SerializeToString()
    with open_for_writing(path) as file:
        file.write(content)


def _add_outputs(
    final: Any, graph: Graph, prediction: Prediction, dtype: np.dtype
) -> dict[str, Any]:
    """Add the outputs in the form of predict_proba and predict; return types and shapes by name."""
    if not final._one_target:
        graph.cast(prediction.probabilities, dtype, output="probabilities")
        graph.cast(prediction.labels, np.int64, output="labels")
        shape = ["N", len(final.classes_)]
        return {"probabilities": (dtype, shape), "labels": (np.int64, shape)}
    classes = _class_values(final.classes_)
    positive = prediction.probabilities
    # A single class has probability 1, written as p == p to have one row per sample.
    columns = [graph.cast(graph.op("Equal", positive, positive), np.float64)]
    if len(classes) == 2:
        columns = [graph.op("Sub", np.float64(1), positive), positive]
    graph.cast(graph.op("Concat", *columns, axis=1), dtype, output="probabilities")
    chosen = graph.op("Squeeze", graph.cast(prediction.labels, np.int64), np.array([1]))
    chosen = graph.op("Min", chosen, np.array(len(classes) - 1))
    graph.op("Gather", classes, chosen, output="labels")
    return {
        "probabilities": (dtype, ["N", len(classes)]),
        "labels": (classes.dtype, ["N"]),
    }


def _class_values(classes: Array) -> Array:
    """Return classes in a type that exists in ONNX."""
    for kinds, dtype in (("b", np.bool_), ("iu", np.int64), ("f", np.float64)):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype)
    return np.array([str(value) for value in classes], dtype=object)
