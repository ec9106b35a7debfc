"""Small files that unpack to much: refused by name, in little memory and time."""

import bz2
import gzip
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from labelkin._utils.limits import SIZE_VARIABLE

pyarrow = pytest.importorskip("pyarrow")

HEADS = {
    "svm": b"",
    "csv": b"a,y\n1,0\n",
    "arff": b"@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n",
}
LINES = {
    "svm": [b"1 1:1\n", b"1\n", b"\n", b"#\n", b"1" + b",1" * 50 + b" 1:1\n"],
    "csv": [b"1,0\n", b"\n", b'"",\n'],
    "arff": [b"1,0\n", b"{0 1}\n", b"%\n", b"{}\n"],
}

# The default is eight times as high; so the files here are smaller by this factor.
LIMIT = 2**25

# Reads files in at most this much memory more than Python has after its imports.
READER = """
import json, resource, sys, time
from labelkin.datasets import read_table
import labelkin.datasets.formats._parquet, pyarrow.compute, pyarrow.parquet
limit = 1024 * int(open("/proc/self/statm").read().split()[0]) * 4 + 450 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = {}
for path in sys.argv[1:]:
    began = time.process_time()
    try:
        read_table(path)
        said = "read"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    found[path] = [said, time.process_time() - began]
print(json.dumps(found))
"""


def write_texts(folder):
    """Write members of gzip and bzip2, each of which repeats one line."""
    for form, lines in LINES.items():
        for i, line in enumerate(lines):
            compress, suffix = (bz2.compress, ".bz2") if i == 0 else (gzip.compress, ".gz")
            part = compress(line * (1_000_000 // len(line)))
            (folder / f"{form}{i}.{form}{suffix}").write_bytes(compress(HEADS[form]) + part * 40)


def write_parquet(folder):
    from pyarrow.parquet import write_table

    def codes(value, count):
        places = pyarrow.array(np.zeros(count, dtype=np.int32))
        return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array([value]))

    tables = {
        "texts": {"a": codes("x" * 1000, 500_000)},
        "long texts": {"a": codes("x" * 1_000_000, 2500)},
        "numbers": {f"c{i}": np.zeros(125_000) for i in range(60)},
        "missing": {"a": pyarrow.nulls(40_000_000, pyarrow.int64())},
        "one row": {"a": [np.zeros(8_000_000, dtype=np.int64)]},
        "one row of texts": {
            "a": pyarrow.ListArray.from_arrays([0, 12_000_000], codes("x", 12_000_000))
        },
        "one text": {"a": ["x" * 40_000_000]},
        "wide": {"a": pyarrow.array([b"x" * 100_000] * 700, pyarrow.binary(100_000))},
    }
    for name, columns in tables.items():
        write_table(pyarrow.table(columns), folder / f"{name}.parquet", compression="zstd")


def write_npz(folder):
    with zipfile.ZipFile(folder / "zeros.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("X_data", "X_indices", "X_indptr", "X_shape", "Y"):
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, np.zeros(2_500_000))


WORKBOOK = '<workbook xmlns:r="r"><sheet name="a" r:id="i"/></workbook>'
LINKS = '<Relationships><Relationship Id="i" Target="worksheets/s.xml"/></Relationships>'
CELL = '<table-cell office:value-type="string" {}><p>x</p></table-cell>'


def write_sheets(folder):
    """Write elements of which each takes a few bytes, and repetitions of cells."""

    def pack(name, **parts):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for part, text in parts.items():
                archive.writestr(f"{part.replace('__', '/')}.xml", text)
            if "xl__workbook" in parts:
                archive.writestr("xl/_rels/workbook.xml.rels", LINKS)

    one = "<worksheet><row><c><v>1</v></c></row></worksheet>"
    sheet = {"xl__workbook": WORKBOOK, "xl__worksheets__s": one}
    pack("strings.xlsx", **sheet, xl__sharedStrings=f"<a>{'<si/>' * 8_000_000}</a>")
    pack("styles.xlsx", **sheet, xl__styles=f"<a><cellXfs>{'<xf/>' * 8_000_000}</cellXfs></a>")
    pack("rows.xlsx", **sheet | {"xl__worksheets__s": f"<a>{'<row/>' * 6_000_000}</a>"})
    cells, empty = CELL.format, '<table-cell table:number-columns-repeated="{}"/>'.format
    many = cells('table:number-columns-repeated="16000"')
    debt = cells('table:number-columns-repeated="-1000000000000"') + empty(10**12)
    for name, row in (("cells.ods", many), ("debt.ods", debt + many)):
        row = f'<table-row table:number-rows-repeated="1000000">{row}</table-row>'
        space = 'xmlns:table="t" xmlns:office="o"'
        pack(name, content=f"<document {space}><table>{row}</table></document>")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
@pytest.mark.parametrize("make", [write_texts, write_parquet, write_npz, write_sheets])
def test_refused_in_little_memory_and_time(make, tmp_path):
    make(tmp_path)
    paths = sorted(map(str, tmp_path.iterdir()))
    assert all(os.path.getsize(path) < 400_000 for path in paths)
    command = [sys.executable, "-c", READER, *paths]
    environment = os.environ | {SIZE_VARIABLE: str(LIMIT)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    for path, (said, seconds) in json.loads(done.stdout).items():
        assert said.startswith(f"FormatError: {path}: "), said
        assert "unpacks to more than" in said or "outside of any sheet" in said, said
        assert seconds < 10, (path, seconds)
