"""A command ends soon after Ctrl-C or SIGTERM, even in one long call or amid its imports."""

import os
import signal
import subprocess
import sys
import time

import pytest

STUCK = """
import hashlib, pathlib, sys
from labelkin._utils.files import open_for_writing
from labelkin.cli import terminable

with terminable(), open_for_writing(sys.argv[1]) as file:
    file.write(b"half")
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes
"""


IMPORTING = """
import sys, time

class Slow:
    def find_spec(self, name, path, target=None):
        if name == "labelkin.cli._app":
            print("ready", flush=True)
            time.sleep(600)

sys.meta_path.insert(0, Slow())
from labelkin.cli import main
sys.exit(main(["datasets"]))
"""


def wait_until_it_computes(process):
    """Wait until a process that has printed its line has used a tenth of a second since."""
    start = cpu_seconds(process.pid)
    while cpu_seconds(process.pid) < start + 0.1:
        assert process.poll() is None
        time.sleep(0.02)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("script", [STUCK, IMPORTING], ids=["compiled code", "imports"])
def test_ends_soon(script, number, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    if script == STUCK:
        wait_until_it_computes(process)
    process.send_signal(number)
    _, error = process.communicate(timeout=600)
    assert (process.returncode, error) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())
