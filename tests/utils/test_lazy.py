"""Modules that are imported on first use."""

import subprocess
import sys

DEFERRED = """
import sys
from labelkin._utils.lazy import rarely_used_deferred

with rarely_used_deferred():
    import sklearn.compose, sklearn.metrics, sklearn.neighbors
deferred = {"scipy.stats", "scipy.interpolate", "scipy.integrate", "pandas", "numpy.f2py"}
assert not (deferred | {"numpy.testing", "sklearn.linear_model"}) & sys.modules.keys()

from sklearn.metrics import _ranking
assert _ranking.rankdata([30, 10, 20]).tolist() == [3, 1, 2]  # a function of scipy.stats
assert _ranking.trapezoid([1, 2, 3]) == 4
import scipy.stats
assert scipy.stats.rankdata is not _ranking.rankdata
assert scipy.stats.norm.cdf(0) == 0.5
import numpy.testing
numpy.testing.assert_array_equal([1, 2], [1, 2])
assert sklearn.neighbors.NearestCentroid().fit([[0], [5]], [0, 1]).predict([[4]]) == [1]
"""

LOADED = """
import sys
from labelkin._utils.lazy import rarely_used_deferred
import scipy.stats

with rarely_used_deferred():
    from scipy.stats import rankdata
assert rankdata is scipy.stats.rankdata and sys.modules["scipy.stats"] is scipy.stats
"""

CLASSES = """
import sys
from labelkin._utils.lazy import import_name, rarely_used_deferred

with rarely_used_deferred():
    import sklearn.ensemble, sklearn.impute
    found = import_name("sklearn.impute._knn", "KNNImputer")
assert "sklearn.ensemble._gb" not in sys.modules
assert isinstance(found, type) and isinstance(found(), sklearn.impute.KNNImputer)
assert not isinstance(1, sklearn.ensemble.VotingClassifier)
from sklearn.ensemble._voting import VotingClassifier
assert isinstance(VotingClassifier([]), sklearn.ensemble.VotingClassifier)
"""

REFUSED = """
import sys
from labelkin._utils.lazy import imports_refused

with imports_refused("wave"):
    import colorsys
    try:
        import wave
    except ImportError as error:
        assert error.name == "wave"
    else:
        raise AssertionError("imported")
import wave
with imports_refused("wave"):
    from wave import open
"""


def run(code):
    # In an interpreter of its own: in this one, all of these modules are imported.
    subprocess.run([sys.executable, "-c", code], check=True)


def test_functions_of_deferred_modules_are_found_when_they_are_called():
    run(DEFERRED)


def test_modules_that_are_imported_already_stay():
    run(LOADED)


def test_classes_of_deferred_modules_are_found_when_they_are_needed():
    run(CLASSES)


def test_a_package_is_refused_unless_it_is_imported_already():
    run(REFUSED)
