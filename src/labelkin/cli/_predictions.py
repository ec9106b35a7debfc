"""Predictions as a table or as JSON lines, on stdout or in a file."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import numpy as np

_FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def output_format(out: Path) -> str:
    """Return ``csv``, ``parquet`` or ``jsonl``, by the suffix of the file to write."""
    from labelkin._utils.files import strip_compression

    suffix = strip_compression(out).suffix.lower()
    compressed = out.suffix.lower() != suffix
    if suffix in _FORMATS and not (compressed and suffix == ".parquet"):
        return _FORMATS[suffix]
    if out.exists() and not out.is_file():
        return "csv"  # a pipe or a device has no suffix
    raise ValueError(
        f"{out}: the format is unknown from the name; end it in .csv, .parquet or .jsonl."
    )


@dataclass(frozen=True)
class Predictions:
    """Predicted labels of all rows, and which of their columns to write."""

    ids: list[Any]
    id_name: str
    kept: dict[str, list[Any]]
    """Columns of the input to write beside them, by name."""
    names: list[str]
    labels: "np.ndarray"
    scores: "np.ndarray"
    proba: bool
    top: int
    separator: str
    per_label: bool = False
    """Whether tables have a column of 0 and 1 for each label; if `proba`, of probabilities."""

    @property
    def header(self) -> list[str]:
        """Column names; a column that is no label gets a "_" if a label has its name."""
        columns = list(self.names) if self.proba or self.per_label else []
        taken = set(columns)
        own = [self.id_name, *self.kept, "labels", "confidence"]
        for i in range(min(self.top, len(self.names))):
            own += [f"label_{i + 1}", f"probability_{i + 1}"]
        for i in range(len(own)):
            while own[i] in taken:
                own[i] += "_"
            taken.add(own[i])
        return own + columns

    def rows(self) -> Iterator[list[Any]]:
        """Yield each row's values, in the order of `header`."""
        for i, present in enumerate(self.labels):
            row = [self.ids[i], *self._kept_of(i).values()]
            row += [self.separator.join(self._names_of(present)), self._confidence(i)]
            for name, probability in self._most_likely(i):
                row += [name, probability]
            if self.proba or self.per_label:
                row += self._probabilities(i) if self.proba else present.tolist()
            yield row

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a JSON object."""
        for i, present in enumerate(self.labels):
            row: dict[str, Any] = {self.id_name: self.ids[i], **self._kept_of(i)}
            row |= {"labels": self._names_of(present), "confidence": self._confidence(i)}
            if self.top:
                pairs = self._most_likely(i)
                row["top"] = [{"label": name, "probability": p} for name, p in pairs]
            if self.proba:
                row["probabilities"] = dict(zip(self.names, self._probabilities(i), strict=True))
            yield row

    def write_text(self, stream: TextIO, format: str) -> None:
        """Write the predictions as CSV or JSON lines."""
        if format == "jsonl":
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.objects())
            return
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(self.rows())

    def write(self, out: Path, format: str) -> None:
        """Write the predictions to a file, whole or not at all."""
        from labelkin._utils.files import open_for_writing

        with open_for_writing(out) as file:
            if format == "parquet":
                file.write(self._to_parquet())
            else:
                stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
                self.write_text(stream, format)
                stream.flush()
                stream.detach()  # the file is closed by open_for_writing

    def _to_parquet(self) -> bytes:
        from labelkin._utils.optional import import_optional

        arrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
        columns = map(list, zip(*self.rows(), strict=True))
        buffer = io.BytesIO()
        parquet.write_table(arrow.table(dict(zip(self.header, columns, strict=True))), buffer)
        return buffer.getvalue()

    def _names_of(self, present: "np.ndarray") -> list[str]:
        return [self.names[j] for j in present.nonzero()[0]]

    def _kept_of(self, i: int) -> dict[str, Any]:
        return {name: cells[i] for name, cells in self.kept.items()}

    def _confidence(self, i: int) -> float:
        """Return how sure the model is of the label it is least sure of, predicted or not."""
        scores, present = self.scores[i], self.labels[i].astype(bool)
        sure = scores[present].min(initial=1.0), (1 - scores[~present]).min(initial=1.0)
        return round(float(min(sure)), 4)

    def _probabilities(self, i: int) -> list[float]:
        return [round(float(p), 6) for p in self.scores[i]]

    def _most_likely(self, i: int) -> list[tuple[str, float]]:
        order = (-self.scores[i]).argsort(kind="stable")[: self.top]
        return [(self.names[j], round(float(self.scores[i, j]), 6)) for j in order]
