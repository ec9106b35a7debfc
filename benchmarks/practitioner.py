"""Texts with many labels: labelkin's methods against what practitioners use, in one table.

    python benchmarks/practitioner.py [--quick] [--methods kin,logistic,ovr] [--growth]

The data are TF-IDF rows of the texts of debtags-dev with their tags, or, where that file is
missing, made-up words with labels. Each method is fitted in a process of its own, with one
thread: CPU and wall-clock seconds of fit and predict, the memory that fit and predict add to the
rows, the size of the model on disk, average precision and ranking loss on a held-out fifth.
Seconds are divided by those of one-vs-rest logistic regression, which is therefore always run.
``--growth`` repeats the fit with half of the rows, of the labels and of the words, and prints the
exponents by which CPU seconds grow. A package that is not installed is skipped, visibly.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _common import folds, machine
from scipy import sparse

from labelkin.metrics import METRICS

BASELINE = "ovr"
OWN = ("kin", "logistic", "krr", "vpcme")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SIZES = {False: (12_179, 363, 2**17), True: (1_500, 60, 3_000)}
"""Rows, labels and words; in a quick run fewer."""


# ---------------------------------------------------------------------------------- methods


def kin():
    from labelkin import KinEnsembleClassifier

    return KinEnsembleClassifier(random_state=0, n_jobs=1)


def logistic():
    from labelkin import MultiLabelLogisticRegression

    return MultiLabelLogisticRegression(random_state=0, n_jobs=1)


def krr():
    from labelkin import KernelRidgeLOOClassifier

    return KernelRidgeLOOClassifier(random_state=0)


def vpcme():
    from labelkin import VPCMEClassifier

    return VPCMEClassifier(random_state=0, n_jobs=1)


def ovr():
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear"))


def lgbm():
    from lightgbm import LGBMClassifier

    from labelkin import BinaryRelevanceClassifier

    return BinaryRelevanceClassifier(LGBMClassifier(n_jobs=1, verbose=-1), n_jobs=1)


class InFolder:
    """A model of another library that is trained from a file into a folder.

    A subclass trains in ``fit`` and gives pairs (label, score) of each row in ``_pairs``.
    """

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def predict_proba(self, X):
        """Return the scores; 0 for labels that the model does not name."""
        scores = np.zeros((X.shape[0], self.n_labels))
        for row, pairs in enumerate(self._pairs(X)):
            for label, score in pairs:
                scores[row, int(label)] = score
        return scores

    def n_bytes(self):
        """Return the size of the model on disk."""
        return sum(p.stat().st_size for p in Path(self.folder.name).rglob("*") if p.is_file())


class Omikuji(InFolder):
    """Parabel, as omikuji has it by default."""

    def fit(self, X, Y):
        """Train."""
        import omikuji

        self.n_labels = Y.shape[1]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            path.write_text("\n".join([f"{len(Y)} {X.shape[1]} {Y.shape[1]}", *_lines(X, Y), ""]))
            self.model = omikuji.Model.train_on_data(
                str(path), omikuji.Model.default_hyper_param(), 1
            )
        self.model.save(self.folder.name)
        return self

    def _pairs(self, X):
        for row in sparse.csr_matrix(X):
            pairs = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            yield self.model.predict(pairs, beam_size=self.n_labels, top_k=self.n_labels)


class NapkinXC(InFolder):
    """Probabilistic label trees, as napkinXC has them by default."""

    def fit(self, X, Y):
        """Train."""
        from napkinxc.models import PLT

        self.n_labels = Y.shape[1]
        self.model = PLT(self.folder.name, threads=1, verbose=False)
        self.model.fit(sparse.csr_matrix(X), [np.flatnonzero(y).tolist() for y in Y])
        return self

    def _pairs(self, X):
        return self.model.predict_proba(sparse.csr_matrix(X), top_k=self.n_labels)


def _lines(X, Y):
    """Yield rows as "label,label column:value column:value"."""
    X = sparse.csr_matrix(X)
    for number, labels in enumerate(Y):
        part = slice(X.indptr[number], X.indptr[number + 1])
        words = (f"{c}:{v:.6g}" for c, v in zip(X.indices[part], X.data[part], strict=True))
        yield f"{','.join(map(str, np.flatnonzero(labels)))} {' '.join(words)}"


METHODS = {
    "kin": (kin, "Kin (labelkin)"),
    "logistic": (logistic, "logistic regression, C chosen, calibrated (labelkin)"),
    "krr": (krr, "kernel ridge (labelkin)"),
    "vpcme": (vpcme, "VPCME (labelkin)"),
    "ovr": (ovr, "one-vs-rest logistic regression (scikit-learn, C = 10)"),
    "lgbm": (lgbm, "one-vs-rest LightGBM"),
    "omikuji": (Omikuji, "Parabel (omikuji)"),
    "napkinxc": (NapkinXC, "label tree (napkinXC)"),
}


# ------------------------------------------------------------------------------------- data


def texts(n_rows, n_labels, n_words):
    """Return TF-IDF rows and labels, for training and test: the most frequent words and labels."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer

    path = Path(os.environ["LABELKIN_DATA"]) / "debtags-dev.csv.gz"
    if path.exists():
        import pandas as pd

        table = pd.read_csv(path, usecols=["text", "tags"]).fillna("")
        table = table.iloc[np.random.default_rng(0).permutation(len(table))[:n_rows]]
        words, tags = table["text"].to_numpy(), table["tags"].str.split(";")
        Y = MultiLabelBinarizer(sparse_output=True).fit_transform(tags)
        frequent = np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:n_labels]
        Y = Y[:, np.sort(frequent)].toarray()
    else:
        words, Y = made_up(n_rows, n_labels, n_words)
    train, test = next(folds(len(Y)))
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=n_words)
    return tfidf.fit_transform(words[train]), Y[train], tfidf.transform(words[test]), Y[test]


