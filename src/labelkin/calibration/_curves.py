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
# Larger losses count as this one: a single sample must not decide between curves.
_LARGEST_LOSS = -np.log(1e-12)
# Newton's method: steps at most, and the relative decrease that ends it. The last step is taken
# all the same, so that the error is of the order of its square.
_STEPS = 200
_TOLERANCE = 1e-9
# Entries of the arrays of a block of rows: these stay in the cache of a CPU.
_BLOCK_ENTRIES = 2**16
# Share of the columns that have converged at which the others go on alone.
_LEAVING = 1 / 3
# A loss that is larger by this share only is equal to rounding: no step would be short enough.
_ROUNDING = 1e-13
# A step changes no log odds by more than this: longer ones overshoot where curves are flat.
_FARTHEST = 6.0
# Keeps the shared slope finite where scores separate every label.
_SHARED_PRECISION = 1e-3
_TINY = np.finfo(np.float64).tiny
# Of `fit_logistic`: columns up to which the Hessian is formed, steps of conjugate gradients, and
# halvings of a step.
_MAX_FORMED, _CG_STEPS, _HALVINGS = 300, 50, 60


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
            shared, _ = _fit_slopes(S, T, weight, np.zeros(1), prior, _SHARED_PRECISION)
            self.shared_slope_ = max(0.0, float(shared[0]))
            slope, intercept = np.full(len(varies), self.shared_slope_), prior
        else:
            self.shared_slope_, slope = start.shared_slope_, start.slope_[varies] * unit
            intercept = start.intercept_[varies] + slope * centre
        slope, intercept = _fit_slopes(
            S, T, weight, slope, intercept, self.precision, self.shared_slope_
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


def cross_fit(
    scores: Array, labels: Labels, part_of: Array, scale: str, precision: float = 1.0
) -> tuple[SlopeCalibration, Array]:
    """Fit curves; also return the log odds of each sample, by curves fitted without its part.

    These have the same shared slope.
    """
    curves = SlopeCalibration(precision, scale).fit(scores, labels)
    odds = curves.log_odds(scores)
    parts = np.unique(part_of)
    for part in parts if len(parts) > 1 else ():
        rest, out = part_of != part, part_of == part
        without = SlopeCalibration(precision, scale)
        without.fit(scores[rest], labels.take(rest), curves)
        odds[out] = without.log_odds(scores[out])
    return curves, odds


def fit_better_curves(scores: Array, labels: Labels) -> tuple[SlopeCalibration, Array]:
    """Fit curves of both scales of scores, see `SlopeCalibration`; return the better.

    By the log loss of a fifth of the samples held out at a time. The loss on the samples of the fit
    would be no guide where scores separate the few positives of a rare label. Also returned are the
    probabilities of each sample, (n, q), by curves of the same scale fitted without its fifth.
    """
    # Parts depend neither on the order of the samples nor on that of the labels.
    part_of = np.empty(len(labels), dtype=int)
    order = np.lexsort((scores.sum(axis=1), labels.Y.sum(axis=1)))
    part_of[order] = np.arange(len(labels)) % _PARTS
    found = [cross_fit(scores, labels, part_of, scale) for scale in ("deviation", "log_odds")]
    losses = [label_losses(odds, labels, _LARGEST_LOSS).sum() for _, odds in found]
    curves, odds = found[int(losses[1] < losses[0])]
    return curves, expit(odds)


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


def _fit_slopes(
    S: Array,
    T: Array,
    weight: Array | None,
    slope: Array,
    intercept: Array,
    precision: float,
    towards: float = 0.0,
) -> tuple[Array, Array]:
    """Return slopes and intercepts of columns, by Newton's method for all of them at once.

    They minimise the negative log likelihood + precision/2 · (slope − towards)². If there is one
    slope, all columns share it, and their intercepts are free. The search begins at the given
    values. A column, or all that share a slope, whose step would raise the loss halves the step.
    """
    columns, reach = np.arange(S.shape[1]), np.abs(S).max(axis=0)
    # Sums over the columns of each slope
    starts = columns if len(slope) == len(columns) else columns[:1]
    step, steps, value = np.zeros(len(slope)), np.zeros(len(columns)), np.full(len(slope), np.inf)
    done = np.zeros(len(slope), dtype=bool)
    for _ in range(_STEPS):
        a, b = slope - step, intercept - steps
        losses, derivatives = _evaluate(S, T, weight, a, b)
        new = np.add.reduceat(losses, starts) + precision / 2 * (a - towards) ** 2
        lower = new <= (1 + _ROUNDING) * value
        slope, intercept = np.where(lower, a, slope), np.where(lower, b, intercept)
        value = np.where(lower, new, value)

        # The intercepts are eliminated from Newton's equations: one unknown is left per slope.
        g_slope, g_intercept, h_slope, h_cross, h_intercept = derivatives
        ratio, pull = h_cross / h_intercept, precision * (a - towards)
        curvature = np.add.reduceat(h_slope - ratio * h_cross, starts) + precision
        # Scores that are all equal do not determine the slope; it stays as it is.
        solvable = curvature > 1e-14 * np.add.reduceat(h_slope, starts)
        gradient = np.add.reduceat(g_slope - ratio * g_intercept, starts) + pull
        next_step = np.where(solvable, gradient / np.where(solvable, curvature, 1), 0)
        next_steps = (g_intercept - h_cross * next_step) / h_intercept
        expected = np.add.reduceat(g_slope * next_step + g_intercept * next_steps, starts)
        expected += pull * next_step
        length = _FARTHEST / np.maximum(np.abs(next_step) * reach + np.abs(next_steps), _FARTHEST)
        length = np.minimum.reduceat(length, starts)
        step = np.where(lower, length * next_step, step / 2)
        steps = np.where(lower, length * next_steps, steps / 2)
        done |= lower & (expected <= _TOLERANCE * np.maximum(1, new))
        if done.mean() > _LEAVING:
            break
    ends = slope - step, intercept - steps
    rest = np.flatnonzero(~done)
    if 0 < len(rest) < len(done):  # the other columns alone, in less time
        S, T, weight = (None if array is None else array[:, rest] for array in (S, T, weight))
        some = slope[rest], intercept[rest]
        found = _fit_slopes(S, T, weight, *some, precision, towards)
        for end, own in zip(ends, found, strict=True):
            end[rest] = own
    return ends


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
        odds = slope * s + intercept
        small = np.exp(-np.abs(odds))
        loss = np.log(1 + small) + np.maximum(odds, 0) - t * odds
        excess = np.where(odds > 0, 1, small) / (1 + small) - t  # P(label = 1) − target
        weight = small / (1 + small) ** 2
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
    start: Array | None = None,
    weight: Array | None = None,
) -> Array:
    """Minimise −log likelihood + ridge · |w|², the last entry of w free; log odds are A @ w.

    scikit-learn's solvers are made for well-conditioned problems: on labels that the features
    separate, and a ridge of 1e-8, they warn and take ten times as long. Newton's method with a line
    search goes straight to the minimum, which the ridge makes finite.

    The columns of A are of similar scale, the last one all ones: the intercept. The search begins
    at `start`, by default the coefficients of the classes' odds alone. Up to 300 dense columns
    the Hessian is formed; beyond, only its products with vectors.

    It ends when no entry of the gradient exceeds ``tol · max(1, objective)``, after 200 Newton
    steps at most. Where the classes can be separated, this is where the likelihood is 1 to
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
    for _ in range(_STEPS):
        p = expit(odds)
        gradient = A.T @ (weight * (p - y)) + penalty * w
        if np.abs(gradient).max() <= tol * max(1.0, value):
            break
        step = _newton_step(A, weight * p * expit(-odds), penalty, gradient)
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


def label_losses(odds: Array, labels: Labels, largest: float = np.inf) -> Array:
    """Return the log loss of each label, (q,): the sum over samples, by weight, where known."""
    losses = np.minimum(log_loss(odds, labels.Y.astype(odds.dtype)), largest)
    return (labels.cells * losses).sum(axis=0)


def _newton_step(A: Matrix, weights: Array, penalty: Array, gradient: Array) -> Array:
    """Solve (Aᵀ diag(weights) A + diag(penalty)) step = gradient."""
    if A.shape[1] <= _MAX_FORMED and not sparse.issparse(A):
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
