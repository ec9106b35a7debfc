"""Model files changed by hand, and what is expected of them."""

import json
import zipfile

import pytest

from labelkin.persistence import load_model


def read_schema(path):
    """Return the schema of a model file."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))


def places(value):
    """Yield every container and key in a tree of dictionaries and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def rewritten(path, change=None, head=None, drop=(), arrays=None):
    """Rewrite an archive with its schema, its head or its arrays changed, checksums and all.

    `arrays` is a suffix and a function from the bytes of such members to others.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        schema = json.loads(members["schema.json"])
        members["schema.json"] = json.dumps(change(schema) or schema).encode()
    if head is not None:
        before = json.loads(members["labelkin.json"])
        changed = head if isinstance(head, bytes) else json.dumps({**before, **head})
        members["labelkin.json"] = changed
    if arrays is not None:
        suffix, function = arrays
        members |= {name: function(members[name]) for name in members if name.endswith(suffix)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)
    return path


def refused(path, match):
    """Check that a file is refused in one sentence that names it; return the sentence."""
    with pytest.raises(ValueError, match=match) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)
