"""Predictions as a table or as JSON lines, on stdout or in a file."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

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

    kept: dict[str, list[Any]]
    """Columns to write before the labels, by name: the identifier first."""
    names: list[str]
    labels: "np.ndarray"
    scores: "np.ndarray"
    proba: bool = False
    top: int = 0
    separator: str = ";"
    per_label: bool = False
    """Whether tables have a column of 0 and 1 for each label; if `proba`, of probabilities."""

    def _label_sets(self) -> list[list[str]]:
        return [[self.names[j] for j in row.nonzero()[0]] for row in self.labels]

    def _most_likely(self) -> "np.ndarray":
        return (-self.scores).argsort(axis=1, kind="stable")[:, : self.top]

    def frame(self) -> "pd.DataFrame":
        """Return one row per row; a column that is no label gets a "_" if a label has its name."""
        import pandas as pd

        from labelkin.tabular._frames import row_confidence

        scores = self.scores.round(6)
        per_label = scores if self.proba else self.labels
        columns = dict(self.kept)
        columns["labels"] = [self.separator.join(tags) for tags in self._label_sets()]
        columns["confidence"] = row_confidence(self.labels, self.scores)
        for rank, labels in enumerate(self._most_likely().T, start=1):
            columns[f"label_{rank}"] = [self.names[j] for j in labels]
            columns[f"probability_{rank}"] = [row[j] for row, j in zip(scores, labels, strict=True)]
        own = self.names if self.proba or self.per_label else []
        found: dict[str, Any] = {}
        for name, cells in columns.items():
            while name in own or name in found:
                name += "_"
            found[name] = cells
        found |= {name: per_label[:, self.names.index(name)] for name in own}
        return pd.DataFrame(found)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a JSON object."""
        from labelkin.tabular._frames import row_confidence

        scores, top = self.scores.round(6).tolist(), self._most_likely().tolist()
        sure = row_confidence(self.labels, self.scores)
        rows = zip(self._label_sets(), sure, scores, top, strict=True)
        for i, (tags, confidence, p, likely) in enumerate(rows):
            row = {name: cells[i] for name, cells in self.kept.items()}
            row |= {"labels": tags, "confidence": confidence}
            if self.top:
                row["top"] = [{"label": self.names[j], "probability": p[j]} for j in likely]
            if self.proba:
                row["probabilities"] = dict(zip(self.names, p, strict=True))
            yield row

    def write_text(self, stream: TextIO, format: str) -> None:
        """Write the predictions as CSV or JSON lines."""
        if format == "jsonl":
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.objects())
        else:
            self.frame().to_csv(stream, index=False, lineterminator="\n")

    def write(self, out: Path, format: str) -> None:
        """Write the predictions to a file, whole or not at all."""
        from labelkin._utils.files import open_for_writing

        with open_for_writing(out) as file:
            if format == "parquet":
                self.frame().to_parquet(file, index=False)
            else:
                stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
                self.write_text(stream, format)
                stream.flush()
                stream.detach()  # the file is closed by open_for_writing
