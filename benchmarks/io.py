"""Reading speed and peak memory of ARFF files: labelkin against liac-arff, in one run.

Run it with ``python benchmarks/io.py``; the real files are looked for in LABELKIN_DATA, else
in ``../shared/datasets``. Files are decompressed first, so that the readers are compared and
not gzip. liac-arff gives lists of Python objects; labelkin gives X and Y as arrays, and reads
the XML too. Time is CPU time, the best of several runs; memory is the peak that tracemalloc
sees. The large sparse file is generated, and read in a fresh process whose resident memory
is the measure.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from labelkin.datasets import read_arff

SHARED = Path(os.environ.get("LABELKIN_DATA") or Path(__file__).parents[2] / "shared" / "datasets")
NAMES = [
    *("mulan/yeast", "mulan/scene-train", "mulan/enron", "mulan/genbase", "mulan/medical"),
    *("meka/Yeast", "meka/Scene", "meka/Enron"),
]


def cpu_seconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def peak_mb(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def unpack(name: str, folder: Path) -> Path:
    """Decompress a real ARFF file, and its XML where it has one."""
    source = SHARED / "arff" / f"{name}.arff.gz"
    path = folder / f"{source.name.removesuffix('.gz')}"
    path.write_bytes(gzip.decompress(source.read_bytes()))
    xml = source.with_name(source.name.partition(".")[0].removesuffix("-train") + ".xml.gz")
    if xml.is_file():
        (folder / xml.name.removesuffix(".gz")).write_bytes(gzip.decompress(xml.read_bytes()))
    return path


def compare(name: str, repeats: int) -> float:
    import arff

    with tempfile.TemporaryDirectory() as folder:
        path = unpack(name, Path(folder))
        size = path.stat().st_size / 1e6
        form = arff.LOD if b"\n{" in path.read_bytes() else arff.DENSE

        def theirs() -> object:
            with open(path, encoding="utf-8") as file:
                return arff.load(file, return_type=form)

        def ours() -> object:
            return read_arff(path)

        fast, slow = cpu_seconds(ours, 5 * repeats), cpu_seconds(theirs, repeats)
        fast_peak, slow_peak = peak_mb(ours), peak_mb(theirs)
    print(
        f"{name:18s} {size:6.2f} {size / fast:9.1f} {size / slow:9.1f} {slow / fast:7.1f} "
        f"{fast_peak:9.1f} {slow_peak:9.1f} {slow_peak / fast_peak:7.1f}"
    )
    return slow / fast


def write_large(path: Path, megabytes: float, n_features: int = 50_000) -> int:
    """Write a sparse ARFF file of about this size; return its number of rows."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(2000):
        columns = np.unique(rng.integers(10, n_features + 10, 60))
        marks = np.unique(rng.integers(0, 10, 3))
        values = [f"{v:.4g}" for v in rng.random(columns.size)]
        pairs = [f"{c} 1" for c in marks] + [
            f"{c} {v}" for c, v in zip(columns, values, strict=True)
        ]
        rows.append("{" + ",".join(pairs) + "}\n")
    block = "".join(rows)
    times = max(1, round(megabytes * 1e6 / len(block)))
    with open(path, "w", encoding="ascii") as file:
        file.write("@relation 'large: -C 10'\n")
        file.writelines(f"@attribute y{i} {{0,1}}\n" for i in range(10))
        file.writelines(f"@attribute x{i} numeric\n" for i in range(n_features))
        file.write("@data\n")
        for _ in range(times):
            file.write(block)
    return times * len(rows)


def peak_resident_mb() -> float:
    """Peak resident memory of this process alone (getrusage's includes the parent's)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1e3


def read_one(path: str) -> None:
    """Run in the fresh process: read, and print what it took."""
    before = peak_resident_mb()
    start = time.process_time()
    bunch = read_arff(path)
    seconds = time.process_time() - start
    peak = peak_resident_mb() - before
    held = bunch.data.data.nbytes + bunch.data.indices.nbytes + bunch.data.indptr.nbytes
    held += bunch.target.nbytes
    print(seconds, peak, held / 1e6, bunch.data.shape[0], bunch.data.shape[1])


def large(megabytes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.arff"
        write_large(path, megabytes)
        size = path.stat().st_size / 1e6
        command = [sys.executable, __file__, "--read", str(path)]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    seconds, peak, held, n, d = (float(word) for word in words)
    print(
        f"\nlarge sparse file: {size:.0f} MB, {n:.0f} x {d:.0f} (dense: {n * d * 8 / 1e9:.0f} GB): "
        f"{seconds:.1f} s, {size / seconds:.0f} MB/s, resident memory +{peak:.0f} MB "
        f"for {held:.0f} MB of arrays"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of liac-arff (ours: 5 times)")
    parser.add_argument("--large", type=float, default=100, metavar="MB", help="0 leaves it out")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_one(options.read)
        return
    if (SHARED / "arff").is_dir():
        print(f"{'':25s} {'MB/s of CPU time':>19s} {'':7s} {'peak memory, MB':>19s}")
        print(f"{'file':18s} {'MB':>6s} " + f"{'labelkin':>9s} {'liac':>9s} {'ratio':>7s} " * 2)
        ratios = [compare(name, options.repeats) for name in NAMES]
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"speed ratios: geometric mean {mean:.1f}, least {min(ratios):.1f}")
    else:
        print(f"no real files at {SHARED}; only the generated one is read")
    if options.large:
        large(options.large)


if __name__ == "__main__":
    main()
