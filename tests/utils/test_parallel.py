"""Parallel maps: order, settings, errors and the threads of BLAS."""

import threading
import time
from contextvars import ContextVar

import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info

from labelkin._utils.parallel import effective_n_threads, limit_blas, map_threads


def test_all_threads_work_when_it_takes_long():
    everybody = threading.Barrier(4)

    def meet(number):
        everybody.wait(timeout=300)  # only when four work at the same time
        return number, threading.get_ident()

    found = map_threads(meet, range(4), 4)
    numbers, threads = zip(*found, strict=True)
    assert numbers == (0, 1, 2, 3)
    assert len(set(threads)) == 4


@pytest.mark.parametrize(("n_items", "n_jobs"), [(0, 2), (1, 3), (25, 1), (25, 3)])
def test_answers_are_in_order(n_items, n_jobs):
    def square(number):
        time.sleep(0.0005 * (number % 3))
        return number**2

    found = map_threads(square, iter(range(n_items)), n_jobs)
    assert found == [i**2 for i in range(n_items)]


def test_settings_and_context_hold_in_the_other_threads():
    variable = ContextVar("variable", default=0)
    variable.set(7)
    everybody = threading.Barrier(3)

    def look(_):
        everybody.wait(timeout=300)
        return variable.get(), get_config()["working_memory"]

    with config_context(working_memory=123):
        assert map_threads(look, range(3), 3) == [(7, 123)] * 3


@pytest.mark.parametrize("wrong", [0, 1])
def test_no_item_is_started_after_an_error(wrong):
    started = []

    def work(number):
        started.append(number)
        if number == wrong:
            raise KeyError("of one item")
        time.sleep(0.1)  # ten seconds for a hundred, however busy the machine

    with pytest.raises(KeyError, match="of one item"):
        map_threads(work, range(1000), 2)
    assert len(started) < 100


def test_the_callback_gets_the_results_in_order():
    for n_jobs in (1, 3):
        seen = []
        map_threads(lambda number: -number, range(9), n_jobs, seen.append)
        assert seen == [-number for number in range(9)]


def n_blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_threads_of_blas():
    before = n_blas_threads()
    assert map_threads(lambda _: n_blas_threads(), range(2), 2) == [{1}, {1}]
    with limit_blas(2):
        assert n_blas_threads() == {2}
        assert map_threads(lambda _: n_blas_threads(), range(2), 2) == [{1}, {1}]
        assert n_blas_threads() == {2}
    assert n_blas_threads() == before


def test_blas_has_one_thread_per_computation_of_several():
    """They begin and end in any order, and leave the number as it was."""
    before = n_blas_threads()
    number = effective_n_threads(None)
    inside, leave = threading.Event(), threading.Event()

    def compute():
        with limit_blas(2):
            inside.set()
            leave.wait(300)

    other = threading.Thread(target=compute)
    with limit_blas(3):
        assert effective_n_threads(None) == 3
        other.start()
        inside.wait(300)
        assert n_blas_threads() == {1}
        with limit_blas(2):
            assert n_blas_threads() == {1}
    assert n_blas_threads() == {2}  # the other one is alone now
    assert effective_n_threads(None) == number  # whatever the other one has
    leave.set()
    other.join()
    assert n_blas_threads() == before


def test_one_computation_is_not_several():
    with limit_blas(3), limit_blas(2):
        assert n_blas_threads() == {2}
        with limit_blas(3):
            assert n_blas_threads() == {2}
    with limit_blas(2):
        assert map_threads(lambda _: effective_n_threads(None), range(2), 2) == [1, 1]
