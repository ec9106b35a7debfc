"""Import time: what labelkin costs beyond the scikit-learn it needs.

``python benchmarks/imports.py`` prints the processor seconds that a new interpreter takes to import
each, the smallest of several runs, with Python's own start taken off.
"""

import resource
import subprocess
import sys

RUNS = 7

# The package itself loads nothing; an estimator loads its module and what that needs.
OURS = {
    "import labelkin": "import labelkin",
    "VPCMEClassifier": "from labelkin import VPCMEClassifier",
    "every estimator": "import labelkin; [getattr(labelkin, name) for name in labelkin.__all__]",
}


def seconds(code: str) -> float:
    """Return the least processor time of a new interpreter that runs the code."""
    best = float("inf")
    for _ in range(RUNS):
        started = _children()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        best = min(best, _children() - started)
    return best


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
    start = seconds("pass")
    print(f"{'':18} {'labelkin':>10} {'its needs':>10} {'ratio':>7}")
    for name, code in OURS.items():
        ours, theirs = seconds(code) - start, seconds(needed(code)) - start
        ratio = f"{ours / theirs:7.2f}" if theirs > 0.02 else "      –"
        print(f"{name:18} {ours:8.3f} s {theirs:8.3f} s {ratio}")
    print(f"{'labelkin --help':18} {seconds(HELP):8.3f} s  (with Python's start)")


HELP = "import sys; from labelkin.cli import main; sys.exit(main(['--help']))"

if __name__ == "__main__":
    main()
