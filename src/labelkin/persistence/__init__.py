"""Model files that run no code when they are read.

A pickle may run any code; these files cannot. They are `skops <https://skops.readthedocs.io>`_
archives: arrays, plain values, and the names of types. A name outside a fixed list is refused
before anything is built. The list holds labelkin's estimators and their parts, and what their
pipelines hold of scikit-learn, NumPy and SciPy. The arrays of a model are checked against each
other, so that no compiled code reads outside them.

A file from an unknown source can still predict wrongly, or slowly. Its SHA-256 proves that a file
is the one that was saved: ``load_model(path, expected_sha256=...)``.

Two things differ from a plain skops archive. ``labelkin.json`` holds the number of the format,
the versions, the label names, and the caller's details. And the types of labelkin are
stored under stable names, such as ``labelkin.VPCMEClassifier`` or ``labelkin`` +
``kernel.KernelRidge``, never under the path of a private module, so that a file can be read
after a class has moved.
"""

from labelkin.persistence._files import ModelInfo, load_model, model_info, save_model

__all__ = ["ModelInfo", "load_model", "model_info", "save_model"]
