"""``labelkin demo``: Kin, VPCME and ML-kNN on the bundled digit scenes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelkin
from labelkin.cli._output import member_progress

if TYPE_CHECKING:
    from labelkin.evaluation._figures import Figures


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
    from rich.console import Console

    from labelkin import KinEnsembleClassifier, MLkNNClassifier, VPCMEClassifier
    from labelkin.cli._pictures import draw_scenes
    from labelkin.datasets import load_digit_scenes
    from labelkin.evaluation._figures import PEOPLE_METRICS, print_figures

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    scenes = load_digit_scenes(samples, random_state=seed)
    n, q = scenes.target.shape
    console.print(
        f"[bold]labelkin {labelkin.__version__}[/] · digit scenes: {n:,} images, {q} labels, "
        f"{scenes.target.sum(axis=1).mean():.1f} labels per image"
    )
    kin = KinEnsembleClassifier(random_state=seed)
    models = {"ML-kNN": MLkNNClassifier(), "VPCME": VPCMEClassifier(random_state=seed), "Kin": kin}
    runs = dict(reversed(_fit_and_evaluate(models, scenes).items()))
    test = scenes.split == 1
    n = int(test.sum())
    right = [f"{name} {found['subset_accuracy'][0] * n:.0f}" for name, found in runs.items()]
    console.print(f"\n✓ Of {n} test scenes, all digits are right in: {', '.join(right)}\n")
    print_figures(runs, PEOPLE_METRICS, "on the test scenes", best="Kin")

    picture = out / "scenes.png"
    found = kin.predict(scenes.data[test])
    draw_scenes(scenes.images[test], scenes.target[test], found, "Kin", picture)
    console.print(f"\npicture: {picture} (12 test scenes, true digits and those Kin found)")
    console.print(
        "next:    [bold]labelkin evaluate your.csv --labels a,b,c[/]    (labelkin --help: all)"
    )


def _fit_and_evaluate(models: dict[str, Any], scenes: Any) -> "dict[str, Figures]":
    """Fit each model on the training scenes and evaluate it on the test scenes."""
    from labelkin.evaluation._figures import PEOPLE_METRICS
    from labelkin.metrics import evaluate

    train, test = scenes.split == 0, scenes.split == 1
    runs = {}
    for name, model in models.items():
        typer.echo(f"fitting {name}")
        started = time.perf_counter()
        with member_progress(model, name, hidden=False):
            model.fit(scenes.data[train], scenes.target[train])
        fitted = time.perf_counter()
        labels = model.predict(scenes.data[test])
        predicted = time.perf_counter()
        proba = model.predict_proba(scenes.data[test])
        figures = evaluate(scenes.target[test], proba, labels, metrics=PEOPLE_METRICS)
        figures |= {"fit_s": fitted - started, "predict_s": predicted - fitted}
        runs[name] = {key: [value] for key, value in figures.items()}
    return runs
