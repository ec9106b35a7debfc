"""Try a built wheel as users would: in fresh environments, with old and new dependencies.

Usage: ``python tools/try_wheel.py dist/labelkin-*.whl [lowest] [newest]``. For each it makes a
virtual environment, installs the wheel with the command line's extras, runs
``tests/release/smoke.py`` away from the sources, and checks ``tests/release/user_project.py``
with ``mypy --strict``. *lowest* pins every dependency to the floor named in pyproject.toml;
``python tools/try_wheel.py floors`` prints these.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ROOT / "tests" / "release"
EXTRAS = "all"


def floors() -> list[str]:
    """Return ``name==floor`` for all requirements of an install with all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    for group in extras[EXTRAS]:
        for name in group.removeprefix("labelkin[").removesuffix("]").split(","):
            wanted += extras[name]
    # A constraint names no extras: dask[array] is dask.
    plain = {re.sub(r"\[.*\]", "", line) for line in wanted if ">=" in line}
    return sorted(line.replace(">=", "==") for line in plain)


def run(*command: object, cwd: str | Path, **environment: str) -> None:
    """Run a command, and end with its code if it fails."""
    words = [str(word) for word in command]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(words, cwd=cwd, env={**clean, **environment}, check=False)
    if done.returncode:
        sys.exit(f"failed ({done.returncode}): {' '.join(words)}")


def try_in_fresh_environment(wheel: Path, which: str, folder: Path) -> None:
    """Install and try the wheel with the lowest or the newest dependencies."""
    print(f"== {which}: a fresh environment", flush=True)
    home = folder / which
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    constraints = folder / f"{which}.txt"
    constraints.write_text("\n".join(floors() if which == "lowest" else []), encoding="utf-8")
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    # First with nothing but the core: it must be enough for everything that needs no extra.
    run(*pip, "--constraint", constraints, wheel, cwd=folder)
    run(python, CHECKS / "smoke.py", "core", cwd=folder)
    run(*pip, "--constraint", constraints, f"labelkin[{EXTRAS}] @ {wheel.as_uri()}", cwd=folder)
    run(python, CHECKS / "smoke.py", "all", cwd=folder)
    if which == "newest":  # type hints: those of NumPy's floor are older than mypy's taste
        run(*pip, "mypy", cwd=folder)
        run(python, "-m", "mypy", "--strict", CHECKS / "user_project.py", cwd=folder)
    print(f"== {which}: all is well", flush=True)


def main(arguments: list[str]) -> None:
    """Try the wheel named first in the environments named after it; or print the floors."""
    if arguments == ["floors"]:
        print(*floors(), sep="\n")
        return
    wheel = Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for which in arguments[1:] or ["lowest", "newest"]:
            try_in_fresh_environment(wheel, which, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
