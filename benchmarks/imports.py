"""Import time: what labelkin costs beyond the scikit-learn it needs.

``python benchmarks/imports.py`` prints the processor seconds that a new interpreter takes to import
each, the median of several runs, with Python's own start taken off. As in an installed package,
all bytecode is there; the runs lie at different depths of the stack, because CPython 3.11 spends up
to a tenth more or less on the very same imports depending on where the frames of their inner loops
happen to cross from one block of its stack to the next.
"""

import os
import resource
import statistics
import subprocess
import sys

RUNS = 9
FRAMES = 5  # how much deeper each run begins
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
NESTED = """
def nested(depth):
    return nested(depth - 1) if depth else exec(code, {{}})
nested({})"""

# The package itself loads nothing; an estimator loads its module and what that needs.
OURS = {
    "import labelkin": "import labelkin",
    "VPCMEClassifier": "from labelkin import VPCMEClassifier",
    "every estimator": "import labelkin; [getattr(labelkin, name) for name in labelkin.__all__]",
}


def seconds(*codes: str) -> list[float]:
    """Return the processor time of new interpreters that run each code, a median over depths."""
    times: list[list[float]] = [[] for _ in codes]
    for run in range(-1, RUNS):  # the first writes the bytecode
        for code, found in zip(codes, times, strict=True):
            found.append(_seconds(f"code = {code!r}" + NESTED.format(FRAMES * max(run, 0))))
    return [statistics.median(found[1:]) for found in times]


def _seconds(code: str) -> float:
    started = _children()
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return _children() - started


def _children() -> float:
    """Processor time of all ended children: what else the machine does hardly shows in it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def needed(code: str) -> str:
    """Return code that imports only the modules of others that this code loads."""
    listing = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; before = set(sys.modules); {code}\n"
            "print(*[m for m in sys.modules if m not in before])",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    theirs = [m for m in listing if m.split(".")[0] in ("numpy", "scipy", "sklearn", "joblib")]
    return "import importlib\nfor m in " + repr(theirs) + ": importlib.import_module(m)"


def main() -> None:
    """Print a row for each."""
    [start] = seconds("pass")
    print(f"{'':18} {'labelkin':>10} {'its needs':>10} {'ratio':>7}")
    for name, code in OURS.items():
        ours, theirs = (each - start for each in seconds(code, needed(code)))
        ratio = f"{ours / theirs:7.2f}" if theirs > 0.02 else "      –"
        print(f"{name:18} {ours:8.3f} s {theirs:8.3f} s {ratio}")
    print(f"{'labelkin --help':18} {seconds(HELP)[0]:8.3f} s  (with Python's start)")


HELP = "import sys; from labelkin.cli import main; sys.exit(main(['--help']))"

if __name__ == "__main__":
    main()
