"""Invariants about homes: what an import leaves alone, and where it does not go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_runcoord.history import Entry
from pytest_runcoord.homes.plan import IMPORT, READING, SWEEPING
from pytest_runcoord.homes.shapes import TOMBSTONE
from pytest_runcoord.homes.words import CANARY
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot
from pytest_runcoord.world import World

if TYPE_CHECKING:
    from pytest_runcoord.homes.forest import Harm


def reads(world: World, entry: Entry) -> bool:
    """Whether somebody read in homes: was asked to, or does so in each sweep."""
    own = world.homes.imports.get(entry.actor, ())
    return entry.what in READING and (entry.what not in SWEEPING or bool(own))


class SourceUntouched(Invariant):
    id = "source-untouched"
    says = (
        "Imported folders are byte for byte as before, the tombstone after delivery and a requested pruning "
        "apart."
    )
    needs = frozenset({"import"})
    hears = frozenset({"verb"})
    about_homes = True

    def see(self, entry: Entry, before: Snapshot) -> None:
        if reads(self.world, entry):
            homes = self.world.homes
            self.exercised += sum(len(homes.names(home)) for home in homes.homes.values())
            self._judge(self.world.snapshot())

    def end(self, snapshot: Snapshot) -> None:
        if self.world.has_homes:
            self._judge(snapshot)

    def _judge(self, snapshot: Snapshot) -> None:
        homes = self.world.homes
        if homes.early:
            self.fail(
                f"{homes.early[0]} was written before its event was delivered",
                expected="a tombstone, after the delivery of the event",
                seen=", ".join(homes.early[:5]),
            )
        wrong = [each for each in homes.harm() if not self._allowed(each, snapshot)]
        if wrong:
            self.fail(
                f"{wrong[0]}, and no step did that",
                expected="every folder as it was, to the byte",
                seen="; ".join(map(str, wrong[:5])),
            )

    def _allowed(self, harm: Harm, snapshot: Snapshot) -> bool:
        if harm.what == "gone":
            return self.world.homes.prunes and harm.had_tombstone
        event, run = snapshot.events.get(f"{harm.folder}/finished"), snapshot.runs.get(harm.folder)
        delivered = event.state == "delivered" if event is not None else run is not None
        return harm.what == "new" and harm.path == TOMBSTONE and delivered


class InsideTheRoot(Invariant):
    id = "inside-the-root"
    says = "Nothing outside the home is read or written through a link."
    needs = frozenset({"import"})
    hears = frozenset({"verb", "message"})
    about_homes = True

    def see(self, entry: Entry, before: Snapshot) -> None:
        homes = self.world.homes
        if not homes.outside.made:
            return
        if entry.kind == "message":
            self._search(f"a message about {entry.data['run']}", entry.data["body"].decode(errors="replace"))
            return
        if not reads(self.world, entry):
            return
        self.exercised += 1
        self._search(f"the answer of {entry.what}", str(entry.data))
        if homes.reached_out:
            self.fail(
                "something outside of the home was open",
                expected="nothing is opened through a link",
                seen=", ".join(sorted(set(homes.reached_out))[:5]),
            )
        harm = homes.outside.harm()
        if harm:
            self.fail(
                "something outside of the home was written",
                expected="everything outside as it was",
                seen=", ".join(f"{each.path} is {each.what}" for each in harm[:5]),
            )

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        if not self.world.homes.outside.made:
            return
        for run_id, run in after.runs.items():
            if run is not before.runs.get(run_id):
                self._search(f"the run {run_id}", repr(run))
        for event_id, event in after.events.items():
            if event is not before.events.get(event_id):
                self._search(f"the event {event_id}", event.body)
        if after.refused != before.refused:
            self._search("what is stored of refused folders", repr(after.refused))

    def _search(self, where: str, text: str) -> None:
        if CANARY in text:
            self.fail(
                f"{where} has something in it that is only outside of the home",
                expected="nothing from outside",
                seen=f"the text {CANARY!r}",
            )


class DescriptorsClosedOnce(Invariant):
    id = "descriptors-closed-once"
    says = "What an import opens it closes, once, also when something fails."
    needs = frozenset({"import"})
    hears = frozenset({"verb"})
    about_homes = True

    def see(self, entry: Entry, before: Snapshot) -> None:
        if not reads(self.world, entry):
            return
        homes = self.world.homes
        self.exercised += 1
        if homes.left_open:
            self.fail(
                "something of a home is still open",
                expected="nothing, once it has ended",
                seen=", ".join(sorted(set(homes.left_open))[:5]),
            )
        if homes.system.closed_twice:
            self.fail(
                "a descriptor was closed by somebody whose it was no longer",
                expected="each is closed once, by whoever opened it",
                seen="; ".join(homes.system.closed_twice[:5]),
            )


class ImportOnlyAdds(Invariant):
    id = "import-only-adds"
    says = "An import changes no run that the coordinator had, and none of its events."
    needs = frozenset({"import"})
    about_homes = True
    sweeps = (IMPORT,)

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        homes = self.world.homes
        names = {name for home in homes.homes.values() for name in homes.names(home)}
        for run_id, run in before.runs.items():
            if run.source is not None:
                continue
            self.exercised += run_id in names
            if after.runs.get(run_id) != run:
                self.fail(
                    f"an import changed {run_id}, which it did not bring in",
                    expected=repr(run)[:400],
                    seen=repr(after.runs.get(run_id))[:400],
                )
        for event_id, event in before.events.items():
            known = before.runs.get(event.run_id)
            if known is not None and known.source is None and after.events.get(event_id) != event:
                self.fail(
                    f"an import changed {event_id}, which is not of its making",
                    expected=repr(event)[:400],
                    seen=repr(after.events.get(event_id))[:400],
                )


HOME_INVARIANTS: tuple[type[Invariant], ...] = (
    SourceUntouched,
    InsideTheRoot,
    DescriptorsClosedOnce,
    ImportOnlyAdds,
)
