"""Random generators for a short use, many times.

``RandomState(seed)`` gathers entropy before it is seeded, a tenth of a millisecond; seeding one
that exists takes a microsecond and gives the same numbers.
"""

import threading
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class _OneAThread(threading.local):
    def __init__(self) -> None:
        self.rng = np.random.RandomState(0)


_reused = _OneAThread()


def brief_rng(random_state: Any) -> np.random.RandomState:
    """Return what scikit-learn's `check_random_state` does, for a use that ends before the next.

    The generator of a seed is the same object at every call in a thread: it must not be kept.
    """
    if not isinstance(random_state, Integral):
        return check_random_state(random_state)
    _reused.rng.seed(int(random_state))
    return _reused.rng
