"""Owners know who they are before there is a table of processes, and the table keeps to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_runcoord.incarnation import Incarnation, LocalProcess
from pytest_runcoord.reference import Reference, ReferenceSession
from pytest_runcoord.subject import SubjectWorld
from pytest_runcoord.world import World, WorldPlan
from runcoord.errors import ProcessGone
from runcoord.ports import ProcessIdentity

EVERYBODY = ("gw1", "gw2", "gw1 again", "gw3")


class Seen(Reference):
    """The reference, and the worlds that its owners were given."""

    def __init__(self) -> None:
        super().__init__("memory")
        self.worlds: dict[str, SubjectWorld] = {}

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        self.worlds[owner] = world
        return super().open(owner, world)


class Told:
    """Four owners, the second and the third start of ``gw1`` after a crash; each asks who it is."""

    def __init__(self, directory: Path, plan: WorldPlan, *, with_table: bool) -> None:
        self.subject = Seen()
        self.world = World(self.subject, directory, plan)
        if with_table:
            self.world.processes.table.settle()
        self.identities: dict[str, ProcessIdentity] = {}
        self._open("gw1", "gw1")
        self.world.clock.advance(3.25)
        self._open("gw2", "gw2")
        self.world.crash("gw1")
        self._open("gw1", "gw1 again")
        self.world.close_owner("gw2")
        self._open("gw3", "gw3")

    def _open(self, owner: str, name: str) -> None:
        incarnation: Incarnation = self.world.open(owner)
        assert isinstance(incarnation.process, LocalProcess)
        table = self.subject.worlds[incarnation.owner_id].processes
        assert table is not None
        self.identities[name] = table.itself()
        assert table.habitat() == self.identities[name].habitat


@pytest.mark.parametrize("machines", [{}, "shared", {"gw1": "a", "gw3": "a"}])
@pytest.mark.parametrize("handles", [True, False])
def test_who_an_owner_is_does_not_depend_on_whether_there_is_a_table(
    tmp_path: Path, machines: dict[str, str] | str, handles: bool
) -> None:
    told = [
        Told(tmp_path, WorldPlan(machines=machines, kernel_handles=handles), with_table=each)
        for each in (False, True)
    ]

    assert [each.world.processes.used for each in told] == [False, True]
    assert told[0].identities == told[1].identities
    assert len(set(told[0].identities.values())) == len(EVERYBODY)


def test_a_table_that_is_made_later_has_the_living_owners_and_not_the_dead_ones(tmp_path: Path) -> None:
    told = Told(tmp_path, WorldPlan(machines="shared"), with_table=False)
    processes = told.subject.worlds["gw3#1"].processes
    assert processes is not None

    for name in ("gw1 again", "gw3"):
        assert processes.open(told.identities[name]).look(told.identities[name]).ended is False
    for name in ("gw1", "gw2"):
        with pytest.raises(ProcessGone):
            processes.open(told.identities[name])
    assert told.world.processes.used
    assert processes.itself() == told.identities["gw3"]


def test_a_reboot_ends_owners_that_no_table_knew(tmp_path: Path) -> None:
    told = Told(tmp_path, WorldPlan(machines="shared"), with_table=False)
    world = told.world

    world.processes.power_off = True
    for owner in ("gw1", "gw3"):
        world.crash(owner)
    world.clock.reboot()
    world.processes.power_off = False
    told._open("gw4", "gw4")

    assert told.identities["gw4"].pid == told.identities["gw1"].pid
    assert told.identities["gw4"].habitat.boot_id == "boot-2"
    assert told.identities["gw4"].handle not in {told.identities[name].handle for name in EVERYBODY}
    assert [each.label for each in world.processes.table.living()] == ["gw4"]
