"""Unknown labels in y_true: hand-computed values, and each row or label on its own as an oracle."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import cross_val_score

from labelkin import metrics
from labelkin.metrics import METRICS, evaluate, get_scorer, score_all
from labelkin.model_selection import IterativeStratifiedKFold

NAN = np.nan

# By hand. Row 1 ranks labels 0, 2 (1, 0) with scores .9, .4; row 2 labels 0, 1 (0, 1) with .6, .3;
# row 3 has no known label; row 4 is complete.
Y = np.array([[1, NAN, 0, NAN], [0, 1, NAN, NAN], [NAN] * 4, [1, 0, 0, 1]])
S = np.array([[0.9, 0.8, 0.4, 0.7], [0.6, 0.3, 0.9, 0.9], [0.1] * 4, [0.2, 0.8, 0.1, 0.9]])
BY_HAND = {
    "hamming_loss": 4 / 8,
    "ranking_loss": (0 + 1 + 1 / 4) / 3,
    "one_error": 1 / 3,
    "coverage": (0 + 1 + 2) / 3,
    "average_precision": (1 + 1 / 2 + (1 + 2 / 3) / 2) / 3,
    "f1": (1 + 0 + 1 / 2) / 3,
    "recall": (1 + 0 + 1 / 2) / 3,
    "precision": (1 + 0 + 1 / 2) / 3,
    "jaccard": (1 + 0 + 1 / 3) / 3,
    "subset_accuracy": 1 / 3,
    # Of label 0 tp = 1, fp = 1, fn = 1, of label 1 fp = 1, fn = 1, of label 3 tp = 1; 2 is empty.
    "micro_f1": 4 / (4 + 2 + 2),
    "macro_f1": (2 / 4 + 0 + 1 + 1) / 4,
    "weighted_f1": (2 * 2 / 4 + 0 + 1) / 4,
    "macro_auc": ((1 + 0) / 2 + 0) / 2,  # labels 0 and 1 have both classes
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    assert evaluate(Y, S, metrics=[name])[name] == pytest.approx(BY_HAND[name], abs=1e-12)


def random_case(seed, n=40, q=6, share=0.5):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 0.4).astype(float)
    y[rng.random((n, q)) < share] = NAN
    y[:2] = NAN
    y[:, 5] = NAN  # a label that is never known
    scores = rng.integers(0, 6, (n, q)) / 5  # with ties
    return y, scores, (rng.random((n, q)) < 0.5).astype(int)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", ["against", "index"])
@pytest.mark.parametrize("name", METRICS)
def test_equals_known_parts_on_their_own(name, ties, seed):
    y, scores, labels = random_case(seed)
    metric = METRICS[name]
    given = scores if metric.needs == "score" else labels
    known = ~np.isnan(y)
    if name.startswith("micro") or name in ("hamming_loss", "log_loss"):
        expected = metric(y[known], given[known])
    elif name.startswith(("macro", "weighted")):
        judged = [j for j in range(6) if known[:, j].any()]
        values = [metric(y[known[:, j], j], given[known[:, j], j]) for j in judged]
        positives = [np.nansum(y[:, j]) for j in judged]
        by = positives if name.startswith("weighted") else None
        expected = np.average(values, weights=by)
    else:
        rows = np.flatnonzero(known.any(axis=1))
        each = [metric(y[[i]][:, known[i]], given[[i]][:, known[i]], ties=ties) for i in rows]
        expected = np.mean(each)
    assert metric(y, given, ties=ties) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_unknown_cells_have_no_influence(name):
    y, scores, labels = random_case(7)
    given = scores if METRICS[name].needs == "score" else labels
    changed = np.where(np.isnan(y), 1 - given, given)
    assert METRICS[name](y, given) == METRICS[name](y, changed)


def test_none_and_nullable_columns_are_unknown():
    expected = evaluate(Y, S)
    objects = np.where(np.isnan(Y), None, Y)
    frame = pd.DataFrame({str(j): pd.array(column, dtype="Int8") for j, column in enumerate(Y.T)})
    booleans = frame.astype("boolean")
    for same in (objects, objects.tolist(), frame, booleans, sparse.csr_array(Y)):
        assert evaluate(same, S) == expected


@pytest.mark.parametrize("name", METRICS)
def test_nothing_known_is_refused(name):
    with pytest.raises(ValueError, match="y_true holds no known label, only NaN"):
        METRICS[name](np.full((2, 3), NAN), np.zeros((2, 3), dtype=int))


def test_predictions_must_be_known():
    with pytest.raises(ValueError, match="y_pred must hold only 0 and 1, but holds nan"):
        metrics.hamming_loss(np.zeros((2, 2)), np.array([[0, NAN], [1, 1]]))


class AlwaysTwo(DummyClassifier):
    """Predicts the given scores of label 0 and 1, whatever the labels."""

    def fit(self, X, y):
        self.classes_ = np.array([[0, 1]] * y.shape[1])
        return self

    def predict_proba(self, X):
        return np.tile([0.7, 0.2], (len(X), 1))

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


def test_scorers_and_cross_val_score():
    y = np.array([[1, NAN], [NAN, 0], [1, 0], [0, NAN]] * 4)
    X = np.zeros((16, 1))
    model = AlwaysTwo().fit(X, y)
    assert get_scorer("hamming_loss")(model, X, y) == -1 / 5
    assert score_all(model, X, y)["neg_hamming_loss"] == -1 / 5
    folds = IterativeStratifiedKFold(2, random_state=0)
    values = cross_val_score(AlwaysTwo(), X, y, cv=folds, scoring=get_scorer("hamming_loss"))
    assert values.mean() == pytest.approx(-1 / 5, abs=0.1)
