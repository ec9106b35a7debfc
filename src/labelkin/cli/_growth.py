"""The learning curve of a method, measured on parts of the training rows of each fold."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from labelkin.cli._compare import fit_fold
from labelkin.cli._data import TrainingData
from labelkin.cli._decisions import Decision
from labelkin.cli._methods import Candidate

if TYPE_CHECKING:
    import numpy as np

    from labelkin.cli._compare import Split
    from labelkin.evaluation import Growth

# Parts of the training rows, besides all of them.
PARTS = (1 / 8, 1 / 4, 1 / 2)
_FEWEST_ROWS = 20
MOST_FOLDS = 5


def measure_growth(
    training: TrainingData,
    candidate: Candidate,
    splits: "Sequence[Split]",
    labels: "Sequence[np.ndarray]",
    *,
    decision: Decision | None,
    device: str | None,
    update: Callable[..., None] = lambda **_: None,
) -> "Growth | None":
    """Return the learning curve of a method: micro F1 of each fold by the number of training rows.

    `splits` are the folds and `labels` what was predicted for their test rows by models of all
    training rows. A part holds the first of the training rows in a random order, so that larger
    parts contain the smaller ones.
    """
    import numpy as np

    from labelkin.evaluation import fit_growth

    splits, labels = splits[:MOST_FOLDS], labels[:MOST_FOLDS]
    n_train = min(len(train) for train, _ in splits)
    sizes = [size for part in PARTS if (size := round(part * n_train)) >= _FEWEST_ROWS]
    counts = []
    for number, ((train, test), whole) in enumerate(zip(splits, labels, strict=True)):
        order = np.random.default_rng(candidate.seed + number).permutation(train)
        here = []
        for done, size in enumerate(sizes):
            update(completed=number * len(sizes) + done, description="learning curve")
            classifier = candidate.make(number)
            if decision is not None:
                classifier = decision.wrap(classifier, training.labels.names, candidate.seed)
            try:
                fold = fit_fold(training, classifier, (order[:size], test), device)
            except ValueError:  # too few rows for this method or its decision
                here.append(np.full((len(test), 3), -1))
                continue
            here.append(_count(training.y[test], fold.labels))
        counts.append(np.stack([*here, _count(training.y[test], whole)], axis=1))
    pooled = np.concatenate(counts)
    usable = [i for i in range(len(sizes) + 1) if pooled[:, i].min() >= 0]
    folds = np.repeat(np.arange(len(counts)), [len(part) for part in counts])
    return fit_growth(
        [[*sizes, n_train][i] for i in usable],
        pooled[:, usable],
        folds,
        random_state=candidate.seed,
    )


def _count(y: "np.ndarray", labels: "np.ndarray") -> "np.ndarray":
    """Return each row's labels that are found, wrongly predicted and missed."""
    import numpy as np

    y, labels = y.astype(bool), labels.astype(bool)
    return np.column_stack([part.sum(axis=1) for part in (y & labels, labels & ~y, y & ~labels)])
