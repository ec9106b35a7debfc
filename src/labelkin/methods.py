"""Classifiers by name: the paper's methods with its settings (section 4.3.1), and others.

The command line, the export to ONNX and the experiments take their methods from here. A user's own
classifier becomes a method by ``name=module:factory``: the factory is anything importable that
returns a scikit-learn classifier (a class, a function without required arguments, or an estimator).
A classifier of one target is trained label by label.
"""

import ast
import hashlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.utils import get_tags

import labelkin
from labelkin.base import set_random_states

__all__ = ["METHODS", "Method", "user_method"]


@dataclass(frozen=True)
class Method:
    """A classifier with a name."""

    name: str
    """Key in :data:`METHODS`, and on the command line."""
    title: str
    """Name in print, the paper's where it has one."""
    make: Callable[[int | None], Any]
    """Return an unfitted classifier for a given ``random_state``."""
    settings: str
    """What is set, in words."""
    has_trees: bool = False
    """Whether it grows C4.5 trees, which need numba."""


def to_dense(X: Any) -> Any:
    """Return a sparse matrix as a dense array, anything else as it is."""
    return X.toarray() if sparse.issparse(X) else X


def with_dense_rows(*steps: Any) -> Any:
    """Return a pipeline of the steps that accepts sparse matrices and makes them dense."""
    return make_pipeline(FunctionTransformer(to_dense, accept_sparse=True), *steps)


def _range_scaled(model: Any) -> Any:
    """Return the model behind a scaling of each feature to [0, 1] on the training rows."""
    return with_dense_rows(MinMaxScaler(), model)


# Classifiers are named through the package, which imports the module of each when it is made.
_METHODS = (
    Method(
        "rakel",
        "RAkEL",
        lambda seed: labelkin.RAkELClassifier(random_state=seed),
        "labelsets of half the labels, min(2q, C(q, k)) powersets of C4.5 trees",
        has_trees=True,
    ),
    Method(
        "rakel_k3",
        "RAkEL (k = 3)",
        lambda seed: labelkin.RAkELClassifier(labelset_size=3, random_state=seed),
        "labelsets of three labels, Mulan's default, which the published column matches",
        has_trees=True,
    ),
    Method(
        "iblr",
        "IBLR-ML",
        lambda seed: labelkin.IBLRClassifier(n_neighbors=10),
        "10 neighbours, ridge 1e-8",
    ),
    Method(
        "iblr_scaled",
        "IBLR-ML (scaled)",
        lambda seed: _range_scaled(labelkin.IBLRClassifier(n_neighbors=10)),
        "as IBLR-ML, features scaled by their training range as WEKA does, which the "
        "published column matches",
    ),
    Method(
        "clr",
        "CLR",
        lambda seed: labelkin.CalibratedLabelRankingClassifier(random_state=seed),
        "a C4.5 tree for each pair of labels and each label",
        has_trees=True,
    ),
    Method(
        "cchains",
        "CChains",
        lambda seed: labelkin.ChainClassifier(random_state=seed),
        "one chain of C4.5 trees in the order of the labels",
        has_trees=True,
    ),
    Method(
        "mlknn",
        "ML-kNN",
        lambda seed: labelkin.MLkNNClassifier(n_neighbors=10),
        "10 neighbours, smoothing 1",
    ),
    Method(
        "mlknn_scaled",
        "ML-kNN (scaled)",
        lambda seed: _range_scaled(labelkin.MLkNNClassifier(n_neighbors=10)),
        "as ML-kNN, features scaled by their training range as WEKA does, which the "
        "published column matches",
    ),
    Method(
        "vpcme",
        "VPCME",
        lambda seed: labelkin.VPCMEClassifier(n_estimators=30, threshold=0.6, random_state=seed),
        "S = 30 members, Θ = 0.6, ML-kNN with 10 neighbours in each",
    ),
    Method(
        "adaboost_pdt",
        "AdaBoost_PDT",
        lambda seed: labelkin.AdaBoostPDTClassifier(random_state=seed),
        "10 rounds of pruned C4.5 trees, one label after another",
        has_trees=True,
    ),
    Method(
        "bagging_vpcp",
        "Bagging_VPCP",
        lambda seed: labelkin.BaggingVPCPClassifier(
            n_estimators=30, threshold=0.6, random_state=seed
        ),
        "as VPCME, with equal weights throughout",
    ),
    Method(
        "mddm",
        "MDDM",
        lambda seed: make_pipeline(
            labelkin.MDDM(n_components=0.99), labelkin.MLkNNClassifier(n_neighbors=10)
        ),
        "orthonormal projection, 99 % of the eigenvalues, ML-kNN with 10 neighbours behind it",
    ),
    Method(
        "br",
        "BR",
        lambda seed: labelkin.BinaryRelevanceClassifier(random_state=seed),
        "a C4.5 tree for each label; not in the paper's tables",
        has_trees=True,
    ),
    Method(
        "krr",
        "KRR-LOO",
        lambda seed: labelkin.KernelRidgeLOOClassifier(random_state=seed),
        "RBF kernel ridge, width and ridges by leave-one-out error, calibrated",
    ),
    Method(
        "logistic",
        "Logistic regression, all labels",
        lambda seed: labelkin.MultiLabelLogisticRegression(random_state=seed),
        "one C for all labels by 5 folds, calibrated",
    ),
    Method(
        "kin",
        "Kin ensemble",
        lambda seed: labelkin.KinEnsembleClassifier(random_state=seed),
        "kernel ridges on several views, logistic regression, projections and trees, as far as "
        "affordable, combined by leave-fold-out scores",
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _METHODS}
"""Every method of this library by name, the paper's in the order of its tables."""


@dataclass(frozen=True)
class ImportedFactory:
    """Makes a seeded classifier from ``module:attribute``, in whichever process it is called."""

    spec: str
    folder: str = ""
    """Searched for the module before all else: the folder in which the command was run."""
    by_label: bool = False
    """Whether it takes one target, so that one copy is fitted for each label."""

    def __call__(self, seed: int | None) -> Any:
        """Return an unfitted multi-label classifier."""
        model = self.make_unseeded()
        if hasattr(model, "get_params"):
            model = set_random_states(model, np.random.RandomState(seed))
        return OneVsRestClassifier(model) if self.by_label else model

    @property
    def code(self) -> str:
        """Hash of the user's module without its comments; empty for an installed package."""
        self._import()
        file = Path(getattr(sys.modules[self.spec.partition(":")[0]], "__file__", None) or "")
        is_own = file.is_relative_to(self.folder) and "site-packages" not in file.parts
        if not is_own or file.suffix != ".py":
            return ""
        code = ast.unparse(ast.parse(file.read_bytes()))
        return hashlib.sha256(code.encode()).hexdigest()[:16]

    def make_unseeded(self) -> Any:
        """Return the unfitted classifier as its factory makes it."""
        found = self._import()
        is_estimator = hasattr(found, "fit") and not inspect.isclass(found)
        try:
            model = clone(found) if is_estimator else found()
        except TypeError as error:
            raise ValueError(
                f"{self.spec} gives no classifier when it is called without arguments ({error})."
            ) from error
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise ValueError(
                f"{self.spec} gives {type(model).__name__}, which has no fit and predict: it must "
                "return a scikit-learn classifier."
            )
        return model

    def _import(self) -> Any:
        if self.folder and self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        try:
            return pkgutil.resolve_name(self.spec)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{self.spec}: there is no module {error.name!r} here; run the command in the "
                "folder of the file, or install it."
            ) from error
        except AttributeError as error:
            raise ValueError(f"{self.spec}: {error}.") from error


