"""What lies around the owners of a world besides clocks, processes and destinations: environments,
repositories, homes with run folders, the log. Each is made when something asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_runcoord.environments import Environments

if TYPE_CHECKING:
    from pytest_runcoord.checkouts import Checkouts
    from pytest_runcoord.homes.around import RunHomes
    from pytest_runcoord.logbook import Logbook
    from pytest_runcoord.looks import Look
    from pytest_runcoord.process_world import ProcessWorld


class Surroundings:
    """Part of a world."""

    directory: Path
    plan: Any
    processes: ProcessWorld
    cleanups: list[Callable[[], None]]
    has_homes: bool
    """Whether there are homes; asking for them makes them."""

    @cached_property
    def looks(self) -> list[Look]:
        """What the invariants looked at, as far as it is small enough to be drawn."""
        return []

    @cached_property
    def environments(self) -> Environments:
        """The environments of owners."""
        made = Environments(self.directory)
        given: dict[str, str] = self.plan.environment
        made.change("", {name.encode(): value.encode() for name, value in given.items()})
        return made

    @cached_property
    def checkouts(self) -> Checkouts:
        """The repositories in the home, as ``given`` says."""
        from pytest_runcoord.checkouts import Checkouts

        made = Checkouts(self.directory, self.environments.plain())
        self.cleanups.append(made.end)
        for name, place in self.plan.places.items():
            made.make(name, place)
        return made

    @cached_property
    def homes(self) -> RunHomes:
        """The homes with run folders."""
        from pytest_runcoord.homes.around import RunHomes

        made = RunHomes(self)  # type: ignore[arg-type]  # a world
        self.cleanups.append(made.end)
        self.has_homes = True
        return made

    def imports_of(self, owner: str) -> tuple[dict[str, Any], ...]:
        """What an owner imports by itself, in plain values."""
        return tuple(each.plain() for each in self.homes.imports.get(owner, ())) if self.has_homes else ()

    @cached_property
    def logbook(self) -> Logbook:
        """What the library logs from now on."""
        from pytest_runcoord.logbook import Logbook

        made = Logbook()
        self.cleanups.append(made.close)
        return made

    def environment_of(self, label: str) -> dict[bytes, bytes]:
        """The environment that a process of the scenario began with."""
        found = self.processes.find(label).environment
        return {os.fsencode(name): os.fsencode(value) for name, value in found.items()}
