"""The environment of a run: versions, system, revision of the source."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from labelkin._utils.optional import installed_version

_PACKAGES = ("labelkin", "numpy", "scipy", "scikit-learn", "joblib", "numba", "torch")


def describe_environment() -> dict[str, Any]:
    """Return versions, number of cores and git revision; no name of host or user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": {name: found for name in _PACKAGES if (found := installed_version(name))},
        "revision": source_revision(),
    }


def source_revision() -> str:
    """Return the revision of labelkin's source.

    In a checkout this is the last commit that changed the package, with ``+`` and a hash of the
    changes where files differ from it. For an installed package it is the version: a repository
    around it belongs to someone else.
    """
    here = Path(__file__).resolve().parent
    package = str(here.parents[1])

    def git(*words: str) -> str:
        # Without the lock of the index, which an interrupted run would leave behind.
        command = ["git", "--no-optional-locks", "-C", str(here), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        changes = git("diff", "HEAD", "--", package)
        mark = f"+{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else ""
        return git("log", "-1", "--format=%H", "--", package) + mark
    except (OSError, subprocess.SubprocessError):
        return f"labelkin {installed_version('labelkin')}"
