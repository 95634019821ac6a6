"""An import beside others: a second importer of the same home, and owners whose leases must be renewed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from runcoord import Coordinator, EventState, ImportReport, RunFolders, Settings, State, open_coordinator
from runcoord.ports import Ports
from runcoord.testing import ManualClock

from .old_folders import Home, opened
from .watched_homes import WatchedHomes


def test_what_another_importer_was_faster_with_is_known_and_told_once(tmp_path: Path) -> None:
    home, clock, homes = Home(tmp_path / "home"), ManualClock(), WatchedHomes()
    home.folders(5)
    with (
        opened(tmp_path / "s.db", clock) as other,
        opened(tmp_path / "s.db", clock, homes=homes) as coordinator,
    ):

        def overtake(kind: str, folder: str) -> None:
            if kind == "read":
                homes.before = lambda kind, folder: None
                assert other.import_folders(str(home.path)).imported == 5

        homes.before = overtake
        report = coordinator.import_folders(str(home.path))
        assert (report.imported, report.known, report.problem) == (0, 5, None)
        assert len(coordinator.events().events) == 5
        assert len(coordinator.runs().runs) == 5


def test_two_importers_at_once_make_one_run_and_one_event_of_each_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    names = home.folders(600)
    with (
        open_coordinator(tmp_path / "s.db") as one,
        open_coordinator(tmp_path / "s.db") as two,
    ):
        start, reports = threading.Barrier(2), list[ImportReport]()

        def work(coordinator: Coordinator) -> None:
            start.wait(10)
            reports.append(coordinator.import_folders(str(home.path)))

        threads = [threading.Thread(target=work, args=(each,)) for each in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert [report.problem for report in reports] == [None, None]
        assert sum(report.imported for report in reports) == 600
        assert sum(report.imported + report.known for report in reports) == 1_200
        events = one.events(limit=1_000).events
        assert Counter(event.run_id for event in events) == dict.fromkeys(names, 1)
        assert {event.state for event in events} == {EventState.HELD}


RENEWING = """
import json, sys, time
from runcoord import Settings, open_coordinator
from runcoord.errors import RuncoordError
path, stop = sys.argv[1], sys.argv[2]
import os
with open_coordinator(path, settings=Settings(lease=10.0, renew=1.0)) as coordinator:
    coordinator.submit(run_id="live", destination="chat")
    lease = coordinator.claim("live")
    coordinator.start(lease)
    print("started", flush=True)
    late, count, problems, due = 0.0, 0, [], time.monotonic()
    while not os.path.exists(stop):
        due += 1.0
        time.sleep(max(0.0, due - time.monotonic()))
        began = time.monotonic()
        try:
            lease = coordinator.renew(lease).lease
            count += 1
        except RuncoordError as error:
            problems.append(str(error))
        late = max(late, time.monotonic() - began)
    coordinator.complete(lease, "completed")
print(json.dumps({"renewed": count, "slowest": late, "problems": problems}))
"""


def renewals_beside(place: Path, folders: int) -> None:
    home = Home(place / "home")
    home.folders(folders)
    store, stop = place / "s.db", place / "stop"
    open_coordinator(store).close()
    owner = subprocess.Popen(
        [sys.executable, "-c", RENEWING, str(store), str(stop)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        settings = Settings(imports=(RunFolders(str(home.path)),))
        with open_coordinator(store, settings=settings, ports=Ports()) as coordinator:
            began = time.monotonic()
            report = coordinator.import_folders(str(home.path))
            assert report.imported == folders
            again = coordinator.recover()  # sweeps too: nothing of the live run is touched
            assert (again.interrupted, coordinator.run("live").state) == (0, State.RUNNING)
            while time.monotonic() - began < 2.5:  # two renewals at least fall into it
                coordinator.import_folders(str(home.path))
        stop.touch()
        told, _ = owner.communicate(timeout=60)
        seen = json.loads(told)
        assert (owner.returncode, seen["problems"]) == (0, [])
        assert seen["renewed"] >= 2
        # The lease is ten seconds: no renewal waited for more than a small part of it.
        assert seen["slowest"] < 5.0
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.real
def test_an_owner_in_another_process_renews_while_folders_are_imported(tmp_path: Path) -> None:
    renewals_beside(tmp_path, 1_000)


@pytest.mark.real
@pytest.mark.soak
def test_an_owner_in_another_process_renews_while_twenty_thousand_folders_are_imported(
    tmp_path: Path,
) -> None:
    renewals_beside(tmp_path, 20_000)
