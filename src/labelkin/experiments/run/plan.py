"""What is to be computed: every method on every dataset, by one protocol."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from labelkin._utils.names import plural
from labelkin.experiments.run.jobs import Job
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.variants import check_method, parse_variant
from labelkin.methods import Method


@dataclass(frozen=True)
class Plan:
    """Methods and datasets of a run."""

    sources: tuple[Source, ...]
    methods: tuple[str, ...]
    """Names, variants included."""
    registry: Mapping[str, Method]
    """All methods that the names may refer to."""
    protocol: Protocol
    shard: tuple[int, int] = (1, 1)
    """Number and count: the second of four machines that share the plan has (2, 4)."""

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
        """Return the cells of this shard, in the order in which they are computed.

        All methods of one fold belong to the same shard: its means and tests are paired.
        """
        number, count = self.shard
        cells = self.protocol.cells([s.name for s in self.sources], list(self.methods))
        # The methods of a fold follow one another.
        return [c for i, c in enumerate(cells) if i // len(self.methods) % count == number - 1]

    def __str__(self) -> str:
        """Return what is run in words: datasets × methods × folds = cells."""
        protocol, (number, count) = self.protocol, self.shard
        repeats = protocol.repeats - protocol.first_repeat
        folds = f"{repeats} × {protocol.folds} folds"
        if protocol.is_holdout:
            folds = plural(repeats, "repeat")
        part = f", part {number} of {count}" if count > 1 else ""
        sizes = f"{plural(len(self.sources), 'dataset')} × {plural(len(self.methods), 'method')}"
        return f"{sizes} × {folds}{part} = {len(self.cells())} cells"

    def title(self, method: str) -> str:
        """Return a method's name in print, with its settings."""
        base, at, settings = method.partition("@")
        return self.registry[base].title + (f" {settings}" if at else "")

    def jobs(self, missing: set[Cell], datasets: Mapping[str, Dataset]) -> Iterator[Job]:
        """Yield the jobs of missing cells; all ensemble sizes of a classifier are one fit."""
        groups: dict[Any, list[Cell]] = {}
        for cell in self.cells():
            if cell in missing:
                variant = parse_variant(cell.method)
                fit = cell.method if variant.size is None else replace(variant, size=0)
                groups.setdefault((cell.dataset, cell.repeat, cell.fold, fit), []).append(cell)
        folds = lru_cache(maxsize=8)(
            lambda name, repeat: self.protocol.test_rows(
                name, repeat, datasets[name].Y, datasets[name].test
            )
        )
        for (name, repeat, fold, _), cells in groups.items():
            method = self.registry[parse_variant(cells[0].method).base]
            yield Job(tuple(cells), method, datasets[name], folds(name, repeat)[fold])
