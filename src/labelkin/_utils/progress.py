"""Progress of a long fit: printed line by line, and announced where it will take minutes."""

import time
import warnings
from threading import Lock
from typing import Any

# A fit whose rest will take more seconds than this is announced by a warning.
LONG_FIT = 180.0


def warn_if_long(n_left: int, unit: str, seconds: float, cure: str) -> None:
    """Warn, in one sentence, when the rest of a fit will take more than a few minutes.

    Parameters
    ----------
    n_left : int
        Number of steps that are left.
    unit : str
        What they are, in the plural.
    seconds : float
        What each takes, as measured so far.
    cure : str
        What takes less time, an end of the sentence.
    """
    if n_left * seconds > LONG_FIT:
        minutes = n_left * seconds / 60
        warnings.warn(
            f"The {n_left} {unit} that are left will take about {minutes:.0f} minutes; {cure}.",
            stacklevel=4,
        )


class FitProgress:
    """Counts and prints finished steps; safe to use from any thread.

    Parameters
    ----------
    owner : object
        The estimator that is being fitted.
    unit : str
        What is counted, in the plural.
    total : int
        How many steps there are.
    verbose : int
        0: silent; 1: about ten lines; more: one line per step.
    """

    def __init__(self, owner: Any, unit: str, total: int, verbose: int) -> None:
        self.name = type(owner).__name__
        self.unit = unit
        self.total = total
        self.every = 1 if verbose > 1 else max(1, total // 10)
        self.verbose = verbose
        self.done = 0
        self._lock = Lock()
        self._started = time.perf_counter()

    def step(self) -> None:
        """Count one more step."""
        if not self.verbose:
            return
        with self._lock:
            self.done += 1
            if self.done % self.every == 0 or self.done == self.total:
                self.print(f"{self.done} of {self.total} {self.unit}")

    def print(self, text: str) -> None:
        """Print one line with the seconds so far, unless silent."""
        if self.verbose:
            seconds = time.perf_counter() - self._started
            print(f"[{self.name}] {text}, {seconds:.1f} s", flush=True)
