"""What a reader of the figures must know: rows of training, few rows, rare labels, thresholds."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labelkin._utils.labels import has_one_label_each
from labelkin._utils.names import join_names, plural
from labelkin.decisions import LabelDecision
from labelkin.evaluation._figures import FEW_ROWS, evaluate_judged, summarise
from labelkin.metrics import METRICS

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation, MethodResults

_FEW = 100
"""Rows up to which the margin of a share, 1 / √n, is named: with more it is below 10 points."""
_NAMES = 5  # labels that are named
_LARGEST = 2e7  # entries of the label matrix up to which decisions are compared
_POOR_F1 = 0.1
"""F1 below which a label is hardly ever predicted correctly."""
_CHANCE, _CHANCE_ROWS = 0.2, 50
"""A label is ranked as by chance if its average precision exceeds its share of rows by less than
this part of it, or by less still where most rows have it; with fewer rows it is not judged."""
_MANY_EMPTY = 0.1
"""Share of rows without labels from which on they raise some figures noticeably."""
_WORTH = 0.05
"""Gain of macro F1 from which on another decision is recommended."""

_DECIDED = {
    "f1": "for the best F1 of a row",
    "macro_f1": "for the best macro F1",
    "subset_accuracy": "for the most rows entirely right",
    "recall:0.9": "for a mean recall of the rows of 90 %",
    "cost:FN=5": "as if a missed label cost as much as 5 wrong ones",
}
"""Decisions whose figures are compared with those of the method's own, and their titles."""


def list_remarks(found: "Evaluation") -> list[str]:
    """Return what restricts the meaning of the figures, one sentence each."""
    n, seen, remarks = found.y.shape[0], found.n_seen, []
    n_judged = n
    if found.n_unknown:
        n_judged = int((found.y == found.y).any(axis=1).sum())  # NaN is unequal to itself
    if seen:
        verb = "is" if seen == 1 else "are"
        effect = "are too good" if 10 * seen >= n else "may be slightly too good"
        remarks.append(
            f"{seen:,} of {n:,} rows {verb} among those the model was trained on, so these figures "
            f"{effect}; evaluate the model on other rows, or cross-validate: labelkin evaluate "
            "DATA, in Python compare"
        )
    remarks += found.split_remarks
    if found.n_unknown:
        n_known, n_cells = found.y.size - found.n_unknown, found.y.size
        remarks.append(
            f"{n_known:,} of {n_cells:,} labels are known ({100 * n_known / n_cells:.1f} %), in "
            f"{n_judged:,} of {n:,} rows: the figures count known labels only"
        )
    if n <= _FEW:
        remarks.append(
            f"with only {plural(n, 'row')}, a share such as subset accuracy has a 95 % margin of "
            f"up to ±{100 * min(1, 0.98 / np.sqrt(n)):.0f} points"
        )
    if found.y.shape[1] == 1 and "average_precision" in found.metrics:
        remarks.append(
            "with one label, average precision over rows is 100 % for any method: see "
            "that of the label"
        )
    remarks += _list_rare_labels(found)
    if sparse.issparse(found.y):
        present = [one for one in found.per_label if one["rows"]]
        never = sum(one["precision"] is None for one in present)
        remarks.append(
            f"{never:,} of the {len(present):,} labels that rows have are never predicted by "
            f"{found.results[found.best].title}"
        )
    if n_empty := found.n_without_labels:
        share = 100 * n_empty / n_judged
        remark = f"{n_empty:,} of {n_judged:,} rows {'has' if n_empty == 1 else 'have'} no label"
        remark += " among the known ones" if found.n_unknown else ""
        effects = {
            "one_error": f"one-error cannot fall below {share:.1f} %, as each counts as one",
            "subset_accuracy": f"predicting nothing has a subset accuracy of {share:.1f} %",
            "average_precision": "average precision is 100 % for them, however labels rank",
        }
        named = [*effects] if share >= 100 * _MANY_EMPTY else ["one_error"]
        told = [effects[metric] for metric in named if metric in found.metrics]
        remarks.append(
            f"{remark}: {', and '.join(told)}"
            if told
            else f"{remark} ({share:.1f} %); for such a row, predicting no label is right"
        )
    if has_one_label_each(found.y) and (one_label := _compare_one_label(found)):
        remarks.append(one_label)

    # No threshold helps labels that are ranked by chance; for others one half may be a poor one.
    judged = [one for one in found.per_label if one["rows"] >= FEW_ROWS]
    share = dict(zip(found.label_names, found.predictions().share, strict=True))
    gain = {one["label"]: one["average_precision"] / share[one["label"]] - 1 for one in judged}
    frequent = [one["label"] for one in judged if one["rows"] >= _CHANCE_ROWS]
    chance = [name for name in frequent if gain[name] < _CHANCE * (1 - share[name])]
    if chance:
        remarks.append(
            f"{plural(len(chance), 'label')} {'is' if len(chance) == 1 else 'are'} ranked no "
            f"better than by chance ({join_names(chance, _NAMES)}; average precision is about the "
            "share of rows): another method may find them, a column that tells may be missing, or "
            "a column may be read in the wrong way"
        )
    poor = [one for one in judged if (one["f1"] or 0) < _POOR_F1 and one["label"] not in chance]
    if poor and decides_above_half(found) and "macro_f1" in found.metrics and found.decisions:
        means = {
            one["decide"]: summarise(one["figures"]["macro_f1"])["mean"] or 0
            for one in found.decisions
        }
        own, best = means[""], means.get("macro_f1", 0)
        if best >= own + _WORTH:
            names = join_names([one["label"] for one in poor], _NAMES)
            remarks.append(
                f"a threshold of one half is a poor choice for {len(poor)} of "
                f"{plural(len(judged), 'label')} with {FEW_ROWS} rows or more ({names}), hardly "
                f"ever found (F1 below {100 * _POOR_F1:.0f} %): macro F1 is {100 * own:.1f} %, "
                f"and with decision=macro_f1 it is {100 * best:.1f} %"
            )
    return remarks


