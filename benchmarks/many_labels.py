"""Thousands of labels: labelkin, omikuji (Parabel-like, Bonsai-like) and napkinXC on the same rows.

``yso-dev.csv.gz`` in the folder LABELKIN_DATA: titles and their subjects. 80 % of the titles, by a
hash of the title, are learned from, the others predicted; features are TF-IDF weights. Each method
runs in a process of its own: CPU seconds, including those of its threads and children, and its peak
memory are the process's. omikuji and napkinXC are left out where they are not installed.

    python benchmarks/many_labels.py                              all methods, all rows
    python benchmarks/many_labels.py -m labelkin --rows 10000     fewer training rows
    python benchmarks/many_labels.py -m labelkin --labels 1000    the most frequent labels only
"""

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse

METHODS = (
    "labelkin",
    "labelkin_names",
    "labelkin_1_tree",
    "omikuji_parabel",
    "omikuji_bonsai",
    "napkinxc_plt",
)
K = 5


def read_data(n_rows, n_labels):
    """Return training and test rows and labels, and the features of the label names."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(Path(os.environ["LABELKIN_DATA"]) / "yso-dev.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    texts, tags = [row["text"] for row in rows], [row["tags"].split(";") for row in rows]
    names = sorted({tag for own in tags for tag in own})
    number = {name: i for i, name in enumerate(names)}
    column = np.array([number[tag] for own in tags for tag in own])
    starts = np.cumsum([0, *map(len, tags)])
    Y = sparse.csr_array((np.ones(len(column), np.float32), column, starts))
    is_test = np.array([zlib.crc32(text.encode()) % 5 == 0 for text in texts])
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    if n_rows:
        train = np.sort(np.random.default_rng(0).permutation(train)[:n_rows])
    if n_labels:
        kept = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:n_labels])
        Y, names = Y[:, kept], [names[i] for i in kept]
        labelled = np.diff(Y.indptr) > 0
        train, test = train[labelled[train]], test[labelled[test]]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    X = vectorizer.fit_transform([texts[i] for i in train])
    # omikuji reads no rows without features.
    filled = np.flatnonzero(np.diff(X.indptr) > 0)
    X_test = vectorizer.transform([texts[i] for i in test])
    return X[filled], Y[train][filled], X_test, Y[test], vectorizer.transform(names)


def cpu_seconds():
    """Return CPU seconds of this process and its children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in used)


