"""Memory of VPCME: the peak of a fit to 50,000 × 100 dense rows, and the model of wide texts.

    python benchmarks/memory.py [--rows 50000] [--features 100] [--labels 10] [--members 30]
    python benchmarks/memory.py --texts [--float32] [--members 30]

The aim of the first is less than 1.5 GB, the data and the interpreter included. The second prints
the size of the model file for 2,500 texts of debtags-dev (in ``LABELKIN_DATA``) with 5,000 words
and 349 labels.
"""

import argparse
import os
import resource
import tempfile
from pathlib import Path

import numpy as np
from _common import machine, seconds

from labelkin import VPCMEClassifier
from labelkin.persistence import load_model, save_model


def peak():
    """Return the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def load_texts(dtype):
    """Return TF-IDF rows of 2,500 texts, and their tags."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = pd.read_csv(Path(os.environ["LABELKIN_DATA"]) / "debtags-dev.csv.gz")
    table = table.iloc[np.random.RandomState(0).permutation(len(table))[:2_500]]
    vectorizer = TfidfVectorizer(sublinear_tf=True, max_features=5_000, dtype=dtype)
    X = vectorizer.fit_transform(table["text"].fillna(""))
    return X, table["tags"].str.get_dummies(";").to_numpy(np.uint8)


def measure_texts(members, dtype):
    """Print the size of a model of texts, and the time to load it and to predict 500 rows."""
    X, Y = load_texts(dtype)
    taken, model = seconds(VPCMEClassifier(n_estimators=members, random_state=0).fit, X, Y)
    proba = model.predict_proba(X[:500])
    print(machine() + "\n")
    print(f"{X.shape[0]:,} × {X.shape[1]:,} sparse {X.dtype}, {Y.shape[1]} labels, S = {members}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.labelkin"
        saving, _ = seconds(save_model, model, path)
        loading, back = seconds(load_model, path)
        predicting, again = seconds(back.predict_proba, X[:500])
        print(f"model file       {path.stat().st_size / 1e6:8.0f} MB")
    np.testing.assert_allclose(again, proba, atol=1e-6)
    print(f"dimensions       {np.mean([len(p.eigenvalues_) for p in model.projections_]):8.0f}")
    print(f"fit              {taken:8.1f} s")
    print(f"save             {saving:8.1f} s")
    print(f"load             {loading:8.1f} s")
    print(f"predict 500 rows {predicting:8.1f} s, the first time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--float32", action="store_true")
    options = parser.parse_args()
    if options.texts:
        measure_texts(options.members, np.float32 if options.float32 else np.float64)
        return
    rng = np.random.RandomState(0)
    X = rng.standard_normal((options.rows, options.features))
    centres = rng.standard_normal((options.features, options.labels))
    Y = (X @ centres > 8).astype(np.uint8)
    before = peak()
    taken, model = seconds(VPCMEClassifier(n_estimators=options.members, random_state=0).fit, X, Y)
    print(machine() + "\n")
    size = f"{options.rows:,} × {options.features} dense, {options.labels} labels"
    print(f"{size}, S = {options.members}")
    print(f"before the fit   {before:8.0f} MB")
    print(f"peak of the fit  {peak():8.0f} MB")
    print(f"dimensions       {np.mean([len(p.components_) for p in model.projections_]):8.0f}")
    print(f"time             {taken:8.0f} s")


if __name__ == "__main__":
    main()
