"""Optional dependencies."""

from importlib import import_module
from typing import Any


def import_optional(module: str, extra: str = "data") -> Any:
    """Import a module of an optional dependency; the error names the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{package} is needed here and not installed; pip install 'labelkin[{extra}]'"
        ) from error


def installed_version(package: str) -> str | None:
    """Return the version of an installed package; None where it is not installed."""
    from importlib import metadata  # slow to import

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
