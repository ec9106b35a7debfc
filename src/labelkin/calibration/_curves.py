"""From scores to probabilities: one logistic curve per label, slopes shrunk to a shared one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import gen_batches

from labelkin.base import Array, Matrix
from labelkin.rows import Labels, astype, namespace

# Parts that are held out in turn to choose between curves.
_PARTS = 5
# Smaller likelihoods count as this one: a single sample must not decide between curves.
_LEAST_LIKELIHOOD = 1e-12
# Newton's method: steps at most, and the relative decrease that ends it. The last step is taken
# all the same, so that the error is of the order of its square.
_STEPS = 200
_TOLERANCE = 1e-9
# Entries of the arrays of a block of rows: these stay in the cache of a CPU.
_BLOCK_ENTRIES = 2**16
# A loss that is larger by this share only is equal to rounding: no step would be short enough.
_ROUNDING = 1e-13
# A step changes no log odds by more than this: longer ones overshoot where curves are flat.
_FARTHEST = 6.0
# Keeps the shared slope finite where scores separate every label.
_SHARED_PRECISION = 1e-3
_TINY = np.finfo(np.float64).tiny
# Steps of conjugate gradients, and halvings of a step, of `fit_logistic`.
_CG_STEPS, _HALVINGS = 50, 60


def to_log_odds_scale(scores: Any, share: Any) -> Any:
    """Bring scores that estimate 0 and 1 near the scale of log odds: asinh(score / 2p).

    A score s well above p, the share of positives, becomes log(s / p), and one around 0 stays
    in proportion, below it too. With a logistic curve on the score itself, the log odds of a
    rare label grow without bound while the score rises from 1/2 to 2/3; on this scale they
    grow as those of s do. Labels that more than half of the samples have are mirrored. Scores,
    (n, q), are not confined to the range from 0 to 1; shares, (q,), are inside of it.
    """
    frequent = astype(share > 0.5, scores.dtype)
    side = 1 - 2 * frequent
    # NumPy's name before version 2
    asinh = np.arcsinh if isinstance(scores, np.ndarray) else namespace(scores).asinh
    return side * asinh((frequent + side * scores) / (2 * (frequent + side * share)))


@dataclass(eq=False, repr=False)
class SlopeCalibration:
    """Logistic curves: log odds of label l are a(l) · z(score) + b(l), with a(l) ≥ 0.

    z brings the scores of all labels to one scale, on which a score that predicts a label well
    has about the same slope whether the label is frequent or rare. First one slope is
    fitted that all labels share; then each label's own slope, by maximum likelihood less
    precision/2 · (a(l) − shared slope)²: frequent labels follow their scores, rare ones keep
    the shared slope. Intercepts are free, so that the mean probability of a label is its
    share of positives. A slope that would be negative is 0: the label keeps its share.

    A label that is constant in training has the odds of its counts with one more sample of
    either class.

    Parameters
    ----------
    precision : float
        Weight of the distance to the shared slope; 0: slopes are independent.
    scale : {"deviation", "log_odds", "none"}
        The function z. "deviation": score / √(p(1 − p)), p the label's share of positives:
        curves are straight in the score. "log_odds": `to_log_odds_scale` of a score that
        estimates 0 and 1. "none": the score, which is on the scale of log odds already.

    Attributes
    ----------
    share_ : ndarray of shape (n_labels,)
        Share of positives; 1/2 for a label that is constant in training.
    shared_slope_ : float
        Slope of all labels together.
    slope_, intercept_ : ndarray of shape (n_labels,)
        Log odds are slope_ · score + intercept_; with ``scale="log_odds"``, of the score on
        that scale.
    """

    precision: float = 1.0
    scale: str = "deviation"
    share_: Array = field(init=False)
    shared_slope_: float = field(init=False)
    slope_: Array = field(init=False)
    intercept_: Array = field(init=False)

    def fit(
        self,
        scores: Array,
        Y: Array | Labels,
        start: "SlopeCalibration | None" = None,
    ) -> "SlopeCalibration":
        """Fit on out-of-sample scores, such as leave-one-out ones, (n, q), and labels, (n, q).

        A sample of weight 2 counts as two samples. With `start`, curves fitted to these samples and
        some others, their shared slope is kept and the search begins at their slopes, which takes a
        third of the time.
        """
        labels = Y if isinstance(Y, Labels) else Labels(Y)
        q, counts = labels.shape[1], labels.counts
        self.intercept_ = np.log((counts.positives + 1) / (counts.negatives + 1))
        self.slope_, self.shared_slope_, self.share_ = np.zeros(q), 0.0, np.full(q, 0.5)
        varies = np.flatnonzero(counts.varies)
        if not len(varies):
            return self
        labels = labels.select(varies)
        self.share_[varies] = share = labels.counts.means
        S, T = scores[:, varies], labels.Y.astype(np.float64)
        unit = np.sqrt(share * (1 - share)) if self.scale == "deviation" else np.ones(len(share))
        S = to_log_odds_scale(S, share) if self.scale == "log_odds" else S
        S = S / unit
        # Centred scores decouple slope and intercept, so that Newton's method converges fast.
        centre = np.einsum("ij,ij->j", np.broadcast_to(labels.cells, S.shape), S)
        centre /= labels.counts.total
        S = S - centre
        weighted = labels.weight is not None or labels.known is not None
        weight = np.broadcast_to(labels.cells, S.shape) if weighted else None
        prior = np.log(share / (1 - share))
        if start is None:
            self.shared_slope_ = max(0.0, _shared_slope(S, T, weight, prior))
            slope, intercept = np.full(len(varies), self.shared_slope_), prior
        else:
            self.shared_slope_, slope = start.shared_slope_, start.slope_[varies] * unit
            intercept = start.intercept_[varies] + slope * centre
        slope, intercept = _own_slopes(
            S, T, weight, self.shared_slope_, self.precision, slope, intercept
        )
        none = slope <= 0  # the likelihood is concave: the best slope ≥ 0 is 0
        slope[none], intercept[none] = 0, prior[none]
        self.slope_[varies] = slope / unit
        self.intercept_[varies] = intercept - slope * centre
        return self

    def log_odds(self, scores: Array) -> Array:
        """Return log odds, (n, q)."""
        if self.scale == "log_odds":
            scores = to_log_odds_scale(scores, self.share_)
        return self.slope_ * scores + self.intercept_

    def __call__(self, scores: Array) -> Array:
        """Return probabilities, (n, q)."""
        return expit(self.log_odds(scores))


def fit_better_curves(
    scores: Array, labels: Labels, precision: float = 1.0
) -> tuple[SlopeCalibration, Array]:
    """Fit curves of both scales of scores, see `SlopeCalibration`; return the better.

    By the log loss of a fifth of the samples held out at a time. The loss on the samples of the fit
    would be no guide where scores separate the few positives of a rare label. Also returned are the
    probabilities of each sample, (n, q), by curves of the same scale, with the same shared slope,
    fitted without its fifth.
    """
    best_loss = np.inf
    # Parts depend neither on the order of the samples nor on that of the labels.
    part_of = np.empty(len(labels), dtype=int)
    order = np.lexsort((scores.sum(axis=1), labels.Y.sum(axis=1)))
    part_of[order] = np.arange(len(labels)) % _PARTS
    for scale in ("deviation", "log_odds"):
        curves = SlopeCalibration(precision, scale).fit(scores, labels)
        proba = curves(scores)
        for part in range(min(_PARTS, len(labels)) if len(labels) > 1 else 0):
            rest, out = part_of != part, part_of == part
            without = SlopeCalibration(precision, scale)
            proba[out] = without.fit(scores[rest], labels.take(rest), curves)(scores[out])
        likelihood = np.maximum(np.where(labels.Y > 0, proba, 1 - proba), _LEAST_LIKELIHOOD)
        loss = -float((labels.cells * np.log(likelihood)).sum())
        if loss < best_loss:
            best_loss, best_curves, best_proba = loss, curves, proba
    return best_curves, best_proba


def restore_means(scores: Array, labels: Labels, fold_of: Array, log_odds: bool = False) -> Array:
    """Return scores of rows left out in folds, at the level of a model of all rows.

    A model without a fold starts from the labels' shares in the other folds, which are too low
    where the fold has many positives. Curves fitted to other folds do not allow for that, since
    their scores come from models that include it: probabilities of rare labels would be too low
    for the rows that have them, which queries do not suffer from. The difference of the shares in
    all rows and in the other folds is added. No label is revealed by that: where scores are
    nothing but these shares, all rows then have the same.

    Scores, (n, q), are those of a regression on 0 and 1, or log odds.
    `fold_of` is the fold of each row, 0, 1, ...; for leave-one-out scores its number.
    """
    without, rest = counts_without_fold(labels, fold_of)
    if not rest.any():  # a single fold: no model is without it
        return scores
    pairs = (labels.counts.positives, labels.counts.total), (without, rest)
    if log_odds:
        whole, level = (np.log((some + 1) / (total - some + 1)) for some, total in pairs)
    else:
        whole, level = (some / np.maximum(total, _TINY) for some, total in pairs)
    return scores + (whole - level)


def counts_without_fold(labels: Labels, fold_of: Array) -> tuple[Array, Array]:
    """Return the positives and the rows of folds other than that of each row, by weight, (n, q).

    With unknown labels the rows are those where a label is known; else they are (n, 1).
    """
    cells, n_folds = labels.cells, int(fold_of.max()) + 1
    found = []
    for values in (cells > 0, cells, labels.weights[:, None] * labels.Y):
        sums = np.zeros((n_folds, values.shape[1]))
        np.add.at(sums, fold_of, values)
        found.append((sums.sum(axis=0) - sums)[fold_of])
    n_others, total, positives = found
    some = n_others > 0  # exactly 0 where there are none, without rounding
    return some * positives, some * total


def _shared_slope(S: Array, T: Array, weight: Array | None, intercept: Array) -> float:
    """Return the slope that all columns share, their intercepts free, from given intercepts."""
    slope, value = 0.0, np.inf
    step, steps, reach = 0.0, np.zeros(S.shape[1]), np.abs(S).max(axis=0)
    for _ in range(_STEPS):
        losses, derivatives = _evaluate(S, T, weight, slope - step, intercept - steps)
        new = losses.sum() + _SHARED_PRECISION * (slope - step) ** 2 / 2
        if new > value:
            step, steps = step / 2, steps / 2
            continue
        slope, intercept, value = slope - step, intercept - steps, new
        g_slopes, g_intercept, h_slopes, h_cross, h_intercept = derivatives
        # The intercepts are eliminated from Newton's equations: one unknown is left.
        ratio = h_cross / h_intercept
        gradient = g_slopes.sum() + _SHARED_PRECISION * slope
        curvature = h_slopes.sum() + _SHARED_PRECISION - ratio @ h_cross
        step = (gradient - ratio @ g_intercept) / curvature
        steps = (g_intercept - h_cross * step) / h_intercept
        expected = gradient * step + g_intercept @ steps
        length = (_FARTHEST / np.maximum(np.abs(step) * reach + np.abs(steps), _FARTHEST)).min()
        step, steps = length * step, length * steps
        if expected <= _TOLERANCE * max(1.0, value):
            break
    return float(slope - step)


def _own_slopes(
    S: Array,
    T: Array,
    weight: Array | None,
    shared: float,
    precision: float,
    slope: Array,
    intercept: Array,
) -> tuple[Array, Array]:
    """Return each column's slope, shrunk towards the shared one, and its intercept.

    Newton's method for all columns at once, from the given values. A column whose step would
    raise its loss halves the step; a column that has converged leaves the batch.
    """
    slope, intercept, value = slope.copy(), intercept.copy(), np.full(len(slope), np.inf)
    columns, reach = np.arange(len(slope)), np.abs(S).max(axis=0)
    step, steps = np.zeros(len(slope)), np.zeros(len(slope))
    for _ in range(_STEPS):
        a, b = slope[columns] - step, intercept[columns] - steps
        new, derivatives = _evaluate(S, T, weight, a, b)
        new += precision / 2 * (a - shared) ** 2
        lower = new <= (1 + _ROUNDING) * value[columns]
        moved = columns[lower]
        slope[moved], intercept[moved], value[moved] = a[lower], b[lower], new[lower]

        g_slope, g_intercept, h_slope, h_cross, h_intercept = derivatives
        g_slope, h_slope = g_slope + precision * (a - shared), h_slope + precision
        determinant = h_slope * h_intercept - h_cross**2
        # Scores that are all equal do not determine the slope; it stays as it is.
        solvable = determinant > 1e-14 * h_slope * h_intercept
        determinant = np.where(solvable, determinant, 1)
        next_step = (h_intercept * g_slope - h_cross * g_intercept) / determinant * solvable
        next_steps = (g_intercept - h_cross * next_step) / h_intercept
        expected = g_slope * next_step + g_intercept * next_steps
        length = _FARTHEST / np.maximum(np.abs(next_step) * reach + np.abs(next_steps), _FARTHEST)
        step = np.where(lower, length * next_step, step / 2)
        steps = np.where(lower, length * next_steps, steps / 2)

        converged = lower & (expected <= _TOLERANCE * np.maximum(1, new))
        done = columns[converged]
        slope[done], intercept[done] = (
            a[converged] - step[converged],
            b[converged] - steps[converged],
        )
        going = ~converged
        if not going.any():
            break
        # Copying the remaining columns saves time once a third of them is gone.
        if going.mean() < 2 / 3:
            S, T = S[:, going], T[:, going]
            weight = None if weight is None else weight[:, going]
            columns, reach = columns[going], reach[going]
            step, steps = step[going], steps[going]
        else:
            step[converged], steps[converged] = 0, 0
    return slope, intercept


def _evaluate(
    S: Array, T: Array, cell_weight: Array | None, slope: Array | float, intercept: Array
) -> tuple[Array, tuple[Array, Array, Array, Array, Array]]:
    """Return the negative log likelihood of each column, and its derivatives.

    These are the first ones by slope and intercept, then the second ones: by the slope, by both,
    by the intercept. They are added up over blocks of rows that stay in the cache; one exponential
    per entry serves all of them.
    """
    total = np.zeros((6, S.shape[1]))
    for rows in gen_batches(len(S), max(1, _BLOCK_ENTRIES // S.shape[1])):
        s, t = S[rows], T[rows]
        odds = slope * s
        odds += intercept
        size = np.abs(odds)
        small = np.exp(-size)
        sum_of_both = 1 + small
        loss = np.log(sum_of_both)
        size += odds
        size *= 0.5  # the log odds, or 0 if they are negative
        loss += size
        loss -= t * odds
        rarer = small
        rarer /= sum_of_both  # probability of the less probable class
        weight = rarer * (1 - rarer)
        excess = np.copysign(0.5 - rarer, odds)
        excess += 0.5  # P(label = 1)
        excess -= t
        if cell_weight is not None:
            for array in (loss, excess, weight):
                array *= cell_weight[rows]
        weighted = weight * s
        total += [
            loss.sum(axis=0),
            np.einsum("ij,ij->j", excess, s),
            excess.sum(axis=0),
            np.einsum("ij,ij->j", weighted, s),
            weighted.sum(axis=0),
            weight.sum(axis=0),
        ]
    loss, g_slope, g_intercept, h_slope, h_cross, h_intercept = total
    return loss, (g_slope, g_intercept, h_slope, h_cross, h_intercept + 1e-12)


# Logistic regression with next to no regularisation.


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

    scikit-learn's solvers are made for well-conditioned problems: on labels that the features
    separate, and a ridge of 1e-8, they warn and take ten times as long. Newton's method with a line
    search goes straight to the minimum, which the ridge makes finite.

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
    value = penalty @ w**2 / 2 + weight @ log_loss(odds, y)
    for _ in range(max_iter):
        p = expit(odds)
        gradient = A.T @ (weight * (p - y)) + penalty * w
        if np.abs(gradient).max() <= tol * max(1.0, value):
            break
        formed = width <= max_formed and not sparse.issparse(A)
        step = _newton_step(A, weight * p * expit(-odds), penalty, gradient, formed)
        slope, change, length = gradient @ step, A @ step, 1.0
        for _ in range(_HALVINGS):
            shorter, losses = w - length * step, log_loss(odds - length * change, y)
            new = penalty @ shorter**2 / 2 + weight @ losses
            if new <= value - 1e-4 * length * slope:
                break
            length /= 2
        else:  # the objective is flat to rounding
            break
        w, odds, value = shorter, odds - length * change, new
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
