"""Import time: what labelkin costs beyond the scikit-learn it needs.

``python benchmarks/imports.py`` prints the processor seconds that a new interpreter takes to import
each, the median of several runs, with Python's own start taken off; and, with it, those of
``labelkin --help`` and of ``labelkin predict`` for three rows. As in an installed package, all
bytecode is there; the runs lie at different depths of the stack, because CPython 3.11 spends up to
a tenth more or less on the very same imports depending on where the frames of their inner loops
happen to cross from one block of its stack to the next.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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
    with tempfile.TemporaryDirectory() as folder:
        table, few, model = (str(Path(folder) / name) for name in ("t.csv", "3.csv", "m.labelkin"))
        rows = [f"{i % 7},row {i} of many,{'pqr'[i % 3]},{i % 2},{i % 3 // 2}" for i in range(100)]
        for path, count in ((table, 100), (few, 3)):
            Path(path).write_text("\n".join(["x,words,kind,a,b", *rows[:count], ""]))
        fit = command("fit", table, "--labels", "a,b", "--model", "mlknn", "--out", model)
        subprocess.run([sys.executable, "-c", fit], check=True, capture_output=True)
        codes = {"labelkin --help": command("--help")}
        codes["labelkin predict"] = command("predict", model, few)
        for name, taken in zip(codes, seconds(*codes.values()), strict=True):
            print(f"{name:18} {taken:8.3f} s  (with Python's start)")


def command(*argv: str) -> str:
    """Return code that runs a command line as a process of its own does."""
    return f"import sys; sys.argv[1:] = {argv}; from labelkin.cli import main; sys.exit(main())"


if __name__ == "__main__":
    main()
