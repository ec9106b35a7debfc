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
from labelkin._utils.labels import label_names
from labelkin.onnx import _classifiers, _text  # noqa: F401  (fill the table)
from labelkin.onnx._graph import Graph, Shape, Tensor, hstack
from labelkin.onnx._transformers import Prediction, convert, final_step, reads_strings, unwrap
from labelkin.rows import ensure_on_host, to_host


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
        `DecisionClassifier` of thresholds; a `TableClassifier` of one, which is also what
        ``labelkin fit`` writes; or a pipeline or a search that ends in one, after scalers,
        `SimpleImputer`, `OneHotEncoder` that keeps all categories, `CountVectorizer`,
        `TfidfTransformer`, `TfidfVectorizer`, a `ColumnTransformer` of these,
        `PairwiseConstraintProjection` or `MDDM`. It may have been fitted on a device.
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
        Opset 17, or 20 with texts; with trees, set 5 of ``ai.onnx.ml``. Its size is that of
        ``SerializeToString()``.

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
    model = unwrap(model)
    if ensure_on_host(final := final_step(model)) is not final:
        model = to_host(model)
        final = final_step(model)
    if features is None:
        features = getattr(model, "feature_names_in_", None)
    inputs = _inputs(model, Graph(), dtype, features)
    columns = [tensor for tensor, _ in inputs]
    prediction = convert(model, columns[0] if columns[0].name == "X" else columns)
    lists = {"label_names": label_names(final) if names is None else names}
    lists |= {} if features is None else {"feature_names": features}
    metadata = {
        name: json.dumps([str(value) for value in values], ensure_ascii=False)
        for name, values in lists.items()
    }
    metadata |= {"estimator": type(final).__name__, "labelkin_version": labelkin.__version__}
    return columns[0].graph.model(
        inputs, _outputs(final, prediction, dtype), metadata, producer_version=labelkin.__version__
    )


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


def _outputs(
    final: Any, prediction: Prediction, dtype: np.dtype
) -> dict[str, tuple[Tensor, Shape]]:
    """Return the outputs in the form of predict_proba and predict, with their shapes."""
    positive, labels = prediction.probabilities, prediction.labels.astype(np.int64)
    classes = final.classes_
    shape: Shape = ["N", len(classes)]
    if not final._one_target:
        return {"probabilities": (positive.astype(dtype), shape), "labels": (labels, shape)}
    # A single class has probability 1, written as p == p to have one row per sample.
    both = [1 - positive, positive] if len(classes) == 2 else [positive.equals(positive)]
    if classes.dtype.kind not in "biuf":
        classes = np.array([str(value) for value in classes], dtype=object)
    chosen = labels.reshape(-1).at_most(len(classes) - 1).take_from(classes)
    return {"probabilities": (hstack(both).astype(dtype), shape), "labels": (chosen, ["N"])}


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
