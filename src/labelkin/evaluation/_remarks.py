"""What a reader of the figures must know: rows of training, few rows, rare labels, thresholds."""

from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.names import join_names, plural
from labelkin.decisions import LabelDecision
from labelkin.evaluation._figures import FEW_ROWS, Figures, evaluate_judged, summarise
from labelkin.metrics import METRICS

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

_FEW = 100
"""Rows up to which the margin of a share, 1 / √n, is named: with more it is below 10 points."""
_NAMES = 5  # labels that are named
_LARGEST = 2e7  # entries of the label matrix up to which decisions are compared
_POOR_F1 = 0.1
"""F1 of a label that is hardly ever predicted rightly."""
_WORTH = 0.05
"""Gain of macro F1 from which on another decision is recommended."""

DECIDED = {
    "f1": "for the best F1 of a row",
    "macro_f1": "for the best macro F1",
    "recall:0.9": "for a recall of 90 %",
    "cost:FN=5": "as if a missed label cost as much as 5 wrong ones",
}
"""Decisions whose figures are compared with those of the method's own, in words."""


def list_remarks(found: "Evaluation") -> list[str]:
    """Return what restricts the meaning of the figures, one sentence each."""
    remarks = [
        _remark_on_seen_rows(found),
        *found.split_remarks,
        _remark_on_unknown_labels(found),
        _remark_on_few_rows(found),
        *_remarks_on_rare_labels(found),
        _remark_on_empty_rows(found),
        remark_on_threshold(found),
    ]
    return [remark for remark in remarks if remark]


def _remark_on_seen_rows(found: "Evaluation") -> str:
    seen, n = found.n_seen, len(found.y)
    if not seen:
        return ""
    verb = "is" if seen == 1 else "are"
    effect = "are too good" if 10 * seen >= n else "may be slightly too good"
    return (
        f"{seen:,} of {n:,} rows {verb} among those the model was trained on, so these figures "
        f"{effect}; evaluate the model on other rows, or cross-validate: labelkin evaluate DATA"
    )


def _remark_on_unknown_labels(found: "Evaluation") -> str:
    n_known, size = found.n_known, found.y.size
    if n_known == size:
        return ""
    n_rows = int((found.y == found.y).any(axis=1).sum())
    return (
        f"{n_known:,} of {size:,} labels are known ({100 * n_known / size:.1f} %), in {n_rows:,} "
        f"of {len(found.y):,} rows: the figures count known labels only"
    )


def _remark_on_empty_rows(found: "Evaluation") -> str:
    n_empty = int(found.rows_without_labels.sum())
    if not n_empty:
        return ""
    n_rows = int((found.y == found.y).any(axis=1).sum())
    share = 100 * n_empty / n_rows
    remark = f"{n_empty:,} of {n_rows:,} rows {'has' if n_empty == 1 else 'have'} no label"
    if "one_error" in found.metrics:
        return f"{remark}: one-error cannot fall below {share:.1f} %, as each counts as one"
    return f"{remark} ({share:.1f} %); for such a row, predicting no label is right"


def _remark_on_few_rows(found: "Evaluation") -> str:
    n = len(found.y)
    if n > _FEW:
        return ""
    return (
        f"{plural(n, 'row')} {'is' if n == 1 else 'are'} few: a share of them, such as subset "
        f"accuracy, has a 95 % margin of up to ±{100 * min(1, 0.98 / np.sqrt(n)):.0f} points"
    )


