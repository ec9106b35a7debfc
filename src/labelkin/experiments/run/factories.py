"""A user's own method: ``--method name=module:factory``.

The factory is anything importable that gives a scikit-learn classifier: a class, a function
without required arguments, or a ready estimator. A classifier that takes one target only is
trained label by label (binary relevance).
"""

import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelkin.experiments.run.methods import COMPARED, Method


@dataclass(frozen=True)
class Factory:
    """Makes a seeded classifier from ``module:attribute``, in whatever process it is called."""

    spec: str
    folder: str = ""
    """Where the module is looked for first: the folder in which the command was run."""

    def __call__(self, seed: int | None) -> Any:
        """Return an unfitted multi-label classifier."""
        from sklearn.base import clone
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.utils import get_tags

        from labelkin.base import seeded

        found = self._find()
        ready = hasattr(found, "fit") and not inspect.isclass(found)
        model = clone(found) if ready else found()
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise ValueError(
                f"{self.spec} gives {type(model).__name__}, which has no fit and predict: "
                "it must give a scikit-learn classifier."
            )
        if hasattr(model, "get_params"):
            model = seeded(model, np.random.RandomState(seed))
            kind = get_tags(model).classifier_tags
            if kind is not None and not kind.multi_label:
                return OneVsRestClassifier(model)
        return model

    @property
    def file(self) -> Path | None:
        """The user's own Python file, which other machines may lack; None for packages."""
        file = getattr(sys.modules.get(self.spec.partition(":")[0]), "__file__", None)
        if file is None or "." in self.spec.partition(":")[0] or "site-packages" in file:
            return None
        return Path(file)

    def _find(self) -> Any:
        module, _, attribute = self.spec.partition(":")
        if self.folder and self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        try:
            found: Any = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{self.spec}: there is no module {error.name!r} here; run the command in the "
                "folder of the file, or install it."
            ) from error
        except AttributeError as error:
            raise ValueError(f"{self.spec}: {error}.") from error
        return found


def user_method(text: str) -> Method:
    """Return the method that ``name=module:factory`` describes, having made it once."""
    name, _, spec = (part.strip() for part in text.partition("="))
    if not re.fullmatch(r"[\w.-]+", name) or not re.fullmatch(r"[\w.]+:[\w.]+", spec):
        raise ValueError(
            f"--method {text!r}: write it as name=module:factory, "
            "as in forest=sklearn.ensemble:RandomForestClassifier."
        )
    if name in COMPARED:
        raise ValueError(f"--method {text!r}: {name!r} is a known method; choose another name.")
    factory = Factory(spec, str(Path.cwd()))
    factory(0)
    return Method(name, name, factory, spec, reference="")
