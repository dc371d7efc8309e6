"""Work on several threads."""

import threading

import pytest

from solitaire_env.core import run_parts, split_evenly
from solitaire_env.core.threads import threads_for


@pytest.fixture(autouse=True, params=[1, 2])
def threads(request, monkeypatch):
    """Each test runs with one thread and with two."""
    monkeypatch.setattr("solitaire_env.core.threads.get_num_threads", lambda: request.param)
    return request.param


def test_results_are_in_order(threads):
    assert run_parts(lambda part: part * part, range(50)) == [n * n for n in range(50)]
    assert run_parts(str, []) == []


def test_two_threads_work_at_the_same_time(threads):
    meeting = threading.Barrier(threads, timeout=30)
    run_parts(lambda _: meeting.wait(), range(threads))


def test_calls_may_be_nested(threads):
    inner = run_parts(lambda n: sum(run_parts(lambda m: n * m, range(8))), range(4))
    assert inner == [0, 28, 56, 84]


def test_an_error_is_raised_after_all_parts_have_ended(threads):
    running = []

    def fail_at_three(part):
        running.append(part)
        try:
            if part == 3:
                raise ValueError("three")
        finally:
            running.remove(part)

    with pytest.raises(ValueError, match="three"):
        run_parts(fail_at_three, range(10))
    assert not running
    assert run_parts(str, range(3)) == ["0", "1", "2"]  # later work succeeds


@pytest.mark.parametrize("count", [0, 1, 15, 16, 31, 32, 33, 1000])
def test_slices_cover_all_games_once(count, threads):
    slices = list(split_evenly(count, 16))
    assert [n for part in slices for n in range(part.start, part.stop)] == list(range(count))
    assert 1 <= len(slices) <= 2 * threads
    assert len(slices) == 1 or all(part.stop - part.start >= 16 for part in slices)


@pytest.mark.parametrize(("games", "expected"), [(1, 1), (2047, 1), (2048, 2), (9999, 4)])
def test_the_thread_count_depends_on_the_number_of_games(games, expected, monkeypatch):
    monkeypatch.setattr("solitaire_env.core.threads.get_num_threads", lambda: 4)
    assert threads_for(games) == expected
