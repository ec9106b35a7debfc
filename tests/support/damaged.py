"""Small files of every format, and what reading a damaged one may give."""

import signal
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from labelkin.datasets import FormatError, read
from labelkin.datasets.formats._arff import read_labels_xml

DENSE = rb"""% small
@relation 'x: -C 2'
@attribute y1 {0,1}
@attribute 'y 2' {NO,YES}
@attribute a numeric
@attribute 'b\'s' {x,"y z",w}
@data
1,YES,0.5,x
0,NO,?,'y z'
0,YES,-1e-3,w
"""
SPARSE = b"""@relation 'x: -C -2'
@attribute a numeric
@attribute b {x,y,z}
@attribute y1 {0,1}
@attribute y2 {1,0}
@data
{}
{0 0.5,1 z,3 0}
{1 'y', 2 1}
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"><label name="b &amp; c"></label></label>
</labels>
"""
SVM = b"3 5 3\n0,2 1:0.5 4:1\n1:0\n1 2:3e5\n"
CSV = b'a,"b ""q""",y1,y2\n0.5,1,1,0\n,2,0,0\n3,-1e3,1,1\n'
SMALL = {
    "dense.arff": (DENSE, {}),
    "sparse.arff": (SPARSE, {}),
    "set.svm": (SVM, {}),
    "set.csv": (CSV, {"labels": "y1,y2"}),
    "set.xml": (XML, {}),
}


class TooLate(BaseException):
    """Not an Exception, which readers turn into errors of their own."""


@contextmanager
def cpu_limit(seconds):
    """Fail, rather than hang, when a reader takes more than these seconds of CPU time."""

    def late(*_):
        raise TooLate(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def outcome(path, raw, **options):
    """Read a file; return whether it gave data. Anything but data or FormatError fails."""
    path.write_bytes(raw)
    try:
        with cpu_limit(20):
            got = read_labels_xml(path) if path.suffix == ".xml" else read(path, **options)
    except FormatError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert "\n" not in message.replace(str(path), ""), message
        assert len(message) < 600
        return False
    if path.suffix == ".xml":
        assert all(isinstance(name, str) for name in got)
        return True
    n, d = got.data.shape
    assert got.target.shape[0] == n
    cells = got.target.data if sparse.issparse(got.target) else got.target
    unknown = np.isnan(cells)
    assert got.target.dtype == (np.float64 if unknown.any() else np.uint8)
    assert np.isin(cells[~unknown], (0, 1)).all()
    assert got.feature_n_values.shape == (d,)
    assert got.feature_names is None or len(set(got.feature_names)) == d
    assert got.label_names is None or len(set(got.label_names)) == got.target.shape[1]
    if sparse.issparse(got.data):
        got.data.check_format(full_check=True)
    return True
