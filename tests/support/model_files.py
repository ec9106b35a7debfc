"""Model files changed by hand, and what is expected of them."""

import json
import zipfile

import pytest
import sklearn

from labelkin.persistence import load_model
from labelkin.persistence._coding import Encoder
from labelkin.persistence._files import FORMAT


def read_model(path):
    """Return the JSON of the model in a file."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def places(value):
    """Yield every container and key in a tree of dictionaries and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def rewritten(path, change=None, head=None, drop=(), numbers=None):
    """Rewrite an archive with its model, its head or its numbers changed, checksums and all."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        model = json.loads(members["model.json"])
        members["model.json"] = json.dumps(change(model) or model).encode()
    if head is not None:
        before = json.loads(members["labelkin.json"])
        changed = head if isinstance(head, bytes) else json.dumps({**before, **head})
        members["labelkin.json"] = changed
    if numbers is not None:
        members["numbers.bin"] = numbers(members["numbers.bin"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)
    return path


def save_unchecked(model, path):
    """Write a model that `save_model` would refuse, as someone who knows the format would."""
    encoder = Encoder()
    content = encoder.encode(model)
    head = {"format": FORMAT, "labelkin": "0", "scikit-learn": sklearn.__version__}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("labelkin.json", json.dumps(head))
        archive.writestr("model.json", json.dumps(content))
        archive.writestr("numbers.bin", b"".join(encoder.blocks))
    return path


def find(value, tag):
    """Return the contents of all parts of a model with a tag, in the order of the file."""
    found = [holder[key] for holder, key in places([value])]
    return [part[tag] for part in found if isinstance(part, dict) and tag in part]


def refused(path, match):
    """Check that a file is refused in one sentence that names it; return the sentence."""
    with pytest.raises(ValueError, match=match) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)
