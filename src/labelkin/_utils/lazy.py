"""Public names of a package that load their modules on first use."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, modules: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    modules : dict of str to str
        For each public name, the module below the package that defines it.
    """

    def __getattr__(name: str) -> Any:
        if name in modules:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(modules)

    return __getattr__, __dir__
