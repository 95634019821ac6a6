"""What DBOS 3.4.0 does on SQLite, shown by calls on DBOS alone.

Nothing of runcoord is imported here. Each test states a fact about the library, and passes while it is so.
One that fails after an upgrade tells of a behaviour that changed, and perhaps of an entry of pyproject.toml
to remove.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dbos import DBOS, DBOSClient, WorkflowStatus

CHILD_SECONDS = 30.0
"""An executor that has not done by then what is waited for is killed, and its test fails."""
QUEUE = "work"


@pytest.fixture
def url(tmp_path: Path) -> str:
    database = f"sqlite:///{tmp_path / 'dbos.sqlite3'}"
    DBOS.migrate(database)
    return database


@pytest.fixture
def client(url: str) -> Iterator[DBOSClient]:
    """What submits and looks; it executes nothing."""
    client = DBOSClient(system_database_url=url, application_name="application")
    client.register_queue(QUEUE, polling_interval_sec=0.05)
    yield client
    client.destroy()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


class Executor:
    """An executor in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def says(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{line}\n"

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait(CHILD_SECONDS) == -9


@contextmanager
def executor(url: str, name: str = "first", version: str = "1") -> Iterator[Executor]:
    """One that has been launched, and is dead when the block ends."""
    code = "import application, sys; application.main(*sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", code, url, name, version],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(CHILD_SECONDS, process.kill)
        watchdog.start()
        try:
            started = Executor(process)
            started.says("launched")
            yield started
        finally:
            watchdog.cancel()
            process.kill()
            process.wait(CHILD_SECONDS)


def submit(client: DBOSClient, run: str, log: Path, workflow: str = "two-steps") -> None:
    client.enqueue(
        {"queue_name": QUEUE, "workflow_name": workflow, "workflow_id": run, "app_version": "1"}, str(log)
    )


def status(client: DBOSClient, run: str) -> WorkflowStatus:
    [found] = client.list_workflows(workflow_ids=[run])
    return found


def until(is_so: Callable[[], bool]) -> None:
    """Wait for another process."""
    end = time.monotonic() + CHILD_SECONDS
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def begun(run: str) -> str:
    return f"long step begun for {run}"


# --- what it promises and keeps ---


def test_after_a_kill_the_same_executor_goes_on_where_it_was_and_repeats_only_the_step_it_was_in(
    url: str, client: DBOSClient, log: Path
) -> None:
    """Steps are done at least once, and recorded once; so the documentation says."""
    submit(client, "r1", log)
    with executor(url) as first:
        first.says("working")
        first.kill()
    assert status(client, "r1").status == "PENDING"
    with executor(url) as again:
        again.says("working")
        log.with_name("go").touch()
        until(lambda: status(client, "r1").status == "SUCCESS")
    assert lines(log) == ["short step done", begun("r1"), begun("r1"), "long step done for r1"]


