"""The options that commands share, each declared once, and what they mean: method, decision.

Options that always come together are the fields of a dataclass; `expand_groups` lets a command
take such a group as one parameter.
"""

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin._utils.names import did_you_mean
from labelkin._utils.optional import import_optional
from labelkin.cli._output import split_names

if TYPE_CHECKING:
    from labelkin import TableClassifier
    from labelkin.decisions import LabelDecision
    from labelkin.methods import Method
    from labelkin.tabular import TrainingData

DEFAULT = "kin"
"""The method of commands without ``--model``."""
FASTER = "logistic"
"""The method that is recommended where that one takes long."""

# What --model auto compares, in this order: if the time runs out, at least a quick method and the
# recommended one have been tried.
_AUTO = ("logistic", "kin", "mlknn", "krr", "vpcme")

_CONSTANTS = {"true": True, "false": False, "none": None}
_NUMBER = r"((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"

# Options in the panels "Columns", "Method" and "Output" of ``--help``.
column_option = partial(typer.Option, rich_help_panel="Columns")
method_option = partial(typer.Option, rich_help_panel="Method")
output_option = partial(typer.Option, rich_help_panel="Output")

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A data file (.csv, .tsv, .xlsx, .ods, .jsonl, .json, .parquet, .arff, .svm, .npz or "
        ".npy, also with .gz or .bz2), or the name of a known dataset.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by labelkin fit.")
]
Empty = StrEnum("Empty", ["no", "unknown", "drop"])
Labels = Annotated[
    list[str] | None,
    column_option(
        "--labels",
        "-l",
        help="Label columns, if the file does not declare them: names separated by commas (q7_*: "
        "all that begin with q7_), a count (3: the first three columns, -3: the last three), or "
        "one column of tags. "
        "If repeated, each is one name, which may contain commas.",
    ),
]


def label_choice(given: list[str] | None) -> str | list[str] | None:
    """Return what ``--labels`` names: a text, or if it was repeated, a list of names."""
    return given[0] if given and len(given) == 1 else given or None


MissingLabels = Annotated[
    Empty | None,
    column_option(
        "--missing-labels",
        help="What an empty label cell means: no, or unknown (the model is fitted to the known "
        "labels); drop leaves out rows with empty label cells. Guessed if not given.",
    ),
]
Device = Annotated[str | None, method_option(metavar="cpu|cuda", help="Device to compute on.")]
Json = Annotated[bool, output_option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Print only results and errors.")]
Sha256 = Annotated[
    str | None,
    typer.Option(
        "--sha256",
        metavar="DIGEST",
        help="Refuse MODEL unless this is its SHA-256, as printed by labelkin fit --json or by "
        "sha256sum.",
    ),
]
Overwrite = Annotated[
    bool,
    output_option("--overwrite", "--force", "-f", help="Replace the output file if it exists."),
]


Embedding = StrEnum("Embedding", ["auto", "none"])
Scale = StrEnum("Scale", ["auto", "none", "robust", "standard", "minmax"])


@dataclass(frozen=True)
class ColumnOptions:
    """What the columns of a data file are."""

    labels: Labels = None
    separator: Annotated[
        list[str] | None,
        column_option(
            metavar="TEXT",
            help="Separator between the tags of a row; guessed if not given. If given, a single "
            "column of --labels holds tags, even if these are numbers or words such as yes. May be "
            "repeated.",
        ),
    ] = None
    ignore_case: Annotated[
        bool, column_option("--ignore-case", help="Tags like Audio and audio are one label.")
    ] = False
    no_label: Annotated[
        list[str] | None,
        column_option(metavar="TAG", help="A tag that means no label. May be repeated."),
    ] = None
    missing_labels: MissingLabels = None
    text: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A text column, turned into TF-IDF weights; columns of sentences are "
            "recognised without it. May be repeated.",
        ),
    ] = None
    category: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A categorical column; columns of a few repeated words are recognised without "
            "it. May be repeated.",
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A column of numbers to keep although it looks like an identifier, or holds "
            "words, which are missing values. May be repeated.",
        ),
    ] = None
    date: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A column of dates, in which words are missing values. May be repeated.",
        ),
    ] = None
    day_first_date: Annotated[
        list[str] | None,
        column_option(metavar="COLUMN", help="The same, with the day before the month."),
    ] = None
    ignore: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A column to leave out (q7_*: all that begin so). May be repeated.",
        ),
    ] = None


