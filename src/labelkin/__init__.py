"""Multi-label classification on top of scikit-learn.

The public names load on first use, so that ``import labelkin`` and the command line's
``--help`` do not pay for estimators they never touch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Where each public name lives: the one table to extend when an estimator is added.
_HOME: dict[str, str] = {}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"labelkin.{_HOME[name]}"), name)
    raise AttributeError(f"module 'labelkin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
