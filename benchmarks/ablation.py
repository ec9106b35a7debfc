"""What each part of the Kin ensemble is worth, on splits inside the training parts.

    python benchmarks/ablation.py [--jobs 2] [--data yeast,scene] [--repeats 2]

Each dataset is divided as in the other benchmarks; the test part of the first fold stays aside, and
a quarter of the rest is held out instead. The members are fitted once; the second stage is then
learned again without each part. Printed are means over the datasets of a kind: the change of
average precision in points, of log loss and ranking loss in percent, the seconds and bytes
(compressed) of the part as shares of the whole, and its lines of code.
"""

import argparse
import csv
import gzip
import inspect
import os
import pickle
import sys
import time
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _common import PAPER, folds, machine
from _tables import tables

from labelkin import KinEnsembleClassifier
from labelkin.kin import _learners
from labelkin.kin._combination import fit_combination, fit_label_weights, fit_member_weights
from labelkin.kin._plan import Limits
from labelkin.kin._views import Topics, as_floats
from labelkin.linear import _learner
from labelkin.metrics import METRICS

OTHERS = ["bibtex", "corel5k", "reutersk500", "stackex_cooking", "chd_49", "water_quality"]
SOURCES = {
    "linear": [_learner.LogisticLearner],
    "projections": [_learners.ProjectionLearner, _learners.ratio_directions],
    "trees": [_learners.TreesLearner, _learners.LabelTreesLearner, _learners._mean_of_trees],
    "topics_rbf": [Topics],
    "weights per label": [fit_label_weights],
    "learned weights": [fit_member_weights, fit_label_weights],
}


def read(name):
    """Return the rows and labels of a dataset."""
    if name == "debtags":
        return debtags()
    made = {title: (X, Y) for title, X, Y in tables()}
    if name in made:
        return made[name]
    from labelkin.datasets import load_dataset
    from labelkin.datasets import read as read_file

    path = Path(os.environ["LABELKIN_DATA"]) / f"{name}.npz"
    data = load_dataset(name, download=False) if name in PAPER else read_file(path)
    return data.data, data.target


def debtags():
    """Return TF-IDF weights of texts, and their tags."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer

    path = Path(os.environ["LABELKIN_DATA"]) / "debtags-dev.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    tags = [line["tags"].replace(";", " ").replace("|", " ").split() for line in lines]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = words.fit_transform([line["text"] for line in lines])
    return X, MultiLabelBinarizer().fit_transform(tags)


class Recorded(KinEnsembleClassifier):
    """Keeps the members, their out-of-sample scores and their seconds."""

    def _fit_members(self, members, rows, labels, fold_of, limits, rng, progress):
        found = []
        for member in members:
            start = time.process_time()
            found += super()._fit_members([member], rows, labels, fold_of, limits, rng, progress)
            member.seconds = time.process_time() - start
        scored = np.flatnonzero(fold_of >= 0)
        self.recorded = members, found, labels.take(scored), fold_of[scored], dict(self.views_)
        return found


def measure(job):
    """Return the kind of a dataset and, for each part left out, the changes of the figures."""
    warnings.simplefilter("ignore")
    name, repeat = job
    X, Y = read(name)
    train, _ = next(iter(folds(len(Y))))
    order = np.random.default_rng(100 + repeat).permutation(len(train))
    test, train = train[order[: len(train) // 4]], train[order[len(train) // 4 :]]
    started = time.process_time()
    model = Recorded(random_state=repeat, n_jobs=1).fit(X[train], Y[train])
    whole = time.process_time() - started
    members, scores, labels, fold_of, views = model.recorded
    rows = as_floats(X[test], model._dense)
    queries = [member.scores(views[member.view](rows)) for member in members]
    truth, limits = Y[test], Limits()

    def judge(kept, limits=limits):
        log_odds = [members[i].log_odds for i in kept]
        fitted = fit_combination([scores[i] for i in kept], labels, fold_of, log_odds, limits)[0]
        proba = fitted.proba([queries[i] for i in kept])
        metrics = [METRICS[one](truth, proba) for one in ("average_precision", "ranking_loss")]
        likelihood = np.maximum(np.where(truth > 0, proba, 1 - proba), 1e-12)
        return np.array([metrics[0], -np.log(likelihood).sum(axis=1).mean(), metrics[1]])

    everything = range(len(members))
    sizes = [len(zlib.compress(pickle.dumps(member), 1)) for member in members]
    reference = judge(everything)
    variants = {
        member.name: ([j for j in everything if j != i], limits, member.seconds / whole, sizes[i])
        for i, member in enumerate(members)
        if len(members) > 1
    }
    shared = replace(limits, label_ridge=1e12)
    variants["weights per label"] = (everything, shared, 0.0, 0)
    equal = replace(shared, member_ridge=1e12)
    variants["learned weights"] = (everything, equal, 0.0, 0)
    found = {}
    for part, (kept, one, seconds, size) in variants.items():
        figures = judge(kept, one)
        change = 100 * (figures / np.maximum(reference, 1e-3) - 1)
        points = 100 * (figures[0] - reference[0])
        found[part] = [points, change[1], change[2], 100 * seconds, 100 * size / max(sum(sizes), 1)]
    return "texts" if "root" in views or "topics" in views else "tables", name, found


def lines_of(part):
    """Return the lines of code of a part, besides what it shares with others."""
    return sum(len(inspect.getsource(one).splitlines()) for one in SOURCES.get(part, ()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--data", default="")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    names = options.data.split(",") if options.data else []
    names = names or ["debtags", *OTHERS, *PAPER, *(title for title, _, _ in tables())]
    print(machine(), flush=True)
    jobs = [(name, repeat) for name in names for repeat in range(options.repeats)]
    results = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for kind, name, found in pool.map(measure, jobs):
            for part, figures in found.items():
                results.setdefault((kind, part), {}).setdefault(name, []).append(figures)
    head = ("average precision", "log loss", "ranking loss", "time", "size")
    print(f"{'left out':28s}{'datasets':>9s}" + "".join(f"{one:>19s}" for one in head) + "  lines")
    for (kind, part), sets in sorted(results.items()):
        means = np.mean([np.mean(figures, axis=0) for figures in sets.values()], axis=0)
        cells = "".join(
            f"{value:+18.2f} " if i < 3 else f"{value:17.0f} %" for i, value in enumerate(means)
        )
        print(f"{kind}: {part:20s}{len(sets):9d}{cells}  {lines_of(part) or ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