def test_a_workflow_that_kills_its_executor_every_time_is_given_up_after_its_attempts(
    url: str, client: DBOSClient, log: Path
) -> None:
    submit(client, "poison", log, "deadly")
    for _ in range(2):
        with executor(url) as victim:
            assert victim.process.wait(CHILD_SECONDS) == -9
    with executor(url):
        until(lambda: status(client, "poison").status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
    assert lines(log) == ["deadly step begun"] * 2


def test_a_workflow_cancelled_while_it_waits_never_begins(url: str, client: DBOSClient, log: Path) -> None:
    submit(client, "unwanted", log, "one-step")
    client.cancel_workflow("unwanted")
    submit(client, "wanted", log, "one-step")
    with executor(url):
        until(lambda: status(client, "wanted").status == "SUCCESS")
    assert status(client, "unwanted").status == "CANCELLED"
    assert lines(log) == ["short step done"]


# --- who recovers what ---


def test_a_second_process_with_the_default_executor_id_has_what_the_first_is_doing_done_again(
    url: str, client: DBOSClient, log: Path
) -> None:
    """Each process is to have an id of its own, as documented. The default is the same for all: ``local``."""
    submit(client, "r1", log)
    with executor(url, name="") as first:
        first.says("working")
        with executor(url, name=""):
            until(lambda: lines(log) == ["short step done", begun("r1"), begun("r1")])
            assert first.process.poll() is None
            log.with_name("go").touch()
            until(lambda: status(client, "r1").status == "SUCCESS")
            until(lambda: lines(log).count("long step done for r1") == 2)


@pytest.mark.parametrize(
    ("name", "version"),
    [("second", "1"), ("first", "2")],
    ids=["under another executor id", "under another version"],
)
def test_nobody_else_goes_on_with_the_workflow_of_an_executor_that_was_killed(
    url: str, client: DBOSClient, log: Path, name: str, version: str
) -> None:
    """As documented: Conductor, a service of its own, does that; ``resume`` by hand is the other way."""
    submit(client, "r1", log)
    with executor(url) as first:
        first.says("working")
        first.kill()
    log.with_name("go").touch()
    with executor(url, name, version):
        options = {"queue_name": QUEUE, "workflow_name": "one-step", "workflow_id": "r2"}
        client.enqueue({**options, "app_version": version}, str(log))  # type: ignore[typeddict-item]
        until(lambda: status(client, "r2").status == "SUCCESS")
        assert (status(client, "r1").status, status(client, "r1").executor_id) == ("PENDING", "first")
        if version == "1":
            client.resume_workflow("r1")
            until(lambda: status(client, "r1").status == "SUCCESS")


def test_a_workflow_whose_function_the_executor_does_not_know_is_taken_and_stays_pending(
    url: str, client: DBOSClient, log: Path
) -> None:
    """And keeps its place in a queue that is limited, so that nothing else gets its turn."""
    client.register_queue(QUEUE, polling_interval_sec=0.05, global_concurrency=1)
    submit(client, "misspelt", log, "two-stepz")
    with executor(url):
        until(lambda: status(client, "misspelt").status == "PENDING")
        submit(client, "behind it", log, "one-step")
    with executor(url):  # a restart makes no difference
        until(lambda: (status(client, "misspelt").recovery_attempts or 0) >= 2)
    assert status(client, "misspelt").status == "PENDING"
    assert status(client, "behind it").status == "ENQUEUED"


# --- stopping ---


def test_a_cancelled_workflow_gives_its_place_in_the_queue_away_while_its_step_goes_on(
    url: str, client: DBOSClient, log: Path
) -> None:
    client.register_queue(QUEUE, polling_interval_sec=0.05, global_concurrency=1)
    submit(client, "r1", log)
    submit(client, "r2", log)
    with executor(url) as only:
        only.says("working")
        assert status(client, "r2").status == "ENQUEUED"
        client.cancel_workflow("r1")
        only.says("working")
        assert [each for each in lines(log) if each.startswith("long")] == [begun("r1"), begun("r2")]
        log.with_name("go").touch()
        until(lambda: status(client, "r2").status == "SUCCESS")
        until(lambda: "long step done for r1" in lines(log))
    assert status(client, "r1").status == "CANCELLED"


def test_resuming_a_workflow_that_is_at_work_has_its_step_done_twice_at_the_same_time(
    url: str, client: DBOSClient, log: Path
) -> None:
    """Its outcome is written once: only the newer execution may."""
    submit(client, "r1", log)
    with executor(url) as only:
        only.says("working")
        client.resume_workflow("r1")
        only.says("working")
        assert [each for each in lines(log) if each.startswith("long")] == [begun("r1"), begun("r1")]
        log.with_name("go").touch()
        until(lambda: status(client, "r1").status == "SUCCESS")
    assert status(client, "r1").output == "worked"


def test_a_fork_of_a_workflow_that_is_at_work_is_done_beside_it(
    url: str, client: DBOSClient, log: Path
) -> None:
    submit(client, "r1", log)
    with executor(url) as only:
        only.says("working")
        fork = client.fork_workflow("r1", 1, queue_name=QUEUE, application_version="1").workflow_id
        only.says("working")
        assert [each for each in lines(log) if each.startswith("long")] == [begun("r1"), begun(fork)]
        log.with_name("go").touch()
        until(lambda: [each.status for each in client.list_workflows()] == ["SUCCESS"] * 2)


# --- ids ---


def test_a_workflow_submitted_again_with_other_inputs_is_the_first_one_without_a_word(
    client: DBOSClient, log: Path
) -> None:
    submit(client, "r1", log)
    submit(client, "r1", log.with_name("another"))
    assert status(client, "r1").input == {"args": (str(log),), "kwargs": {}}
    assert len(client.list_workflows()) == 1
    with pytest.raises(Exception, match="r1 is already in use"):  # the other policy, where it is asked for
        client.enqueue(
            {
                "queue_name": QUEUE,
                "workflow_name": "two-steps",
                "workflow_id": "r1",
                "workflow_id_reuse_policy": "reject",
            },
            str(log),
        )