def _compare_one_label(found: "Evaluation") -> str | None:
    """Return how to predict one label per row, where a threshold leaves some rows without any."""
    labels = found.predictions().labels
    n_none = int((labels.sum(axis=1) == 0).sum())
    decided = {one["decide"]: one["figures"].get("subset_accuracy") for one in found.decisions}
    if not n_none or not decides_above_half(found) or not decided.get("subset_accuracy"):
        return None
    own, best = (100 * np.mean(decided[name]) for name in ("", "subset_accuracy"))
    return (
        f"each row has exactly one label, but no label is above one half in {n_none:,} of "
        f"{labels.shape[0]:,} predicted rows, which get none; with decision=subset_accuracy, rows "
        f"get their most probable label: {best:.1f} % of rows are right, in place of {own:.1f} %"
    )


def decides_above_half(found: "Evaluation") -> bool:
    """Return whether the best method predicts the labels that are more likely than not."""
    return bool((np.concatenate(found.results[found.best].thresholds) == 0.5).all())


def _list_rare_labels(found: "Evaluation") -> list[str]:
    """Return what is wrong with the figures of labels that few rows have, or nearly all."""
    once = found.splits[: min(found.folds, found.n_done)]
    y = found.y > 0
    tested = np.array([y[test].sum(axis=0) for _, test in once])
    trained = np.array([y[train].sum(axis=0) for train, _ in once])
    rows, n_folds = tested.sum(axis=0), (tested > 0).sum(axis=0)
    n = np.array(sum(len(test) for _, test in once))  # known rows of each label
    if found.n_unknown:
        n = sum((found.y[test] == found.y[test]).sum(axis=0) for _, test in once)
    judged = [one["label"] for one in found.per_label if one["f1"] is not None]
    predicted = np.isin(found.label_names, judged)  # of labels that no row has
    alone = (n_folds == 1) & ((tested > 0) & (trained == 0)).any(axis=0) & (len(once) > 1)
    few = (rows > 0) & (rows < FEW_ROWS) & ~alone
    sentences = {
        "{count} {occur} in the rows of one fold only ({names}): when these are tested, no "
        "training row has the label, so its figures are meaningless; collect more rows that have "
        "it": alone,
        f"{{count}} {{occur}} in fewer than {FEW_ROWS} rows ({{names}}): {{its}} figures are "
        "rough": few,
        "no row has the label {names}, so it has no figures": (rows == 0) & ~predicted,
        "no row has the label {names}, but it is predicted for some: its F1 is 0, which lowers "
        "macro F1": (rows == 0) & predicted,
        "every row has the label {names}, which needs no model": (rows == n) & (rows > 0),
    }
    remarks = []
    for text, chosen in sentences.items():
        listed = [found.label_names[j] for j in np.flatnonzero(chosen)]
        if listed:
            occur, its = ("occurs", "its") if len(listed) == 1 else ("occur", "their")
            names, count = join_names(listed, _NAMES), plural(len(listed), "label")
            remarks.append(text.format(names=names, count=count, occur=occur, its=its))
    return remarks


def compare_decisions(found: "Evaluation") -> list[dict[str, Any]]:
    """Return the figures of the best method with other decisions, by cross-fitting.

    The thresholds that decide a fold are learned from the out-of-sample scores of the other folds
    of its repetition. Each entry has the value of ``--decide``, ``decide``, empty for the method's
    own decision, a ``title`` and ``figures``. Empty without probabilities, with one fold, and of
    thousands of labels.
    """
    best, n = found.results[found.best], min(found.folds, found.n_done)
    scores = best.scores
    if n < 2 or found.fit_part is None or sparse.issparse(found.y) or found.y.size > _LARGEST:
        return []
    if not all(one.min() >= 0 and one.max() <= 1 for one in scores):
        return []
    targets = [metric for metric in found.metrics if METRICS[metric].needs == "label"]
    own = {metric: best.figures[metric] for metric in found.metrics}
    title = "those above one half" if decides_above_half(found) else "as evaluated"
    compared = [{"decide": "", "title": title, "figures": own}]
    folds = [found.y[test] for _, test in found.splits[: len(scores)]]
    for name, title in _DECIDED.items() if targets else ():
        if name == "recall:0.9" and _mean_recall(folds, best) >= 0.9:
            continue  # of scores that separate labels well, thresholds of other folds say little
        figures: dict[str, list[float]] = {metric: [] for metric in targets}
        try:
            for fold, y in enumerate(folds):
                first = fold // n * n
                others = [i for i in range(first, min(first + n, len(folds))) if i != fold]
                known = (np.concatenate([one[i] for i in others]) for one in (scores, folds))
                labels = LabelDecision(name).fit(*known).apply(scores[fold]).astype(int)
                for metric, value in evaluate_judged(y, scores[fold], labels, targets).items():
                    figures[metric].append(float(value))
        except ValueError:  # a decision that these rows cannot support
            continue
        compared.append({"decide": name, "title": title, "figures": own | figures})
    return compared


def _mean_recall(y: list[Any], best: "MethodResults") -> float:
    """Return the mean recall of rows, over folds."""
    parts = zip(y, best.scores, best.labels, strict=True)
    return float(np.mean([evaluate_judged(*part, ["recall"])["recall"] for part in parts]))
