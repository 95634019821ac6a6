"""What persist-queue 1.1.0 does, shown by calls on persist-queue alone.

Nothing of runcoord is imported here. Each test states a fact about the library, and passes while it is so.
One that fails after an upgrade tells of a behaviour that changed, and of an entry of pyproject.toml to drop.

The maintainer says that several processes are not supported (issues 132 and 152 of its repository).
Part of what is shown here needs no second process that works: opening the queue is enough.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from persistqueue import AckStatus, Empty, Queue, SQLiteAckQueue, SQLiteQueue, UniqueAckQ

WAIT_SECONDS = 30.0
"""A second process, or a thread, that has not answered by then fails its test."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., SQLiteAckQueue]]:
    """Opens the same acknowledged queue, as often as it is called."""
    queues = []

    def open_it(**options: Any) -> SQLiteAckQueue:
        queues.append(SQLiteAckQueue(str(tmp_path / "queue"), **options))
        return queues[-1]

    yield open_it
    for queue in queues:
        queue.close()


def states(queue: SQLiteAckQueue) -> dict[Any, str]:
    """The state of every item, by the item."""
    return {each["data"]: str(each["status"]) for each in queue.queue()}


def in_a_second_process(tmp_path: Path, code: str) -> str:
    """Run Python to its end in a second process, and give what it wrote. It finds the queue at ``path``."""
    code = f"from persistqueue import Queue, SQLiteAckQueue\npath = {str(tmp_path / 'queue')!r}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
    )
    return done.stdout.strip()


