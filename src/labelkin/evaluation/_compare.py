"""Methods compared on the same folds, and a fitted model on new rows."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from labelkin._utils.labels import label_names_of, split_unknown
from labelkin.evaluation._evaluation import Evaluation
from labelkin.evaluation._figures import PEOPLE_METRICS, check_metrics
from labelkin.evaluation._splits import make_splits
from labelkin.metrics._estimators import labels_and_scores
from labelkin.rows import as_dense
from labelkin.tabular import TableClassifier, find_training_data


def compare(
    estimators: Any,
    X: Any,
    y: Any = None,
    *,
    labels: Any = None,
    folds: int = 5,
    repeats: int = 1,
    stratified: bool = True,
    groups: Any = None,
    time: Any = None,
    metrics: Sequence[str] = PEOPLE_METRICS,
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
        Number of folds.
    repeats : int, default=1
        Number of times the cross-validation is repeated, shuffled anew.
    stratified : bool, default=True
        Whether labels are spread evenly over the folds; else these are drawn at random.
    groups : array-like of shape (n_samples,) or str, optional
        The group of each row, such as its patient, or the column of a table that holds it, which
        is then no feature. Rows of a group are in one fold, so that figures are for new groups. A
        row without one is a group of its own. Without `groups`, rows that are equal in all
        features are in one fold.
    time : array-like of shape (n_samples,) or str, optional
        The time of each row as dates or numbers, or the column of a table that holds it. The rows
        are divided by time into `folds` parts and an earlier one for training only; each part is
        predicted from all rows before it. Rows of the same time are not divided. With `groups`,
        training rows whose group is tested are left out.
    metrics : sequence of str, optional
        Names in `labelkin.metrics.METRICS`; the first one decides which method is best.
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
    if y is None:
        apart = {groups: "ignore"} if isinstance(groups, str) else None
        training = find_training_data(X, labels, columns=apart)
        groups = training.column(groups, "groups") if isinstance(groups, str) else groups
        time = training.column(time, "time") if isinstance(time, str) else time
        X, y, label_names = training.X, training.y, training.labels.names
        table: dict[str, Any] = {"labels": training.labels, "columns": training.schema}
        estimators = {
            name: one if isinstance(one, TableClassifier) else TableClassifier(one, **table)
            for name, one in estimators.items()
        }
    elif isinstance(groups, str) or isinstance(time, str):
        raise ValueError(
            "groups and time name columns of a table that holds labels too; beside y, give their "
            "values."
        )
    target, names = _label_matrix(y, label_names)
    if folds > len(target):
        raise ValueError(
            f"folds={folds}: the data has only {len(target)} rows; choose at most that many folds."
        )
    splits, remarks = make_splits(
        X,
        target,
        folds=folds,
        repeats=repeats,
        stratified=stratified,
        groups=groups,
        time=time,
        random_state=random_state,
    )
    found = Evaluation(
        X=X,
        y=target,
        label_names=names,
        metrics=check_metrics(metrics),
        splits=splits,
        split_remarks=remarks,
        folds=folds,
        settings={"folds": folds, "repeats": repeats, "stratified": stratified}
        | {"seed": random_state},
    )

    def fit_part(name: str, number: int, rows: np.ndarray) -> Any:
        """Return the model of some training rows."""
        make = estimators[name]
        model = clone(make) if hasattr(make, "fit") else make(number)
        part = _safe_indexing(X, rows)
        return model.fit(part, y.iloc[rows] if hasattr(y, "iloc") else target[rows])

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


def evaluate_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    metrics: Sequence[str] = PEOPLE_METRICS,
    label_names: Sequence[str] | None = None,
    title: str = "",
    predictions: tuple[Any, Any, Any] | None = None,
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
        Names in `labelkin.metrics.METRICS`.
    label_names : sequence of str, optional
        Names of the labels; None: the columns of y, else those of the model, else numbers from 0.
    title : str, optional
        Name of the model in print; by default that of its class.
    predictions : tuple of labels, scores and thresholds, optional
        Predictions that replace those of the model: arrays of shape (n_samples, n_labels), twice,
        and (n_labels,).

    Returns
    -------
    Evaluation
        Print it, read its figures, or write a report.
    """
    labels, names = _label_matrix(y, label_names, label_names_of(model))
    nested = getattr(getattr(model, "estimator_", model), "hierarchy_", None)
    labels = labels if nested is None else nested.close(labels)
    name = title or type(model).__name__
    everything = np.arange(_num_samples(X))
    found = Evaluation(
        X=X,
        y=labels,
        label_names=names,
        metrics=check_metrics(metrics),
        splits=[(everything[:0], everything)],
        folds=1,
        n_seen=model.count_training_rows(X) if hasattr(model, "count_training_rows") else 0,
    )
    predicted, scores = predictions[:2] if predictions else labels_and_scores(model, X)
    found.add(name, name, labels, predicted, scores, model, {})
    if predictions is not None:
        found.results[name].thresholds = [predictions[2]]
    return found


def _label_matrix(y: Any, *names: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels as an array of 0, 1 and NaN, and the first names that are known."""
    matrix, known = split_unknown(y, "y")
    labels = as_dense(matrix).astype(np.uint8)
    labels = labels if known is None else np.where(known, labels, np.nan)
    columns = getattr(y, "columns", None)
    numbers = [str(number) for number in range(labels.shape[1])]
    chosen = next(one for one in (names[0], columns, *names[1:], numbers) if one is not None)
    return labels, tuple(map(str, chosen))
