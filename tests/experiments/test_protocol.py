import numpy as np
import pytest

from labelkin.experiments.run.plan import Cell, Plan, Protocol, derive_seed
from labelkin.experiments.run.sources import Source
from labelkin.methods import METHODS


def test_seeds_never_change():
    """Results of every store rest on these numbers: they may not move with any release."""
    assert derive_seed("yeast", "vpcme", 0, 4) == 2110008837
    assert derive_seed("yeast", 0) == derive_seed("yeast", "0")
    assert Cell("yeast", "vpcme", 0, 4).seed == 2110008837


def test_seeds_differ_in_every_part():
    seeds = {
        derive_seed(d, m, r, f)
        for d in ("a", "b") for m in ("x", "y") for r in range(5) for f in range(5)
    }  # fmt: skip
    assert len(seeds) == 100


def test_variants_share_the_seed_of_their_method():
    seed = Cell("yeast", "vpcme", 2, 1).seed
    assert Cell("yeast", "vpcme@threshold=0.1", 2, 1).seed == seed
    assert Cell("yeast", "vpcme@size=10", 2, 1).seed == seed
    assert Cell("yeast", "bagging_vpcp", 2, 1).seed != seed


def test_folds_part_the_rows():
    protocol = Protocol(folds=5)
    folds = protocol.test_rows("d", 0, 53)
    assert sorted(np.concatenate(folds)) == list(range(53))
    assert {len(fold) for fold in folds} <= {10, 11}
    again = protocol.test_rows("d", 0, 53)
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))
    for other in (protocol.test_rows("d", 1, 53), protocol.test_rows("e", 0, 53)):
        assert not np.array_equal(folds[0], other[0])


def test_folds_of_a_seed_are_those_of_other_programs():
    """The frontier's folds: the same for every dataset of a size, whatever its name."""
    expected = np.array_split(np.random.default_rng(0).permutation(53), 5)
    for name in "d", "e":
        folds = Protocol(1, 5, seed=0).test_rows(name, 0, 53)
        assert all(np.array_equal(a, np.sort(b)) for a, b in zip(folds, expected, strict=True))
    assert not np.array_equal(folds[0], Protocol(2, 5, seed=0).test_rows("d", 1, 53)[0])
    assert not np.array_equal(folds[0], Protocol(1, 5).test_rows("d", 0, 53)[0])


def plan(protocol, datasets="de", methods=("br", "krr")):
    return Plan(tuple(map(Source, datasets)), methods, METHODS, protocol)


def test_methods_of_a_fold_stand_together():
    cells = plan(Protocol(2, 3)).cells()
    assert len(cells) == len(set(cells)) == 24
    assert cells[:3] == [Cell("d", "br", 0, 0), Cell("d", "krr", 0, 0), Cell("d", "br", 0, 1)]


def test_bad_settings():
    with pytest.raises(ValueError, match="nothing to run"):
        Protocol(folds=0)
    with pytest.raises(ValueError, match="nothing to run"):
        Protocol(repeats=0)
    with pytest.raises(ValueError, match="d has 53 rows, too few for 60 folds"):
        Protocol(folds=60).test_rows("d", 0, 53)


def test_later_repeats_alone():
    all_cells = plan(Protocol(4, 3)).cells()
    later = plan(Protocol(4, 3, first_repeat=2)).cells()
    assert later == [cell for cell in all_cells if cell.repeat >= 2]
    with pytest.raises(ValueError, match="nothing to run"):
        Protocol(4, 3, first_repeat=4)


def test_one_fold_is_the_published_test_rows():
    published = np.array([1, 4, 9])
    assert Protocol(1, 1).is_holdout
    assert not Protocol(1, 5).is_holdout
    [rows] = Protocol(1, 1).test_rows("d", 0, 53, published)
    assert np.array_equal(rows, published)