def size_of(path):
    """Return the bytes of a file or a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def write_libsvm(path, X, Y):
    """Write rows in the format of the extreme classification repository."""
    with open(path, "w") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            part = slice(X.indptr[i], X.indptr[i + 1])
            cells = zip(X.indices[part], X.data[part], strict=True)
            file.write(f"{labels} {' '.join(f'{j}:{value:.6g}' for j, value in cells)}\n")


def as_scores(found, shape):
    """Return lists of (label, score) as a CSR matrix."""
    starts = np.cumsum([0, *map(len, found)])
    labels = np.array([label for row in found for label, _ in row], dtype=np.int64)
    values = np.array([score for row in found for _, score in row])
    return sparse.csr_array((values, labels, starts), shape=shape)


def run_labelkin(X, Y, X_test, names, folder, variant, jobs):
    """Fit, save, predict: return scores of the first labels and what each step took."""
    from labelkin import LabelTreeClassifier
    from labelkin.persistence import save_model

    model = LabelTreeClassifier(
        n_trees=1 if variant == "1_tree" else 3,
        label_texts=names if variant == "names" else None,
        sparse_output=True,
        n_jobs=jobs,
        random_state=0,
    )
    before = cpu_seconds()
    model.fit(X, Y)
    fitted = cpu_seconds()
    labels, proba = model.predict_topk(X_test, K)
    predicted = cpu_seconds()
    save_model(model, folder / "model.labelkin")
    found = [list(zip(*pair, strict=True)) for pair in zip(labels, proba, strict=True)]
    return found, fitted - before, predicted - fitted, size_of(folder)


def run_omikuji(X, Y, X_test, names, folder, variant, jobs):
    """Do the same with omikuji."""
    import omikuji

    data = folder.parent / "train.txt"
    write_libsvm(data, X, Y)
    settings = omikuji.Model.default_hyper_param()
    if variant == "bonsai":
        settings.cluster_balanced, settings.cluster_k, settings.max_depth = False, 100, 3
    before = cpu_seconds()
    model = omikuji.Model.train_on_data(str(data), settings, n_threads=jobs)
    fitted = cpu_seconds()
    found = []
    for i in range(X_test.shape[0]):
        part = slice(X_test.indptr[i], X_test.indptr[i + 1])
        cells = zip(X_test.indices[part].tolist(), X_test.data[part].tolist(), strict=True)
        found.append(model.predict(list(cells), top_k=K))
    predicted = cpu_seconds()
    model.save(str(folder / "model"))
    return found, fitted - before, predicted - fitted, size_of(folder)


def run_napkinxc(X, Y, X_test, names, folder, variant, jobs):
    """Do the same with napkinXC."""
    from napkinxc.models import PLT

    model = PLT(str(folder / "model"), threads=jobs)
    labels = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(Y.shape[0])]
    before = cpu_seconds()
    model.fit(sparse.csr_matrix(X), labels)
    fitted = cpu_seconds()
    found = model.predict_proba(sparse.csr_matrix(X_test), top_k=K)
    return found, fitted - before, cpu_seconds() - fitted, size_of(folder)


def measure(method, n_rows, n_labels, jobs):
    """Run one method in this process and return its figures."""
    from labelkin.metrics import label_propensities, ndcg_at_k, precision_at_k, recall_at_k

    X, Y, X_test, Y_test, names = read_data(n_rows, n_labels)
    library, _, variant = method.partition("_")
    run = {"labelkin": run_labelkin, "omikuji": run_omikuji, "napkinxc": run_napkinxc}[library]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        found, fit, predict, size = run(X, Y, X_test, names, folder, variant, jobs)
    scores = as_scores(found, Y_test.shape)
    propensity = label_propensities(Y)
    first = np.array([row[0][1] if row else 0.0 for row in found])
    hits = np.array(
        [
            bool(row) and row[0][0] in Y_test.indices[Y_test.indptr[i] : Y_test.indptr[i + 1]]
            for i, row in enumerate(found)
        ]
    )
    deciles = np.array_split(np.argsort(first, kind="stable"), 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "method": method,
        "rows": X.shape[0],
        "labels": int((Y.sum(axis=0) > 0).sum()),
        "test rows": X_test.shape[0],
        "P@1": 100 * precision_at_k(Y_test, scores, 1),
        "P@5": 100 * precision_at_k(Y_test, scores, K),
        "R@5": 100 * recall_at_k(Y_test, scores, K),
        "nDCG@5": 100 * ndcg_at_k(Y_test, scores, K),
        "PSP@5": 100 * precision_at_k(Y_test, scores, K, propensity=propensity),
        "fit CPU s": fit,
        "model MB": size / 1e6,
        "ms per row": 1e3 * predict / X_test.shape[0],
        "peak GB": peak / 1e9,
        "first score": float(first.mean()),
        "largest error in a decile": float(
            max(abs(first[part].mean() - hits[part].mean()) for part in deciles)
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-m", "--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=int, default=0, help="training rows; 0: all")
    parser.add_argument("--labels", type=int, default=0, help="most frequent labels; 0: all")
    parser.add_argument("--jobs", type=int, default=2, help="threads of every method")
    parser.add_argument("--out", type=Path, help="file to which results are added, one per line")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        figures = measure(options.one, options.rows, options.labels, options.jobs)
        print("\n" + json.dumps(figures), flush=True)
        return
    for method in options.methods.split(","):
        size = ["--rows", str(options.rows), "--labels", str(options.labels)]
        done = subprocess.run(
            [sys.executable, __file__, "--one", method, *size, "--jobs", str(options.jobs)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["it was killed"]
            print(f"{method}: left out, {reason[0]}", flush=True)
            continue
        line = done.stdout.strip().splitlines()[-1]
        print("  ".join(f"{key} {_brief(value)}" for key, value in json.loads(line).items()))
        sys.stdout.flush()
        if options.out:
            with open(options.out, "a") as file:
                file.write(line + "\n")


def _brief(value):
    return (
        f"{value:,.3g}"
        if isinstance(value, float) and value < 10
        else (f"{value:,.2f}" if isinstance(value, float) else value)
    )


if __name__ == "__main__":
    main()
