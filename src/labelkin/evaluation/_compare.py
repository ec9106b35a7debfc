"""Methods compared on the same folds, and a fitted model on new rows."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import _num_samples

from labelkin._utils.labels import (
    MANY_LABELS,
    check_label_order,
    label_names_of,
    split_unknown,
)
from labelkin._utils.names import plural
from labelkin.base import Matrix
from labelkin.evaluation._evaluation import Evaluation, stack_rows
from labelkin.evaluation._figures import choose_metrics
from labelkin.metrics._estimators import labels_and_scores
from labelkin.model_selection import RepeatedIterativeStratifiedKFold
from labelkin.model_selection._groups import is_missing, number_groups
from labelkin.rows import as_dense
from labelkin.tabular import TableClassifier, find_training_data
from labelkin.tabular._dates import as_times
from labelkin.tabular._fingerprint import row_hashes
from labelkin.tabular._predictions import name_rows
from labelkin.tabular._training import TrainingData

Splits = list[tuple[np.ndarray, np.ndarray]]

# With fewer different rows per fold than this, equal rows are not treated as copies.
_LEAST_DIFFERENT = 10
_BLOCK = 2000  # rows that a fitted model predicts at a time


def compare(
    estimators: Any,
    X: Any,
    y: Any = None,
    *,
    labels: Any = None,
    folds: int = 5,
    repeats: int = 1,
    groups: Any = None,
    time: Any = None,
    metrics: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    titles: Mapping[str, str] | None = None,
    seconds: float | None = None,
    keep_models: bool = True,
    random_state: int = 0,
    progress: Callable[..., None] = lambda **_: None,
) -> Evaluation:
    """Cross-validate classifiers, all on the same folds.

    Parameters
    ----------
    estimators : estimator, or dict of str to estimator
        Multi-label classifiers or pipelines by their names. A function of the number of a fold
        that returns an unfitted classifier may take the place of an estimator.
    X : array-like, sparse matrix, DataFrame or list, of n_samples rows
        Samples, as the estimators take them; or, without y, a table that holds labels too, as
        `labelkin.TableClassifier` takes it: estimators then get its columns as features.
    y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels), optional
        0 and 1, one column per label; NaN where a label is unknown, for estimators that take it.
        Figures count known labels only.
    labels : str, list of str or int, optional
        Where a table holds its labels, as in `labelkin.TableClassifier`.
    folds : int, default=5
        Number of folds, over which the labels are spread evenly.
    repeats : int, default=1
        Number of times the cross-validation is repeated, shuffled anew.
    groups : array-like of shape (n_samples,) or str, optional
        The group of each row, such as its patient, or the column of a table that holds it, which is
        then not used as a feature. Rows of a group are in one fold, so that figures are for new
        groups. A row without one is a group of its own. Without `groups`, rows that are equal in
        all features are in one fold.
    time : array-like of shape (n_samples,) or str, optional
        The time of each row as dates or numbers, or the column of a table that holds it. The rows
        are divided by time into `folds` parts and an earlier one for training only; each part is
        predicted from all rows before it. Rows of the same time are not divided. With `groups`,
        training rows whose group is tested are left out.
    metrics : sequence of str, optional
        Names in `labelkin.metrics.METRICS`; the first one decides which method is best. By default
        micro F1 and five others or, of 2,000 labels and more, precision at 1 and five others.
    label_names : sequence of str, optional
        Names of the labels; None: the columns of y, else numbers from 0.
    titles : dict of str to str, optional
        Names of the estimators in print.
    seconds : float, optional
        Time limit: methods whose first fold could not begin in time are left out, and no fold
        begins that would probably not end in time.
    keep_models : bool, default=True
        Whether the models of the folds are kept, for a report that explains their mistakes.
    random_state : int, default=0
        Seed of the folds.
    progress : callable, optional
        Called before each fit with ``completed``, the number of fits so far, and ``description``.

    Returns
    -------
    Evaluation
        Print it, read its figures, or write a report.

    Examples
    --------
    >>> from labelkin import MLkNNClassifier, MultiLabelLogisticRegression
    >>> from labelkin.datasets import load_digit_scenes
    >>> from labelkin.evaluation import compare
    >>> X, y = load_digit_scenes(200, random_state=0, return_X_y=True)
    >>> methods = {"knn": MLkNNClassifier(), "logistic": MultiLabelLogisticRegression()}
    >>> found = compare(methods, X, y, folds=2, metrics=["average_precision"])
    >>> found.best
    'logistic'
    """
    if not isinstance(estimators, Mapping):
        estimators = {type(estimators).__name__: estimators}
    if not estimators or not all(
        hasattr(one, "fit") or callable(one) for one in estimators.values()
    ):
        raise ValueError(
            "estimators must be a classifier, or a dict such as {'knn': MLkNNClassifier()}."
        )
    row_names = None
    if y is None:
        apart = {groups: "ignore"} if isinstance(groups, str) else None
        training = find_training_data(X, labels, columns=apart)
        groups = training.column(groups, "groups") if isinstance(groups, str) else groups
        time = training.column(time, "time") if isinstance(time, str) else time
        X, y, label_names = training.X, training.y, training.labels.names
        row_names = name_rows(training.table, training.schema, training.kept)
        estimators = {name: _of_table(one, training) for name, one in estimators.items()}
    elif isinstance(groups, str) or isinstance(time, str):
        raise ValueError(
            "groups and time name columns only of a table that also holds the labels; with y, "
            "pass their values."
        )
    target, names = _label_matrix(y, label_names)
    n_rows = target.shape[0]
    if folds > n_rows:
        raise ValueError(
            f"folds={folds}: the data has only {n_rows} rows; choose at most that many folds."
        )
    splits, remarks = _make_splits(X, target, folds, repeats, groups, time, random_state)
    found = Evaluation(
        X=X,
        y=target,
        label_names=names,
        metrics=choose_metrics(metrics, sparse.issparse(target)),
        splits=splits,
        split_remarks=remarks,
        folds=folds,
        settings={"folds": folds, "repeats": repeats, "seed": random_state},
        row_names=row_names,
    )

    # Labels that are known in all rows are given to the estimators as they came.
    given = y if hasattr(y, "iloc") or sparse.issparse(target) else target

    def fit_part(name: str, number: int, rows: np.ndarray) -> Any:
        """Return the model of some training rows."""
        make = estimators[name]
        model = clone(make) if hasattr(make, "fit") else make(number)
        return model.fit(_safe_indexing(X, rows), _safe_indexing(given, rows))

    found.fit_part = fit_part
    started, done = perf_counter(), 0
    for number, (train, test) in enumerate(found.splits):
        began = perf_counter()
        for name in estimators:
            late = seconds is not None and perf_counter() - started > seconds
            if (number and name not in found.results) or (found.results and not number and late):
                continue
            title = (titles or {}).get(name, name)
            progress(completed=done, description=title)
            start = perf_counter()
            model = fit_part(name, number, train)
            fitted = perf_counter()
            predictions = labels_and_scores(model, _safe_indexing(X, test))
            taken = {"fit_s": fitted - start, "predict_s": perf_counter() - fitted}
            found.add(name, title, target[test], *predictions, model, taken)
            if not keep_models:
                found.results[name].models.clear()
            done += 1
        now = perf_counter()
        if seconds is not None and now - started + (now - began) > seconds:
            break
    found.left_out = [name for name in estimators if name not in found.results]
    return found


def _of_table(estimator: Any, training: TrainingData) -> Any:
    """Return a classifier of the features of a table; a function of a fold returns one, too."""
    if not hasattr(estimator, "fit"):
        return lambda fold: _of_table(estimator(fold), training)
    if not isinstance(estimator, TableClassifier):
        return TableClassifier(estimator, labels=training.labels, columns=training.schema)
    if not isinstance(estimator.columns, Mapping):
        return estimator
    # Features are without the column of groups, which may be ignored there, too.
    kinds = {name: kind for name, kind in estimator.columns.items() if name in training.X}
    return clone(estimator).set_params(columns=kinds)


def evaluate_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    metrics: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    title: str = "",
    progress: Callable[..., None] = lambda **_: None,
) -> Evaluation:
    """Evaluate a fitted model on rows that it was not fitted on.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier or a pipeline.
    X : array-like, sparse matrix, DataFrame or list, of n_samples rows
        Samples, as the model takes them.
    y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        0 and 1, one column per label; NaN where a label is unknown: it does not count.
    metrics : sequence of str, optional
        Names in `labelkin.metrics.METRICS`; by default as in `compare`.
    label_names : sequence of str, optional
        Names of the labels; None: the columns of y, else those of the model, else numbers from 0.
    title : str, optional
        Name of the model in print; by default that of its class.
    progress : callable, optional
        Called with ``completed``, the number of rows so far, since they are predicted in blocks.

    Returns
    -------
    Evaluation
        Print it, read its figures, or write a report.
    """
    check_label_order(model, y)
    labels, names = _label_matrix(y, label_names, label_names_of(model))
    nested = getattr(getattr(model, "estimator_", model), "hierarchy_", None)
    labels = labels if nested is None else nested.close(as_dense(labels))
    if not sparse.issparse(labels) and np.isnan(labels).all():
        raise ValueError(
            "no label of these rows is known, so there is nothing to evaluate; write 1 where a "
            "label applies and 0 where it does not."
        )
    name = title or type(model).__name__
    everything = np.arange(_num_samples(X))
    found = Evaluation(
        X=X,
        y=labels,
        label_names=names,
        metrics=choose_metrics(metrics, sparse.issparse(labels)),
        splits=[(everything[:0], everything)],
        folds=1,
        n_seen=model.count_training_rows(X) if hasattr(model, "count_training_rows") else 0,
    )
    parts = []
    for block in gen_batches(len(everything), _BLOCK):
        parts.append(labels_and_scores(model, _safe_indexing(X, block)))
        progress(completed=block.stop)
    predicted, scores = map(stack_rows, zip(*parts, strict=True))
    found.add(name, name, labels, predicted, scores, model, {})
    return found


def _label_matrix(y: Any, *names: Sequence[str] | None) -> tuple[Matrix, tuple[str, ...]]:
    """Return labels as an array of 0, 1 and NaN, and the first names that are known.

    Thousands of labels are CSR if all are known.
    """
    matrix, known = split_unknown(y, "y")
    if known is None and matrix.shape[1] >= MANY_LABELS:
        labels = sparse.csr_array(matrix)
    else:
        labels = as_dense(matrix)
        labels = labels if known is None else np.where(known, labels, np.nan)
    columns = getattr(y, "columns", None)
    numbers = [str(number) for number in range(labels.shape[1])]
    chosen = next(one for one in (names[0], columns, *names[1:], numbers) if one is not None)
    return labels, tuple(map(str, chosen))


def _make_splits(
    X: Any,
    y: Matrix,
    folds: int,
    repeats: int,
    groups: Any,
    time: Any,
    random_state: int,
) -> tuple[Splits, list[str]]:
    """Return training and test rows of each fold, and how they differ from rows at random."""
    remarks: list[str] = []
    n = y.shape[0]
    if groups is not None:
        effect = (
            "are in one fold" if time is None else "are never trained on and tested in one fold"
        )
        groups = _as_groups(groups, n, folds, effect, remarks)
    if time is None:
        groups = _equal_rows(X, n, folds, remarks) if groups is None else groups
        splitter = RepeatedIterativeStratifiedKFold(
            n_splits=folds, n_repeats=repeats, random_state=random_state
        )
        return list(splitter.split(y, y, groups)), remarks
    if repeats > 1:
        raise ValueError(
            "repeats has no effect where rows are ordered by time, as there is only one such "
            "order; leave it out."
        )
    name = str(getattr(time, "name", None) or "time")
    times = as_times(time, name)
    if len(times) != n:
        raise ValueError(f"time has {len(times)} entries, but there are {n} rows.")
    return _split_by_time(times, groups, folds, name, remarks), remarks


def _as_groups(groups: Any, n_rows: int, folds: int, effect: str, remarks: list[str]) -> np.ndarray:
    """Return the number of each row's group; a row without one is a group of its own.

    `effect` says what the folds do with the rows of a group.
    """
    name = str(getattr(groups, "name", None) or "group")
    cells = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    missing = [is_missing(cell) or cell == "" for cell in cells]
    rows = enumerate(zip(cells, missing, strict=True))
    numbers = number_groups([(row,) if gone else cell for row, (cell, gone) in rows], n_rows)
    sizes = np.bincount(numbers)
    if len(sizes) < folds:
        raise ValueError(
            f"{name} has {plural(len(sizes), 'group')}, which cannot fill {folds} folds: choose "
            f"at most {len(sizes)} folds, or other groups."
            if len(sizes) > 1
            else f"{name} has the same value in all rows, so that no group is left to predict: "
            "choose other groups."
        )
    remarks.append(
        f"rows with the same {name} ({plural(len(sizes), 'group')} of up to "
        f"{plural(int(sizes.max()), 'row')}) {effect}, so these figures are for new groups; "
        "in random folds, other rows of a group would be in training, and figures would usually "
        "be better"
    )
    if any(missing):
        remarks.append(
            f"{name} is missing in {plural(sum(missing), 'row')}, each a group by itself"
        )
    if sizes.max() * folds > 1.5 * n_rows and sizes.max() > 1:
        remarks.append(
            f"the largest group has {sizes.max():,} of {n_rows:,} rows, more than one of {folds} "
            "folds should have: the folds differ in size, and figures vary more"
        )
    return numbers


def _split_by_time(
    times: np.ndarray, groups: np.ndarray | None, folds: int, name: str, remarks: list[str]
) -> Splits:
    """Return folds of later rows, each to be predicted from all earlier ones.

    Rows of the same time are never divided. Training rows whose group is tested are left out.
    """
    moments, moment_of = np.unique(times, return_inverse=True)
    if len(moments) <= folds:
        raise ValueError(
            f"{name} has {plural(len(moments), 'different value')}, which cannot be divided into "
            f"{folds} folds and an earlier part for training: "
            f"choose {'other times' if len(moments) < 3 else f'at most {len(moments) - 1} folds'}."
        )
    # The first moment of each fold: as many rows in each as possible, and at least one moment.
    before = np.concatenate([[0], np.bincount(moment_of).cumsum()])
    starts = np.searchsorted(before, np.arange(1, folds + 1) * len(times) / (folds + 1))
    for fold in range(folds):
        starts[fold] = max(starts[fold], starts[fold - 1] + 1 if fold else 1)
        starts[fold] = min(starts[fold], len(moments) - folds + fold)
    ends = [*starts[1:], len(moments)]
    splits = []
    for start, end in zip(starts, ends, strict=True):
        train = np.flatnonzero(moment_of < start)
        test = np.flatnonzero((moment_of >= start) & (moment_of < end))
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
            if not len(train):
                raise ValueError(
                    f"all rows before a fold have groups of that fold, so that none is left to "
                    f"train on: evaluate by groups or by {name}, not by both."
                )
        splits.append((train, test))
    earlier = before[starts]
    remarks.append(
        f"each fold is predicted from earlier rows only (by {name}), and the first "
        f"{plural(int(earlier[0]), 'row')} are for training only, so these figures are for "
        "later rows; in random folds, later rows would be in training, and figures would usually "
        "be better"
    )
    kept = [len(train) for train, _ in splits]
    if kept != earlier.tolist():
        shares = [f"{left:,} of {all_:,}" for left, all_ in zip(kept, earlier, strict=True)]
        text = "earlier rows of the groups that are tested are left out of training, where"
        remarks.append(f"{text} {', '.join(shares)} rows remain")
    return splits


def _equal_rows(X: Any, n_rows: int, folds: int, remarks: list[str]) -> np.ndarray | None:
    """Return groups of equal rows, to be kept in one fold; None where all rows differ."""
    try:
        numbers = number_groups(row_hashes(X), n_rows)
    except (TypeError, ValueError, AttributeError):  # rows that cannot be compared
        return None
    sizes = np.bincount(numbers)
    repeated = int(sizes[sizes > 1].sum())
    if not repeated:
        return None
    count = f"{repeated:,} of {n_rows:,} rows are equal to another one in all features"
    if len(sizes) < _LEAST_DIFFERENT * folds:
        remarks.append(
            f"{count}, and there are only {plural(len(sizes), 'different row')}: folds are drawn "
            "as if all differed, so these figures are for rows like them"
        )
        return None
    remarks.append(
        f"{count}; equal rows are kept in one fold, because in random folds a test row could also "
        "be a training row, and figures would be too good"
    )
    return numbers
