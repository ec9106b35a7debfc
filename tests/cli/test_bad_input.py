"""Bad invocations and bad files: one sentence, the right exit code, no file lost or in half."""

import os
import random
import signal
import stat
import subprocess
import sys
import time
import zipfile

import pytest

from labelkin.cli import main
from support.tables import write_films, write_numbers, write_posts

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

AB = "--labels a,b --model mlknn"
NUMBERS = "x,z,a,b\n1,2,0,1\n3,4,1,0\n5,6,1,1\n"
FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Return a folder with good files, good models and every bad file named below."""
    folder = tmp_path_factory.mktemp("samples")
    before = os.getcwd()
    os.chdir(folder)
    try:
        _write_samples()
    finally:
        os.chdir(before)
    return folder


def _write_samples():
    write_films("films.csv", 40)
    write_films("new.csv", 10, seed=1, labels=False)
    write_posts("posts.csv", 40)
    write_numbers("n.csv")
    films = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--model", "mlknn", "-q"]
    assert main(["fit", "films.csv", *films, "--out", "films.labelkin"]) == 0
    assert main(["fit", "n.csv", *AB.split(), "-q", "--out", "n.labelkin"]) == 0
    with open("n.labelkin", "rb") as file:
        raw = file.read()
    blobs = {
        "cut.labelkin": raw[: len(raw) // 2],
        "pickle.labelkin": b"\x80\x04K\x01.",
        "text.labelkin": b"hello",
        "empty.labelkin": b"",
        "empty.csv": b"",
        "blank.csv": b"\n\n\n",
        "head.csv": b"x,z,a,b\n",
        "ragged.csv": NUMBERS.encode() + b"1,2,3\n",
        "wide.csv": NUMBERS.encode() + b"1,2,0,1,9\n",
        "latin.csv": NUMBERS.replace("x", "größe").encode("latin-1"),
        "binary.csv": bytes(range(256)) * 20,
        "nul.csv": NUMBERS.replace("3", "\0").encode(),
        "notmarks.csv": NUMBERS.replace("1,0\n", "2,0\n").encode(),
        "half.csv": NUMBERS.replace("1,0\n", "0.5,0\n").encode(),
        "gap.csv": NUMBERS.replace("1,0\n", ",0\n").encode(),
        "words.csv": NUMBERS.replace("1,0\n", "drama,0\n").encode(),
        "unlabelled.csv": NUMBERS.replace(",1\n", ",0\n").replace(",1,", ",0,").encode(),
        "unknown.csv": b"x,z,a,b\n1,2,,\n4,1,,\n",
        "hole.csv": b"x,z,a,b\n,2,0,1\n,4,1,0\n,6,1,1\n",
        "missing.csv": b"x,z,a,b\n1,2,0,1\n,4,1,0\n5,6,1,1\n",
        "infinite.csv": b"x,z,a,b\n1,inf,0,1\n3,4,1,0\n5,6,1,1\n",
        "dates.csv": b"x,z,a,b\n1,2024-01-02,0,1\n3,2024-01-03,1,0\n",
        "baddate.csv": b"x,z\n1,2024-01-02\n2,soon\n",
        "twomarks.csv": b"body,tags\n" + b'one two,"a|b"\nthree four,"c,d"\n' * 4,
        "onlylabels.csv": b"a,b\n0,1\n1,0\n",
        "slip.csv": ("x,z,a,b\n" + "".join(f"{i},{i},{i % 2},1\n" for i in range(60)))
        .replace(",3", ",maybe 3")
        .encode(),
        "mixed.csv": b"w,y\n" + b"many,1\n" * 7 + b"".join(b"%d,0\n" % i for i in range(60)),
        "notags.csv": b"body,tags\nhello there,\nyes indeed,\n",
        "nowords.csv": b'body,a,b\n-,0,1\n";",1,0\n/,1,1\n',
        "renamed.csv": NUMBERS.replace("x,", "xx,").encode(),
        "fewer.csv": b"x\n1\n",
        "letters.csv": b"x,z\n1,2\nabc,3\n",
        "quote.csv": b'x,z,a,b\n"1,2,0,1\n"3, 4",4,1,0\n',
        "damaged.csv.gz": b"\x1f\x8b\x08\x00garbage",
        "damaged.csv.bz2": b"BZh9garbage",
        "damaged.parquet": b"PAR1" + bytes(50) + b"PAR1",
        "damaged.npz": b"PK\x03\x04nothing",
        "damaged.arff": b"@relation r\n@attribute x numeric\n@data\n1,2,3\n",
        "nolabels.arff": b"@relation r\n@attribute x numeric\n@attribute y {0,1}\n@data\n1,0\n",
        "nested.arff": b"@relation r\n@attribute x relational\n@attribute y {0,1}\n@data\nw,0\n",
        "multi.arff": b"@relation r\n@attribute x numeric\n@attribute y {p,q,r}\n@data\n1,p\n2,q\n",
        "damaged.svm": b"0 1:x\n",
        "noformat.dat": NUMBERS.encode(),
        "semi.csv": NUMBERS.replace("a,b", "a;c,b").encode(),
    }
    for name, content in blobs.items():
        with open(name, "wb") as file:
            file.write(content)
    with zipfile.ZipFile("zip.labelkin", "w") as archive:
        archive.writestr("x", "y")
    assert main(["fit", "dates.csv", *AB.split(), "-q", "--out", "dates.labelkin"]) == 0
    os.mkdir("folder")
    os.mkdir("folder.csv")
    os.mkdir("folder.labelkin")
    for name in ("taken.labelkin", "taken.csv", "taken.onnx"):
        with open(name, "w") as file:
            file.write("mine")


# Each line: the command, then # and a piece of the sentence. All of them are bad usage: 2.
USAGE = """
nonsense                                            # No such command
fit                                                 # Missing argument
fit n.csv n.csv                                     # unexpected extra argument
fit n.csv --nonsense                                # No such option
fit n.csv --labels                                  # requires an argument
fit nowhere.csv --labels a,b                        # There is no file nowhere.csv
fit nowhere/else.csv --labels a,b                   # There is no file
fit nowhere                                         # nor a dataset of that name
fit folder --labels a,b                             # folder
fit folder.csv --labels a,b                         # folder
fit noformat.dat --labels a,b                       # no known format
fit n.csv                                           # the label columns are unknown
fit n.csv --labels a,c                              # no column 'c'
fit n.csv --labels aa,b                             # could be meant: a
fit n.csv --labels a,a                              # named twice
fit n.csv --labels ,                                # no label column
fit n.csv --labels 9                                # 9 label columns are requested
fit n.csv --labels 0                                # at least 1
fit n.csv --labels -4                               # leaves a feature
fit n.csv --labels x,a                              # label 'x' holds
fit posts.csv --text body --labels tag              # could be meant: tags
fit twomarks.csv --labels tags                      # --separator '|', --separator ',' or both
fit n.csv --labels a,b --decimal ;                  # a point or a comma
fit n.csv --labels a,b --number nothing             # no column 'nothing'
fit n.csv --labels a,b --number x --ignore x        # two purposes
predict dates.labelkin baddate.csv                     # 'soon' in row 2, not a date
fit posts.csv --text bodi --labels tags             # could be meant: body
fit posts.csv --text tags --labels tags             # is a label
fit posts.csv --text body --labels tags --separator ''  # at least one character
fit posts.csv --text body --category body --labels tags       # two purposes
fit mixed.csv --labels y                           # --number w to read them as missing
fit posts.csv --text body --ignore body --labels tags         # two
fit posts.csv --ignore body --labels tags           # no feature column is left
fit notags.csv --text body --labels tags            # no row has any label
fit nowords.csv --text body --labels a,b            # no words
fit n.csv --labels a,b --ignore nothing             # no column 'nothing'
fit n.csv --labels a,b --ignore x,z                 # Name x, z one at a time.
fit n.csv --labels a,b --ignore a                   # is a label
fit n.csv --labels a,b --category nothing           # no column 'nothing'
fit n.csv --labels a,b --model vpmce                # Did you mean vpcme
fit n.csv --labels a,b --model ''                   # no such method
fit n.csv --labels a,b --model os:system            # no such method
fit n.csv --labels a,b -m vpcme --set n_estimators           # write it as name=value
fit n.csv --labels a,b -m vpcme --set =5                     # write it as name=value
fit n.csv --labels a,b -m vpcme --set n_estimators=          # write it as name=value
fit n.csv --labels a,b -m vpcme --set n_estimator=5          # Did you mean n_estimators
fit n.csv --labels a,b -m vpcme --set n_estimators=0         # n_estimators
fit n.csv --labels a,b -m vpcme --set n_estimators=-5        # n_estimators
fit n.csv --labels a,b -m vpcme --set n_estimators=many      # n_estimators
fit n.csv --labels a,b -m vpcme --set n_estimators=2.5       # n_estimators
fit n.csv --labels a,b -m vpcme --set n_estimators=5 --set n_estimators=6   # set twice
fit n.csv --labels a,b -m vpcme --set threshold=7            # threshold
fit n.csv --labels a,b -m vpcme --set voting=loud            # voting
fit n.csv --labels a,b -m vpcme --set estimator=tree    # estimator
fit n.csv --labels a,b -m vpcme --set random_state=x         # random_state
fit n.csv --labels a,b --model mlknn --set n_neighbors=0        # n_neighbors
fit n.csv --labels a,b --model mlknn --set n_estimators=5       # no such parameter
fit n.csv --labels a,b --model mlknn_scaled --set k=5           # no such parameter
fit n.csv --labels a,b -m auto --set n_trees=5      # name one method with --model
fit n.csv --labels a,b -m auto --time 0             # --time
fit n.csv --labels a,b -m auto,kin                  # no such method
fit n.csv --labels a,b --decide f2                  # no such decision
fit n.csv --labels a,b --decide cost:               # cost:FN=5
fit n.csv --labels a,b --decide cost:FN=-1          # positive numbers
fit n.csv --labels a,b --decide cost:XX=1           # cost:FN=5
fit n.csv --labels a,b --decide f1 --threshold 0.3  # cannot be combined
fit n.csv --labels a,b --threshold 3                # a probability from 0 to 1
fit n.csv --labels a,b --threshold nan              # a probability from 0 to 1
fit n.csv --labels a,b --threshold a=               # a probability from 0 to 1
fit n.csv --labels a,b --threshold c=0.3            # no such label
predict n.labelkin n.csv --threshold c=0.3             # no such label
predict n.labelkin n.csv --decide f1                   # fit the model with --decide f1
predict n.labelkin n.csv --decide f2                   # no such decision
predict n.labelkin n.csv --keep y                      # no column 'y'
fit n.csv --labels a,b --seed -1                    # --seed
fit n.csv --labels a,b --seed x                     # --seed
fit n.csv --labels a,b --scale maybe                # --scale
fit n.csv --labels a,b --max-words 0                # --max-words
fit n.csv --labels a,b --delimiter ab               # one character
fit n.csv --labels a,b --delimiter ';'              # no column 'a'
fit n.csv --labels a,b --encoding klingon           # klingon
fit n.csv --labels a,b --device tpu                 # --device
fit n.csv --labels a,b --out taken.labelkin            # exists already
fit n.csv --labels a,b --out folder                 # is a folder
fit n.csv --labels a,b --out nowhere/m.labelkin        # there is no folder nowhere
fit n.csv --labels a,b --out n.csv                  # is also an input
fit n.csv --labels a,b --out n.csv --overwrite      # is also an input
fit empty.csv --labels a,b                          # the file is empty
fit blank.csv --labels a,b                          # the file is empty
fit head.csv --labels a,b                           # no rows
fit ragged.csv --labels a,b                         # the header has 4 columns, and this line 3
fit wide.csv --labels a,b                           # the header has 4 columns, and this line 5
fit latin.csv --labels a,b --encoding utf-8         # --encoding latin-1
fit latin.csv --labels a,b --encoding ascii         # --encoding latin-1
fit binary.csv --labels a,b                         # binary.csv
fit nul.csv --labels a,b                            # nul.csv
fit notmarks.csv --labels a,b                       # label 'a' holds '2' in row 2
fit half.csv --labels a,b                           # holds '0.5' in row 2
fit gap.csv --labels a,b -m rakel                   # cannot learn from unknown labels
fit gap.csv --labels a,b --missing-labels maybe     # is not one of
fit words.csv --labels a,b                          # holds 'drama' in row 2
fit unlabelled.csv --labels a,b                     # no row has any label
fit hole.csv --labels a,b --ignore z                # no feature column is left
fit infinite.csv --labels a,b                       # infinite value in row 1
fit dates.csv --labels a,b --number z               # not a number
fit onlylabels.csv --labels a,b                     # no feature column is left
fit onlylabels.csv --labels -2                      # leaves a feature
fit slip.csv --labels a,b                           # but 11 of 60 cells hold others
fit quote.csv --labels a,b                          # quote.csv
fit damaged.csv.gz --labels a,b                     # damaged.csv.gz
fit damaged.csv.bz2 --labels a,b                    # damaged.csv.bz2
fit damaged.parquet --labels a,b                    # not a readable Parquet file
fit damaged.npz                                     # not a readable file of arrays
fit damaged.arff --labels x                         # damaged.arff, line 4
fit nolabels.arff                                   # the label columns are unknown
fit nolabels.arff --labels z                        # no column 'z'
fit nested.arff --labels y                          # unknown attribute type
fit multi.arff --labels x                           # label 'x' holds
fit damaged.svm                                     # not a LibSVM row
fit n.labelkin --labels a,b                            # no known format
fit digit-scenes --labels a,b --text words          # no column 'words'
predict                                             # Missing argument
predict n.labelkin                                     # Missing argument
predict nowhere.labelkin n.csv                         # There is no file nowhere.labelkin
predict folder n.csv                                # is a folder
predict folder.labelkin n.csv                          # is a folder
predict n.csv n.csv                                 # not a labelkin model
predict n.csv n.labelkin                               # not a labelkin model
predict cut.labelkin n.csv                             # truncated
predict pickle.labelkin n.csv                          # it is a pickle
predict text.labelkin n.csv                            # not a labelkin model
predict empty.labelkin n.csv                           # not a labelkin model
predict zip.labelkin n.csv                             # something else
predict n.labelkin nowhere.csv                         # There is no file nowhere.csv
predict n.labelkin folder                              # folder
predict n.labelkin empty.csv                           # the file is empty
predict n.labelkin head.csv                            # no rows
predict n.labelkin ragged.csv                          # the header has 4 columns, and this line 3
predict n.labelkin renamed.csv                   # no column 'x'. Columns that could be meant: xx
predict n.labelkin films.csv                           # no column 'x'
predict n.labelkin letters.csv                         # 'abc' in row 2
predict n.labelkin infinite.csv                        # infinite value in row 1
predict n.labelkin damaged.parquet                     # not a readable Parquet file
predict n.labelkin noformat.dat                        # no known format
predict n.labelkin digit-scenes                        # no column 'x'
predict films.labelkin n.csv                           # no column 'plot'
predict films.labelkin posts.csv                       # no column 'plot'
predict n.labelkin n.csv --id name                     # no column 'name'
predict n.labelkin n.csv --top -1                      # --top
predict n.labelkin n.csv --top many                    # --top
predict n.labelkin n.csv --out p.txt                   # .csv, .tsv, .xlsx, .parquet or .jsonl
predict n.labelkin n.csv --out p                       # .csv, .tsv, .xlsx, .parquet or .jsonl
predict n.labelkin n.csv --out p.parquet.gz            # end the name in
predict n.labelkin n.csv --out taken.csv               # exists already
predict n.labelkin n.csv --out n.csv --overwrite       # is also an input
predict n.labelkin n.csv --out nowhere/p.csv           # there is no folder nowhere
predict n.labelkin n.csv --out folder.csv              # is a folder
predict n.labelkin n.csv --delimiter ''                # one character
predict n.labelkin n.csv --encoding klingon            # klingon
predict n.labelkin n.csv --device tpu                  # --device
predict n.labelkin n.csv n.csv                         # unexpected extra argument
explain n.labelkin                                     # Missing argument
explain n.labelkin n.csv --row 0                       # --row
explain n.labelkin n.csv --row 31                      # n.csv has 30 rows
explain n.labelkin n.csv --out why.txt                 # end the name in .html or .png
explain n.labelkin n.csv --training missing.csv        # give the file that it was fitted on
explain nowhere.labelkin n.csv                         # There is no file nowhere.labelkin
evaluate                                            # Missing argument
evaluate nowhere.csv --labels a,b                   # There is no file
evaluate n.csv                                      # the label columns are unknown
evaluate n.csv --labels a,c                         # no column 'c'
evaluate n.csv --labels a,b --folds 31              # has only 30 rows
evaluate n.csv --labels a,b --folds 1               # --folds
evaluate n.csv --labels a,b --folds 0               # --folds
evaluate n.csv --labels a,b --folds x               # --folds
evaluate n.csv --labels a,b --repeats 0             # --repeats
evaluate n.csv --labels a,b --model nothing         # no such method
evaluate n.csv --labels a,b --model mlknn,mlkn      # Did you mean mlknn
evaluate n.csv --labels a,b --model ,               # names no method
evaluate n.csv --labels a,b --model nomodule:Thing  # no module 'nomodule'
evaluate n.csv --labels a,b --model os:nothing      # os:nothing
evaluate n.csv --labels a,b --model os:getcwd       # no fit and predict
evaluate n.csv --labels a,b --metrics accuracy      # no such metric
evaluate n.csv --labels a,b --metrics f2            # no such metric
evaluate n.csv --labels a,b --metrics ,             # names no metric
evaluate n.csv --labels a,b -m vpcme --set n_estimator=3     # Did you mean n_estimators
evaluate n.csv --labels a,b --device tpu            # --device
evaluate n.csv --labels a,b --seed -1               # --seed
evaluate unlabelled.csv --labels a,b                # no row has any label
evaluate n.labelkin                                    # is a model; add the data
evaluate nowhere.labelkin n.csv                        # There is no file nowhere.labelkin
evaluate n.csv n.csv                                # not a labelkin model
evaluate cut.labelkin n.csv                            # truncated
evaluate pickle.labelkin n.csv                         # it is a pickle
evaluate n.labelkin renamed.csv                        # no column 'x'
evaluate n.labelkin letters.csv                        # not a number
evaluate n.labelkin fewer.csv                          # no column 'a'
evaluate n.labelkin unknown.csv                        # no label of these rows is known
evaluate n.labelkin notmarks.csv                       # label 'a' holds '2'
evaluate films.labelkin new.csv                        # no column 'drama'
evaluate n.labelkin n.csv --folds 3                    # --folds has no effect
evaluate n.labelkin n.csv --model mlknn                # --model has no effect
evaluate n.labelkin n.csv --set n_neighbors=3          # --set has no effect
evaluate n.labelkin n.csv --labels a,b                 # --labels has no effect
evaluate n.labelkin n.csv --metrics nothing            # no such metric
evaluate n.labelkin digit-scenes                       # digit-scenes
export n.labelkin                                      # Missing argument
export nowhere.labelkin m.onnx                         # nowhere.labelkin
export n.labelkin m.txt                                # .onnx
export n.labelkin taken.onnx                           # exists already
export n.labelkin nowhere/m.onnx                       # there is no folder
"""


def invocations():
    import shlex

    for line in USAGE.strip().splitlines():
        command, _, piece = line.partition("# ")
        yield pytest.param(shlex.split(command), piece.strip(), id=command.strip())


def state(folder):
    """Return every file's bytes: what a refused command must leave as it was."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def untouched(samples, monkeypatch):
    """Run in the folder of samples and check that nothing in it changed."""
    monkeypatch.chdir(samples)
    monkeypatch.setenv("COLUMNS", "200")
    before = state(samples)
    yield samples
    after = state(samples)
    for name in set(after) - set(before):
        (samples / name).unlink()
    assert after == before


