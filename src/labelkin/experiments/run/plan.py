"""What is computed: every method on every dataset, by the protocol of section 4.3.

A cell is one method on one fold of one repeat of one dataset. Its name alone decides
whatever is random in it: dataset and repeat decide the folds, so that all methods of a
repeat share them and tests are paired; the whole cell decides the classifier's seed. A cell
can therefore be computed alone, in any order and on any machine, with the same result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelkin._utils.names import plural
from labelkin.experiments.run.sources import Source
from labelkin.experiments.run.variants import check_method
from labelkin.methods import Method


def derive_seed(*parts: Any) -> int:
    """Return a seed for ``random_state`` that depends on the given words and nothing else.

    >>> derive_seed("yeast", "vpcme", 0, 4)
    2110008837
    """
    entropy = list("|".join(map(str, parts)).encode())
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


@dataclass(frozen=True, order=True)
class Cell:
    """One method on one fold of one repeat of one dataset."""

    dataset: str
    method: str
    repeat: int
    fold: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Cell":
        """Return the cell that a row of the results is about."""
        return cls(row["dataset"], row["method"], row["repeat"], row["fold"])

    @property
    def base(self) -> str:
        """The method without its settings."""
        return self.method.partition("@")[0]

    @property
    def seed(self) -> int:
        """The classifier's seed; variants of a method share it, so only the setting differs."""
        return derive_seed(self.dataset, self.base, self.repeat, self.fold)

    def __str__(self) -> str:
        return f"{self.method} {self.dataset} r{self.repeat}f{self.fold}"


@dataclass(frozen=True)
class Protocol:
    """How a dataset is split.

    With one fold a dataset is not split at all: its published training rows train, and its
    published test rows are predicted. With a seed every dataset is split by it, plus the number of
    the repeat, instead of by its name: the folds of other programs,
    ``np.array_split(default_rng(seed).permutation(n), folds)``.
    """

    repeats: int = 20
    folds: int = 5
    seed: int | None = None
    first_repeat: int = 0  # those before it are left to others

    def __post_init__(self) -> None:
        if self.folds < 1 or not 0 <= self.first_repeat < self.repeats:
            raise ValueError("There is nothing to run: at least one fold of one repeat is needed.")

    @property
    def is_holdout(self) -> bool:
        """Whether the published test rows are predicted, instead of folds."""
        return self.folds == 1

    def __str__(self) -> str:
        """Return the kind of folds in words."""
        seed = "" if self.seed is None else f" of seed {self.seed}"
        return "the published test rows" if self.is_holdout else f"{self.folds} random folds{seed}"

    def test_rows(self, dataset: str, repeat: int, n: int, published: Any = None) -> list[Any]:
        """Return which of `n` rows are the test rows of each fold, ascending.

        Dataset and repeat decide the folds; ``folds=1`` takes the published test rows.
        """
        if self.is_holdout:
            return [published]
        if n < self.folds:
            raise ValueError(f"{dataset} has {n} rows, too few for {self.folds} folds.")
        seed = derive_seed(dataset, repeat) if self.seed is None else self.seed + repeat
        parts = np.array_split(np.random.default_rng(seed).permutation(n), self.folds)
        return [np.sort(part) for part in parts]


@dataclass(frozen=True)
class Plan:
    """Methods and datasets of a run."""

    sources: tuple[Source, ...]
    methods: tuple[str, ...]
    """Names, variants included."""
    registry: Mapping[str, Method]
    """All methods that the names may refer to."""
    protocol: Protocol

    def __post_init__(self) -> None:
        if not self.sources or not self.methods:
            raise ValueError("There is nothing to run: name at least one dataset and one method.")
        for name in self.methods:
            check_method(name, self.registry)
        names = [source.name for source in self.sources]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(
                f"Two datasets are called {twice.pop()!r}; give one of them another name."
            )

    def cells(self) -> list[Cell]:
        """Return the cells in the order in which they are computed, all methods of a fold together.

        Means and tests are then paired, however far a run comes.
        """
        return [
            Cell(source.name, method, repeat, fold)
            for repeat in range(self.protocol.first_repeat, self.protocol.repeats)
            for source in self.sources
            for fold in range(self.protocol.folds)
            for method in self.methods
        ]

    def __str__(self) -> str:
        """Return what is run in words: datasets × methods × folds = cells."""
        protocol = self.protocol
        repeats = protocol.repeats - protocol.first_repeat
        folds = f"{repeats} × {protocol.folds} folds"
        if protocol.is_holdout:
            folds = plural(repeats, "repeat")
        sizes = f"{plural(len(self.sources), 'dataset')} × {plural(len(self.methods), 'method')}"
        return f"{sizes} × {folds} = {len(self.cells())} cells"

    def title(self, method: str) -> str:
        """Return a method's name in print, with its settings."""
        base, at, settings = method.partition("@")
        return self.registry[base].title + (f" {settings}" if at else "")
