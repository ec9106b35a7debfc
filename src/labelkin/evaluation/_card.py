"""The model card: what was evaluated, on which data, with which settings and versions."""

import platform
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelkin._utils.optional import installed_version
from labelkin.evaluation._fingerprint import fingerprint

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

_PACKAGES = ("labelkin", "scikit-learn", "numpy", "scipy", "pandas")


def model_card(
    found: "Evaluation", source: Any, schema: Any, command: str | None
) -> list[tuple[str, str]]:
    """Return names and values of the facts about an evaluation.

    `source` is the file or the name of the data, `schema` the `labelkin.tabular.Schema` of a table.
    """
    y, best, settings = found.y, found.results[found.best], found.settings
    card = [("data", Path(source).name)] if source else []
    if schema is not None:
        kinds: dict[str, list[str]] = {}
        for name, kind in (schema.columns or {}).items():
            kinds.setdefault(f"{kind.replace('_', ' ')} columns", []).append(name)
        card += [(kind, ", ".join(names)) for kind, names in kinds.items()]
        card += [] if kinds else [("columns", f"{schema.n_features:,} numbers")]
    if source and Path(source).is_file():
        card.append(("SHA-256 of the data", sha256(Path(source).read_bytes()).hexdigest()))
    card += [
        ("rows", f"{len(y):,}"),
        ("labels", f"{y.shape[1]:,}, {y.sum(axis=1).mean():.2f} per row"),
        (
            "fingerprint of the rows",
            sha256("".join(fingerprint(found.X)).encode()).hexdigest()[:16],
        ),
    ]
    if best.models:
        model = getattr(best.models[0], "pipeline_", best.models[0])
        model = model.steps[-1][1] if hasattr(model, "steps") else model
        name = "" if found.best == best.title else f" ({found.best})"
        parameters = model.get_params(deep=False).items()
        card += [
            ("method", f"{best.title}{name}, {type(model).__name__}"),
            ("settings", ", ".join(f"{key}={value!r}" for key, value in parameters)),
        ]
    if settings:
        how = f"{found.n_done} folds"
        how += ", labels spread evenly" if settings["stratified"] else ", drawn at random"
        if settings["repeats"] > 1:
            how += f", {settings['repeats']} repetitions (the curves and rows are of the first)"
        card += [("evaluation", how), ("seed", str(settings["seed"]))]
    versions = {name: installed_version(name) for name in _PACKAGES}
    listed = [f"Python {platform.python_version()}"]
    listed += [f"{name} {version}" for name, version in versions.items() if version]
    return [
        *card,
        ("date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")),
        ("versions", ", ".join(listed)),
        *([("command", command)] if command else []),
    ]