def _one_target_reason(model: Any) -> str:
    """Return why a classifier takes one target only: its tag says so, and it fails on two labels.

    The tag is False unless a class sets it, so a class may take label matrices without saying so.
    """
    if not hasattr(model, "__sklearn_tags__"):
        return ""
    tags = get_tags(model).classifier_tags
    if tags is None or tags.multi_label:
        return ""
    rng = np.random.default_rng(0)
    X, Y = rng.random((24, 3)), rng.integers(0, 2, (24, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = np.shape(clone(model).fit(X, Y).predict(X))
        except Exception as error:  # of any kind, in code that is not ours
            return (
                f"a fit on two labels fails: {' '.join(f'{type(error).__name__}: {error}'.split())}"
            )
    return "" if found == Y.shape else f"of 24 rows and two labels it predicts the shape {found}"


def user_method(text: str, known: Container[str] = METHODS) -> Method:
    """Return the method that ``name=module:factory`` describes; its factory is called once.

    The module may be a file, and the name may be left out: ``mine.py:MyClassifier``. The method may
    not have the name of a known one.
    """
    before, equals, after = (part.strip() for part in text.partition("="))
    spec = after if equals else before
    module, _, attribute = spec.rpartition(":")
    name = before if equals else attribute
    folder = Path.cwd()
    if module.endswith(".py"):
        file = Path(module)
        if not file.is_file():
            raise ValueError(f"method {text!r}: there is no file {module}.")
        folder, spec = file.resolve().parent, f"{file.stem}:{attribute}"
    if not re.fullmatch(r"[\w.-]+", name) or not re.fullmatch(r"[\w.]+:[\w.]+", spec):
        raise ValueError(
            f"method {text!r}: write it as name=module:factory, "
            "as in forest=sklearn.ensemble:RandomForestClassifier, or as mine.py:MyClassifier."
        )
    if name in known:
        raise ValueError(f"method {text!r}: {name!r} is a known method; choose another name.")
    make = ImportedFactory(spec, str(folder))
    model = make(0)
    if not (reason := _one_target_reason(model)):
        return Method(name, name, make, spec)
    warnings.warn(
        f"{name}: one copy of {type(model).__name__} is fitted for each label, since its tag "
        f"multi_label is False, and {reason.rstrip('.')[:200]}.",
        stacklevel=2,
    )
    return Method(name, name, replace(make, by_label=True), f"{spec}, one for each label")
