"""``labelkin demo``: Kin, VPCME and ML-kNN on the bundled digit scenes."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelkin

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from labelkin.evaluation._figures import Figures
    from labelkin.explain import Explanation


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
    from labelkin.cli._pictures import draw_explanation, draw_scenes
    from labelkin.datasets import load_digit_scenes
    from labelkin.evaluation import PEOPLE_METRICS, print_figures

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    scenes = load_digit_scenes(samples, random_state=seed)
    n, q = scenes.target.shape
    console.print(
        f"[bold]labelkin {labelkin.__version__}[/] · digit scenes: {n:,} images, {q} labels, "
        f"{scenes.target.sum(axis=1).mean():.1f} labels per image"
    )
    kin, vpcme = KinEnsembleClassifier(random_state=seed), VPCMEClassifier(random_state=seed)
    models = {"ML-kNN": MLkNNClassifier(), "VPCME": vpcme, "Kin": kin}  # the quick ones first
    runs = dict(reversed(_fit_and_evaluate(models, scenes, console).items()))
    train, test = scenes.split == 0, scenes.split == 1
    n = int(test.sum())
    right = [f"{name} {found['subset_accuracy'][0] * n:.0f}" for name, found in runs.items()]
    console.print(f"\n✓ Of {n} test scenes, all digits are right in: {', '.join(right)}\n")
    print_figures(runs, PEOPLE_METRICS, "on the test scenes", best="Kin")

    images, target = scenes.images[test], scenes.target[test]
    picture = out / "scenes.png"
    draw_scenes(images, target, kin.predict(scenes.data[test]), "Kin", picture)
    console.print(f"\npictures: {picture} (12 test scenes, true digits and those Kin found)")
    shown = _example(target, vpcme.predict(scenes.data[test]))
    explanation = vpcme.explain(scenes.data[test][shown])
    picture = out / "explain.png"
    draw_explanation(images[shown], target[shown], explanation, scenes.images[train], picture)
    console.print(f"          {picture} ({_in_words(explanation)})")
    console.print(
        "next:     [bold]labelkin evaluate your.csv --labels a,b,c[/]    (labelkin --help: all)"
    )


def _example(target: "np.ndarray", labels: "np.ndarray") -> int:
    """Return the first scene with several digits, all of them found; else with several digits."""
    several = target.sum(axis=1) > 1
    right = (target == labels).all(axis=1)
    return int(((several & right) if (several & right).any() else several).argmax())


def _in_words(explanation: "Explanation") -> str:
    """Return the votes for the predicted digits in one line."""
    votes = [
        f"digit {name} has {votes} of {explanation.n_members} votes"
        for name, votes, predicted in zip(
            explanation.label_names, explanation.votes, explanation.predicted, strict=True
        )
        if predicted
    ]
    return f"a scene explained by VPCME: {', '.join(votes) or 'no digit'}"


def _fit_and_evaluate(
    models: dict[str, Any], scenes: Any, console: "Console"
) -> "dict[str, Figures]":
    """Fit each model on the training scenes, with a bar, and evaluate it on the test scenes."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from labelkin.evaluation import PEOPLE_METRICS
    from labelkin.metrics import evaluate

    train, test = scenes.split == 0, scenes.split == 1
    columns = [
        TextColumn("fitting {task.description:7}"),
        BarColumn(),
        TextColumn("{task.fields[done]:>5}"),
        TimeElapsedColumn(),
    ]
    runs = {}
    with Progress(*columns, console=console) as progress:
        for name, model in models.items():
            total = getattr(model, "n_estimators", None)  # None: the bar moves to and fro
            task = progress.add_task(name, total=total, done="")
            if total is not None:
                model._callback = partial(_advance, progress, task, total)
            started = time.perf_counter()
            model.fit(scenes.data[train], scenes.target[train])
            fitted = time.perf_counter()
            labels = model.predict(scenes.data[test])
            predicted = time.perf_counter()
            progress.update(task, total=1, completed=1, done="done")
            proba = model.predict_proba(scenes.data[test])
            figures = evaluate(scenes.target[test], proba, labels, metrics=PEOPLE_METRICS)
            figures |= {"fit_s": fitted - started, "predict_s": predicted - fitted}
            runs[name] = {key: [value] for key, value in figures.items()}
    return runs


def _advance(progress: Any, task: Any, total: int, number: int, error: float) -> None:
    """Advance the bar after a member of an ensemble."""
    progress.update(task, completed=number, done=f"{number}/{total}")
