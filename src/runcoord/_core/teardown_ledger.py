"""What one teardown did to whom: kept while it goes on, and turned into its report."""

from __future__ import annotations

from runcoord._core.limits import MAX_PROBLEMS_REPORTED, MAX_PROCESSES_REPORTED
from runcoord._core.teardown import LEFT, Fate, Found, ProcessReport, Scan, Sighting, TeardownReport
from runcoord._core.values import field, record

ASKING = "SIGTERM"
CONTINUING = "SIGCONT"
KILLING = "SIGKILL"

Key = tuple[int, int]
"""Pid and start: what tells two members of one teardown apart well enough to count them."""


@record
class Case:
    """One process that the teardown dealt with."""

    sighting: Sighting
    found: frozenset[Found]
    signals: tuple[str, ...] = ()
    through_group: bool = False
    """It was asked through its group alone, which it may have left in the same moment."""
    killed_with_group: int = 0
    """How often it was killed together with its group."""
    denied: bool = False
    """The system refused a signal, and the process was alive."""
    why: str = ""
    """Why it could not be signalled."""

    @property
    def beyond_reach(self) -> bool:
        return self.denied or bool(self.why and not self.signals)

    @property
    def asked(self) -> bool:
        """It was asked to end, and was there to hear it: still in the group, if that was the way."""
        if self.through_group and Found.GROUP not in self.sighting.found:
            return False
        return ASKING in self.signals

    def note(self, signal: str) -> None:
        """A signal was sent. It may have been sent before."""
        if signal not in self.signals:
            self.signals = (*self.signals, signal)

    def report(self, fate: Fate, why: str = "") -> ProcessReport:
        seen = self.sighting
        return ProcessReport(
            pid=seen.identity.pid,
            fate=fate,
            found=tuple(sorted(self.found)),
            signals=self.signals,
            name=seen.name,
            state=seen.state,
            start=seen.identity.start,
            why=why,
        )


@record
class Ledger:
    """All cases of one teardown. Bounded: of processes that ended, the first few hundred are named."""

    present: dict[Key, Case] = field(default_factory=dict)
    """Members that the latest scan saw, or that are known to live."""
    ended: list[ProcessReport] = field(default_factory=list)
    spared: dict[Key, ProcessReport] = field(default_factory=dict)
    others: dict[int, ProcessReport] = field(default_factory=dict)
    """Recorded processes that are no members: strangers at a recorded pid, those of whom nothing is known."""
    counted: int = 0
    unreadable: int = 0
    unseen: str = ""
    """Why somebody may live whom no scan saw; empty when nothing says so."""
    problems: list[str] = field(default_factory=list)

    def see(self, scan: Scan, ended: frozenset[Key] = frozenset()) -> None:
        """Enter a scan. Who is not in it has ended; if it is not complete, only those that are known to have
        ``ended``."""
        seen = {}
        for sighting in scan.members:
            case = self.present.pop(_key(sighting), None)
            if case is None:
                case = self._new(sighting)
            else:
                case.sighting, case.found = sighting, case.found | sighting.found
            seen[_key(sighting)] = case
        for key, case in self.present.items():
            if not scan.complete and key not in ended:
                seen[key] = case
            elif len(self.ended) < MAX_PROCESSES_REPORTED:
                self.ended.append(case.report(_ended(case)))
        self.present = seen
        self.unreadable = scan.unreadable
        self.problem(scan.problem)
        for each in scan.spared[:MAX_PROCESSES_REPORTED]:
            self.spared[_key(each)] = Case(each, each.found).report(Fate.SPARED, "it was handed over")

    def add(self, sighting: Sighting) -> None:
        """Enter a member that was found by other means than a scan."""
        self.present[_key(sighting)] = self._new(sighting)

    def _new(self, sighting: Sighting) -> Case:
        self.counted += 1
        self.others.pop(sighting.identity.pid, None)
        return Case(sighting, sighting.found)

    def problem(self, text: str) -> None:
        """Note what went wrong, once."""
        if text and text not in self.problems and len(self.problems) < MAX_PROBLEMS_REPORTED:
            self.problems.append(text)

    def beyond_reach(self) -> frozenset[int]:
        """Pids of members that cannot be signalled."""
        return frozenset(key[0] for key, case in self.present.items() if case.beyond_reach)

    def report(
        self, *, emptied: bool, rounds: int, asking_seconds: float, killing_seconds: float
    ) -> TeardownReport:
        left = [case.report(*_left(case)) for case in self.present.values()]
        if self.unseen:  # the scan itself has said more, where it failed
            self.problem("" if self.problems else self.unseen)
            left.append(ProcessReport(0, Fate.UNKNOWN, why=self.unseen))
        named = [*left, *self.others.values(), *self.spared.values(), *self.ended]
        named.sort(key=lambda each: (each.fate not in LEFT, each.pid))
        return TeardownReport(
            emptied=emptied,
            processes=tuple(named[:MAX_PROCESSES_REPORTED]),
            counted=self.counted + len(self.others) + len(self.spared),
            rounds=rounds,
            unreadable=self.unreadable,
            asking_seconds=asking_seconds,
            killing_seconds=killing_seconds,
            problems=tuple(self.problems),
        )


def _key(sighting: Sighting) -> Key:
    return sighting.identity.pid, sighting.identity.start


def _ended(case: Case) -> Fate:
    if KILLING in case.signals:
        return Fate.KILLED
    return Fate.ASKED if ASKING in case.signals else Fate.ENDED


def _left(case: Case) -> tuple[Fate, str]:
    """The fate of one that lives when the teardown ends, and why."""
    seen = case.sighting
    if case.denied:
        return Fate.DENIED, "the system does not permit the signal"
    if not case.signals:
        return Fate.UNKNOWN, case.why or "the time was over before it was signalled"
    if seen.waiting_in or seen.state:
        where = f", waiting in {seen.waiting_in}" if seen.waiting_in else ""
        return Fate.SURVIVED, f"it was alive after the last signal, in state {seen.state or '?'}{where}"
    return Fate.SURVIVED, "it was alive after the last signal"