def made_up(n_rows, n_labels, n_words):
    """Return texts of 40 words and labels, each of which has ten words of its own."""
    rng = np.random.default_rng(0)
    Y = (rng.random((n_rows, n_labels)) < 3 / (1 + np.arange(n_labels)) ** 0.7 / 4).astype(int)
    own = rng.integers(n_words, size=(n_labels, 10))
    any_word = (n_words * rng.random((n_rows, 40)) ** 3).astype(int)
    texts = []
    for labels, noise in zip(Y, any_word, strict=True):
        chosen = rng.choice(own[labels == 1].ravel(), 20) if labels.any() else noise[:0]
        texts.append(" ".join(f"w{word}" for word in (*chosen, *noise)))
    return np.array(texts, dtype=object), Y


# ------------------------------------------------------------------------------ measurement


def measure(name, path):
    """Fit and predict the data of a file in this process; return the figures."""
    import resource

    warnings.simplefilter("ignore")
    X, Y, test, truth = pickle.loads(Path(path).read_bytes())
    model = METHODS[name][0]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter(), time.process_time()
    model.fit(X, Y)
    fitted = time.perf_counter(), time.process_time()
    proba = np.asarray(model.predict_proba(test))
    ended = time.perf_counter(), time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    n_bytes = size_on_disk(name, model)
    return {
        "fit": fitted[1] - started[1],
        "fit wall": fitted[0] - started[0],
        "predict": ended[1] - fitted[1],
        "predict wall": ended[0] - fitted[0],
        "memory": peak / 1024,
        "model": n_bytes / 1e6,
        "AP": 100 * METRICS["average_precision"](truth, proba),
        "RL": 100 * METRICS["ranking_loss"](truth, proba),
    }


def size_on_disk(name, model):
    """Return the bytes of a model's file: labelkin's own format, a folder, or else a pickle."""
    if isinstance(model, InFolder):
        return model.n_bytes()
    if name not in OWN:
        return len(pickle.dumps(model))
    from labelkin.persistence import save_model

    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model.labelkin")
        return (Path(folder) / "model.labelkin").stat().st_size


