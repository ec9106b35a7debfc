"""Logistic regression with next to no regularisation, for many targets on one matrix.

scikit-learn's solvers are made for well-conditioned problems: on labels that the features
separate, and a ridge of 1e-8, they warn and take ten times as long. Newton's method with a
line search goes straight to the minimum, which the ridge makes finite.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from labelkin.base import Array, Matrix
from labelkin.rows import namespace

_CG_STEPS = 50
_HALVINGS = 60


def fit_logistic(
    A: Matrix,
    y: Array,
    ridge: float,
    tol: float,
    max_iter: int = 200,
    max_formed: int = 300,
    start: Array | None = None,
    weight: Array | None = None,
) -> Array:
    """Minimise −log likelihood + ridge · |w|², the last entry of w free; log odds are A @ w.

    The columns of A are of similar scale, the last one all ones: the intercept. The search begins
    at `start`, by default the coefficients of the classes' odds alone. Up to `max_formed` columns
    the Hessian is formed; beyond, only its products with vectors.

    It ends when no entry of the gradient exceeds ``tol · max(1, objective)``, after `max_iter`
    Newton steps at most. Where the classes can be separated, this is where the likelihood is 1 to
    about ``tol``: the coefficients are large, but finite. For a constant `y` the odds are those of
    the classes with one more sample each, and there is nothing to fit.
    """
    n, width = A.shape
    weight = np.ones(n) if weight is None else weight
    penalty = np.full(width, 2 * ridge)
    penalty[-1] = 0
    w = np.zeros(width)
    w[-1] = np.log((weight @ y + 1) / (weight @ (1 - y) + 1))
    if y.min() == y.max():
        return w
    w = w if start is None else start.copy()
    odds = A @ w

    def objective(odds: Array, w: Array) -> float:
        return float(penalty @ w**2 / 2 + weight @ log_loss(odds, y))

    value = objective(odds, w)
    for _ in range(max_iter):
        p = expit(odds)
        gradient = A.T @ (weight * (p - y)) + penalty * w
        if np.abs(gradient).max() <= tol * max(1.0, value):
            break
        formed = width <= max_formed and not sparse.issparse(A)
        step = _newton_step(A, weight * p * expit(-odds), penalty, gradient, formed)
        slope, change, length = gradient @ step, A @ step, 1.0
        for _ in range(_HALVINGS):
            new = objective(odds - length * change, w - length * step)
            if new <= value - 1e-4 * length * slope:
                break
            length /= 2
        else:  # the objective is flat to rounding
            break
        w, odds, value = w - length * step, odds - length * change, new
    return w


def expit(odds: Array) -> Array:
    """Return 1 / (1 + exp(−odds)), where the odds lie; faster than SciPy's in single precision."""
    with np.errstate(over="ignore"):  # 1 / ∞ is 0
        p = namespace(odds).exp(-odds)
    p += 1
    return 1 / p


def log_loss(odds: Array, Y: Array) -> Array:
    """Return log(1 + exp(odds)) − y · odds of each entry, without overflow."""
    size = np.abs(odds)
    return np.log1p(np.exp(-size)) + (size + odds) / 2 - Y * odds


def _newton_step(A: Matrix, weights: Array, penalty: Array, gradient: Array, formed: bool) -> Array:
    """Solve (Aᵀ diag(weights) A + diag(penalty)) step = gradient."""
    if formed:
        hessian = (A * weights[:, None]).T @ A
        diagonal = np.einsum("ii->i", hessian)
        # Rounding in the sums is of this order; it also keeps the intercept's entry positive.
        diagonal += penalty + 1e-14 * (1 + diagonal.max())
        factor = linalg.cho_factor(hessian, overwrite_a=True, check_finite=False)
        return linalg.cho_solve(factor, gradient, check_finite=False)
    squares = A.multiply(A).T @ weights if sparse.issparse(A) else (A**2).T @ weights
    scale = 1 / (squares + penalty + 1e-14)

    def operator(product: Callable[[Array], Array]) -> LinearOperator:
        return LinearOperator((len(gradient), len(gradient)), matvec=product, dtype=np.float64)

    hessian = operator(lambda v: A.T @ (weights * (A @ v)) + penalty * v)
    jacobi = operator(lambda v: scale * v)
    # A rough solution is a descent direction all the same.
    step, _ = cg(hessian, gradient, rtol=0.1, maxiter=_CG_STEPS, M=jacobi)
    return step
