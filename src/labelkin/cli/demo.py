"""``labelkin demo``: VPCME beside ML-kNN on the embedded digit scenes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelkin

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from labelkin.base import MultiLabelClassifier
    from labelkin.explain import Explanation


def command(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("labelkin-demo"),
    samples: Annotated[int, typer.Option(min=40, help="Number of scenes.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of scenes and VPCME.")] = 0,
) -> None:
    """Learn the embedded digit scenes and show what VPCME adds to ML-kNN.

    The scenes hold one to three handwritten digits; the labels are the digits present.
    Nothing is downloaded.
    """
    from rich.console import Console

    from labelkin import MLkNNClassifier, VPCMEClassifier
    from labelkin.cli._scenes import draw_explanation, draw_scenes
    from labelkin.datasets import load_digit_scenes

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    scenes = load_digit_scenes(samples, random_state=seed)
    n, q = scenes.target.shape
    console.print(
        f"[bold]labelkin {labelkin.__version__}[/] · digit scenes: {n:,} images, {q} labels, "
        f"{scenes.target.sum(axis=1).mean():.1f} an image"
    )
    vpcme = VPCMEClassifier(random_state=seed)
    models = {"ML-kNN": MLkNNClassifier(), "VPCME": vpcme}
    runs = _run(models, scenes, console)
    console.print()
    console.print(_table(runs))
    train, test = scenes.split == 0, scenes.split == 1
    images, target = scenes.images[test], scenes.target[test]
    picture = out / "scenes.png"
    draw_scenes(images, target, runs["VPCME"]["labels"], picture)
    console.print(f"\npictures: {picture} (12 test scenes, true and predicted digits)")
    several = int((target.sum(axis=1) > 1).argmax())
    explanation = vpcme.explain(scenes.data[test][several])
    picture = out / "explain.png"
    draw_explanation(images[several], target[several], explanation, scenes.images[train], picture)
    console.print(f"          {picture} ({_in_words(explanation)})")
    console.print("next:     [bold]labelkin --help[/]")


def _in_words(explanation: "Explanation") -> str:
    """Say in one line what a prediction rests on."""
    found = [
        f"{name} by {votes} of {explanation.n_members} votes"
        for name, votes, predicted in zip(
            explanation.label_names, explanation.votes, explanation.predicted, strict=True
        )
        if predicted
    ]
    return f"one of them explained: {', '.join(found) or 'no digit'}"


def _run(
    models: "dict[str, MultiLabelClassifier]", scenes: Any, console: "Console"
) -> dict[str, dict]:
    """Fit and score each model, with a bar; return figures, seconds and labels by name."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from labelkin.metrics import evaluate

    train, test = scenes.split == 0, scenes.split == 1
    columns = [
        TextColumn("fitting {task.description:7}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[error]}"),
    ]
    runs = {}
    with Progress(*columns, console=console) as progress:
        for name, model in models.items():
            total = getattr(model, "n_estimators", 1)
            task = progress.add_task(name, total=total, error="")
            if total > 1:
                _follow(model, progress, task)
            started = time.perf_counter()
            model.fit(scenes.data[train], scenes.target[train])
            fitted = time.perf_counter()
            labels = model.predict(scenes.data[test])
            predicted = time.perf_counter()
            progress.update(task, completed=total)
            proba = model.predict_proba(scenes.data[test])
            runs[name] = {
                "figures": evaluate(scenes.target[test], proba, labels),
                "fit": fitted - started,
                "predict": predicted - fitted,
                "labels": labels,
            }
    return runs


def _follow(model: Any, progress: Any, task: Any) -> None:
    """Have the ensemble advance the bar after each member."""
    errors: list[float] = []

    def advance(number: int, error: float) -> None:
        errors.append(error)
        shown = f"training error {errors[0]:.2f} → {error:.2f}"
        progress.update(task, completed=number, error=shown)

    model._after_member = advance


def _table(runs: dict[str, dict]) -> "Table":
    """Return the seven metrics side by side, the better figure bold, and the seconds."""
    from rich.table import Table

    from labelkin.metrics import METRICS, PAPER_METRICS

    table = Table(box=None, pad_edge=True)
    table.add_column("on test scenes, %")
    for name in runs:
        table.add_column(name, justify="right")
    for key in PAPER_METRICS:
        metric = METRICS[key]
        values = [run["figures"][key] for run in runs.values()]
        best = (max if metric.greater_is_better else min)(values)
        shown = [f"{100 * v:.2f}" if metric.percent else f"{v:.2f}" for v in values]
        cells = [f"[bold]{s}[/]" if v == best else s for v, s in zip(values, shown, strict=True)]
        unit = "" if metric.percent else " (labels)"
        table.add_row(f"{metric.title}{unit} {metric.arrow}", *cells)
    for kind in ("fit", "predict"):
        seconds = [f"[dim]{run[kind]:.2f} s[/]" for run in runs.values()]
        table.add_row(f"[dim]{kind} time[/]", *seconds)
    return table
