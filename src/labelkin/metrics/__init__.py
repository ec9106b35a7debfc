"""Metrics of multi-label predictions: the paper's seven (Eq. 8–14) and Mulan's others.

Metrics of *label sets* compare ``y_true`` with predicted sets ``y_pred``; metrics of
*rankings* compare it with real scores ``y_score``, larger meaning more relevant. All
take arrays, sparse matrices or DataFrames of shape (n, q), where labels are 0 and 1; one
dimension is read as one label. The values are fractions, not percent. :data:`METRICS`
lists every metric with its direction.

Four conventions hold throughout:

- **Ties count as errors.** Of labels with equal scores, irrelevant ones are ranked
  first, as in scikit-learn. No metric depends on the order of the labels. With
  ``ties="index"`` they are ranked by label index, as in Mulan.
- **Rows without relevant labels, or without irrelevant ones,** cannot be ranked wrongly:
  their ranking loss is 0 and their average precision 1. Without relevant labels the
  coverage is 0, but the top label counts as an error in one-error.
- **0/0** in precision, recall, F1 and Jaccard is 0, except that it is 1 where the true and
  the predicted set are both empty, because then they agree. This is Mulan's rule.
- **Unknown labels** are NaN in ``y_true`` (or None, or pandas' NA), and do not count. A row is
  compared and ranked by its known labels only, as if it had no others, and a row without a known
  label is left out of means over rows. Means over labels take each label's known rows and leave
  out labels without any. Hamming loss, log loss and "micro" figures are over all known entries.
  Metrics by row are better where fewer labels of a row are known, as there is less to rank: they
  compare methods on the same data, not data with different shares of known labels.

Arrays of torch and CuPy are brought to the host when scikit-learn's ``array_api_dispatch`` is on.

Scorers for ``GridSearchCV`` and ``cross_validate`` are in :data:`SCORERS`.
"""

from labelkin.metrics._at_k import (
    label_propensities,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from labelkin.metrics._label_sets import (
    example_f1,
    example_precision,
    example_recall,
    hamming_loss,
    jaccard,
    label_f1,
    label_precision,
    label_recall,
    subset_accuracy,
)
from labelkin.metrics._ranking import (
    Ties,
    auc,
    average_precision,
    coverage,
    log_loss,
    one_error,
    ranking_loss,
)
from labelkin.metrics._table import (
    METRICS,
    PAPER_METRICS,
    SCORERS,
    Metric,
    Scorer,
    evaluate,
    get_scorer,
    score_all,
)

__all__ = [
    "METRICS",
    "PAPER_METRICS",
    "SCORERS",
    "Metric",
    "Scorer",
    "Ties",
    "auc",
    "average_precision",
    "coverage",
    "evaluate",
    "example_f1",
    "example_precision",
    "example_recall",
    "get_scorer",
    "hamming_loss",
    "jaccard",
    "label_f1",
    "label_precision",
    "label_propensities",
    "label_recall",
    "log_loss",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "ranking_loss",
    "recall_at_k",
    "score_all",
    "subset_accuracy",
]
