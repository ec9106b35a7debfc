"""Writers for a process that is killed: at a random moment, or at a given write of SQLite."""

import _sqlite3
import ctypes
import os
import signal
import sys
from itertools import count, cycle
from pathlib import Path

import numpy as np

from labelkin import MLkNNClassifier
from labelkin.datasets import write
from labelkin.experiments.run.store import METRIC_COLUMNS, Store
from labelkin.persistence import save_model
from support.data import make_data

BATCH = 5


def write_models(path, ready):
    X, Y = make_data(30)
    models = [MLkNNClassifier(k).fit(X, Y) for k in (1, 3)]
    save_model(models[0], path)
    ready.set()
    for model in cycle(models):
        save_model(model, path)


def write_tables(path, ready):
    X, Y = make_data(500)
    write(path, X, Y)
    ready.set()
    for n in cycle([100, 500]):
        write(path, X[:n], Y[:n])


def write_results(path, ready):
    """Add batches of results after those that are there."""
    figures = dict.fromkeys(METRIC_COLUMNS, 0.5)
    figures |= {"fit_s": 1.0, "predict_s": 1.0, "status": "ok", "error": None}
    with Store(path, write=True) as store:
        store.begin(facts={}, started="now", command="…", environment={})
        first = len(store.cells())
        for at in count(first, BATCH):
            places = [
                {"dataset": f"d{i}", "method": "m", "repeat": 0, "fold": 0}
                for i in np.arange(at, at + BATCH).tolist()
            ]
            store.add([{**place, **figures} for place in places])
            ready.set()


# ------------------------------------------------------------- kills at a given write of SQLite

_WRITES = {  # of SQLite's file system, with the type of their arguments
    b"open": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    b"write": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    b"pwrite": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    b"pwrite64": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    b"ftruncate": (ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    b"unlink": (ctypes.c_int, ctypes.c_char_p),
}
_kept = []  # functions that SQLite calls


class _FileSystem(ctypes.Structure):
    _fields_ = (
        [("version", ctypes.c_int), ("size", ctypes.c_int), ("longest", ctypes.c_int)]
        + [("next", ctypes.c_void_p), ("name", ctypes.c_char_p), ("data", ctypes.c_void_p)]
        + [(f"method{i}", ctypes.c_void_p) for i in range(13)]
        + [("set_call", ctypes.c_void_p), ("get_call", ctypes.c_void_p)]
    )


def intercept_writes(before):
    """Have SQLite call ``before(name, arguments)`` before each system call that changes a file."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_FileSystem)
    system = library.sqlite3_vfs_find(None)
    place, name = ctypes.c_void_p, ctypes.c_char_p
    get_call = ctypes.CFUNCTYPE(place, place, name)(system.contents.get_call)
    set_call = ctypes.CFUNCTYPE(ctypes.c_int, place, name, place)(system.contents.set_call)
    for call, types in _WRITES.items():
        found = get_call(system, call)
        if not found:
            continue
        kind = ctypes.CFUNCTYPE(*types, use_errno=True)
        original = kind(found)

        def changed(*arguments, call=call, original=original):
            before(call.decode(), arguments)
            return original(*arguments)

        _kept.append(kind(changed))
        assert set_call(system, call, ctypes.cast(_kept[-1], place)) == 0


def can_intercept():
    """Whether SQLite's functions can be reached: not where they are part of Python itself."""
    try:
        return hasattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_vfs_find")
    except OSError:
        return False


def reproduce(folder, at=0, half=False):
    """Run experiments, and kill the process at a write; return the exit code.

    Before the write number `at`, or amid it: then half of its bytes are written. With 0 the number
    of writes is left in a file.
    """
    from labelkin.cli import main

    os.chdir(folder)
    count = 0

    def before(call, arguments):
        nonlocal count
        count += 1
        if count != at:
            return
        if half and "write" in call:
            raw = ctypes.string_at(arguments[1], arguments[2] // 2)
            if call == "write":
                os.write(arguments[0], raw)
            else:
                os.pwrite(arguments[0], raw, arguments[3])
        os.kill(os.getpid(), signal.SIGKILL)

    intercept_writes(before)
    command = ["reproduce", "figure2", "--data", "d.npz", "--methods", "mlknn", "--repeats", "1"]
    code = main([*command, "--jobs", "1", "--store", "r.db"])
    if not at:
        Path("writes").write_text(str(count))
    sys.exit(code)
