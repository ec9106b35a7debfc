"""``labelkin demo``: Kin, VPCME and ML-kNN on the bundled digit scenes."""

import time
from pathlib import Path
from typing import Annotated, Any

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
    _draw(scenes.images[test], y[test], found.results["Kin"].labels[0], picture)
    console.print(f"\npicture: {picture} (12 test scenes, true digits and those Kin found)")
    console.print(
        "next:    [bold]labelkin evaluate your.csv --labels a,b,c[/]    (labelkin --help: all)"
    )


def _draw(images: Any, target: Any, labels: Any, path: Path) -> None:
    """Draw the first twelve scenes, each above its true and predicted digits, to a PNG file.

    Those without an error come first.
    """
    import numpy as np

    from labelkin._utils.plots import BLUE, ORANGE, new_figure

    figure: Any = new_figure(9, 5.4)
    axes = figure.subplots(3, 4)
    errors = (target[: axes.size] != labels[: axes.size]).sum(axis=1)
    for axis in axes.flat:
        axis.axis("off")
    for axis, scene in zip(axes.flat, np.argsort(errors, kind="stable"), strict=False):
        axis.imshow(images[scene], cmap="gray_r", vmin=0, vmax=1)
        true, found = (set(np.flatnonzero(one[scene])) for one in (target, labels))
        style = {"transform": axis.transAxes, "fontsize": 11, "va": "top"}
        axis.text(0, -0.06, f"true  {' '.join(map(str, sorted(true)))}", color="#555555", **style)
        axis.text(0, -0.32, "found", color="#555555", **style)
        # Colours for the colour-blind; signs mark the digits too, for black-and-white prints.
        for position, digit in enumerate(sorted(true | found)):
            shown, colour = f"{digit}✓", "#00795A"
            if digit not in found:
                shown, colour = f"({digit})✗", BLUE
            elif digit not in true:
                shown, colour = f"{digit}✗", ORANGE
            axis.text(0.24 + 0.19 * position, -0.32, shown, color=colour, weight="bold", **style)
    share = (target == labels).all(axis=1).mean()
    title = f"The first {len(errors)} test scenes: digits found by Kin"
    legend = "3✓ right   (3)✗ missed   3✗ wrong"
    title += f" (all right in {share:.0%} of all {len(target)})\n{legend}"
    figure.suptitle(title, fontsize=12)
    figure.savefig(path, dpi=130)
