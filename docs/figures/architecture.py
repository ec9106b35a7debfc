"""The packages of labelkin in their layers, and the path of two calls through them.

Nothing is listed by hand: the layers are those of the contract in pyproject.toml, the imports
are read from the source by grimp, and the two paths are traced while the code runs.
"""

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import grimp
import numpy as np
from matplotlib.patches import FancyBboxPatch

import labelkin
from figures._common import BLUE, GREY, INK, ORANGE, PAPER, new_figure

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(labelkin.__file__).parent
READS = [ROOT / "pyproject.toml", *SOURCE.glob("*/__init__.py")]

_WIDTH, _GAP, _HEIGHT, _SHIFT = 1.62, 0.18, 0.62, 1.35


def layers() -> list[list[str]]:
    """Return the packages, the highest layer first, as `make lint` enforces them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]


def imports() -> set[tuple[str, str]]:
    """Return the pairs of packages of which the first imports the second."""
    graph = grimp.build_graph("labelkin", exclude_type_checking_imports=True)
    pairs = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            ends = _room(module), _room(imported)
            if None not in ends and ends[0] != ends[1]:
                pairs.add(ends)
    return pairs


def without_implied(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs that do not follow from a path of two or more others."""
    below: dict[str, set[str]] = {}
    for room in [room for layer in reversed(layers()) for room in layer]:
        direct = {b for a, b in pairs if a == room}
        below[room] = direct.union(*(below[b] for b in direct))
    return {
        (a, b)
        for a, b in pairs
        if not any(b in below[middle] for first, middle in pairs if first == a)
    }


def trace(run: Callable[[], object]) -> list[str]:
    """Return the packages whose functions a call enters, in the order of the first visit."""
    run()  # imports are done by now, and are no part of the path
    visited: dict[str, None] = {}

    def enter(frame, event, argument):
        if event == "call" and (room := _room(frame.f_globals.get("__name__", ""))):
            visited.setdefault(room)

    sys.setprofile(enter)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(visited)


def fit_a_model() -> list[str]:
    """Trace ``VPCMEClassifier().fit`` on small data."""
    from labelkin import VPCMEClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model = VPCMEClassifier(n_estimators=2, n_jobs=1, random_state=0)
    return trace(lambda: model.fit(X, (X[:, :3] > 0).astype(int)))


def fit_a_file() -> list[str]:
    """Trace ``labelkin fit file.csv`` on a small table."""
    from labelkin.cli import main

    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        rows = [f"{a:.3f},{b:.3f},{int(a > 0)},{int(b > 0)}" for a, b in rng.normal(size=(60, 2))]
        path.write_text("\n".join(["width,height,wide,high", *rows]))
        command = [
            "fit", str(path), "--labels", "wide,high", "--model", "vpcme",
            "--out", str(Path(folder) / "model.labelkin"), "--overwrite", "--quiet",
        ]  # fmt: skip

        def run() -> None:
            code = main(command)
            if code:
                raise RuntimeError(f"labelkin {' '.join(command)} ended with {code}")

        return trace(run)


def _room(module: str) -> str | None:
    parts = module.split(".")
    return (
        parts[1] if parts[0] == "labelkin" and len(parts) > 1 and parts[1] != "__main__" else None
    )


def draw():
    """Draw the layers as rows of boxes, imports as lines, and the two paths as numbers."""
    rows = layers()
    figure = new_figure(8.2, 0.8 * len(rows) + 0.4)
    axes = figure.subplots()
    half = max(map(len, rows)) * (_WIDTH + _GAP) / 2 + 0.1
    place = {}
    for depth, rooms in enumerate(rows):
        left = -((len(rooms) - 1) * (_WIDTH + _GAP)) / 2
        if len(rooms) == 1:  # not all in one column, where a line would hide behind boxes
            left += _SHIFT * (-1) ** depth
        for number, room in enumerate(rooms):
            place[room] = left + number * (_WIDTH + _GAP), -float(depth)
    for above, below in sorted(without_implied(imports())):
        (x0, y0), (x1, y1) = place[above], place[below]
        axes.plot(
            [x0, x1], [y0 - _HEIGHT / 2, y1 + _HEIGHT / 2], color=GREY, lw=0.9, alpha=0.8, zorder=1
        )
    for room, (x, y) in place.items():
        box = FancyBboxPatch(
            (x - _WIDTH / 2, y - _HEIGHT / 2), _WIDTH, _HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.08", facecolor=PAPER, edgecolor=INK, lw=0.9,
            zorder=2,
        )  # fmt: skip
        box.set_gid(f"room-{room}")
        axes.add_patch(box)
        axes.text(x, y + 0.04, room, ha="center", va="center", color=INK, fontsize=10, zorder=3)
    paths = [(fit_a_model(), BLUE, -1, "VPCMEClassifier().fit(X, y)")]
    paths.append((fit_a_file(), ORANGE, 1, "labelkin fit file.csv"))
    for rooms, colour, side, _ in paths:
        for number, room in enumerate(rooms, start=1):
            x, y = place[room]
            axes.text(
                x + side * (_WIDTH / 2 - 0.16), y - _HEIGHT / 2 + 0.15, str(number), color=colour,
                fontsize=8, fontweight="bold", ha="center", va="center", zorder=4,
            )  # fmt: skip
    for number, (_, colour, _, title) in enumerate(paths):
        axes.text(
            0.15 - half, 0.35 - 0.36 * number, f"1, 2, …  {title}", color=colour, fontsize=8.5,
            ha="left", va="center",
        )  # fmt: skip
    axes.set_xlim(-half, half)
    axes.set_ylim(-len(rows) + 0.4, 0.7)
    axes.axis("off")
    return figure


def purpose(room: str) -> str:
    """Return the first line of a package's docstring."""
    path = SOURCE / room / "__init__.py"
    path = path if path.exists() else SOURCE / f"{room}.py"
    found = re.match(r'"""(.*?)(?:"""|\n)', path.read_text(encoding="utf-8"))
    return found[1].rstrip(".") if found else ""
