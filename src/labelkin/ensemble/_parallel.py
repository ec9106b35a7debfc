"""Members that do not depend on each other: in parallel, or stacked on a device."""

from collections.abc import Callable, Iterator
from itertools import count

from sklearn.utils import gen_batches

from labelkin._utils.array_api import is_device_array
from labelkin._utils.parallel import map_parallel, map_threads
from labelkin.base import Array, is_dask
from labelkin.ensemble._member import Member, TrainingSet, train_member
from labelkin.ensemble._stacked import can_be_stacked, stack_size, train_stack


def train_independently(
    data: TrainingSet, seeds: Array, n_jobs: int | None, report: Callable[[int, Member], None]
) -> list[Member]:
    """Train one member per seed, by threads or by the joblib backend that the user chose.

    `report` is called with the number of each member, from 1, and the member, in order.
    """
    numbers = count(1)
    if is_device_array(data.labels):
        members = []
        for member in train_in_turn(data, seeds):
            members.append(member)
            report(next(numbers), member)
        return members
    # Rows in blocks are on the workers already: their members are threads of this process.
    run = map_threads if is_dask(data.X) else map_parallel
    return run(
        lambda seed: train_member(data, seed),
        seeds,
        n_jobs,
        lambda member: report(next(numbers), member),
    )


def train_in_turn(data: TrainingSet, seeds: Array, at_once: int | None = None) -> Iterator[Member]:
    """Train one member per seed, one after the other; on a device some at a time.

    `at_once` is the number of members trained together; None: as many as memory allows.
    """
    if not can_be_stacked(data):
        yield from (train_member(data, seed) for seed in seeds)
        return
    for batch in gen_batches(len(seeds), at_once or stack_size(data)):
        yield from train_stack(data, seeds[batch])
