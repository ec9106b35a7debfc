"""The names under which labelkin's types are stored in a model file.

A public estimator is named as it is imported: ``VPCMEClassifier``. Everything else of labelkin
that a model may hold is listed in `PARTS`, and nothing else of labelkin can be built from a
file. When such a class is moved or renamed, the path on the right changes and the name on the left
stays, so that old files can still be read.
"""

import json
from typing import Any

import labelkin

PARTS = {
    "calibration.SlopeCalibration": "labelkin.calibration._curves.SlopeCalibration",
    "decisions.LabelDecision": "labelkin.decisions._label_decision.LabelDecision",
    "ensemble.RowSpaceProjection": "labelkin.ensemble._row_space.RowSpaceProjection",
    "kernel.DirectKernelRidge": "labelkin.kernel._direct.DirectKernelRidge",
    "kernel.KernelRidge": "labelkin.kernel._regression.KernelRidge",
    "kin.Combination": "labelkin.kin._combination.Combination",
    "kin.LabelTreesLearner": "labelkin.kin._learners.LabelTreesLearner",
    "kin.Limits": "labelkin.kin._plan.Limits",
    "kin.LogisticLearner": "labelkin.linear._learner.LogisticLearner",
    "kin.Member": "labelkin.kin._learners.Member",
    "kin.PartLearner": "labelkin.kin._learners.PartLearner",
    "kin.ProjectionLearner": "labelkin.kin._learners.ProjectionLearner",
    "kin.Ranks": "labelkin.kin._views.Ranks",
    "kin.Raw": "labelkin.kin._views.Raw",
    "kin.Standard": "labelkin.kin._views.Standard",
    "kin.Topics": "labelkin.kin._views.Topics",
    "kin.TreesLearner": "labelkin.kin._learners.TreesLearner",
    "kin.Words": "labelkin.kin._views.Words",
    "neighbors.ExactSearch": "labelkin.neighbors._exact.ExactSearch",
    "neighbors.NeighborCounts": "labelkin.neighbors._counts.NeighborCounts",
    "persistence.PackedTrees": "labelkin.persistence._packing.PackedTrees",
    "persistence.PackedWords": "labelkin.persistence._packing.PackedWords",
    "registry.to_dense": "labelkin.methods.to_dense",
    "tabular.DateEncoder": "labelkin.tabular._dates.DateEncoder",
    "tabular.LabelColumns": "labelkin.tabular._labels.LabelColumns",
    "tabular.RobustLogScaler": "labelkin.tabular._scaling.RobustLogScaler",
    "tabular.Schema": "labelkin.tabular._schema.Schema",
    "tabular.StringConverter": "labelkin.tabular._pipeline.StringConverter",
    "transformation.LabelSetModel": "labelkin.transformation._powerset.LabelSetModel",
    "transformation.LabelSetTree": "labelkin.transformation._powerset.LabelSetTree",
    "tree.C45Tree": "labelkin.tree._tree.C45Tree",
}
"""Stable name of each part of a model → where it is now."""


def import_path(name: str) -> str | None:
    """Return where a type with this name in a file is now; None for any other name."""
    return PARTS.get(name) or _public_path(name)


def to_file_names(schema: bytes) -> bytes:
    """Return skops' schema with the types of labelkin under their stable names."""
    names = {path: name for name, path in PARTS.items()}

    def rename(node: dict[str, Any]) -> dict[str, Any]:
        module, last = node.get("__module__"), node.get("__class__")
        # In a saved dictionary with such keys the values are nodes, not strings.
        if isinstance(module, str) and isinstance(last, str):
            path = f"{module}.{last}"
            name = last if path == _public_path(last) else names.get(path)
            if name is not None:
                node["__module__"], node["__class__"] = "labelkin", name
        return node

    return json.dumps(json.loads(schema, object_hook=rename)).encode()


def _public_path(name: str) -> str | None:
    """Return where a public estimator is defined, None for any other name."""
    found = getattr(labelkin, name) if name in labelkin.__all__ else None
    return f"{found.__module__}.{found.__name__}" if isinstance(found, type) else None
