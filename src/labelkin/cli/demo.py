"""``labelkin demo``: Kin, VPCME and ML-kNN on the bundled digit scenes."""

import time
from pathlib import Path
from typing import Annotated

import typer

import labelkin
from labelkin.cli._output import echo, progress_bar


def command(
    out: Annotated[Path, typer.Option(help="Folder to write the pictures to.")] = Path(
        "labelkin-demo"
    ),
    samples: Annotated[int, typer.Option(min=40, help="Number of scenes.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the scenes and of the methods.")] = 0,
) -> None:
    """Train Kin, VPCME and ML-kNN on bundled images of digits and compare them.

    Each image (scene) shows one to three handwritten digits; its labels are the digits shown.
    Nothing is downloaded.
    """
    import numpy as np
    from rich.console import Console

    from labelkin import KinEnsembleClassifier, MLkNNClassifier, VPCMEClassifier
    from labelkin.datasets import load_digit_scenes
    from labelkin.datasets._digit_scenes import draw_scenes
    from labelkin.evaluation import Evaluation
    from labelkin.metrics._estimators import labels_and_scores

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    scenes = load_digit_scenes(samples, random_state=seed)
    X, y = scenes.data, scenes.target
    train, test = np.flatnonzero(scenes.split == 0), np.flatnonzero(scenes.split == 1)
    console.print(
        f"[bold]labelkin {labelkin.__version__}[/] · digit scenes: {len(y):,} images, "
        f"{y.shape[1]} labels, {y.sum(axis=1).mean():.1f} labels per image"
    )
    names = tuple(map(str, scenes.label_names))
    found = Evaluation(X, y, names, splits=[(train, test)], folds=1)
    models = {
        "Kin": KinEnsembleClassifier(random_state=seed),
        "VPCME": VPCMEClassifier(random_state=seed),
        "ML-kNN": MLkNNClassifier(),
    }
    for name, model in models.items():
        echo(f"fitting {name}")
        started = time.perf_counter()
        with progress_bar(name, 1, hidden=False):
            model.fit(X[train], y[train])
        fitted = time.perf_counter()
        predictions = labels_and_scores(model, X[test])
        seconds = {"fit_s": fitted - started, "predict_s": time.perf_counter() - fitted}
        found.add(name, name, y[test], *predictions, model, seconds)
    n = len(test)
    right = [
        f"{name} {one.figures['subset_accuracy'][0] * n:.0f}" for name, one in found.results.items()
    ]
    console.print(f"\n✓ Of {n} test scenes, all digits are right in: {', '.join(right)}\n")
    found.print(heading="on the test scenes", per_label=False)

    picture = out / "scenes.png"
    draw_scenes(scenes.images[test], y[test], found.results["Kin"].labels[0], picture)
    console.print(f"\npicture: {picture} (12 test scenes, true digits and those Kin found)")
    console.print(
        "next:    [bold]labelkin evaluate your.csv --labels a,b,c[/]    (labelkin --help: all)"
    )
