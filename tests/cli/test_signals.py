"""A command ends soon after Ctrl-C or SIGTERM, even inside one long call of compiled code."""

import signal
import subprocess
import sys
import time

import pytest

STUCK = """
import hashlib, pathlib, sys
from labelkin._utils.files import open_for_writing
from labelkin.cli._signals import terminable

with terminable(), open_for_writing(sys.argv[1]) as file:
    file.write(b"half")
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_in_compiled_code(number, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)  # until it is inside
    process.send_signal(number)
    _, error = process.communicate(timeout=600)
    assert (process.returncode, error) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())