@pytest.mark.parametrize(("words", "piece"), list(invocations()))
def test_bad_usage(words, piece, untouched, capsys):
    assert main(words) == 2
    shown = capsys.readouterr()
    assert piece in " ".join(shown.err.split())
    assert "Traceback" not in shown.err
    assert shown.out == ""
    errors = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    usage = "Error:" in shown.err or "─ Error ─" in shown.err
    assert len(errors) == 1 or usage


def test_there_are_two_hundred():
    assert len(list(invocations())) >= 180


def test_long_and_odd_names(untouched, capsys):
    assert main(["fit", "n.csv", "--labels", "a" * 5000]) == 2
    assert len(capsys.readouterr().err) < 400
    assert main(["fit", "n.csv", *AB.split(), "--out", "m" * 300 + ".labelkin"]) == 2
    assert main(["fit", "\udcff.csv", *AB.split()]) == 2
    assert main(["predict", "n.labelkin", "n\0.csv"]) == 2


def test_a_defect_of_ours_is_one_sentence_too(untouched, monkeypatch, capsys):
    from labelkin.neighbors._mlknn import MLkNNClassifier

    def fail(*_):
        raise ZeroDivisionError("never mind")

    monkeypatch.setattr(MLkNNClassifier, "fit", fail)
    assert main(["fit", "n.csv", *AB.split()]) == 1
    assert "error: failed: ZeroDivisionError: never mind" in capsys.readouterr().err
    monkeypatch.setenv("LABELKIN_TRACEBACK", "1")
    assert main(["fit", "n.csv", *AB.split()]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_no_memory(untouched, monkeypatch, capsys):
    from labelkin.neighbors._mlknn import MLkNNClassifier

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(MLkNNClassifier, "fit", fail)
    assert main(["fit", "n.csv", *AB.split()]) == 1
    assert capsys.readouterr().err.endswith("error: not enough memory.\n")


@pytest.mark.parametrize("missing", ["pyarrow", "pyarrow.compute"])
def test_without_an_extra(missing, untouched, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["fit", "n.csv", *AB.split()]) == 2
    assert "pip install 'labelkin[" in capsys.readouterr().err


def test_trees_without_numba_are_refused_before_the_file_is_read(untouched, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "numba", None)
    for command in ("fit", "evaluate"):
        assert main([command, "n.csv", *AB.split(), "-m", "br"]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert "pip install 'labelkin[tree]'" in lines[0]


def test_no_exporter(untouched, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", "n.labelkin", "m.onnx"]) == 2
    assert capsys.readouterr().err.count("error:") == 1


# ------------------------------------------------------------------------ files and disks


@FULL
@pytest.mark.parametrize(
    "words",
    [
        ["fit", "n.csv", *AB.split(), "--out", "/dev/full"],
        ["predict", "n.labelkin", "n.csv", "--out", "/dev/full"],
    ],
    ids=["fit", "predict"],
)
def test_a_full_disk(words, untouched, capsys):
    assert main(words) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "n.csv", *AB.split(), "--out", "n.labelkin", "--overwrite"],
        ["predict", "n.labelkin", "n.csv", "--out", "taken.csv", "--overwrite"],
        ["predict", "n.labelkin", "n.csv", "--out", "p.parquet"],
        ["predict", "n.labelkin", "n.csv", "--out", "p.jsonl.gz"],
    ],
    ids=["fit", "predict", "parquet", "jsonl"],
)
@pytest.mark.parametrize("moment", ["open", "replace"])
def test_a_disk_that_fails_while_writing(words, moment, untouched, monkeypatch, capsys):
    """An existing file stays as it was, and no half of a new one is left."""
    from labelkin._utils import files as _io

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    if moment == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        monkeypatch.setattr(_io, "open", Failing, raising=False)
    assert main(words) == 1
    assert "No space left on device" in capsys.readouterr().err


