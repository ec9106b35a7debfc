"""Work in threads: who is called in, and what holds there."""

import threading
import time
from contextvars import ContextVar

import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info

from labelkin._utils import parallel as _threads
from labelkin._utils.parallel import map_in_turn, map_patiently


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_threads, "_PATIENCE_S", 0.0)


def test_short_work_stays_in_this_thread(monkeypatch):
    monkeypatch.setattr(_threads, "_PATIENCE_S", 3.0)
    started = time.perf_counter()
    threads = map_patiently(lambda _: threading.get_ident(), range(50), 4)
    assert set(threads) == {threading.get_ident()}
    assert time.perf_counter() - started < 3.0  # nobody waits for the patience to end


def test_all_threads_work_when_it_takes_long():
    everybody = threading.Barrier(4)

    def meet(number):
        everybody.wait(timeout=60)  # only when four work at the same time
        return number, threading.get_ident()

    numbers, threads = zip(*map_patiently(meet, range(4), 4), strict=True)
    assert numbers == (0, 1, 2, 3)
    assert len(set(threads)) == 4


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("n_items", [0, 1, 2, 25])
def test_answers_are_in_order(n_items, n_jobs, impatient):
    def square(number):
        time.sleep(0.0005 * (number % 3))
        return number**2

    assert map_patiently(square, iter(range(n_items)), n_jobs) == [i**2 for i in range(n_items)]


def test_settings_and_context_hold_in_the_other_threads():
    variable = ContextVar("variable", default=0)
    variable.set(7)
    everybody = threading.Barrier(3)

    def look(_):
        everybody.wait(timeout=60)
        return variable.get(), get_config()["working_memory"]

    with config_context(working_memory=123):
        assert map_patiently(look, range(3), 3) == [(7, 123)] * 3


@pytest.mark.parametrize("fails_here", [True, False])
def test_an_error_is_raised_and_no_more_work_begun(fails_here, impatient):
    here = threading.get_ident()
    both = threading.Barrier(2)
    begun = []

    def work(number):
        begun.append(number)
        if number < 2:
            both.wait(timeout=60)
            if (threading.get_ident() == here) == fails_here:
                raise KeyError("of one piece")
        time.sleep(0.01)

    with pytest.raises(KeyError, match="of one piece"):
        map_patiently(work, range(1000), 2)
    assert len(begun) < 100


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_pieces_in_turn_have_the_threads_of_blas():
    before = blas_threads()
    asked = map_in_turn(lambda number: (number, threading.get_ident(), blas_threads()), [3, 1], 1)
    assert asked == [(number, threading.get_ident(), {1}) for number in (3, 1)]
    assert map_in_turn(lambda _: blas_threads(), [0], 2) == [{2}]
    assert blas_threads() == before
