"""The plan of the Kin ensemble, and the limits and costs it depends on."""

from dataclasses import replace

import numpy as np
import pytest

from labelkin.kernel._direct import DirectKernelRidge
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._limits import Cost, Limits, Shape, limits_of
from labelkin.kin._plan import Planner

TABLE = {"raw": (30, 30.0), "standard": (30, 30.0), "ranks": (30, 30.0)}
WORDS = (9000, 40.0)
TEXT = {
    "raw": WORDS,
    "idf": WORDS,
    "root_idf": WORDS,
    "reduced": (1000, 1000.0),
    "topics": (300, 300.0),
}


def plan(n, views=TABLE, n_labels=5, n_projections=8, n_trees=None, limits=None):
    k, stored = views["raw"]
    planner = Planner(
        views,
        Shape(n, k, n_labels, int(n * stored)),
        binary=False,
        weighted=True,
        fold_of=np.arange(n) % 20,
        n_jobs=1,
        rng=np.random.RandomState(0),
        limits=limits or Limits(),
    )
    return planner.plan(n_projections, n_trees)


def names(found):
    return [member.name for member in found.members]


def test_learners_share_the_memory():
    limits = Limits()
    assert limits.n_concurrent(1000, 16) == 16
    few, many = (limits.n_concurrent(n, 16) for n in (9000, 1_000_000))
    assert 1 <= many <= few < 16
    assert Limits(fit_memory=0).n_concurrent(1000, 16) == 1


def test_kernels_become_cheaper_smoothly():
    """Eigenvectors, one factorisation, parts, landmarks: the cost never jumps up or falls off."""
    limits = Limits()
    sizes = np.unique(np.geomspace(1500, 2e5, 300).astype(int))
    seconds = [limits.kernel_cost(Shape(n, 50, 10, 50 * n), 50).seconds for n in sizes]
    ratios = np.array(seconds[1:]) / np.array(seconds[:-1])
    assert ratios.max() < 1.6
    assert max(seconds) < 45
    parts = [limits.n_parts_of_kernel(n) for n in (2000, 9000, 12_000, 30_000, 200_000)]
    assert parts[:2] == [1, 1]
    assert 1 < parts[2] < parts[3] <= limits.max_parts
    assert parts[4] == 0
    marks = [limits.n_landmarks(n) for n in (50_000, 200_000, 10**6)]
    assert marks[0] > marks[1] > marks[2] >= limits.min_landmarks


def test_small_tables_have_every_member():
    found = plan(400)
    kernels = ["raw_rbf", "standard_rbf", "ranks_rbf", "raw_laplacian", "ranks_laplacian"]
    assert names(found) == [*kernels, "projections", "relevance", "linear", "trees", "forest"]
    assert not found.left_out
    assert all(member.reason for member in found.members)
    assert len(found.members[5].learners) == 8
    assert type(found.members[0].learners[0]) is KernelRidge
    assert isinstance(plan(3000).members[0].learners[0], DirectKernelRidge)


def test_parts_are_whole_folds_and_cover_all_rows():
    learners = plan(20_000).members[0].learners
    rows = np.concatenate([learner.part for learner in learners])
    assert len(learners) > 1
    np.testing.assert_array_equal(np.sort(rows), np.arange(20_000))
    folds = [set((learner.part % 20).tolist()) for learner in learners]
    assert sum(map(len, folds)) == 20


def test_wide_texts_with_many_labels_have_few_members():
    found = plan(10_000, TEXT, n_labels=360)
    assert names(found)[:3] == ["linear", "topics_rbf", "raw_laplacian"]
    assert {"projections", "trees"} <= set(found.left_out)
    text = "\n".join(found.describe(Shape(10_000, 9000, 360, 400_000)))
    assert "10,000 rows" in text
    assert "projections: left out" in text


def test_extreme_sizes_are_linear():
    views = {"raw": (2**18, 30.0), "idf": (2**18, 30.0), "root_idf": (2**18, 30.0)}
    assert names(plan(1_000_000, views, n_labels=1000)) == ["linear"]


@pytest.mark.parametrize("n", [4_900, 5_100, 7_900, 8_100])
def test_no_member_is_lost_where_kernels_used_to_be_approximated(n):
    assert names(plan(n))[:5] == names(plan(400))[:5]
    assert plan(n).members[0].learners[0].n_landmarks is None


def test_effort_changes_what_is_affordable():
    low, medium, high = (
        plan(5000, TEXT, 100, limits=limits_of(e)) for e in ("low", "medium", "high")
    )
    assert len(low.members) < len(medium.members) < len(high.members)
    assert names(low)[0] == "linear"


def test_there_are_as_many_projections_as_fit():
    limits = Limits()
    some = plan(900, limits=replace(limits, seconds=1.8))
    all_of_them, none = plan(900), plan(900, limits=replace(limits, seconds=0.01))
    counts = [
        sum(len(m.learners) for m in found.members if m.name == "projections")
        for found in (all_of_them, some, none)
    ]
    assert counts[0] == 8
    assert 2 <= counts[1] < 8
    assert counts[2] == 0


def test_projections_pay_for_the_view_they_share():
    """Its directions, 2 bytes per word and column, were in no cost: 40 MB of a model of 90."""
    limits, budget = Limits(), Cost(150.0, 2e7)
    shape = Shape(2_000, 9_000, 360, 80_000)
    alone, shared = (limits.projection_cost(shape, 1000, reduced) for reduced in (False, True))
    assert shared.times(3).bytes == alone.times(3).bytes + 2 * 9_000 * 1000
    assert shared.times_in(budget) == 0 < alone.times_in(budget)
    assert "projections" in plan(2_000, TEXT, n_labels=360).left_out


def test_no_view_is_reduced_for_projections_that_do_not_fit():
    """Its singular vectors took ten seconds, of 9,743 texts with 363 labels."""
    limits = Limits()
    texts, table = Shape(9_743, 5_062, 363, 422_235), Shape(900, 30, 10, 27_000)
    assert not limits.affords_projections(texts, 8)
    assert limits.affords_projections(table, 8)
    assert not limits.affords_projections(table, 0)
