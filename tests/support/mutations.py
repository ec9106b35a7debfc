"""Mutations of files for the fuzz tests: bytes, arrays, and the schemas of models.

``LABELKIN_FUZZ_SECONDS`` sets how long each target runs; one second by default.
``LABELKIN_FUZZ_SEED`` gives other mutations.
"""

import io
import json
import os
import random
import time
import zipfile

import numpy as np

from support.model_files import places

SECONDS = float(os.environ.get("LABELKIN_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("LABELKIN_FUZZ_SEED", "0"))
TOKENS = [b'"', b"'", b"\n", b"\0", b"1e400", b"1_000", b"0x1F", b"{", b"}", b"-1", b"9" * 20]
NUMBERS = [0, -1, 1, 2, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, 1e308, float("nan")]


def mutate(raw, rng):
    """Return bytes with a few of them changed, cut, repeated or replaced by a token."""
    found = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del found[at : at + rng.randrange(1, 30)]
        elif kind == 1 and found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            found[at:at] = rng.choice(TOKENS)
        else:
            found[at:at] = found[at : at + rng.randrange(1, 60)]
    return bytes(found)


def inputs(corpus, change=mutate):
    """Yield the corpus, then mutations of it until the time is over."""
    yield from corpus
    rng, end = random.Random(SEED), time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield change(rng.choice(corpus), rng)


def mutate_model(raw, rng):
    """Return a model file with some of its arrays or its schema changed, all checksums right."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts["labelkin.json"])
    head.pop("parts_sha256", None)
    parts["labelkin.json"] = json.dumps(head).encode()
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice([n for n in parts if n.endswith((".npy", ".npz"))] + ["schema.json"] * 3)
        if name == "schema.json":
            parts[name] = _mutate_schema(parts[name], rng)
        elif name.endswith(".npy"):
            parts[name] = _mutate_array(parts[name], rng)
        else:
            parts[name] = _mutate_archive(parts[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
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