def get_and_die(tmp_path: Path) -> str:
    """A second process gets an item, and is killed with SIGKILL before it acknowledges it."""
    code = (
        "import sys\n"
        "from persistqueue import SQLiteAckQueue\n"
        "print(SQLiteAckQueue(sys.argv[1]).get(block=False), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "queue")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(WAIT_SECONDS, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            item = process.stdout.readline().strip()
            process.kill()
            process.wait(WAIT_SECONDS)
        finally:
            watchdog.cancel()
    return item


# --- what it promises and keeps ---


def test_an_item_whose_consumer_was_killed_is_given_out_when_the_queue_is_opened_again(
    tmp_path: Path, opened: Callable[..., SQLiteAckQueue]
) -> None:
    queue = opened()
    queue.put("work")
    queue.close()
    assert get_and_die(tmp_path) == "work"
    again = opened()
    assert again.qsize() == 1  # issue 144, mended
    assert again.get(block=False) == "work"


def test_threads_that_share_a_queue_are_given_different_items(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened(multithreading=True)
    got: list[int] = []
    for each in range(40):
        queue.put(each)
    threads = [
        threading.Thread(target=lambda: got.extend(queue.get(block=False) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert sorted(got) == list(range(40))


def test_items_are_given_out_in_the_order_of_their_puts_whatever_the_wall_clock_does(
    opened: Callable[..., SQLiteAckQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = opened()
    queue.put("older")
    monkeypatch.setattr("time.time", lambda: 1.0)
    queue.put("newer")
    assert [queue.get(block=False), queue.get(block=False)] == ["older", "newer"]


def test_without_auto_resume_opening_changes_nothing(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened()
    queue.put("work")
    queue.get(block=False)
    assert states(opened(auto_resume=False)) == {"work": AckStatus.unack}


# --- opening (issue 132, and 61 by which auto_resume came) ---


def test_opening_a_queue_hands_out_the_item_that_another_process_works_on(
    tmp_path: Path, opened: Callable[..., SQLiteAckQueue]
) -> None:
    queue = opened()
    queue.put("work")
    assert queue.get(block=False) == "work"
    assert in_a_second_process(tmp_path, "print(SQLiteAckQueue(path).get(block=False))") == "work"


def test_a_script_that_only_counts_makes_running_items_ready_again(
    tmp_path: Path, opened: Callable[..., SQLiteAckQueue]
) -> None:
    queue = opened()
    queue.put("work")
    queue.get(block=False)
    assert in_a_second_process(tmp_path, "print(SQLiteAckQueue(path).unack_count())") == "0"
    assert states(queue) == {"work": AckStatus.ready}


def test_two_consumers_between_the_two_statements_of_get_are_given_the_same_item(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    one, other = opened(multithreading=True), opened(multithreading=True, auto_resume=False)
    one.put("work")
    selected, go_on = threading.Event(), threading.Event()

    class Held:
        """Stands in for the lock that get() takes between its SELECT and its UPDATE."""

        def __enter__(self) -> None:
            selected.set()
            assert go_on.wait(WAIT_SECONDS)

        def __exit__(self, *_: object) -> None:
            pass

    one.tran_lock = Held()  # type: ignore[assignment]
    got: list[str] = []
    thread = threading.Thread(target=lambda: got.append(one.get(block=False)))
    thread.start()
    try:
        assert selected.wait(WAIT_SECONDS)
        got.append(other.get(block=False))
    finally:
        go_on.set()
        thread.join(WAIT_SECONDS)
    assert got == ["work", "work"]


# --- what the state of an item does not guard ---


def test_an_acknowledgement_is_accepted_from_a_consumer_whose_item_was_given_to_another(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    one = opened()
    one.put("work")
    old = one.get(block=False, raw=True)
    other = opened()
    new = other.get(block=False, raw=True)
    assert new["pqid"] == old["pqid"]
    assert one.ack(old) == old["pqid"]
    assert states(other) == {"work": AckStatus.acked}, "the second consumer still works on it"


def test_a_finished_item_changes_its_outcome_when_another_consumer_reports_too(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    one = opened()
    one.put("work")
    old = one.get(block=False, raw=True)
    other = opened()
    other.ack(other.get(block=False, raw=True))
    one.ack_failed(old)
    assert states(other) == {"work": AckStatus.ack_failed}


def test_nack_of_an_acknowledged_item_gives_it_out_again(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened()
    queue.put("work")
    item = queue.get(block=False, raw=True)
    queue.ack(item)
    queue.nack(item)
    assert queue.get(block=False) == "work"


def test_the_same_work_put_twice_is_two_items_also_while_it_is_worked_on(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    queue = opened()
    queue.put("work")
    item = queue.get(block=False, raw=True)
    queue.put("work")
    assert queue.get(block=False) == "work"
    queue.ack(item)
    queue.put("work")
    assert queue.get(block=False) == "work"


def test_the_unique_queue_takes_one_of_equal_items_also_after_it_was_acknowledged(tmp_path: Path) -> None:
    queue = UniqueAckQ(str(tmp_path / "queue"))
    queue.put("work")
    item = queue.get(block=False, raw=True)
    queue.put("work")
    with pytest.raises(Empty):
        queue.get(block=False)
    queue.ack(item)
    queue.put("work")
    with pytest.raises(Empty):
        queue.get(block=False)
    queue.close()


def test_an_item_is_asked_for_by_its_id_and_given_although_it_was_acknowledged(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    queue = opened()
    number = queue.put("work")
    queue.ack(queue.get(block=False, raw=True))
    assert queue.get(block=False, id=number) == "work"
    assert states(queue) == {"work": AckStatus.unack}


def test_an_item_that_nobody_got_can_be_acknowledged(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened()
    number = queue.put("work")
    assert queue.ack(id=number) == number
    with pytest.raises(Empty):
        queue.get(block=False)


def test_the_answer_of_ack_does_not_tell_whether_there_was_such_an_item(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    assert opened().ack(id=999) == 999


# --- what else its user meets ---


def test_an_item_that_always_fails_is_given_out_again_before_all_others(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    queue = opened()  # issue 129 asks for a nack that puts it behind
    queue.put("poison")
    queue.put("good")
    for _ in range(20):
        item = queue.get(block=False)
        assert item == "poison"
        queue.nack(item)


def test_none_as_an_item_is_taken_and_never_given(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened()
    queue.put(None)
    with pytest.raises(Empty):
        queue.get(block=False)
    assert states(queue) == {None: AckStatus.unack}


def test_two_nacks_of_one_item_count_it_twice(opened: Callable[..., SQLiteAckQueue]) -> None:
    queue = opened()
    queue.put("work")
    item = queue.get(block=False, raw=True)
    queue.nack(item)
    queue.nack(item)
    assert queue.qsize() == 2


def test_what_another_process_put_is_not_counted_and_an_empty_queue_is_then_not_empty(
    opened: Callable[..., SQLiteAckQueue],
) -> None:
    consumer, producer = opened(), opened()  # issue 76, still open
    producer.put("work")
    assert consumer.qsize() == 0
    assert consumer.get(block=False) == "work"
    assert not consumer.empty()


# --- its other queues, for whoever would rather take one of those ---


def test_an_item_of_the_plain_sqlite_queue_is_lost_with_the_process_that_got_it(tmp_path: Path) -> None:
    queue = SQLiteQueue(str(tmp_path / "plain"), auto_commit=True)
    queue.put("work")
    queue.get(block=False)  # here the process dies
    queue.close()
    again = SQLiteQueue(str(tmp_path / "plain"), auto_commit=True)
    assert again.qsize() == 0
    again.close()


def test_task_done_of_one_item_of_the_file_queue_is_taken_for_all_that_were_got(tmp_path: Path) -> None:
    path = str(tmp_path / "files")  # issue 89, still open
    queue = Queue(path)
    queue.put("slow")
    queue.put("quick")
    assert [queue.get(), queue.get()] == ["slow", "quick"]
    queue.task_done()  # the quick one is done; the process dies while it works on the slow one
    del queue
    assert Queue(path).qsize() == 0


def test_one_of_two_items_that_two_processes_put_into_the_file_queue_is_lost(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path / "queue"))  # issues 132 and 136
    in_a_second_process(tmp_path, "Queue(path).put('theirs')")
    queue.put("ours")
    del queue
    again, found = Queue(str(tmp_path / "queue")), []
    with contextlib.suppress(Empty):
        while True:
            found.append(again.get(block=False))
    assert len(found) == 1
