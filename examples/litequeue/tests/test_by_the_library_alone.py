"""What litequeue 0.9 does, shown by calls on litequeue alone.

Nothing of runcoord is imported here. Each test states a fact about the library, and passes while it is so.
One that fails after an upgrade tells of a behaviour that changed, and of an entry of pyproject.toml to drop.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import litequeue
import pytest
from litequeue import LiteQueue, MessageStatus

CHILD_SECONDS = 30.0
"""A second process that has not answered by then is killed, and its test fails."""
HOUR = 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.sqlite3"


@pytest.fixture
def first(path: Path) -> Iterator[LiteQueue]:
    """One consumer, with a connection of its own."""
    queue = LiteQueue(path)
    yield queue
    queue.close()


@pytest.fixture
def second(path: Path, first: LiteQueue) -> Iterator[LiteQueue]:
    """Another consumer of the same file."""
    queue = LiteQueue(path)
    yield queue
    queue.close()


def wall_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """From now on the wall clock that litequeue reads is off by so much."""
    import time

    monkeypatch.setattr(litequeue, "time_ns", lambda: time.time_ns() + int(seconds * 1e9))


def pop_and_die(path: Path) -> str:
    """A second process pops a message and is killed with SIGKILL; gives the id of that message."""
    code = (
        "import sys, litequeue\n"
        "message = litequeue.LiteQueue(sys.argv[1]).pop()\n"
        "print(message.message_id, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(CHILD_SECONDS, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            message_id = process.stdout.readline().strip()
            process.kill()
            process.wait(CHILD_SECONDS)
        finally:
            watchdog.cancel()
    assert message_id
    return message_id


# --- what it promises and keeps ---


def test_two_consumers_never_pop_the_same_message(first: LiteQueue, second: LiteQueue) -> None:
    put = [first.put(str(each)).message_id for each in range(6)]
    popped = [queue.pop().message_id for _ in range(3) for queue in (first, second)]
    assert popped == put
    assert first.pop() is None
    assert second.pop() is None


def test_a_message_that_was_put_survives_the_death_of_who_popped_it(path: Path, first: LiteQueue) -> None:
    put = first.put("work")
    assert pop_and_die(path) == put.message_id
    kept = first.get(put.message_id)
    assert kept is not None
    assert kept.data == "work"


def test_opening_a_queue_again_changes_no_message(path: Path, first: LiteQueue) -> None:
    first.put("work")
    popped = first.pop()
    LiteQueue(path).close()
    assert first.get(popped.message_id) == popped


# --- what it leaves to its user ---


def test_a_message_whose_consumer_was_killed_stays_locked_and_nobody_is_given_it(
    path: Path, first: LiteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.put("work")
    message_id = pop_and_die(path)
    wall_clock(monkeypatch, 365 * 24 * HOUR)
    assert first.pop() is None
    assert LiteQueue(path).pop() is None, "opening it again does not help either"
    assert first.get(message_id).status == MessageStatus.LOCKED


def test_a_queue_with_nothing_but_locked_messages_is_empty_and_has_a_size(first: LiteQueue) -> None:
    first.put("work")
    first.pop()
    assert first.empty()
    assert first.qsize() == 1


def test_a_step_of_the_wall_clock_makes_a_message_popped_just_now_look_an_hour_old(
    first: LiteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.put("work")
    popped = first.pop()
    assert list(first.list_locked(HOUR)) == []
    wall_clock(monkeypatch, 2 * HOUR)
    assert [each.message_id for each in first.list_locked(HOUR)] == [popped.message_id]


def test_after_the_wall_clock_was_set_back_an_abandoned_message_is_not_listed(
    path: Path, first: LiteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall_clock(monkeypatch, 2 * HOUR)
    first.put("work")
    first.pop()
    wall_clock(monkeypatch, 0)
    assert list(first.list_locked(0)) == []


def test_a_message_put_after_the_wall_clock_was_set_back_is_popped_before_an_older_one(
    first: LiteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.put("older")
    wall_clock(monkeypatch, -HOUR)
    first.put("newer")
    assert first.pop().data == "newer"


def test_a_message_that_always_fails_is_popped_again_before_all_others(first: LiteQueue) -> None:
    poison = first.put("poison")
    first.put("good")
    for _ in range(20):
        popped = first.pop()
        assert popped.message_id == poison.message_id
        first.retry(popped.message_id)
    assert first.peek().data == "poison"


# --- what a message's state does not guard ---


def test_done_is_accepted_from_a_consumer_whose_message_was_given_to_another(
    first: LiteQueue, second: LiteQueue
) -> None:
    first.put("work")
    old = first.pop()
    second.retry(old.message_id)
    new = second.pop()
    assert new.message_id == old.message_id
    first.done(old.message_id)
    assert second.get(new.message_id).status == MessageStatus.DONE, "the second consumer still works on it"


def test_a_finished_message_changes_its_outcome_when_another_consumer_reports_too(
    first: LiteQueue, second: LiteQueue
) -> None:
    first.put("work")
    old = first.pop()
    second.retry(old.message_id)
    new = second.pop()
    second.done(new.message_id)
    first.mark_failed(old.message_id)
    assert first.get(new.message_id).status == MessageStatus.FAILED


def test_retry_of_a_finished_message_makes_it_ready_again(first: LiteQueue) -> None:
    first.put("work")
    popped = first.pop()
    first.done(popped.message_id)
    first.retry(popped.message_id)
    assert first.pop().message_id == popped.message_id, "finished work is handed out again"


def test_the_same_work_put_twice_is_two_messages_also_while_it_is_worked_on(
    first: LiteQueue, second: LiteQueue
) -> None:
    """A message is named by ``put``, not by whoever puts it: nothing tells a repetition."""
    first.put("work")
    popped = first.pop()
    second.put("work")
    assert second.pop().data == popped.data
    first.done(popped.message_id)
    first.put("work")
    assert first.pop().data == popped.data


def test_a_message_that_nobody_popped_can_be_marked_done(first: LiteQueue) -> None:
    put = first.put("work")
    first.done(put.message_id)
    assert first.pop() is None
    assert first.get(put.message_id).lock_time is None


def test_the_answer_of_done_does_not_tell_whether_there_was_such_a_message(first: LiteQueue) -> None:
    put = first.put("work")
    assert first.done("no such message") == first.done(put.message_id)


def test_retry_lets_a_bounded_queue_grow_beyond_its_bound(path: Path) -> None:
    queue = LiteQueue(path, maxsize=1)
    queue.put("one")
    popped = queue.pop()
    queue.put("two")
    queue.retry(popped.message_id)
    assert queue.qsize() == 2
    queue.close()
