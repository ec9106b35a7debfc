"""Costly files, made once for all worker processes of a test run."""

import fcntl
import os


def build_once(tmp_path_factory, name, build):
    """Return a folder that the first process to need it makes by ``build(folder)``."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of all workers
    folder, unfinished = base / name, base / f"{name}-unfinished"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(folder)
    return folder
