"""A full disk, and the memory that a call takes."""

import tracemalloc
from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(size):
    """Let every file grow to a size and no further, as where the disk is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def peak_memory(function, *args):
    """Return the peak of memory that a call allocates, in bytes."""
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
