"""The four groups of experiments of section 4.3.2, and those beyond the paper."""

from dataclasses import dataclass

from labelkin._utils.names import did_you_mean

QUICK_DATASET = "digit-scenes"
"""Dataset of a quick run: bundled, so that it needs no file and no network."""

_YAHOO = ("arts", "business", "education", "entertainment", "health", "science", "social")
_THREE = ("yeast", "scene", "entertainment")
_TWELVE = ("yeast", "scene", "enron", "genbase", "medical", *_YAHOO)

SECOND_SETTINGS = {"rakel_k3": "rakel", "iblr_scaled": "iblr", "mlknn_scaled": "mlknn"}
"""Methods with settings that the text of the paper does not state, and the column they match.

The text has k = q/2 for RAkEL, but its printed column agrees with k = 3; the columns of ML-kNN and
IBLR-ML agree with features scaled by their range, as in WEKA. They are run on the paper's datasets.
"""

_TABLE3 = (
    "rakel", "rakel_k3", "iblr", "iblr_scaled", "clr", "cchains", "mlknn", "mlknn_scaled",
    "vpcme",
)  # fmt: skip


_BASES = ("c45", "knn", "svm")
COMPONENTS = ("adaboost_pdt", "bagging_vpcp", "mddm")
"""Methods of the paper's Group 4, which it compares with VPCME alone (Figure 2)."""

_FRONTIER = (
    *(*_TABLE3, *COMPONENTS),
    *("lr", "ecc", "svm", "rf", "et", "hgb", "lgbm", "boomer"),
    *("krr", "kin"),
)


@dataclass(frozen=True)
class Group:
    """A group of experiments: every method on every dataset."""

    name: str
    """Name on the command line: the table or figure it leads to."""
    title: str
    """What it is, in words."""
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    repeats: int = 20
    """Repeats of the cross-validation by default."""
    seed: int | None = None
    """Seed of the folds; None: each dataset's own. See :class:`Protocol`."""
    folds: int = 5
    """Number of folds by default; 1: the published test rows."""


_GROUPS = (
    Group("table3", "Table 3: the compared methods", _TWELVE, _TABLE3),
    Group(
        "figure1",
        "Figure 1: the threshold Θ",
        ("yeast", "business"),
        tuple(f"vpcme@threshold={tenths / 10}" for tenths in range(1, 11)),
    ),
    Group(
        "table5",
        "Table 5: the ensemble size S",
        ("medical", "entertainment"),
        tuple(f"vpcme@size={size}" for size in (1, 10, 20, 30, 40, 50)),
    ),
    Group("figure2", "Figure 2: the parts of VPCME", _THREE, (*COMPONENTS, "vpcme")),
    Group(
        "bases",
        "Section 4.3.1: other base learners",
        _THREE,
        (
            *(f"vpcme@estimator={base}" for base in ("mlknn", "knn", "c45", "svm")),
            *(f"{method}@estimator={base}" for method in ("cchains", "clr") for base in _BASES),
        ),
    ),
    Group(
        "frontier",
        "The frontier: the methods of the paper, of other libraries, and of this one",
        _TWELVE,
        _FRONTIER,
        repeats=1,
        seed=0,
    ),
    Group(
        "holdout",
        "The frontier on published test rows",
        _YAHOO,
        _FRONTIER,
        repeats=1,
        folds=1,
    ),
)

GROUPS: dict[str, Group] = {group.name: group for group in _GROUPS}
"""Every group by name."""


def find_group(name: str) -> Group:
    """Return a group by name; the error for an unknown name suggests the nearest ones."""
    if name not in GROUPS:
        raise ValueError(
            f"No group of experiments is called {name!r}.{did_you_mean(name, GROUPS)} "
            f"Known are {', '.join(GROUPS)}."
        )
    return GROUPS[name]