class Failing:
    """A file that takes some bytes and then no more."""

    def __init__(self, path, mode, **options):
        self.file = open(path, mode, **options)  # noqa: SIM115

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        self.file.write(bytes(data)[:10])
        raise OSError(28, "No space left on device")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize(
    "words",
    ["fit locked.csv --labels a,b", "predict locked.labelkin n.csv", "fit n.csv --labels a,b"],
)
def test_permissions(words, tmp_path, samples, monkeypatch, capsys):
    for name, source in (
        ("locked.csv", "n.csv"),
        ("locked.labelkin", "n.labelkin"),
        ("n.csv", "n.csv"),
    ):
        (tmp_path / name).write_bytes((samples / source).read_bytes())
    (tmp_path / "locked.csv").chmod(0)
    (tmp_path / "locked.labelkin").chmod(0)
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert main(words.split()) == 2
    finally:
        tmp_path.chmod(0o700)
    assert "ermission denied" in capsys.readouterr().err


def test_overwriting_on_request(samples, tmp_path, monkeypatch):
    monkeypatch.chdir(samples)
    out = tmp_path / "m.labelkin"
    out.write_text("old")
    assert main(["fit", "n.csv", *AB.split(), "--out", str(out)]) == 2
    assert out.read_text() == "old"
    for word in ("--overwrite", "--force", "-f"):
        assert main(["fit", "n.csv", *AB.split(), "--out", str(out), word]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.labelkin"]


# --------------------------------------------------------------------- as real processes


def start(words, *, launcher=("-m", "labelkin"), **options):
    pipe = subprocess.PIPE
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONWARNINGS", None)
    return subprocess.Popen(
        [sys.executable, *launcher, *words],
        env=environment,
        text=True,
        **{"stdout": pipe, "stderr": pipe, **options},
    )


REAL = [
    ("fit binary.csv --labels a,b", 2),
    ("predict n.labelkin renamed.csv", 2),
    ("nonsense", 2),
    ("--help", 0),
    ("fit --help", 0),
]


@pytest.mark.parametrize(("command", "code"), REAL)
def test_exit_codes_of_processes(command, code, untouched):
    process = start(command.split())
    out, error = process.communicate(timeout=600)
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert bool(error) == bool(code)
    assert bool(out) != bool(code)


def test_a_broken_pipe(untouched):
    """``labelkin predict … | head -1``, with a reader that leaves before it has read anything."""
    with start(["predict", "n.labelkin", "n.csv", "-q", "--json", "--proba"]) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@FULL
def test_stdout_on_a_full_disk(untouched):
    with open("/dev/full", "w") as full:
        process = start(["predict", "n.labelkin", "n.csv", "-q"], stdout=full)
        _, error = process.communicate(timeout=600)
    assert process.returncode == 1
    assert error == "error: No space left on device\n"


LONG = ["fit", "films.csv", "--text", "plot", "--ignore", "id", "--labels", "-3"]
LONG += ["--model", "vpcme", "--set", "n_estimators=3000"]
INTERRUPTED = (130, "", "interrupted\n")
# Prints a line as soon as the command begins to import what it needs: before that, an interrupt
# meets Python's own start, which prints a traceback.
TELLING = """
import importlib.abc, sys
from labelkin.cli import main

class Telling(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "rich":
            print("ready", flush=True)

sys.meta_path.insert(0, Telling())
sys.exit(main())
"""


@pytest.mark.parametrize("seed", range(6))
def test_ctrl_c_at_any_moment(seed, untouched):
    """One line and code 130, or a silent end by SIGTERM during the imports; never a file."""
    rng = random.Random(seed)
    number = signal.SIGTERM if seed % 3 == 0 else signal.SIGINT
    process = start([*LONG, "--out", f"c{seed}.labelkin", "-q"], launcher=["-c", TELLING])
    assert process.stdout.readline() == "ready\n"
    time.sleep(rng.uniform(0, 2))
    process.send_signal(number)
    out, error = process.communicate(timeout=600)
    # Interrupted inside exec(), Python ends itself by SIGINT after all: 130 to a shell.
    expected = (INTERRUPTED, (-signal.SIGINT, *INTERRUPTED[1:]), (-number, "", ""))
    assert (process.returncode, out, error) in expected


@pytest.mark.parametrize(
    ("command", "number"), [("fit", signal.SIGTERM), ("evaluate", signal.SIGINT)]
)
def test_ctrl_c_while_fitting(command, number, untouched):
    with start([command, *LONG[1:]]) as process:
        while "3 labels" not in (line := process.stderr.readline()):
            assert line, "the command ended before it was interrupted"
        time.sleep(0.2)
        process.send_signal(number)
        *notes, last = process.stderr.read().splitlines()
        assert last == "interrupted"
        # What was found, and that it will take minutes.
        assert all(line.startswith(("labels: ", "note: ")) for line in notes)
        assert process.stdout.read() == ""
    assert process.returncode == 130


def test_killed_the_old_file_is_whole(tmp_path, samples):
    """Even ``kill -9`` leaves the model that was there."""
    out = tmp_path / "m.labelkin"
    out.write_bytes((samples / "n.labelkin").read_bytes())
    before = out.read_bytes()
    process = start(["fit", str(samples / "films.csv"), *LONG[2:], "--out", str(out), "-f"])
    while "3 labels" not in (line := process.stderr.readline()):
        assert line, "the command ended before it was killed"
    process.kill()
    process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    assert out.read_bytes() == before
