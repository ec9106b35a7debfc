"""The known datasets: origin, addresses, checksums and expected figures."""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from labelkin._utils.names import did_you_mean


@dataclass(frozen=True)
class SourceFile:
    """One published file: its role in the dataset, its addresses, and its checksum."""

    role: str
    urls: tuple[str, ...]
    sha256: str

    @property
    def name(self) -> str:
        """Name of the file, the same at every address except for capitals."""
        return self.urls[0].rsplit("/", 1)[-1]


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the catalogue.

    Attributes
    ----------
    name, domain, task, origin, licence, note : str
        Shown to users.
    statistics : dict
        Expected figures under the column names of Table 2; only those that are known.
    rows : {"all", "train"}
        The rows that `statistics` describe, and that `load_dataset` gives by default.
    paper : bool
        Whether the dataset is one of the paper's twelve.
    files : tuple of SourceFile
        What to download.
    labels_last : int or None
        Number of labels, the last attributes, where no XML file names them.
    drop : tuple of str
        Attributes that are left out on reading.
    """

    name: str
    domain: str
    task: str
    origin: str
    licence: str
    statistics: dict[str, float]
    rows: str = "all"
    paper: bool = False
    files: tuple[SourceFile, ...] = ()
    labels_last: int | None = None
    drop: tuple[str, ...] = field(default=())
    note: str = ""

    @property
    def source(self) -> str:
        """Address of a page about the dataset."""
        url = self.files[0].urls[0]
        github = re.match(r"https://(?:raw\.githubusercontent|github)\.com/([^/]+/[^/]+)/", url)
        return f"https://github.com/{github[1]}" if github else url.rsplit("/", 1)[0]

    @property
    def description(self) -> str:
        """The ``DESCR`` of `load_dataset`."""
        lines = [
            f"{self.name}: {self.task} ({self.domain}).",
            f"Origin: {self.origin}.",
            f"Licence: {self.licence}.",
            f"Source: {self.source}",
        ]
        return "\n".join([*lines, self.note] if self.note else lines)


@cache
def _catalogue() -> dict[str, DatasetInfo]:
    text = files("labelkin.datasets.known").joinpath("catalogue.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)

    def source_file(entry: dict[str, Any]) -> SourceFile:
        pairs = (short.split(":", 1) for short in entry["urls"])
        urls = tuple(table["mirrors"][mirror] + path for mirror, path in pairs)
        return SourceFile(entry["role"], urls, entry["sha256"])

    found = {}
    for name, entry in table["datasets"].items():
        entry["files"] = tuple(source_file(file) for file in entry["files"])
        entry["drop"] = tuple(entry.get("drop", ()))
        found[name] = DatasetInfo(name, **entry)
    return found


def dataset_names(*, paper: bool | None = None) -> list[str]:
    """Return the names that `load_dataset` takes.

    Parameters
    ----------
    paper : bool, default=None
        True for the paper's twelve only, False for all others; None gives every name.
    """
    return [i.name for i in _catalogue().values() if paper is None or i.paper == paper]


def dataset_info(name: str) -> DatasetInfo:
    """Return the entry of one dataset; the error for an unknown name suggests similar ones."""
    known = _catalogue()
    key = str(name).strip().lower().replace("_", "-")
    if key in known:
        return known[key]
    raise ValueError(
        f"No dataset is called {name!r}.{did_you_mean(key, known)} "
        "`labelkin datasets` (or labelkin.datasets.dataset_names()) lists the known ones; "
        "give a file by its path."
    )