def measure_apart(names, data):
    """Yield each method's figures from a process of its own, or a sentence why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.pickle"
        path.write_bytes(pickle.dumps(data))
        for name in names:
            command = [sys.executable, __file__, "--one", name, "--data", str(path)]
            done = subprocess.run(
                command, capture_output=True, text=True, env=os.environ | ONE_THREAD
            )
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
                yield name, f"skipped: {reason}"
            else:
                yield name, json.loads(done.stdout.splitlines()[-1])


def show(name, found, baseline):
    """Print one row of the table."""
    title = METHODS[name][1]
    if isinstance(found, str):
        print(f"{title:54s} {found}", flush=True)
        return
    ratios = (found[key] / baseline[key] for key in ("fit", "predict"))
    cells = [f"{found['fit']:9.1f}", f"{found['fit wall']:9.1f}", f"{found['predict']:9.2f}"]
    cells += [f"{found['predict wall']:9.2f}", *(f"{ratio:8.2f}" for ratio in ratios)]
    cells += [f"{found['memory']:9.0f}", f"{found['model']:9.1f}"]
    cells += [f"{found['AP']:7.2f}", f"{found['RL']:7.2f}"]
    print(f"{title:54s}{''.join(cells)}", flush=True)


HEAD = (
    f"{'':54s}{'fit CPU':>9s}{'wall':>9s}{'predict':>9s}{'wall':>9s}{'fit ×':>8s}{'pred ×':>8s}"
    f"{'mem MB':>9s}{'model MB':>9s}{'AP %':>7s}{'RL %':>7s}"
)


def grow(fit_seconds, sizes, shape):
    """Print the exponents by which CPU seconds of fits grow with rows, labels and words."""
    n, k, q = shape
    halves = [(sizes[0] // 2, sizes[1], sizes[2]), (sizes[0], q // 2, sizes[2])]
    halves.append((sizes[0], sizes[1], k // 2))
    exponents = {name: [] for name in fit_seconds}
    for at, half in enumerate(halves):
        data = texts(*half)
        whole, part = (n, q, k)[at], (data[0].shape[0], data[1].shape[1], data[0].shape[1])[at]
        for name, found in measure_apart(fit_seconds, data):
            seconds = np.nan if isinstance(found, str) else found["fit"]
            exponents[name].append(np.log(fit_seconds[name] / seconds) / np.log(whole / part))
    heads = "".join(f"{name:>9s}" for name in ("rows", "labels", "words"))
    print(f"\n{'CPU seconds of a fit grow with this power of':54s}{heads}")
    for name, found in exponents.items():
        print(f"{METHODS[name][1]:54s}" + "".join(f"{e:9.2f}" for e in found), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small part of the data")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, comma-separated")
    parser.add_argument("--growth", action="store_true", help="also fit with half of the data")
    parser.add_argument("--sizes", type=int, nargs=3, metavar=("ROWS", "LABELS", "WORDS"))
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.data)))
        return
    sizes = options.sizes or SIZES[options.quick]
    data = texts(*sizes)
    shape = *data[0].shape, data[1].shape[1]
    n, k, q = shape
    about = f"{n:,} training rows, {k:,} words, {q} labels; seconds of one thread"
    print(f"{machine()}\n{about}\n{HEAD}", flush=True)
    names = [BASELINE, *(name for name in options.methods.split(",") if name != BASELINE)]
    baseline, fit_seconds = None, {}
    for name, found in measure_apart(names, data):
        baseline = baseline or found
        if isinstance(baseline, str):
            raise SystemExit(f"{METHODS[BASELINE][1]} is needed: {baseline}")
        show(name, found, baseline)
        if not isinstance(found, str):
            fit_seconds[name] = found["fit"]
    if options.growth:
        grow(fit_seconds, sizes, shape)


if __name__ == "__main__":
    main()
