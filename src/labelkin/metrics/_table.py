"""Every metric with its direction, title and scorer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from labelkin._utils.labels import as_matrix, check_label_order
from labelkin.metrics import _at_k as at_k
from labelkin.metrics import _label_sets as sets
from labelkin.metrics import _ranking as ranking
from labelkin.metrics._estimators import estimator_scores
from labelkin.metrics._inputs import check_scores
from labelkin.metrics._ranking import Ties, check_ties
from labelkin.rows import to_numpy


@dataclass(frozen=True)
class Metric:
    """One metric: its function, direction, and name in print."""

    name: str
    """Key in :data:`METRICS` and in the result of :func:`evaluate`."""
    title: str
    """Name in print, the paper's where it has one."""
    function: Callable[..., float]
    """Takes ``y_true`` and the prediction that `needs` names."""
    needs: Literal["label", "score"]
    """Predicted label sets, or scores."""
    greater_is_better: bool
    in_paper: bool = False
    percent: bool = True
    """Whether tables show it times 100."""
    has_ties: bool = False
    """Whether its value depends on how labels with equal scores are ranked."""

    @property
    def arrow(self) -> str:
        """↑ where larger is better, ↓ where smaller is better."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def sign(self) -> int:
        """1 where larger is better, else −1."""
        return 1 if self.greater_is_better else -1

    @property
    def scale(self) -> float:
        """What tables multiply it by."""
        return 100.0 if self.percent else 1.0

    @property
    def directed_title(self) -> str:
        """Title with the direction."""
        return f"{self.title} {self.arrow}"

    @property
    def heading(self) -> str:
        """Title with direction and unit."""
        return f"{self.directed_title} (%)" if self.percent else self.directed_title

    @property
    def scorer_name(self) -> str:
        """Name of the scorer; the scorer of a loss is negated, as in scikit-learn."""
        return self.name if self.greater_is_better else f"neg_{self.name}"

    def __call__(self, y_true: Any, prediction: Any, *, ties: Ties = "against") -> float:
        """Return the value of the metric; `ties` as in :func:`evaluate`."""
        if self.has_ties:
            return self.function(y_true, prediction, ties=ties)
        return self.function(y_true, prediction)


def _at_most(
    k: int, function: Callable[..., float], y_true: Any, y_score: Any, *, ties: Ties = "against"
) -> float:
    """Return a metric of the first k labels, or of all where there are fewer."""
    k = min(k, as_matrix(to_numpy(y_true), "y_true").shape[1])
    return function(y_true, y_score, k, ties=ties)


def _all_metrics() -> dict[str, Metric]:
    paper, up, down = True, True, False
    tied: dict[str, Any] = {"has_ties": True}
    metrics = [
        Metric("hamming_loss", "Hamming loss", sets.hamming_loss, "label", down, paper),
        Metric("ranking_loss", "Ranking loss", ranking.ranking_loss, "score", down, paper, **tied),
        Metric("one_error", "One-error", ranking.one_error, "score", down, paper, **tied),
        Metric(
            "coverage", "Coverage", ranking.coverage, "score", down, paper, percent=False, **tied
        ),
        Metric(
            "average_precision",
            "Average precision",
            ranking.average_precision,
            "score",
            up,
            paper,
            **tied,
        ),
        Metric("f1", "F1-metric", sets.example_f1, "label", up, paper),
        Metric("recall", "Recall", sets.example_recall, "label", up, paper),
        Metric("precision", "Precision", sets.example_precision, "label", up),
        Metric("jaccard", "Jaccard", sets.jaccard, "label", up),
        Metric("subset_accuracy", "Subset accuracy", sets.subset_accuracy, "label", up),
    ]
    for title, by_label in [
        ("F1", sets.label_f1),
        ("precision", sets.label_precision),
        ("recall", sets.label_recall),
    ]:
        for average in ("micro", "macro", "weighted"):
            function = partial(by_label, average=average)
            name = f"{average}_{title.lower()}"
            metrics.append(Metric(name, f"{average.title()} {title}", function, "label", up))
    metrics += [
        Metric("micro_auc", "Micro AUC", partial(ranking.auc, average="micro"), "score", up),
        Metric("macro_auc", "Macro AUC", partial(ranking.auc, average="macro"), "score", up),
        Metric("log_loss", "Log loss", ranking.log_loss, "score", down, percent=False),
    ]
    for title, first, k in [
        ("Precision", at_k.precision_at_k, 1),
        ("Precision", at_k.precision_at_k, 5),
        ("Recall", at_k.recall_at_k, 5),
        ("nDCG", at_k.ndcg_at_k, 5),
    ]:
        function = partial(_at_most, k, first)
        name = f"{title.lower()}_at_{k}"
        metrics.append(Metric(name, f"{title} at {k}", function, "score", up, **tied))
    return {metric.name: metric for metric in metrics}


METRICS: dict[str, Metric] = _all_metrics()
"""Every metric by name; the paper's seven come first, in its order."""

PAPER_METRICS: tuple[str, ...] = tuple(name for name, m in METRICS.items() if m.in_paper)
"""Names of the paper's seven metrics, in its order."""


