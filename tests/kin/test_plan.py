"""The plan of the Kin ensemble, and the limits it depends on."""

import numpy as np

from labelkin.kin._limits import Limits
from labelkin.kin._plan import plan_members


def test_learners_share_the_memory():
    limits = Limits()
    assert limits.n_concurrent(1000, 16) == 16
    few, many = (limits.n_concurrent(n, 16) for n in (5000, 1_000_000))
    assert 1 <= many <= few < 16
    assert Limits(fit_memory=0).n_concurrent(1000, 16) == 1


def test_landmarks_fall_smoothly_from_all_rows():
    limits = Limits()
    assert limits.n_landmarks(1) == 1
    assert limits.n_landmarks(8000) == 8000
    assert limits.n_landmarks(8001) == limits.n_landmarks(8001, projected=True) < 8000
    sizes = np.unique(np.geomspace(5001, 1e6, 200).astype(int))
    marks = np.array([limits.n_landmarks(n, projected=True) for n in sizes])
    assert 0.75 * 5001 < marks[0] < 5001
    # 1.03 times the rows: hardly fewer landmarks, never more.
    assert (np.diff(marks) <= 0).all()
    assert (marks[1:] > 0.95 * marks[:-1]).all()
    assert (sizes * marks.astype(float) ** 2 <= 8e10).all()
    assert (sizes * marks)[marks > 100].max() <= 2**26
    assert marks.min() == 100


def test_the_plan_gives_reasons():
    members = plan_members(
        ["raw", "ranks", "reduced"],
        (9000, 30, 5),
        binary=False,
        fold_of=np.arange(9000) % 20,
        n_projections=3,
        n_trees=10,
        n_jobs=1,
        rng=np.random.RandomState(0),
        limits=Limits(),
    )
    names = ["raw_rbf", "ranks_rbf", "raw_laplacian", "ranks_laplacian", "projections", "trees"]
    assert [member.name for member in members] == names
    assert [len(member.learners) for member in members] == [1, 1, 1, 1, 3, 1]
    assert members[4].view == "reduced"
    assert all(member.reason for member in members)
    assert members[0].learners[0].n_landmarks == Limits().n_landmarks(9000)
