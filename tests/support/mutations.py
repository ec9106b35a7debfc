"""Mutations of files for the fuzz tests: bytes, arrays, and the parts of models.

There are as many mutations as a test asks for, so that each run has the same;
``LABELKIN_FUZZ_SECONDS`` gives each target these seconds instead, and ``LABELKIN_FUZZ_SEED``
other mutations.
"""

import io
import itertools
import json
import math
import os
import random
import time
import zipfile
from copy import deepcopy

import numpy as np

from support.model_files import places

SECONDS = float(os.environ.get("LABELKIN_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("LABELKIN_FUZZ_SEED", "0"))
TOKENS = [
    *(bytes([c]) for c in b"'\"\\,{}%?@#:;<>&-+.0129eE_ \t\n\r\0"),
    *(b"{0 1", b"@attribute", b"@data\n", b"-C 99", b"-C 0", b"1e999", b"1e400", b"nan", b"0x1F"),
    *(b"\xff\xfe", b"\xc3", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", "١".encode(), b"\\u0041"),
    *(b"\\ud800", b"9" * 20, b"-1", b"1_000", b"&x;", b"<!DOCTYPE a>", b"<![CDATA["),
    *(b"{1 1,1 1}\n", b"0:1"),
]
NUMBERS = [0, -1, 1, 2, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, 1e308, float("nan")]
DETAILS = [
    None,
    True,
    [],
    {},
    "",
    "x",
    "\ud800",
    "\0",
    "numeric",
    ["x"],
    {"x": None},
    [[]],
    "9" * 99,
]


def mutate(raw, rng):
    """Return bytes of which a few are cut, changed, repeated, swapped or replaced by a token."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(raw) + 1)
        match rng.randrange(8):
            case 0:
                del raw[at:]
            case 1:
                del raw[at : at + rng.randrange(1, 30)]
            case 2 if raw:
                raw[at % len(raw)] = rng.randrange(256)
            case 3:
                raw[at:at] = rng.choice(TOKENS)
            case 4:
                raw[at:at] = raw[at : at + rng.randrange(1, 200)]
            case 5:
                lines = raw.split(b"\n")
                i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[i], lines[j] = lines[j], lines[i]
                raw = bytearray(b"\n".join(lines))
            case 6:
                lines = raw.split(b"\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                raw = bytearray(b"\n".join(lines))
            case 7:
                raw[at : at + 1] = rng.choice(TOKENS)
    return bytes(raw)


def inputs(corpus, change=mutate, *, count):
    """Yield the corpus, then `count` mutations of it, or mutations until the time is over."""
    yield from corpus
    rng, end = random.Random(SEED), time.monotonic() + SECONDS
    for done in itertools.count():
        if time.monotonic() > end if SECONDS else done == count:
            break
        yield change(rng.choice(corpus), rng)


def mutate_model(raw, rng):
    """Return a model file with some of its numbers or parts changed, all checksums right."""
    parts, head = _parts_of(raw)
    model, numbers = json.loads(parts["model.json"]), bytearray(parts["numbers.bin"])
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = list(places([model]))
        if rng.randrange(2):
            _mutate_part(found, rng)
        else:
            numbers = _mutate_numbers(found, numbers, rng)
    parts = {"model.json": json.dumps(model).encode(), "numbers.bin": bytes(numbers)}
    return _archive(parts, head)


def with_details(raw, **changes):
    """Return a model file with other details, all checksums right."""
    parts, head = _parts_of(raw)
    return _archive(parts, {**head, "details": {**head["details"], **changes}})


def mutate_details(raw, rng):
    """Return a model file with some of what it says of its labels and columns changed."""
    parts, head = _parts_of(raw)
    for _ in range(rng.choice([1, 1, 2, 3])):
        holder, key = rng.choice(list(places(head)))
        other, name = rng.choice(list(places(head)))
        found = rng.choice([*DETAILS, *NUMBERS, *[other[name]] * len(DETAILS)])
        holder[key] = deepcopy(found)  # no object inside itself
    return _archive(parts, head)


def _parts_of(raw):
    """Return the parts of a model file by name, and its head."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts.pop("labelkin.json"))
    return parts, head


def _archive(parts, head):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {**parts, "labelkin.json": json.dumps(head).encode()}.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _mutate_part(found, rng):
    """Change a number of the model, or replace a part by another one."""
    plain = [(holder, key) for holder, key in found if type(holder[key]) in (int, float)]
    if plain and rng.randrange(2):
        holder, key = rng.choice(plain)
        holder[key] = rng.choice([*NUMBERS, *range(8)])
        return
    holder, key = rng.choice(found)
    other, name = rng.choice(found)
    copied = json.loads(json.dumps(other[name]))
    holder[key] = rng.choice([None, [], {}, 7, "x", -1.5, copied, copied])


def _mutate_numbers(found, numbers, rng):
    """Change an entry of an array, exchange two, or make the array shorter."""
    parts = [holder[key] for holder, key in found]
    arrays = [part["array"] for part in parts if isinstance(part, dict) and "array" in part]
    try:
        dtypes = [np.dtype(d if isinstance(d, str) else [*map(tuple, d)]) for d, _, _ in arrays]
        counts = [math.prod(shape) for _, shape, _ in arrays]
        sizes = [int(dtype.itemsize * n) for dtype, n in zip(dtypes, counts, strict=True)]
    except Exception:  # mutated before
        return bytearray(mutate(numbers, rng))
    if not sizes or min(sizes) < 0 or sum(sizes) != len(numbers):
        return numbers
    chosen = rng.choice([i for i, size in enumerate(sizes) if size])
    dtype, start = dtypes[chosen], sum(sizes[:chosen])
    end = start + sizes[chosen]
    array = np.frombuffer(bytes(numbers[start:end]), dtype).copy()
    field = array[rng.choice(dtype.names)] if dtype.names else array
    one, other = rng.randrange(len(array)), rng.randrange(len(array))
    shape = arrays[chosen][1]
    match rng.randrange(4):
        case 0:
            array[one], array[other] = array[other].copy(), array[one].copy()
        case 1 if len(shape) == 1:
            array = array[:-1]
            shape[0] -= 1
        case _ if field.dtype.kind in "biuf":
            field[one] = _number_of(field.dtype, rng)
    numbers[start:end] = array.tobytes()
    return numbers


def _number_of(dtype, rng):
    with np.errstate(all="ignore"):
        value = rng.choice(NUMBERS)
        if dtype.kind in "iub":
            return np.array(0 if value != value else int(value) % 2**63).astype(dtype)
        return np.array(value).astype(dtype)
