"""Compiled kernels of C4.5: grow a tree, prune it, route rows through it.

Tolerances are J48's; they decide ties, so they are part of the algorithm. This package
imports numba: import it inside the function that needs it.
"""

from labelkin.tree._c45._grow import grow
from labelkin.tree._c45._prune import apply, extra_errors, prune

__all__ = ["apply", "extra_errors", "grow", "prune"]
