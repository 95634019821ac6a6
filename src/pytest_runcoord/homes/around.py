"""The homes of one scenario: what its steps do to them, how they must stay, and who imports them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pytest_runcoord.history import History
from pytest_runcoord.homes.descriptors import open_below
from pytest_runcoord.homes.forest import Forest, Harm
from pytest_runcoord.homes.home import Home
from pytest_runcoord.homes.ignoring_case import IgnoringCase
from pytest_runcoord.homes.outside import Outside
from pytest_runcoord.homes.plan import HOME, HOMES, IMPORT, OUTSIDE, READING, HomePlan, Import
from pytest_runcoord.homes.probed import ProbedHomes
from pytest_runcoord.homes.shapes import TOMBSTONE, can_be_id
from pytest_runcoord.homes.spellings import spelled
from pytest_runcoord.homes.system import System
from pytest_runcoord.probed_ports import Probe
from pytest_runcoord.subject import EventSeen, Snapshot
from pytest_runcoord.world_errors import ScenarioMistake
from runcoord.ports import Homes
from runcoord.testing import ManualClock

MOST_REMEMBERED = 1_000
"""Paths that are remembered for a report, which shows a few."""


def _is_told(event: EventSeen | None) -> bool:
    return event is None or event.state == "delivered"


class Surrounded(Protocol):
    """What the homes need of their world."""

    directory: Path
    clock: ManualClock
    history: History
    plan: Any

    def snapshot(self) -> Snapshot: ...


class RunHomes:
    """See the module. Made when something asks for it."""

    def __init__(self, world: Surrounded) -> None:
        self._world = world
        base = world.directory.resolve()
        plan: HomePlan = world.plan.home or HomePlan()
        self.outside = Outside(base / OUTSIDE)
        self.system = System()
        self.case_insensitive = False
        self.homes: dict[str, Home] = {}
        self.imports: dict[str, tuple[Import, ...]] = {}
        """What each owner imports by itself, in its sweeps."""
        self.trusted: set[str] = set()
        """Destinations that the operator gave to imported events, for want of others."""
        self.routed: set[tuple[str, str]] = set()
        """Runs whose events the operator sent somewhere, and where."""
        self.asked_for = ""
        """The path of the home whose import was asked for last."""
        self.prunes = False
        """Somebody is asked to remove old folders."""
        self.reached_out: list[str] = []
        """Paths outside that somebody had open."""
        self.left_open: list[str] = []
        """Paths that were still open when an import had ended."""
        self.looked = 0
        """How often somebody had something open in a home while there was something outside."""
        self.early: list[str] = []
        """Folders whose tombstone was written before their event was delivered."""
        via = plan.via or world.plan.choices.get("home", "plain")
        for name in (HOME, *plan.also):
            real = base / HOMES / name
            made = Home(real, "", self.outside, world.clock.wall, plan.root)
            made.make()
            made.path = spelled(base, real, via if name == HOME else "plain")
            self.homes[name] = made
        self._forests = {name: Forest(home) for name, home in self.homes.items()}
        self._harm: list[Harm] = []
        self.version = 0
        """How often the scenario has changed something."""
        self._secrets: tuple[str, ...] = ()
        self._secrets_of = -1
        self._settled: dict[str, int] = {}
        """The version of each home's last import that ended, by its path."""

    def home(self, name: str) -> Home:
        """A home by its name."""
        found = self.homes.get(name)
        if found is None:
            raise ScenarioMistake(
                f"there is no home {name!r}", f"Write 'given: {{home: {{also: [{name}]}}}}', or leave it out."
            )
        return found

    def spelled(self, path: str) -> Home | None:
        """The home that is spelled so."""
        return next((home for home in self.homes.values() if home.path == path), None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What was written into folders and must never come up anywhere."""
        if self._secrets_of != self.version:
            every = (each.secrets for home in self.homes.values() for each in home.folders.values())
            self._secrets = tuple({secret for secrets in every for secret in secrets})
            self._secrets_of = self.version
        return self._secrets

    # --- what happens to them ---

    @contextmanager
    def change(self, what: str, home: Home, *folders: str) -> Iterator[None]:
        """The scenario changes folders of a home; with none, its root. What was changed by others is noted
        first."""
        forest = self._forests[home.real.name]
        self._harm += forest.harm(*folders)
        yield
        self.version += 1
        forest.remember(*folders)
        self._world.history.add("world", "somebody", what, home=home.real.name)

    def end(self) -> None:
        """The scenario is over."""
        self.system.end()
        for home in self.homes.values():
            home.permit()

    def harm(self) -> list[Harm]:
        """What is not as the scenario left it. What was told once is not told again."""
        found, self._harm = self._harm, []
        for forest in self._forests.values():
            found += forest.harm()
        return found

    def something_new(self, before: Snapshot) -> bool:
        """Whether a sweep that imports has something to do, as the harness sees it: a folder that is not
        stored, one that a step changed since, a tombstone to write, a folder to remove."""
        asked = {each.home for imports in self.imports.values() for each in imports}
        homes = [home for home in self.homes.values() if home.path in asked]
        return any(self.to_do(home, before) for home in homes)

    def to_do(self, home: Home, before: Snapshot) -> bool:
        """The same for an import of one home."""
        if self._settled.get(home.path) != self.version:
            return True
        root = str(home.root)
        known = before.runs.keys() | {each.folder for each in before.refused if each.root == root}
        runs = [run for run in before.runs.values() if run.source and run.source["root"] == root]
        events = before.events
        return (
            any(name not in known for name in self.names(home) if can_be_id(name))
            or any(name not in before.runs for name in self.reachable(home))
            or any(
                run.source["state"] == "open" and _is_told(events.get(f"{run.run_id}/finished"))
                for run in runs
                if run.source
            )
            or (self.prunes and any(run.source and run.source["state"] == "closed" for run in runs))
        )

    def swept(self, owner: str, verb: str, args: Mapping[str, Any] | None, version: int) -> None:
        """A sweep of an owner, or an import, has ended well; it began when so much had been changed."""
        own = [each.home for each in self.imports.get(owner, ())] if verb != IMPORT else []
        for home in [*own, *([args["home"]] if args and "home" in args else [])]:
            self._settled[home] = version

    def everything(self) -> tuple[Import, ...]:
        """What all owners import by themselves, each home once: what one does who takes over from them."""
        found = {each.home: each for imports in self.imports.values() for each in imports}
        return tuple(found.values())

    def begin_import(self, imports: tuple[Import, ...]) -> None:
        """An import is asked for."""
        self.asked_for = imports[0].home
        self.trusted |= {each.fallback for each in imports if each.fallback}
        self.prunes = self.prunes or any(each.prune_after is not None for each in imports)

    def after(self, verb: str) -> None:
        """A verb has ended, in whatever way: nothing of a home may be open any more."""
        for home in self.homes.values() if verb in READING else ():
            self._note(self.left_open, open_below(home.real))

    # --- what the port asks and tells ---

    def port(self, probe: Probe) -> Homes:
        """The homes as one incarnation reaches them."""

        def opened() -> Homes:
            from runcoord import open_homes

            return IgnoringCase(open_homes()) if self.case_insensitive else open_homes()

        return ProbedHomes(opened, probe, self)

    def may(self, call: str, root: str, folder: str, file: str) -> bool:
        """Whether the scenario's system permits it. A file that may not be read can be looked at."""
        denied = {(home.root.as_posix(), *each) for home in self.homes.values() for each in home.denied}
        asked = {(root, "", ""), (root, folder, "")}
        return not denied or not denied & (asked | {(root, folder, file)} if call == "read-file" else asked)

    def look_around(self) -> None:
        """Somebody has something open: is anything of it outside?"""
        if not self.outside.made:
            return
        self.looked += 1
        self._note(self.reached_out, open_below(self.outside.path))

    def about_to_write(self, folder: str, file: str) -> None:
        """Somebody is about to write a file in a folder."""
        event = self._world.snapshot().events.get(f"{folder}/finished")
        if file != TOMBSTONE or (event is not None and event.state != "delivered"):
            self._note(self.early, [f"{folder}/{file}"])

    def told(self, what: str, paths: list[str]) -> None:
        """The same from the process of an owner, which sees what it has open itself."""
        if what == "writes":
            self.about_to_write(*paths)
        elif what == "looked":
            self.looked += 1
            self._note(self.reached_out, paths)
        else:
            self._note(self.left_open, paths)

    def _note(self, where: list[str], paths: list[str]) -> None:
        where += paths[: MOST_REMEMBERED - len(where)]

    # --- what is there ---

    def names(self, home: Home) -> list[str]:
        """Names of all entries of a root, as text; empty where it cannot be listed."""
        if home.root.is_symlink():
            return []
        try:
            return sorted(os.listdir(home.root))
        except OSError:
            return []

    def store_lost(self) -> None:
        """The store is gone; what the importer wrote into the folders is all that is known of what it did."""
        for home in self.homes.values():
            for name, known in home.folders.items():
                known.history = known.history or (home.root / name / TOMBSTONE).exists()
        self.version += 1

    def is_history(self, run: str) -> bool:
        """Whether a folder of this run had a tombstone that a step wrote."""
        return any(run in home.folders and home.folders[run].history for home in self.homes.values())

    def reachable(self, home: Home) -> list[str]:
        """Names of the folders that an import must bring in."""
        return [
            name
            for name in self.names(home)
            if (known := home.folders.get(name)) is not None
            and known.fine
            and not {(name, ""), (name, "state.json"), ("", "")} & home.denied
        ]
