"""The model card: what was evaluated, on which data, with which settings and versions."""

import platform
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.optional import installed_version
from labelkin.cli._data import SavedModel
from labelkin.cli._fingerprint import fingerprint
from labelkin.cli._methods import Candidate, last_step, make_classifier
from labelkin.tabular import Schema, TrainingData

_PACKAGES = ("labelkin", "scikit-learn", "numpy", "scipy", "pandas")
_COLUMNS = 100  # named at most


def card_of_folds(
    training: TrainingData, candidate: Candidate, facts: Mapping[str, Any], command: str
) -> list[tuple[str, str]]:
    """Return the model card of a cross-validation."""
    how = f"{facts['folds_done']} folds"
    how += ", labels spread evenly" if facts["stratified"] else ", drawn at random"
    if facts["repeats"] > 1:
        how += f", {facts['repeats']} repetitions (the curves and rows are of the first)"
    classifier = make_classifier(candidate.method, candidate.settings, candidate.seed)
    return [
        ("data", Path(training.source).name),
        *_card_of_data(training.source, training.X, training.schema, training.y),
        *[("read as", ", ".join(facts["guesses"]))][: bool(facts["guesses"])],
        ("method", f"{candidate.title} ({candidate.name})"),
        ("settings", _settings(classifier)),
        ("evaluation", how),
        ("seed", str(candidate.seed)),
        *_card_of_run(command),
    ]


def card_of_model(
    saved: SavedModel, data: Path, X: Any, y: np.ndarray, seen: int, command: str
) -> list[tuple[str, str]]:
    """Return the model card of a fitted model and the data it was evaluated on."""
    details = saved.info.details
    classifier = saved.classifier.estimator_
    versions = f"labelkin {saved.info.version}, scikit-learn {saved.info.sklearn_version}"
    facts = [
        ("model", saved.path.name),
        ("SHA-256 of the model", saved.info.sha256),
        ("method", f"{type(classifier).__name__} ({details.get('model', 'saved from Python')})"),
        ("settings", _settings(classifier)),
        ("fitted with", versions),
    ]
    if "rows" in details:
        facts.append(("training rows", f"{details['rows']:,}"))
    if "seed" in details:
        facts.append(("seed", str(details["seed"])))
    return [
        *facts,
        ("evaluated on", data.name),
        *_card_of_data(str(data), X, saved.schema, y),
        ("rows also in training", f"{seen:,}"),
        *_card_of_run(command),
    ]


def _card_of_data(path: str, X: Any, schema: Schema, y: np.ndarray) -> list[tuple[str, str]]:
    kinds: dict[str, list[str]] = {}
    for name, kind in (schema.columns or {}).items():
        kinds.setdefault(kind.replace("_", " "), []).append(name)
    columns = [
        (f"{kind} columns", ", ".join(names[:_COLUMNS]) + (", …" if len(names) > _COLUMNS else ""))
        for kind, names in kinds.items()
    ] or [("columns", f"{schema.n_features:,} numbers")]
    file = Path(path)
    digest = sha256("".join(fingerprint(X)).encode()).hexdigest()
    prints = [("fingerprint of the rows", digest[:16])]
    if file.is_file():
        prints.insert(0, ("SHA-256 of the data", sha256(file.read_bytes()).hexdigest()))
    return [
        ("rows", f"{len(y):,}"),
        *columns,
        ("labels", f"{y.shape[1]:,}, {y.sum(axis=1).mean():.2f} per row"),
        *prints,
    ]


def _card_of_run(command: str) -> list[tuple[str, str]]:
    found = {name: installed_version(name) for name in _PACKAGES}
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{name} {version}" for name, version in found.items() if version]
    return [
        ("date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")),
        ("versions", ", ".join(versions)),
        ("command", command),
    ]


def _settings(model: Any) -> str:
    parameters = last_step(model).get_params(deep=False)
    return ", ".join(f"{key}={value!r}" for key, value in parameters.items())
