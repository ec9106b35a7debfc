"""Progress of fits, and the announcement of long ones."""

import time
import warnings
from itertools import count

import pytest

from labelkin import BaggingVPCPClassifier, VPCMEClassifier
from labelkin._utils.progress import warn_if_long
from support.data import make_data


def test_a_long_rest_is_announced_with_its_minutes():
    with pytest.warns(UserWarning, match=r"^The 29 members .* about 6 minutes; use fewer\.$"):
        warn_if_long(29, "members", 12.0, "use fewer")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_long(29, "members", 1.0, "use fewer")


@pytest.mark.parametrize(
    ("Ensemble", "n_jobs", "n_left"),
    [(VPCMEClassifier, 2, 4), (BaggingVPCPClassifier, 1, 4), (BaggingVPCPClassifier, 2, 3)],
)
def test_ensembles_announce_after_the_first_members(Ensemble, n_jobs, n_left, monkeypatch):
    """On a clock that goes by 1,000 seconds between two looks at it."""
    hours = count(step=1000)
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(hours)))
    model = Ensemble(n_estimators=5, n_jobs=n_jobs, random_state=0)
    with pytest.warns(UserWarning, match=f"The {n_left} members that are left .* fewer") as w:
        model.fit(*make_data(40))
    assert len(w) == 1
