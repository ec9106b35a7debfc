"""Model files that run no code when they are read.

A pickle may run any code; these files cannot. They are zip archives of arrays, plain values, and
the names of types. Only names of a fixed list are followed: labelkin's estimators and their parts,
and what their pipelines hold of scikit-learn, NumPy and SciPy. Each part is checked when it is
built (the table in `_types`), so that no compiled code reads outside the arrays of a model.

A file from an unknown source can still predict wrongly, or slowly. Its SHA-256 proves that a file
is the one that was saved: ``load_model(path, expected_sha256=...)``.

``labelkin.json`` holds the number of the format, the versions, the label names and the caller's
details, ``model.json`` the model except for its arrays, and ``numbers.bin`` the numbers of all
arrays. Types have stable names, such as ``VPCMEClassifier`` or ``kernel.KernelRidge``, never the
path of a private module, so that a file can be read after a class has moved.
"""

from labelkin.persistence._files import ModelInfo, load_model, model_info, save_model

__all__ = ["ModelInfo", "load_model", "model_info", "save_model"]
