"""Packages that only the report needs."""

from importlib import import_module
from typing import Any


def need(module: str, what: str) -> Any:
    """Import `module`, or say in one sentence which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {module.split('.')[0]}, which is not installed. "
            "Install it with: pip install 'labelkin[report]'"
        ) from error
