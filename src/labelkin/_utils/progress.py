"""Progress of a long fit: printed line by line, and announced where it will take minutes."""

import time
import warnings
from threading import Lock
from typing import Any

# A fit whose rest will take more seconds than this is announced by a warning.
LONG_FIT = 180.0


def warn_if_long(n_left: int, unit: str, seconds: float, cure: str) -> None:
    """Warn, in one sentence, when the rest of a fit will take more than a few minutes.

    `n_left` steps, named by `unit` in the plural, take `seconds` each; `cure` ends the sentence.
    """
    if n_left * seconds > LONG_FIT:
        minutes = n_left * seconds / 60
        warnings.warn(
            f"The {n_left} {unit} that are left will take about {minutes:.0f} minutes; {cure}.",
            stacklevel=4,
        )


class FitProgress:
    """Counts and prints finished steps of a fit; safe to use from any thread.

    `unit` names the steps in the plural. `verbose` is 0 for silence, 1 for about ten lines, more
    for one line per step.
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
