"""Array libraries other than NumPy."""

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

_OLD = parse_version(sklearn.__version__) < parse_version("1.9")
_REASON = "before scikit-learn 1.9, arrays of other libraries follow an older standard"

needs_array_api = pytest.mark.skipif(_OLD, reason=_REASON)


def import_library(name="array_api_strict"):
    """Return an array library; skip the test where there is none that can be used."""
    if _OLD:
        pytest.skip(_REASON)
    return pytest.importorskip(name)