def _remarks_on_rare_labels(found: "Evaluation") -> list[str]:
    """Return what is wrong with the figures of labels that few rows have, or nearly all."""
    once = found.splits[: min(found.folds, found.n_done)]
    y = found.y > 0
    tested = np.array([y[test].sum(axis=0) for _, test in once])
    rows, n_folds = tested.sum(axis=0), (tested > 0).sum(axis=0)
    n = sum((found.y[test] == found.y[test]).sum(axis=0) for _, test in once)  # known, by label
    trained = np.array([y[train].sum(axis=0) for train, _ in once])
    alone = (n_folds == 1) & ((tested > 0) & (trained == 0)).any(axis=0) & (len(once) > 1)
    few = (rows > 0) & (rows < FEW_ROWS) & ~alone

    def names(chosen: Any) -> str:
        """Return labels and their verb."""
        listed = [found.label_names[j] for j in np.flatnonzero(chosen)]
        return f"{join_names(listed, _NAMES)} {'occurs' if len(listed) == 1 else 'occur'}"

    remarks = []
    if alone.any():
        remarks.append(
            f"{names(alone)} in the rows of one fold only: when these are tested, no training row "
            "has the label, so its figures say nothing about it; collect more rows that have it"
        )
    if few.any():
        count = plural(int(few.sum()), "label")
        verb, its = ("occurs", "its") if few.sum() == 1 else ("occur", "their")
        listed = join_names([found.label_names[j] for j in np.flatnonzero(few)], _NAMES)
        remarks.append(
            f"{count} {verb} in fewer than {FEW_ROWS} rows ({listed}): {its} figures are rough"
        )
    if (rows == 0).any():
        never = [found.label_names[j] for j in np.flatnonzero(rows == 0)]
        remarks.append(f"no row has the label {join_names(never, _NAMES)}, so it is not judged")
    if (always_true := (rows == n) & (rows > 0)).any():
        always = [found.label_names[j] for j in np.flatnonzero(always_true)]
        remarks.append(
            f"every row has the label {join_names(always, _NAMES)}, so it is right without a model"
        )
    return remarks


def compare_decisions(found: "Evaluation") -> list[dict[str, Any]]:
    """Return the figures of the best method with other decisions, by cross-fitting.

    The thresholds that decide a fold are learned from the out-of-sample scores of the other folds
    of its repetition. Each entry has the value of ``--decide``, ``decide``, empty for the method's
    own decision, and ``figures``. Empty without probabilities, or with one fold.
    """
    best, n = found.results[found.best], min(found.folds, found.n_done)
    scores = best.scores
    is_large = len(scores) * found.y.size / max(found.n_done, 1) > _LARGEST
    are_probabilities = all(one.min() >= 0 and one.max() <= 1 for one in scores)
    if n < 2 or found.fit_part is None or not are_probabilities or is_large:
        return []
    targets = [metric for metric in found.metrics if METRICS[metric].needs == "label"]
    own: Figures = {metric: best.figures[metric] for metric in found.metrics}
    compared = [{"decide": "", "figures": own}]
    folds = [found.y[test] for _, test in found.splits[: len(scores)]]
    for name in DECIDED if targets else ():
        figures: Figures = {metric: [] for metric in targets}
        try:
            for fold, y in enumerate(folds):
                first = fold // n * n
                others = [i for i in range(first, min(first + n, len(folds))) if i != fold]
                learned = _decision(name).fit(*(np.concatenate([one[i] for i in others])
                                                for one in (scores, folds)))  # fmt: skip
                labels = learned.apply(scores[fold]).astype(int)
                for metric, value in evaluate_judged(y, scores[fold], labels, targets).items():
                    figures[metric].append(float(value))
        except ValueError:  # a decision that these rows cannot support
            continue
        compared.append({"decide": name, "figures": own | figures})
    return compared


def _decision(name: str) -> LabelDecision:
    if not name.startswith("cost:FN="):
        return LabelDecision(name)
    cost = float(name.removeprefix("cost:FN="))
    return LabelDecision("fixed", cut=1 / (1 + cost))


def remark_on_threshold(found: "Evaluation") -> str:
    """Return that one half is a poor threshold for the rare labels, where it is."""
    cuts = np.concatenate(found.results[found.best].thresholds)
    if not (cuts == 0.5).all() or "macro_f1" not in found.metrics:
        return ""
    judged = [one for one in found.per_label if one["rows"] >= FEW_ROWS]
    poor = [one for one in judged if (one["f1"] or 0) < _POOR_F1]
    if not poor:
        return ""
    own, *others = [
        (summarise(one["figures"]["macro_f1"])["mean"] or 0, one["decide"])
        for one in found.decisions or [{"decide": "", "figures": {"macro_f1": [1.0]}}]
    ]
    gain, name = max(others, default=(0.0, ""))
    if gain < own[0] + _WORTH:
        return ""
    return (
        f"a threshold of one half is a poor choice for the rare labels: {len(poor)} of "
        f"{plural(len(judged), 'label')} {'is' if len(poor) == 1 else 'are'} hardly ever found "
        f"(F1 below {100 * _POOR_F1:.0f} %), and macro F1 is {100 * own[0]:.1f} %; with "
        f"--decide {name} it is {100 * gain:.1f} %"
    )
