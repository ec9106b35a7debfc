"""Mutations of files for the fuzz tests: bytes, arrays, and the schemas of models.

There are as many mutations as a test asks for, so that each run has the same;
``LABELKIN_FUZZ_SECONDS`` gives each target these seconds instead, and ``LABELKIN_FUZZ_SEED``
other mutations.
"""

import io
import itertools
import json
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
    """Return a model file with some of its arrays or its schema changed, all checksums right."""
    parts, head = _parts_of(raw)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice([n for n in parts if n.endswith((".npy", ".npz"))] + ["schema.json"] * 3)
        if name == "schema.json":
            parts[name] = _mutate_schema(parts[name], rng)
        elif name.endswith(".npy"):
            parts[name] = _mutate_array(parts[name], rng)
        else:
            parts[name] = _mutate_archive(parts[name], rng)
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


def _mutate_schema(raw, rng):
    schema = json.loads(raw)
    found = list(places(schema)) if isinstance(schema, (dict, list)) else []
    if not found:
        return mutate(raw, rng)
    holder, key = rng.choice(found)
    value = holder[key]
    if isinstance(value, str) and value.lstrip("-").replace(".", "").isdigit():
        holder[key] = json.dumps(rng.choice(NUMBERS))  # a number inside the model
        if "__id__" in holder:
            holder["__id__"] = rng.randrange(10**6)
    else:
        other, name = rng.choice(found)
        copied = json.loads(json.dumps(other[name]))
        holder[key] = rng.choice([None, [], {}, 7, "x", -1.5, copied, copied])
    return json.dumps(schema).encode()


def _mutate_array(raw, rng):
    try:
        array = np.load(io.BytesIO(raw))
    except Exception:  # mutated before
        return mutate(raw, rng)
    if rng.randrange(8) == 0:
        return mutate(raw, rng)
    if rng.randrange(4) == 0 and array.ndim:
        array = rng.choice([array[:-1], array[1:], array.T, array.ravel(), array[..., None]])
    elif array.size and array.dtype.names:
        field = array[rng.choice(array.dtype.names)]
        field[rng.randrange(len(field))] = _number_of(field.dtype, rng)
    elif array.size and array.dtype.kind in "iufb":
        flat = array.reshape(-1)
        flat[rng.randrange(flat.size)] = _number_of(array.dtype, rng)
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _mutate_archive(raw, rng):
    with np.load(io.BytesIO(raw)) as archive:
        arrays = dict(archive)
    name = rng.choice(list(arrays))
    buffer = io.BytesIO()
    np.save(buffer, arrays[name])
    try:
        arrays[name] = np.load(io.BytesIO(_mutate_array(buffer.getvalue(), rng)))
    except Exception:
        arrays[name] = np.zeros(3)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _number_of(dtype, rng):
    with np.errstate(all="ignore"):
        value = rng.choice(NUMBERS)
        if dtype.kind in "iub":
            return np.array(0 if value != value else int(value) % 2**63).astype(dtype)
        return np.array(value).astype(dtype)