@dataclass(frozen=True)
class TableOptions(ColumnOptions):
    """What the columns of a data file are, and how features are made of them."""

    hierarchy: Annotated[
        str | None,
        column_option(
            metavar="FILE|SEPARATOR|none",
            help="Nested labels: the separator inside their names (/ in science/physics), a file "
            "with one pair of parent and child per line (child first below a line child,parent), "
            "or none; guessed if the parents are labels, too.",
        ),
    ] = None
    scale: Annotated[
        Scale,
        column_option(
            help="Scaling of numeric columns: robust uses medians and quartiles, so that extreme "
            "values have little influence. auto: robust, but none in a table of numbers alone if "
            "most are 0, as counts of words, or for Kin, which scales them itself."
        ),
    ] = Scale.auto
    max_words: Annotated[
        int | None,
        column_option(
            min=1,
            help="Maximum number of words kept per text column; by default 5000, from 5000 rows on "
            "20000, and 100000 with 2000 labels and more.",
        ),
    ] = None
    embedding: Annotated[
        Embedding,
        column_option(
            help="Embeddings of texts, which are similar for words of similar meaning: auto uses "
            "them if the packages of the extra text are installed."
        ),
    ] = Embedding.auto
    ngrams: Annotated[
        Embedding,
        column_option(
            help="Pairs of words and parts of words of texts: auto uses them for kin and logistic "
            "from 3000 rows on, if the numbers of texts and labels allow for it."
        ),
    ] = Embedding.auto
    trend: Annotated[bool, column_option("--trend", help="Also use the year of dates.")] = False


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is written."""

    delimiter: Annotated[
        str | None, column_option(help="Delimiter of a CSV file; guessed if not given.")
    ] = None
    encoding: Annotated[
        str | None,
        column_option(help="Text encoding of a CSV or ARFF file; guessed if not given."),
    ] = None
    decimal: Annotated[
        str | None,
        column_option(metavar=".|,", help="Decimal mark of a CSV file; guessed if not given."),
    ] = None
    header: Annotated[
        bool | None,
        column_option("--header/--no-header", help="Whether row 1 holds the names of the columns."),
    ] = None
    sheet: Annotated[str | None, column_option(help="Sheet of a spreadsheet.")] = None
    x: Annotated[str | None, column_option("--x", help="Array of features in .npz.")] = None
    y: Annotated[
        str | None,
        column_option(
            "--y",
            help="The labels, if DATA does not hold them: an array in .npz, or a file with the "
            "same rows in the same order: .npy, .npz, or a table such as .csv, whose columns of 0 "
            "and 1 are the labels unless --labels names others.",
        ),
    ] = None
    zero_based: Annotated[
        bool | None,
        column_option(
            "--zero-based/--one-based", help="Whether the features of a LibSVM file count from 0."
        ),
    ] = None


@dataclass(frozen=True)
class DecisionOptions:
    """Which labels are predicted, given their probabilities."""

    decide: Annotated[
        str | None,
        method_option(
            metavar="f1|recall:0.9|cost:FN=5|…",
            help="What the predicted labels optimise: f1, macro_f1, micro_f1, jaccard, "
            "subset_accuracy, cardinality (as many labels as in training), a level "
            "guaranteed for new rows (recall:0.9, precision:0.9, or macro_recall:0.9 for each "
            "label), or costs: "
            "with cost:FN=5 a missed label costs as much as five wrong ones. By default labels "
            "more likely than not are predicted.",
        ),
    ] = None
    threshold: Annotated[
        list[str] | None,
        method_option(
            metavar="[LABEL=]P",
            help="Predict labels with a probability above this, as in 0.3, or billing=0.2 for one "
            "label. May be repeated.",
        ),
    ] = None


def _complete(text: str) -> list[str]:
    from labelkin.methods import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(text)]


@dataclass(frozen=True)
class MethodOptions:
    """Which method to train, with which parameters, and where."""

    model: Annotated[
        str,
        method_option(
            "--model",
            "-m",
            help="The method: kin (recommended), vpcme, logistic, krr, mlknn, iblr, "
            "rakel, clr, cchains, br, …; auto compares several methods within "
            "--time seconds and uses the best.",
            autocompletion=_complete,
        ),
    ] = DEFAULT
    time: Annotated[
        str | None,
        method_option(
            metavar="SECONDS|COLUMN",
            help="Seconds for comparing methods with --model auto; by default 60. evaluate "
            "also accepts the column with the time of each row: each fold is then predicted from "
            "earlier rows.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        method_option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the method. May be repeated.",
        ),
    ] = None
    seed: Annotated[
        int, method_option(min=0, max=2**32 - 1, help="Seed of the random numbers.")
    ] = 0
    device: Device = None

    def parse_time(self) -> tuple[float, str | None]:
        """Return the seconds for comparing methods, and the column of times, if one is named."""
        try:
            seconds = 60 if self.time is None else float(self.time)
        except ValueError:
            return 60, self.time
        if not seconds >= 1:
            raise ValueError(f"--time {self.time}: it must be at least one second.")
        return seconds, None


def names_of(*groups: type) -> set[str]:
    """Return the names of the options in some groups."""
    return {one.name for group in groups for one in fields(group)}


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its dataclass parameters as options.

    Typer makes one option of each parameter in the signature; the fields of a group stand there
    in the group's place and are gathered again when the command is called.
    """
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        expanded = [parameter]
        if is_dataclass(group := parameter.annotation):
            groups[parameter.name] = group
            expanded = list(inspect.signature(groups[parameter.name]).parameters.values())
        parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in expanded]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{one.name: values.pop(one.name) for one in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


# What the options mean.


@dataclass(frozen=True)
class Decision:
    """How probabilities become labels: ``--decide`` and ``--threshold``."""

    name: str
    """A value of ``decision=`` in `labelkin.decisions`."""
    thresholds: dict[str, float] = field(default_factory=dict)
    """For the decision "fixed", those of single labels; the one of "" is that of all others."""

    def label_thresholds(self, label_names: Sequence[str]) -> list[float]:
        """Return the threshold of each label, for the decision "fixed" or costs."""
        from labelkin.decisions._label_decision import parse_costs

        for name in self.thresholds:
            if name and name not in label_names:
                raise ValueError(
                    f"--threshold {name}=…: no such label.{did_you_mean(name, label_names)}"
                )
        shared = self.thresholds.get("", parse_costs(self.name) or 0.5)
        return [self.thresholds.get(name, shared) for name in label_names]

    def restore(self, label_names: Sequence[str], learned: Any) -> "LabelDecision":
        """Return the decision with the thresholds of a fitted model.

        `learned` is what `learn_thresholds` returned when the model was fitted.
        """
        import numpy as np

        from labelkin._utils.labels import MANY_LABELS
        from labelkin.decisions import LabelDecision
        from labelkin.decisions._label_decision import is_fixed

        if not is_fixed(self.name) and len(label_names) >= MANY_LABELS:
            raise ValueError(
                f"--decide {self.name}: with {len(label_names):,} labels, use --threshold 0.3 or "
                "--decide cost:FN=5."
            )
        found, known = LabelDecision(self.name), (learned or {}).get(self.name, {})
        if is_fixed(self.name):
            known = {"thresholds": self.label_thresholds(label_names)}
        found.thresholds_ = np.array(known.get("thresholds", []), dtype=float)
        found.at_least_one_ = known.get("at_least_one", False)
        if len(found.thresholds_) != len(label_names):
            raise ValueError(
                f"--decide {self.name}: the model file holds no thresholds for it; fit the model "
                f"with --decide {self.name}, or use --decide cost:FN=5 or --threshold."
            )
        return found


def parse_decision(options: DecisionOptions) -> Decision | None:
    """Return the decision that the options describe; None: the classifier's own."""
    decide, thresholds = options.decide, options.threshold
    if decide is not None and thresholds:
        raise ValueError("--decide and --threshold cannot be combined; give one of them.")
    if thresholds:
        by_label = {}
        for text in thresholds:
            found = re.fullmatch(rf"(?:(.+)=)?\s*{_NUMBER}\s*", text, re.IGNORECASE)
            if not found or float(found[2]) > 1:
                raise ValueError(
                    f"--threshold {text}: it takes a probability from 0 to 1, for all labels (0.3) "
                    "or for one (LABEL=0.3)."
                )
            by_label[(found[1] or "").strip()] = float(found[2])
        return Decision("fixed", by_label)
    if decide is None:
        return None
    from labelkin.decisions._label_decision import check_decision

    try:
        check_decision(decide)
    except ValueError as error:
        why = str(error).removeprefix(f"decision={decide!r}: ")
        raise ValueError(f"--decide {decide}: {why}") from None
    return Decision(decide)


def make_model(
    method: "Method",
    choice: MethodOptions,
    decision: Decision | None,
    training: "TrainingData",
    fold: int = 0,
) -> "TableClassifier":
    """Return an unfitted classifier of a table, which decides as chosen.

    Each fold has its own seed.
    """
    from labelkin import HierarchyClassifier, TableClassifier
    from labelkin.decisions import DecisionClassifier

    classifier = make_classifier(method, parse_settings(choice.settings), choice.seed + fold)
    if training.hierarchy is not None:
        classifier = HierarchyClassifier(classifier, training.hierarchy)
    if decision is not None:
        cut = decision.label_thresholds(training.labels.names) if decision.name == "fixed" else None
        classifier = DecisionClassifier(
            classifier, decision.name, cut=cut, random_state=choice.seed
        )
    return TableClassifier(
        classifier, labels=training.labels, columns=training.schema, device=choice.device
    )


def check_device(device: str | None, decision: object = None) -> None:
    """Refuse a device that cannot be used, before anything is read.

    `decision` is given if it is learned with the classifier, which is done on the processor.
    """
    if device in (None, "cpu"):
        return
    if decision is not None:
        raise ValueError(
            f"--device {device}: with --decide or --threshold, models are fitted on the CPU; leave "
            "out --device, or the other option."
        )
    import numpy as np

    from labelkin.rows import move_to_device

    try:
        move_to_device(np.zeros((1, 1)), None, str(device))
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def find_methods(choice: MethodOptions, *, several: bool = False) -> "dict[str, Method]":
    """Return the methods to compare by name; wrong names and settings are refused.

    With `several`, names are separated by commas, and a user's own, as ``module:factory``, may be
    among them.
    """
    settings = parse_settings(choice.settings)
    names = split_names(choice.model) if several else [choice.model]
    if choice.parse_time()[1] and not several:
        raise ValueError(
            f"--time {choice.time}: here it takes the seconds for --model auto, a number; labelkin "
            "evaluate takes a column."
        )
    from labelkin.methods import METHODS, user_method

    if "auto" in names:
        if settings:
            raise ValueError(
                "--set: auto compares several methods with their usual settings; name one method "
                "with --model."
            )
        names = list(_AUTO)
    if not names:
        raise ValueError("--model names no method.")
    found = {}
    for name in dict.fromkeys(names):
        if name in METHODS:
            method = METHODS[name]
        elif several and ":" in name:
            method = user_method(f"{name.rpartition(':')[2]}={name}")
        else:
            raise ValueError(
                f"--model {name}: no such method.{did_you_mean(name, METHODS)} Known methods: "
                f"{', '.join(dict.fromkeys([DEFAULT, *METHODS]))}; auto compares several."
            )
        make_classifier(method, settings, choice.seed)
        if method.has_trees:
            import_optional("numba", "tree")
        found[method.name] = method
    return found


def make_classifier(method: "Method", settings: dict[str, Any], seed: int) -> Any:
    """Return the unfitted classifier with its parameters set and validated.

    A parameter of a pipeline's last step may be given without the name of the step.
    """
    model = method.make(seed)
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    for name, value in settings.items():
        if name in model.get_params():
            model.set_params(**{name: value})
        elif name in final.get_params():
            final.set_params(**{name: value})
        else:
            known = sorted(final.get_params(deep=False))
            raise ValueError(
                f"--set {name}: {method.title} has no such parameter.{did_you_mean(name, known)} "
                f"Its parameters: {', '.join(known)}."
            )
    if hasattr(final, "_validate_params"):
        try:
            final._validate_params()
        except ValueError as error:
            raise ValueError(f"--set: {error}") from None
    return model


def parse_settings(texts: list[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` pairs; values are numbers, words, true, false, none, or tuples.

    >>> parse_settings(["n_estimators=50", "voting=soft", "threshold=(0.2, 1)"])
    {'n_estimators': 50, 'voting': 'soft', 'threshold': (0.2, 1)}
    """
    settings: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ValueError(f"--set {text}: write it as name=value, as in n_estimators=50.")
        if name in settings:
            raise ValueError(f"--set {name}: it is set twice.")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            settings[name] = _CONSTANTS.get(value.lower(), value)
    return settings
