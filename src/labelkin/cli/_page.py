"""``evaluate --report``: the page about an evaluation."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labelkin.cli._figures import MEANINGS, format_summary, label_figures, summarise
from labelkin.cli._output import check_output, plural

if TYPE_CHECKING:
    from labelkin.cli._findings import Findings
    from labelkin.evaluation import Growth, Mistake


def check_page(path: Path, overwrite: bool, inputs: Iterable[Path]) -> None:
    """Refuse a page that cannot be written, before anything is computed."""
    from labelkin._utils.optional import import_optional

    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report {path}: the page is HTML; end the name in .html.")
    check_output(path, overwrite, inputs=inputs)
    import_optional("jinja2", "cli")


def write_page(
    path: Path,
    found: "Findings",
    metrics: Sequence[str],
    *,
    title: str,
    how: str,
    notes: list[str],
    mistakes: "list[Mistake]",
    describe: Callable[[int], str],
    card: list[tuple[str, str]],
    growth: "Growth | None" = None,
    growth_note: str = "",
) -> None:
    """Write the page, whole or not at all.

    `how` says how rows were left out of training, and `describe` returns a row in words. Without
    a learning curve the page shows `growth_note`.
    """
    from labelkin._utils.files import open_for_writing
    from labelkin.evaluation import EvaluationPage, Method
    from labelkin.metrics import METRICS

    methods = [
        Method(
            one.title,
            [format_summary(summarise(one.figures[key]), METRICS[key]) for key in metrics],
            is_best=name == found.winner.name,
        )
        for name, one in found.results.items()
    ]
    once, best = found.predictions, found.results[found.winner.name]
    first = METRICS[metrics[0]]
    value = summarise(best.figures[metrics[0]])["mean"]
    shown = "undefined" if value is None else f"{100 * value:.1f} %"
    if value is not None and not first.percent:
        shown = f"{value:.2f}"
    empty = found.remark_on_empty_rows(metrics) + "." if found.n_empty else ""
    page = EvaluationPage(
        title=title,
        headline=f"{best.title} reaches {first.title} {shown} {how} "
        f"({plural(found.n_rows, 'row')}, {plural(len(found.labels), 'label')})",
        notes=[*notes, *([empty] if empty else [])],
        metrics=[
            (f"{METRICS[key].title}{', %' * METRICS[key].percent}", MEANINGS.get(key, ""))
            for key in metrics
        ],
        methods=methods,
        found=once,
        labels=label_figures(once.label_names, once.y, once.labels, once.scores, once.thresholds),
        mistakes=mistakes,
        describe=describe,
        card=card,
        growth=growth,
        growth_note=growth_note,
        command=found.next,
    )
    with open_for_writing(path) as file:
        file.write(page.render().encode("utf-8"))
    found.page = path