def _find(name: str) -> Metric:
    try:
        return METRICS[name.removeprefix("neg_")]
    except KeyError:
        raise ValueError(f"no metric is called {name!r}; known: {', '.join(METRICS)}.") from None


def evaluate(
    y_true: Any,
    y_score: Any,
    y_pred: Any = None,
    *,
    metrics: Iterable[str] = PAPER_METRICS,
    ties: Ties = "against",
) -> dict[str, float]:
    """Compute metrics of multi-label predictions, by default the seven of the VPCME paper.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, q)
        The true labels, 0 or 1; NaN, None or pandas' NA where they are unknown. A row counts its
        known labels only, and a row without any does not count: see :mod:`labelkin.metrics`.
    y_score : array-like or sparse matrix of shape (n, q)
        A score per label, such as ``predict_proba`` returns; larger means more relevant. Entries
        that a sparse matrix does not store are 0.
    y_pred : array-like or sparse matrix of shape (n, q), optional
        The predicted labels; by default those with a score above 0.5.
    metrics : iterable of str
        Names from :data:`METRICS`; by default the paper's seven, in its order.
    ties : {"against", "index"}
        How metrics of rankings treat labels with equal scores.

        - ``"against"``: irrelevant labels are ranked before relevant ones, as in scikit-learn.
          Equal scores are never an advantage.
        - ``"index"``: the label with the higher index is ranked first, as in Mulan, which
          computed the paper's figures of the compared methods. Values depend on the order of
          the labels.

        Scores that are votes or come from trees are often tied, probabilities of ML-kNN or VPCME
        seldom, so the rule can decide which of two methods is better.

    Returns
    -------
    dict of str to float
        The values by name, as fractions.

    Examples
    --------
    >>> figures = evaluate([[1, 0, 1], [0, 1, 0]], [[0.9, 0.2, 0.4], [0.6, 0.7, 0.1]])
    >>> for name, value in figures.items():
    ...     print(f"{name:18}{value:.4f}")
    hamming_loss      0.3333
    ranking_loss      0.0000
    one_error         0.0000
    coverage          0.5000
    average_precision 1.0000
    f1                0.6667
    recall            0.7500

    Both rules on a tie between the irrelevant first and the relevant second label:

    >>> for ties in ("against", "index"):
    ...     print(ties, evaluate([[0, 1]], [[0.5, 0.5]], metrics=["one_error"], ties=ties))
    against {'one_error': 1.0}
    index {'one_error': 0.0}
    """
    check_ties(ties)
    if isinstance(metrics, str):
        metrics = [metrics]
    chosen = [_find(name) for name in metrics]
    predictions = {
        "score": y_score,
        "label": check_scores(y_score, keep_sparse=True) > 0.5 if y_pred is None else y_pred,
    }
    return {metric.name: metric(y_true, predictions[metric.needs], ties=ties) for metric in chosen}


# -------------------------------------------------------------------------- scorers


@dataclass(frozen=True)
class Scorer:
    """A metric for scikit-learn's ``scoring=``: larger is better, and losses are negated.

    Works with estimators whose ``predict_proba`` returns one (n, q) array, as labelkin's do,
    and with those that return a list of q arrays, as scikit-learn's forests and neighbours
    do; without ``predict_proba`` the ``decision_function`` ranks the labels.
    """

    metric: Metric

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator on the rows of `X` with the true labels `y`."""
        check_label_order(estimator, y)
        if self.metric.needs == "label":
            prediction = estimator.predict(X)
        else:
            q = as_matrix(y, "y").shape[1]
            prediction = estimator_scores(estimator, X, q, keep_sparse=True)
        return self.metric.sign * self.metric(y, prediction)

    def __repr__(self) -> str:
        return f"get_scorer({self.metric.scorer_name!r})"


def get_scorer(name: str) -> Scorer:
    """Return the scorer of a metric, for ``GridSearchCV(scoring=...)``.

    Larger is better for every scorer, so losses are negated, and ``"hamming_loss"`` and
    ``"neg_hamming_loss"`` name the same scorer.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> model = KNeighborsClassifier(1).fit(X, Y)
    >>> get_scorer("hamming_loss")(model, X, Y)
    -0.0
    """
    return SCORERS[_find(name).scorer_name]


SCORERS: dict[str, Scorer] = {m.scorer_name: Scorer(m) for m in METRICS.values()}
"""Every scorer by name, for ``cross_validate(scoring=...)``."""


def score_all(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """Score by the paper's seven metrics with one call of ``predict_proba`` and ``predict``.

    For ``cross_validate(scoring=score_all)`` or ``GridSearchCV(scoring=score_all,
    refit="average_precision")``. The keys are those of :data:`SCORERS`.
    """
    check_label_order(estimator, y)
    scores = estimator_scores(estimator, X, as_matrix(y, "y").shape[1])
    figures = evaluate(y, scores, estimator.predict(X))
    return {METRICS[n].scorer_name: METRICS[n].sign * value for n, value in figures.items()}
