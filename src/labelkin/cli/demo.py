"""``labelkin demo``: Kin, VPCME and ML-kNN on bundled digit scenes, and Kin on bundled texts."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import labelkin
from labelkin.cli._output import echo, progress_bar

_TRAINING_TICKETS = 48  # the first ones; the others were written with other words
_SHOWN_TICKETS = (2, 4, 8, 13, 14)  # of those that are tested on


def command(
    out: Annotated[Path, typer.Option(help="Folder to write the pictures to.")] = Path(
        "labelkin-demo"
    ),
    samples: Annotated[int, typer.Option(min=40, help="Number of scenes.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the scenes and of the methods.")] = 0,
) -> None:
    """Train Kin, VPCME and ML-kNN on bundled images of digits and compare them.

    Each image (scene) shows one to three handwritten digits; its labels are the digits shown. Then
    Kin learns from 48 messages to a help desk, and tags 20 others. Nothing is downloaded.
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
    show_tickets(console, seed)
    console.print(
        "\nnext:    [bold]labelkin evaluate your.csv --labels a,b,c[/]    (labelkin --help: all)"
    )


def show_tickets(console: Any, seed: int) -> None:
    """Tag messages to a help desk, by their words alone and with embeddings."""
    import numpy as np

    from labelkin import KinEnsembleClassifier, TableClassifier, datasets
    from labelkin.tabular import split_labels
    from labelkin.tabular._text import can_embed

    X, y = split_labels(
        datasets.read_table(Path(datasets.__file__).with_name("tickets.csv")), "tags"
    )
    train, test = slice(0, _TRAINING_TICKETS), slice(_TRAINING_TICKETS, None)
    truth = y.iloc[test].to_numpy()
    console.print(
        f"\n[bold]Tickets[/]: {_TRAINING_TICKETS} messages to a help desk with {y.shape[1]} "
        f"labels, tested on {len(truth)} in other words"
    )
    for embedding in ("none", "auto"):
        kin = KinEnsembleClassifier(random_state=seed)
        model = TableClassifier(kin, embedding=embedding, columns={"text": "text"})
        proba = model.fit(X.iloc[train], y.iloc[train]).predict_proba(X.iloc[test])
        best = proba.argmax(axis=1)
        right = int(truth[np.arange(len(truth)), best].sum())
        by = "words and embeddings" if embedding == "auto" and can_embed() else "words alone"
        console.print(f"  by {by}: the most probable label is right in {right} of {len(truth)}")
        if not can_embed():
            console.print("  pip install 'labelkin[text]' adds embeddings: similar words are near")
            return
    for row in _SHOWN_TICKETS:
        text, label = X["text"].iloc[test].iloc[row], y.columns[best[row]]
        console.print(f"  {label:8} {proba[row].max():.2f}  {text}")
