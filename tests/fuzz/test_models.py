"""Mutated model files, their checksums right: a model, or one sentence; never a crash.

A model that loads may predict anything or fail in Python: only compiled code must not go astray.
"""

import contextlib
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from labelkin import (
    BinaryRelevanceClassifier,
    ChainClassifier,
    KernelRidgeLOOClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    RAkELClassifier,
    TableClassifier,
    VPCMEClassifier,
)
from labelkin.persistence import load_model, save_model
from support.data import make_data
from support.mutations import inputs, mutate, mutate_model

pandas = pytest.importorskip("pandas")

X, Y = make_data(20)
TEXTS = np.array(["red apple", "green pear", "blue sky", "red sky"] * 5)
CATEGORIES = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "y"]] * 5, dtype=object)
TABLE = pandas.DataFrame({"words": TEXTS, "kind": CATEGORIES[:, 0], "size": np.arange(20) % 7})
WIDE = np.random.default_rng(0).poisson(0.2, (20, 60)).astype(float)
MODELS = {
    "ml-knn": (MLkNNClassifier(3), X),
    "ml-knn, sparse": (MLkNNClassifier(3), sparse.csr_matrix(np.rint(X))),
    "vpcme": (VPCMEClassifier(n_estimators=2, random_state=np.random.RandomState(0)), X),
    "kernel ridge": (KernelRidgeLOOClassifier(random_state=0), X),
    "kin": (KinEnsembleClassifier(n_trees=4, random_state=0), X),
    "our trees": (BinaryRelevanceClassifier(), X),
    "chain": (ChainClassifier(random_state=0), X),
    "label sets": (RAkELClassifier(random_state=0), X),
    "forest": (RandomForestClassifier(n_estimators=3, random_state=0), X),
    "words": (make_pipeline(TfidfVectorizer(), MLkNNClassifier(3)), TEXTS),
    "table": (TableClassifier(MLkNNClassifier(3)), TABLE),
    "categories": (make_pipeline(OneHotEncoder(), MLkNNClassifier(3)), CATEGORIES),
    "numbers as categories": (
        make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), BinaryRelevanceClassifier(LogisticRegression())
        ),
        np.rint(X),
    ),
    "row space": (VPCMEClassifier(n_estimators=2, random_state=0), sparse.csr_array(WIDE)),
}


@pytest.mark.parametrize(("change", "count"), [(mutate, 25), (mutate_model, 60)])
@pytest.mark.parametrize("name", MODELS)
def test_model_files(name, change, count, tmp_path):
    model, rows = MODELS[name]
    path = tmp_path / "model.labelkin"
    save_model(model.fit(rows, Y), path)
    for raw in inputs([path.read_bytes()], change, count=count):
        path.write_bytes(raw)
        message = str(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = load_model(path)
            except ValueError as error:
                message = str(error)
            else:
                for method in ("predict", "predict_proba", "apply", "decision_path"):
                    with contextlib.suppress(Exception):
                        getattr(found, method)(rows)
        assert message.startswith(str(path))
