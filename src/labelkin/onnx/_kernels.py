"""Kernel ridge and logistic regressions, and the calibration curves of scores.

In double, whatever the model's type: coefficients of both signs cancel, so that rounding of the
distances to single precision would change the fourth digit.
"""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import RADIAL
from labelkin.kernel._regression import KernelRidge
from labelkin.linear._learner import LogisticLearner
from labelkin.onnx._graph import Graph, Tensor


def regress(regression: KernelRidge, graph: Graph, rows: Tensor) -> str:
    """Add the scores of a fitted regression."""
    columns = _columns(regression, graph, graph.promote(rows, np.float64))
    scores = graph.op("MatMul", columns.name, graph.double(regression.coef_))
    return graph.op("Add", scores, np.asarray(regression.intercept_, dtype=np.float64))


def regress_linearly(learner: LogisticLearner, graph: Graph, rows: Tensor) -> str:
    """Add the log odds of a fitted logistic regression."""
    wide = graph.promote(rows, np.float64)
    product = graph.op("MatMul", wide.name, graph.double(learner.coef_))
    product = graph.op("Div", product, np.float64(learner.unit_))
    return graph.op("Add", product, np.asarray(learner.intercept_, dtype=np.float64))


def _columns(regression: KernelRidge, graph: Graph, rows: Tensor) -> Tensor:
    """Add what coefficients are multiplied with: kernel values, or features."""
    kernel, width = regression.kernel, regression.width_
    if kernel == "precomputed":
        return rows
    if callable(kernel):
        raise ValueError(
            "KernelRidgeLOOClassifier with a callable kernel cannot be exported to ONNX; choose "
            "'rbf', 'laplacian', 'linear' or 'cosine'."
        )
    if regression.scale_ is not None:
        rows = graph.apply("Div", rows, regression.scale_)
    if kernel == "cosine":
        rows = graph.unit_rows(rows)
    X = regression.rows_
    if X is None:  # fewer features than samples: each feature has a coefficient
        return rows
    if kernel not in RADIAL:
        landmarks = graph.op("Transpose", graph.matrix(X))
        return rows._replace(name=graph.op("MatMul", rows.name, landmarks))
    assert width is not None
    if kernel == "manhattan":
        distances, factor = _manhattan(X, graph, rows), -0.5 / width**2
    elif kernel == "laplacian":
        distances, factor = graph.op("Sqrt", _squared(X, graph, rows)), -1 / width
    else:
        distances, factor = _squared(X, graph, rows), -0.5 / width**2
    return rows._replace(name=graph.op("Exp", graph.op("Mul", distances, np.float64(factor))))


def _squared(X: Matrix, graph: Graph, rows: Tensor) -> str:
    """Add squared Euclidean distances to the rows of X."""
    # Far from the origin |x|² − 2x·z + |z|² loses digits.
    offset = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    norms = np.square((X.toarray() if sparse.issparse(X) else X) - offset).sum(axis=1)
    landmarks = graph.op("Transpose", graph.op("Sub", graph.matrix(X), offset))
    rows = graph.apply("Sub", rows, offset)
    own = graph.op("ReduceSum", graph.op("Mul", rows.name, rows.name), np.array([1]), keepdims=1)
    product = graph.op("MatMul", graph.op("Mul", rows.name, np.float64(-2)), landmarks)
    distances = graph.op("Add", graph.op("Add", product, own), norms)
    return graph.op("Max", distances, np.float64(0))


def _manhattan(X: Matrix, graph: Graph, rows: Tensor) -> str:
    """Add sums of absolute differences to the rows of X, one column after the other.

    Σ |x − z| = Σ |z| + Σ (|x − z| − |z|), and the second sum needs those columns only that are
    not zero in all of the given rows: the few words of a few texts.
    """
    known = graph.op("Transpose", graph.matrix(X))
    used = graph.op("ReduceSum", graph.op("Abs", rows.name), np.array([0]), keepdims=0)
    columns = graph.op("NonZero", graph.op("Greater", used, np.float64(0)))
    columns = graph.op("Reshape", columns, np.array([-1]))
    height = graph.op("Concat", graph.op("Shape", rows.name, end=1), np.array([1]), axis=0)
    sizes = np.asarray(abs(X).sum(axis=1, dtype=np.float64)).ravel()
    start = Tensor(graph.op("Add", graph.zeros(height), sizes), np.dtype(np.float64))

    def add_column(number: str, total: str) -> tuple[None, str]:
        place = graph.op("Gather", columns, number)
        values = graph.op("Unsqueeze", graph.op("Gather", rows.name, place, axis=1), np.array([1]))
        landmarks = graph.op("Gather", known, place)
        apart = graph.op("Abs", graph.op("Sub", values, landmarks))
        return None, graph.op("Add", total, graph.op("Sub", apart, graph.op("Abs", landmarks)))

    return graph.loop(add_column, start, graph.op("Size", columns))


def log_odds(graph: Graph, scores: str, slope: Array, intercept: Array, share: Any = None) -> str:
    """Add slope · score + intercept; with a share, of the scores on a scale of log odds.

    That scale is the one of `labelkin.calibration`. ONNX Runtime has no asinh of doubles; it is
    written with logarithms.
    """
    if share is not None:
        frequent = (np.asarray(share) > 0.5).astype(np.float64)
        side = 1 - 2 * frequent
        half = 2 * (frequent + side * share)
        z = graph.op("Add", graph.op("Mul", scores, side / half), frequent / half)
        root = graph.op("Sqrt", graph.op("Add", graph.op("Mul", z, z), np.float64(1)))
        logarithm = graph.op("Log", graph.op("Add", graph.op("Abs", z), root))
        scores = graph.op("Mul", graph.op("Mul", graph.op("Sign", z), logarithm), side)
    return graph.op("Add", graph.op("Mul", scores, slope), intercept)
