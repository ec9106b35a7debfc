"""Predictions as a table or as JSON lines, on stdout or in a file."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_ROWS_PER_WRITE = 10_000


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
        f"{out}: the name does not tell the format; end it in .csv, .parquet or .jsonl."
    )


@dataclass(frozen=True)
class Predictions:
    """Predicted labels of all rows, and which of their columns to write."""

    ids: list[Any]
    id_name: str
    names: list[str]
    labels: "np.ndarray"
    scores: "np.ndarray"
    proba: bool
    top: int
    separator: str

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def header(self) -> list[str]:
        """Column names; the columns that are not labels get a "_" if a label has their name."""
        pairs = [(f"label_{i + 1}", f"probability_{i + 1}") for i in range(self._n_top)]
        header = list(self.names) if self._has_label_columns else []
        taken = set(header)
        own = []
        for name in (self.id_name, "labels", *(name for pair in pairs for name in pair)):
            while name in taken:
                name += "_"
            taken.add(name)
            own.append(name)
        return own + header

    def rows(self) -> Iterator[list[Any]]:
        """Yield each row's cells, in the order of `header`."""
        for i, present in enumerate(self.labels):
            row = [self.ids[i], self.separator.join(self._names_of(present))]
            row += [cell for pair in self._most_likely(i) for cell in pair]
            if self._has_label_columns:
                row += self._probabilities(i) if self.proba else present.tolist()
            yield row

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a JSON object."""
        for i, present in enumerate(self.labels):
            row: dict[str, Any] = {self.id_name: self.ids[i], "labels": self._names_of(present)}
            if self.top:
                pairs = self._most_likely(i)
                row["top"] = [{"label": name, "probability": p} for name, p in pairs]
            if self.proba:
                row["probabilities"] = dict(zip(self.names, self._probabilities(i), strict=True))
            yield row

    def text(self, format: str) -> Iterator[str]:
        """Yield the predictions as CSV or JSON lines, in pieces."""
        if format == "jsonl":
            for row in self.objects():
                yield json.dumps(row, ensure_ascii=False) + "\n"
            return
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.header)
        for number, cells in enumerate(self.rows(), start=1):
            writer.writerow(cells)
            if number % _ROWS_PER_WRITE == 0:
                yield buffer.getvalue()
                buffer.seek(0)
                buffer.truncate()
        yield buffer.getvalue()

    def write(self, out: Path, format: str) -> None:
        """Write the predictions to a file, whole or not at all."""
        from labelkin._utils.files import open_for_writing

        with open_for_writing(out) as file:
            if format == "parquet":
                file.write(self._parquet())
            else:
                for part in self.text(format):
                    file.write(part.encode("utf-8"))

    def _parquet(self) -> bytes:
        from labelkin._utils.optional import import_optional

        arrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
        columns = map(list, zip(*self.rows(), strict=True))
        buffer = io.BytesIO()
        parquet.write_table(arrow.table(dict(zip(self.header, columns, strict=True))), buffer)
        return buffer.getvalue()

    @property
    def _n_top(self) -> int:
        return min(self.top, len(self.names))

    @property
    def _has_label_columns(self) -> bool:
        return self.proba or not self.top

    def _names_of(self, present: "np.ndarray") -> list[str]:
        return [self.names[j] for j in present.nonzero()[0]]

    def _probabilities(self, i: int) -> list[float]:
        return [round(float(p), 6) for p in self.scores[i]]

    def _most_likely(self, i: int) -> list[tuple[str, float]]:
        order = (-self.scores[i]).argsort(kind="stable")[: self._n_top]
        return [(self.names[j], round(float(self.scores[i, j]), 6)) for j in order]
