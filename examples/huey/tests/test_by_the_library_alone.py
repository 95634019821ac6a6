"""What huey 3.5.4 does on SQLite, shown by calls on huey alone.

Nothing of runcoord is imported here. Each test states a fact about the library, and passes while it is so.
One that fails after an upgrade tells of a behaviour that changed, and perhaps of an entry of pyproject.toml
to remove.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from application import Application
from huey.exceptions import TaskException, TaskLockedException

CHILD_SECONDS = 30.0
"""A consumer that has not done by then what is waited for is killed, and its test fails."""
EARLY = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
"""A time that has passed."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "huey.sqlite3"


@pytest.fixture
def here(path: Path) -> Iterator[Application]:
    """The application in this process, which submits, and works when the test says so."""
    application = Application(path)
    yield application
    application.huey.storage.close()


@pytest.fixture
def there(path: Path, here: Application) -> Iterator[Application]:
    """The same application once more, as in another process."""
    application = Application(path)
    yield application
    application.huey.storage.close()


@contextmanager
def consumer(path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A consumer in a process of its own, which is dead when the block ends."""
    code = "import application, sys; application.main(*sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), *options],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(CHILD_SECONDS, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()
            process.wait(CHILD_SECONDS)


def wait_until_it_works(process: subprocess.Popen[str]) -> None:
    """A task in that consumer has begun."""
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"


def left(application: Application) -> tuple[int, int, int]:
    """Tasks that wait, tasks that are scheduled, and results and marks that are stored."""
    huey = application.huey
    return huey.pending_count(), huey.scheduled_count(), huey.result_count()


# --- what it promises and keeps ---


def test_two_consumers_never_take_the_same_task(here: Application, there: Application) -> None:
    for each in range(6):
        here.note(str(each))
    taken = [consumer.huey.dequeue().args[0] for consumer in (here, there) * 3]
    assert taken == ["0", "1", "2", "3", "4", "5"]
    assert here.huey.dequeue() is None
    assert there.huey.dequeue() is None


def test_a_task_revoked_before_it_began_does_not_run_in_any_consumer(
    here: Application, there: Application
) -> None:
    revoked = here.note("revoked")
    here.note("wanted")
    revoked.revoke()
    assert there.work_off() == ["wanted"]


def test_a_task_that_kills_every_worker_is_met_once_and_holds_up_nobody(
    path: Path, here: Application
) -> None:
    """The good side of forgetting a task when it is taken."""
    here.deadly()
    here.note("after it")
    with consumer(path) as process:
        wait_until_it_works(process)
        assert process.wait(CHILD_SECONDS) == -9
    assert here.work_off() == ["after it"]
    assert left(here)[:2] == (0, 0)


def test_the_documented_recipe_puts_a_task_back_when_its_consumer_is_terminated(
    path: Path, here: Application
) -> None:
    result = here.long()
    with consumer(path, "re-enqueue-interrupted") as process:
        wait_until_it_works(process)
        process.terminate()
        process.wait(CHILD_SECONDS)
    assert [task.id for task in here.huey.pending()] == [result.id]


# --- a consumer is killed: at most once, as the documentation says ---


def test_a_task_whose_consumer_is_killed_in_the_middle_is_gone_without_a_trace(
    path: Path, here: Application
) -> None:
    result = here.long()
    with consumer(path) as process:
        wait_until_it_works(process)
        process.kill()
        process.wait(CHILD_SECONDS)
    assert left(here) == (0, 0, 0)
    assert result.get(preserve=True) is None
    assert here.work_off() == []


def test_the_documented_recipe_cannot_help_when_the_consumer_is_killed(path: Path, here: Application) -> None:
    here.long()
    with consumer(path, "re-enqueue-interrupted") as process:
        wait_until_it_works(process)
        process.kill()
        process.wait(CHILD_SECONDS)
    assert left(here) == (0, 0, 0)


def test_tasks_that_fell_due_together_are_all_gone_when_the_scheduler_dies_before_it_enqueued_them(
    path: Path, here: Application
) -> None:
    """None had begun: they leave the schedule in one transaction, and enter the queue one by one."""
    for each in range(3):
        here.note.schedule((str(each),), delay=3600)
        task = here.huey.dequeue()
        task.eta = EARLY.replace(tzinfo=None)  # it falls due now, without an hour of waiting
        here.huey.add_schedule(task)
    assert left(here) == (0, 3, 0)
    with consumer(path, "die-before-enqueue") as process:
        assert process.wait(CHILD_SECONDS) == -9
    assert left(here) == (0, 0, 0)


def test_what_follows_in_a_pipeline_never_comes_when_the_consumer_dies_after_the_result_was_stored(
    path: Path, here: Application
) -> None:
    """Storing a result and enqueueing what follows are two transactions."""
    pipeline = here.note.s("first").then(here.note, "second")
    first, second = here.huey.enqueue(pipeline)
    with consumer(path, "die-after-result") as process:
        assert process.wait(CHILD_SECONDS) == -9
    assert first.get(preserve=True) == "first"
    assert second.get(preserve=True) is None
    assert left(here)[:2] == (0, 0)
    assert here.work_off() == []


def test_a_lock_that_a_killed_worker_held_stays_and_the_tasks_that_want_it_are_not_run_later(
    path: Path, here: Application
) -> None:
    here.alone("long")
    with consumer(path) as process:
        wait_until_it_works(process)
        process.kill()
        process.wait(CHILD_SECONDS)
    result = here.alone("next")
    assert here.work_off() == []
    with pytest.raises(TaskException, match="TaskLockedException"):
        result.get()
    assert left(here)[:2] == (0, 0)
    assert here.huey.flush_locks() == {"the-only-one"}  # the documented remedy: option -f of the consumer
    here.alone("after the remedy")
    assert here.work_off() == ["after the remedy"]


def test_a_task_that_a_consumer_does_not_know_is_taken_and_gone(path: Path, here: Application) -> None:
    """As when an older consumer still runs while a newer application submits: it is logged, no more."""

    @here.huey.task()
    def newer() -> str:
        return "never"

    result = newer()
    here.deadly()
    with consumer(path) as process:
        wait_until_it_works(process)
        assert process.wait(CHILD_SECONDS) == -9
    assert left(here) == (0, 0, 0)
    assert result.get(preserve=True) is None


# --- locks know no holder ---


def test_flushing_the_locks_takes_one_from_a_task_that_is_at_work(
    here: Application, there: Application
) -> None:
    """What a second consumer with the documented option -f does as it starts."""
    with here.huey.lock_task("the-only-one"):
        assert there.huey.flush_locks() == {"the-only-one"}
        assert there.work_off() == []
        there.alone("beside it")
        assert there.work_off() == ["beside it"]


def test_who_lost_a_lock_releases_that_of_the_next_holder(here: Application, there: Application) -> None:
    with here.huey.lock_task("the-only-one"):
        there.huey.flush_locks()
        there.huey.lock_task("the-only-one").acquire()
        with pytest.raises(TaskLockedException):
            here.huey.lock_task("the-only-one").acquire()
    assert not there.huey.is_locked("the-only-one")  # and `there` has not released it


# --- stopping ---


def test_revoking_a_task_at_work_is_accepted_and_changes_nothing(path: Path, here: Application) -> None:
    """As documented: a task can be revoked provided it has not started."""
    begun, ends = threading.Event(), threading.Event()

    @here.huey.task()
    def slow() -> str:
        begun.set()
        assert ends.wait(CHILD_SECONDS)
        return "worked on"

    result = slow()
    worker = threading.Thread(target=lambda: here.huey.execute(here.huey.dequeue()))
    worker.start()
    assert begun.wait(CHILD_SECONDS)
    result.revoke()
    assert result.is_revoked()
    ends.set()
    worker.join(CHILD_SECONDS)
    assert result.get(preserve=True) == "worked on"
    assert not result.is_revoked()


def test_a_revocation_after_the_end_is_kept_and_hits_the_next_task_of_that_id(here: Application) -> None:
    result = here.note("first")
    assert here.work_off() == ["first"]
    here.huey.revoke_by_id(result.id)
    assert result.is_revoked()
    for _ in range(2):  # for ever; by Result.revoke, which revokes once, it would hit the first only
        here.huey.enqueue(here.note.s("again", id=result.id))
        assert here.work_off() == []


# --- ids and results ---


def test_two_tasks_of_one_id_both_run(here: Application) -> None:
    """An id is a name and no idempotency key; nothing says that it were."""
    here.huey.enqueue(here.note.s("first", id="the-id"))
    here.huey.enqueue(here.note.s("second", id="the-id"))
    assert here.work_off() == ["first", "second"]
    assert here.huey.result("the-id", preserve=True) == "second"


def test_a_result_is_given_once_unless_every_reader_asks_to_preserve_it(
    here: Application, there: Application
) -> None:
    result = here.note("done")
    here.work_off()
    assert there.huey.result(result.id, preserve=True) == "done"
    assert there.huey.result(result.id) == "done"
    assert result.get() is None


def test_asking_whether_a_result_is_ready_takes_it_from_everybody_else(
    here: Application, there: Application
) -> None:
    result = here.note("done")
    here.work_off()
    assert result.is_ready()
    assert there.huey.result(result.id) is None


def test_a_task_that_returned_nothing_and_one_that_was_lost_look_the_same(here: Application) -> None:
    """Unless ``store_none`` is set."""
    nothing, lost = here.note(None), here.note("lost")  # type: ignore[arg-type]
    here.huey.execute(here.huey.dequeue())
    here.huey.dequeue()
    assert nothing.get(preserve=True) is lost.get(preserve=True) is None
    assert left(here) == (0, 0, 0)


# --- the schedule ---


def test_a_task_scheduled_by_a_consumer_in_one_time_zone_is_hours_late_for_one_in_another(
    here: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are kept in UTC, but are written to SQLite as if they were local times of the consumer."""
    eta = datetime.datetime(2026, 1, 15, 12, 0, tzinfo=datetime.UTC)
    noon = eta.replace(tzinfo=None)  # as huey has it: UTC, without saying so
    here.note.schedule(("at noon",), eta=eta)
    try:
        monkeypatch.setenv("TZ", "America/New_York")
        time.tzset()
        here.huey.execute(here.huey.dequeue(), timestamp=noon - datetime.timedelta(hours=1))
        assert here.huey.scheduled_count() == 1
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        for late in (0, 1, 4.99):
            assert here.huey.read_schedule(noon + datetime.timedelta(hours=late)) == []
        (task,) = here.huey.read_schedule(noon + datetime.timedelta(hours=5))
        assert task.eta == noon
    finally:
        monkeypatch.undo()
        time.tzset()
        assert os.environ.get("TZ") != "America/New_York"
