"""Modules that are imported on first use."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# NumPy, SciPy and scikit-learn import these with other modules, and export them only or use them
# in few functions.
_RARELY_USED = (
    "numpy.f2py",
    "numpy.testing",
    "pandas",
    "pydoc",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.spatial.transform",
    "scipy.stats",
    "sklearn.callback._progressbar",
    "sklearn.compose._target",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
    "sklearn.ensemble._iforest",
    "sklearn.ensemble._stacking",
    "sklearn.ensemble._voting",
    "sklearn.ensemble._weight_boosting",
    "sklearn.impute._knn",
    "sklearn.metrics.cluster",
    "sklearn.neighbors._nca",
    "sklearn.neighbors._nearest_centroid",
)


def lazy_exports(
    package: str, modules: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` (PEP 562), given each name's module."""

    def __getattr__(name: str) -> Any:
        if name in modules:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return __getattr__, __dir__


@contextmanager
def rarely_used_deferred() -> Iterator[None]:
    """Import scikit-learn in about half the time: what it rarely uses is imported on first use.

    Modules that are imported inside the context get placeholders for pandas, for some parts of
    SciPy and scikit-learn, and for their functions and classes. These import the real module when
    they are called or read, or tested for with isinstance. Later imports do not find them.
    """
    import numpy  # noqa: F401  (its own modules are attributes of it as well)

    placeholders = {
        name: _DeferredModule(name)
        for name in _RARELY_USED
        if name not in sys.modules and ("." in name or find_spec(name))
    }
    sys.modules.update(placeholders)
    for placeholder in placeholders.values():
        placeholder.become_attribute()
    try:
        yield
    finally:
        for placeholder in placeholders.values():
            placeholder.withdraw()


@contextmanager
def imports_refused(package: str) -> Iterator[None]:
    """Let imports of a package fail, as if it were not installed, unless it is imported already."""
    finder = _RefusingFinder(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def import_name(module: str, name: str) -> Any:
    """Return a function or class of a module; never a placeholder for it."""
    found = getattr(import_module(module), name)
    return found._load() if isinstance(found, _DeferredAttribute) else found


class _RefusingFinder:
    """A finder that refuses a package and leaves all others to the finders after it."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"{fullname} is not imported here", name=fullname)


class _DeferredModule(ModuleType):
    """Stands for a module; its attributes stand for those of the module."""

    def become_attribute(self) -> None:
        package, _, name = self.__name__.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], name, self)

    def withdraw(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        package, _, name = self.__name__.rpartition(".")
        if package in sys.modules and vars(sys.modules[package]).get(name) is self:
            delattr(sys.modules[package], name)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__version__":
            from importlib.metadata import version

            return version(self.__name__)
        if attribute.startswith("__"):  # the import system's own
            raise AttributeError(attribute)
        return _DeferredAttribute(self, attribute)


class _DeferredAttribute:
    """Stands for an attribute of a module: a function, a class, or an object with methods."""

    def __init__(self, module: _DeferredModule, name: str) -> None:
        self._module, self._name = module, name

    def _load(self) -> Any:
        self._module.withdraw()
        return getattr(import_module(self._module.__name__), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._load())
