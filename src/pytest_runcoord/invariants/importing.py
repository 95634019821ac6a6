"""What the invariants about sweeps say of imports. Each adds to the one with its id: in a world with homes,
and only there, both watch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_runcoord.history import Entry
from pytest_runcoord.homes.plan import IMPORT, IMPORTING
from pytest_runcoord.homes.shapes import RESULT, can_be_id, secret_parts
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.invariants.bodies import read_body
from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot

if TYPE_CHECKING:
    from pytest_runcoord.homes.home import Home

FARTHEST = 1.0e12
"""Seconds since 1970, either way: thirty thousand years."""
LOOKED_AT = ("imported", "history", "known", "refused_count", "corrupt_count")
"""What a report counts every entry of a root under."""
COUNTED = (*LOOKED_AT, "tombstoned", "tombstones_failed", "pruned", "prunings_failed", "gone", "unfinished")
UNSAID: dict[str, Any] = {
    **dict.fromkeys(COUNTED, 0),
    "problem": None,
    "refused": {},
    "corrupt": {},
    "reasons": {},
}
"""A report of which a subject says nothing."""
ROWS_PER_IMPORT = 2
"""Rows that one pass may cost besides the folders: a cursor, a mark."""


class _OfImports(Invariant):
    """Sees imports, also those inside of sweeps."""

    needs = frozenset({"import"})
    hears = frozenset({"verb"})
    about_homes = True
    _met = 0
    """Errors of the system that were met up to the import before."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.what not in IMPORTING or entry.status not in ("ok", "failed"):
            return
        for home, report in self._reports(entry):
            self.judge(entry, home, _said(report), before)
        self._met = self.world.homes.system.met

    def judge(self, entry: Entry, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        """One import has ended, well or not."""

    def _reports(self, entry: Entry) -> Iterator[tuple[Home, Mapping[str, Any]]]:
        homes = self.world.homes
        if entry.what == IMPORT:
            home = homes.spelled(str(entry.data.get("on")))
            reports = [entry.data if entry.status == "ok" else {}]
            asked = [] if home is None else [home]
        else:
            asked = [
                home for each in homes.imports.get(entry.actor, ()) if (home := homes.spelled(each.home))
            ]
            told = entry.data.get("imports")
            reports = told if entry.status == "ok" and isinstance(told, list) else [{}] * len(asked)
        yield from zip(asked, reports, strict=False)

    def meanwhile(self, entry: Entry) -> tuple[int, bool]:
        """How many faults were met since an entry began, and whether a step changed a home."""
        since = self.world.history.entries[entry.number :]
        faults = sum(each.kind == "world" and each.what.startswith("fault ") for each in since)
        return faults + self.world.homes.system.met - self._met, any("home" in each.data for each in since)


class ImportsAreNotSilent(_OfImports):
    id = "no-silent-zero"
    says = "An import accounts for every entry of a root, or says why it could not look."

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._unfinished: set[tuple[str, str]] = set()
        """Owners and homes, where the next sweep goes on in the middle of a root."""

    def judge(self, entry: Entry, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        goes_on = self._goes_on(entry, home, report)
        faults, changed = self.meanwhile(entry)
        if changed or entry.status == "failed":
            return
        homes = self.world.homes
        hidden = home.root.is_symlink() or not home.root.is_dir() or ("", "") in home.denied
        if hidden:
            self.exercised += 1
            if not report["problem"]:
                self.fail(
                    "an import could not look, and does not say so",
                    expected=f"a problem with {home.root_name}",
                    seen=_counts(report),
                )
            return
        names = homes.names(home)
        if faults or report["problem"] or report["unfinished"] or goes_on:
            if faults and not _counts(report) and not report["problem"]:
                self.fail(
                    "an import met an error, and reports nothing at all",
                    expected="a problem, or what was refused",
                    seen="all zeros",
                )
            return
        self.exercised += bool(names)
        told = sum(report[name] for name in LOOKED_AT)
        if told != len(names) + report["pruned"]:
            self.fail(
                "an import does not account for every entry",
                expected=f"{len(names)}: {', '.join(names[:10])}",
                seen=_counts(report),
            )
        self._require_names(home, report, before)

    def _goes_on(self, entry: Entry, home: Home, report: Mapping[str, Any]) -> bool:
        """Whether this pass began where the last one of its owner had ended."""
        if entry.what == IMPORT:
            return False
        pass_of = (entry.actor, home.path)
        goes_on = pass_of in self._unfinished
        if report["unfinished"]:
            self._unfinished.add(pass_of)
        else:
            self._unfinished.discard(pass_of)
        return goes_on

    def _require_names(self, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        remembered = {each.folder for each in before.refused if each.root == str(home.root)}
        told = {**report["refused"], **report["corrupt"]}
        if report["refused_count"] + report["corrupt_count"] > len(told):
            return
        for name in self.world.homes.names(home):
            known = home.folders.get(name)
            new = name not in remembered and name not in before.runs
            if known is None or known.fine or not new or not can_be_id(name):
                continue
            if any(secret in name for secret in secret_parts()):
                continue  # it comes up as another one
            self.exercised += 1
            if not told.get(name) or not report["reasons"].get(name):
                self.fail(
                    f"{name} is no good, and is not named with a reason",
                    expected="the name among what was refused or corrupt, and why",
                    seen=f"named: {', '.join(told) or 'nothing'}",
                )


class OneBadFolder(_OfImports):
    id = "one-bad-apple"
    says = "A bad folder or home keeps no good folder out."

    def judge(self, entry: Entry, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        homes = self.world.homes
        reachable, names = homes.reachable(home), homes.names(home)
        bad = len(reachable) < len(names) or any(
            each.root.is_symlink() or each.denied for each in homes.homes.values()
        )
        faults, changed = self.meanwhile(entry)
        if entry.status == "failed":
            if bad or faults:
                self.fail(
                    "something bad in a home ended the whole import", expected="a report", seen="an exception"
                )
            return
        if changed or report["problem"] or report["unfinished"]:
            return
        after = self.world.snapshot()
        known = after.runs.keys() | {row.key for row in after.bad if row.table == "runs"}
        left = [name for name in reachable if name not in known]
        self.exercised += len(reachable) if bad or faults else 0
        if len(left) > faults:
            self.fail(
                f"{left[0]} is a good folder, and was not imported",
                expected=f"runs for all {len(reachable)} good folders",
                seen=f"none for {', '.join(left[:10])}",
            )


class HomesConverge(_OfImports):
    id = "converges"
    says = "When faults stop, every good folder of a home that somebody imports is a run."

    def end(self, snapshot: Snapshot) -> None:
        if not self.world.has_homes or self.world.given_out is None:
            return  # nobody swept after the last step
        homes = self.world.homes
        for path in {each.home for imports in homes.imports.values() for each in imports}:
            home = homes.spelled(path)
            for name in homes.reachable(home) if home is not None else ():
                self.exercised += 1
                if name not in snapshot.runs:
                    self.fail(
                        f"{name} is in a home that is imported, and never became a run",
                        expected="a run, after the faults stopped",
                        seen="none",
                    )


class IdleImportIsFree(Invariant):
    id = "idle-is-free"
    says = "An import that finds nothing new writes no row."
    needs = frozenset({"import"})
    about_homes = True
    sweeps = (IMPORT,)

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        homes = self.world.homes
        home = homes.spelled(homes.asked_for)
        if rows is None or home is None or homes.to_do(home, before):
            return
        self.exercised += 1
        if rows:
            self.fail("an import that finds nothing new wrote", expected="0 rows", seen=f"{rows} rows")


class ImportInProportion(Invariant):
    id = "work-in-proportion"
    says = "An import writes one row for each new folder, and one for each event of it."
    needs = frozenset({"import"})
    about_homes = True
    sweeps = (IMPORT,)

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        runs = sum(run != before.runs.get(run_id) for run_id, run in after.runs.items())
        events = sum(event != before.events.get(event_id) for event_id, event in after.events.items())
        refused = len(set(after.refused) ^ set(before.refused))
        if rows is None or not (runs or events or refused):
            return
        self.exercised += 1
        most = runs + events + refused + ROWS_PER_IMPORT
        if rows > most:
            self.fail(
                "an import wrote more than its new folders account for",
                expected=f"at most {most} rows for {runs} runs, {events} events, {refused} refused folders",
                seen=f"{rows} rows",
            )


class ImportsAreClean(_OfImports):
    id = "bounded-and-clean"
    says = "Nothing secret of a folder is stored, delivered or reported, and no time that no calendar has."

    def judge(self, entry: Entry, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        self._search(f"the answer of {entry.what}", str(dict(report)))

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, run in after.runs.items():
            if run.source is not None and run is not before.runs.get(run_id):
                self._search(f"the run {run_id}", repr(run))
        for event_id, event in after.events.items():
            if event is not before.events.get(event_id):
                self._search(f"the event {event_id}", event.body)
                self._require_times(event)
        if after.refused != before.refused:
            self._search("what is stored of refused folders", repr(after.refused))

    def _search(self, where: str, text: str) -> None:
        secrets = self.world.homes.secrets
        self.exercised += bool(secrets)
        for secret in secrets:
            if secret in text:
                self.fail(
                    f"{where} has a credential in it that was in a folder",
                    expected="texts without it",
                    seen=f"{secret[:6]}…, {len(secret)} characters",
                )

    def _require_times(self, event: EventSeen) -> None:
        wrong = [number for number in _numbers(read_body(event) or {}) if not abs(number) <= FARTHEST]
        self.exercised += 1
        if wrong:
            self.fail(
                f"{event.event_id} has a time in it that no calendar has",
                expected="times within the range that is stored",
                seen=str(wrong[:3]),
            )


class NoFolderRoutes(Invariant):
    id = "delivered-to-someone"
    says = "What is imported goes where the operator says, never where a folder says."
    needs = frozenset({"import", "outbox"})
    hears = frozenset({"message"})
    about_homes = True

    def see(self, entry: Entry, before: Snapshot) -> None:
        run = self.world.snapshot().runs.get(str(entry.data["run"])) or before.runs.get(
            str(entry.data["run"])
        )
        if run is None or run.source is None:
            return
        homes, to = self.world.homes, str(entry.data["destination"])
        self.exercised += 1
        if to not in homes.trusted and (run.run_id, to) not in homes.routed:
            self.fail(
                f"the event of {run.run_id} was sent to {to}, which nobody but its folder named",
                expected=", ".join(sorted(homes.trusted)) or "nowhere: it is held until it is routed",
                seen=to,
            )


class HistoryIsNotTold(Invariant):
    id = "acknowledged-stays"
    says = "A run that has a tombstone with its outcome is history, and nobody is told of it again."
    needs = frozenset({"import", "outbox"})
    hears = frozenset({"message"})
    about_homes = True

    def see(self, entry: Entry, before: Snapshot) -> None:
        name = str(entry.data["run"])
        run = self.world.snapshot().runs.get(name) or before.runs.get(name)
        if run is not None and run.source is not None and self.world.homes.is_history(name):
            self.fail(
                f"{name} was history, and is told again",
                expected="nothing is sent",
                seen=f"{entry.what}, attempt {entry.data['attempt']}",
            )

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        new = [each for run_id, each in after.runs.items() if run_id not in before.runs and each.source]
        self.exercised += sum(self.world.homes.is_history(each.run_id) for each in new)


class FolderResultKept(_OfImports):
    id = "result-kept"
    says = "A result in a folder is reachable from the event of its run."

    def judge(self, entry: Entry, home: Home, report: Mapping[str, Any], before: Snapshot) -> None:
        faults, changed = self.meanwhile(entry)
        if faults or changed or entry.status == "failed":
            return
        after = self.world.snapshot()
        for name in self.world.homes.reachable(home):
            run, data = after.runs.get(name), home.folders[name].result
            if data is None or run is None or run.source is None or name in before.runs:
                continue
            if ((name, RESULT)) in home.denied:
                continue
            self.exercised += 1
            self._require(run, after.events.get(f"{name}/finished"), len(data))

    def _require(self, run: RunSeen, event: EventSeen | None, size: int) -> None:
        assert run.source is not None
        said = run.source if event is None else (read_body(event) or {}).get("source") or {}
        kept = said.get("result") or {}
        if (kept.get("file"), kept.get("size")) != (RESULT, size):
            self.fail(
                f"the result of {run.run_id} cannot be reached from its event",
                expected=f"source.result names {RESULT}, {size} bytes",
                seen=json.dumps(kept),
            )


def _said(report: object) -> dict[str, Any]:
    """What a report says, as far as it is of the right kind."""
    said = report if isinstance(report, Mapping) else {}
    kinds = {name: str if usual is None else type(usual) for name, usual in UNSAID.items()}
    return UNSAID | {name: said[name] for name, kind in kinds.items() if isinstance(said.get(name), kind)}


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        yield float(value) if abs(value) < FARTHEST * FARTHEST else math.inf
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from _numbers(each)


def _counts(report: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {report[name]}" for name in COUNTED if report.get(name))


OF_IMPORTS: tuple[type[Invariant], ...] = (
    ImportsAreNotSilent,
    OneBadFolder,
    HomesConverge,
    IdleImportIsFree,
    ImportInProportion,
    ImportsAreClean,
    NoFolderRoutes,
    HistoryIsNotTold,
    FolderResultKept,
)
"""Each adds to the invariant with its id."""
