"""Ending all processes of a run: the engine.

One rule in one place: the shim of a run, recovery, and the simulated world tear down through this function,
each over its own table of processes and clock.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

from runcoord._core.grace import require_grace
from runcoord._core.identity import Likeness, ProcessIdentity
from runcoord._core.limits import (
    GROUP_KILLS,
    HELD_OF_GROUP,
    KILL_SECONDS,
    MAX_PINNED,
    SCAN_SECONDS,
)
from runcoord._core.teardown import Fate, Found, Membership, ProcessReport, Scan, Sighting, TeardownReport
from runcoord._core.teardown_ledger import ASKING, CONTINUING, KILLING, Key, Ledger
from runcoord._core.teardown_plan import NextStep, Phase, TeardownPlan
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Protocol

    from runcoord._process_ports import PinnedProcess, Processes
    from runcoord.ports import Sleeper

    class Monotonic(Protocol):
        """Of a :class:`runcoord.ports.Clock` a teardown needs this one; the module :mod:`time` has it too."""

        def monotonic(self) -> float: ...


_NUMBERS = {
    ASKING: int(signal.SIGTERM),
    CONTINUING: int(getattr(signal, "SIGCONT", 0)),
    KILLING: int(getattr(signal, "SIGKILL", signal.SIGTERM)),  # Windows has one way to end a process
}
_IN_PHASE = {Phase.ASK: (ASKING, CONTINUING), Phase.KILL: (KILLING,)}


def never() -> bool:
    """Nobody hurries."""
    return False


def tear_down(
    processes: Processes,
    membership: Membership,
    *,
    grace: float,
    clock: Monotonic,
    sleeper: Sleeper,
    hurried: Callable[[], bool] = never,
    leader: PinnedProcess | None = None,
    kill_seconds: float = KILL_SECONDS,
) -> TeardownReport:
    """End every process of a run, and say what became of each.

    Members are asked (TERM, then CONT so that stopped ones hear it), get ``grace`` seconds to end, and are
    killed until two scans in a row find nobody. Those born meanwhile are asked too; but what a member that
    was asked starts, to clean up, only when that member has ended. With a grace of 0 all are killed at once
    and nobody is asked. Only what a scan proves to be a member is signalled, through a pin; the whole group
    of ``leader`` also in one step, unless somebody in it is spared. ``hurried`` is asked after every wait, at
    most half a second long: true ends the grace.

    Takes at most ``grace`` + ``kill_seconds`` + 4 seconds, the length of two scans; who lives then is named
    in the report with its state, and ``emptied`` is false. Nothing that happens to one process ends it early:
    what goes wrong stands in the report. A membership without any process: an empty report, nothing sent.

    Raises :class:`~runcoord.errors.InvalidRequest` for a grace that is negative, longer than 300 seconds, or
    no number, and for a membership that would mean this process or everybody.
    """
    require_grace(grace)
    plan = TeardownPlan(grace, kill_seconds)
    work = _Teardown(processes, membership, plan, clock, sleeper, hurried, leader)
    try:
        return work.run()
    finally:
        work.close()


class _Teardown:
    """One teardown under way."""

    def __init__(
        self,
        processes: Processes,
        membership: Membership,
        plan: TeardownPlan,
        clock: Monotonic,
        sleeper: Sleeper,
        hurried: Callable[[], bool],
        leader: PinnedProcess | None,
    ) -> None:
        self._processes = processes
        self._membership = membership
        self._plan = plan
        self._clock = clock
        self._sleeper = sleeper
        self._hurried = hurried
        self._leader = leader
        self._ledger = Ledger()
        self._own = processes.own()
        self._pins: dict[Key, PinnedProcess] = {}
        self._ever_held: set[Key] = set()
        self._doubtful: list[tuple[ProcessIdentity, PinnedProcess]] = []
        """Recorded processes of which nothing is proved: never signalled, held to see whether they end."""
        self._everybody_seen = False
        """A complete scan was acted on, so whoever is new was born since."""
        self._began = clock.monotonic()

    def run(self) -> TeardownReport:
        step = NextStep(Phase.ASK)
        while step.phase is not Phase.DONE:
            scan = self._scan()
            if self._hurried():
                self._plan.hurry()
            step = self._plan.next_step(scan, self._seconds(), self._ledger.beyond_reach())
            if scan.members and step.phase is not Phase.DONE:
                self._signal_all(scan, step.phase)
            self._wait(step)
        self._settle_doubtful()
        self._ledger.unseen = self._plan.unseen
        return self._report()

    def close(self) -> None:
        for pin in [*self._pins.values(), *(pin for _, pin in self._doubtful)]:
            pin.close()

    # --- seeing ---

    def _scan(self) -> Scan:
        try:
            scan = self._processes.scan(self._membership, SCAN_SECONDS)
        except InvalidRequest:
            raise
        except Exception as error:  # noqa: BLE001 - a table that fails proves nothing, and ends nothing early
            scan = Scan(complete=False, problem=_words(error))
        ended = frozenset(key for key, pin in self._pins.items() if self._ended(pin))
        for key in ended:
            self._pins.pop(key).close()
        scan = self._corrected(scan)
        if scan.complete:
            self._doubt_the_unheld(scan)
        self._ledger.see(scan, ended)
        if self._plan.rounds == 0 and self._look_at_recorded(scan):
            scan = self._corrected(scan)
        return scan

    def _corrected(self, scan: Scan) -> Scan:
        """Without this process itself, and with the members that are held: one that was proved to be a member
        stays one, also when it has cleared its environment since."""
        spared = {_key(each.identity) for each in scan.spared}
        for key in spared & self._pins.keys():
            self._pins.pop(key).close()
        members = [each for each in scan.members if each.identity.pid not in self._own]
        if len(members) != len(scan.members):
            self._ledger.problem("the scan counted the process that tears down, its group or init a member")
        seen = {_key(each.identity) for each in members}
        members += [self._ledger.present[key].sighting for key in self._pins if key not in seen]
        return Scan(tuple(members), scan.spared, scan.unreadable, scan.complete, scan.problem)

    def _doubt_the_unheld(self, scan: Scan) -> None:
        """One that a scan saw, that could not be held, and that the next scan does not see, has ended; or it
        lives, and nothing proves any more that it is a member."""
        seen = {_key(each.identity) for each in (*scan.members, *scan.spared)}
        for key, case in list(self._ledger.present.items()):
            if key in seen or key in self._ever_held or case.signals:
                continue
            fate, _ = self._fate_of_recorded(case.sighting.identity)
            if fate is Fate.UNKNOWN:
                why = "nothing proves any more that it belongs to the run"
                self._ledger.others[key[0]] = self._ledger.present.pop(key).report(fate, why)

    def _look_at_recorded(self, scan: Scan) -> bool:
        """Recorded processes that the scan did not find: gone, somebody else, unknown; or members after all,
        then true."""
        found = {each.identity.pid for each in (*scan.members, *scan.spared)}
        pinned = len(self._pins)
        for identity in self._membership.recorded:
            if identity.pid not in found:
                fate, why = self._fate_of_recorded(identity)
                if fate is not None:
                    report = ProcessReport(identity.pid, fate, ("recorded",), start=identity.start, why=why)
                    self._ledger.others[identity.pid] = report
        return len(self._pins) > pinned

    def _fate_of_recorded(self, identity: ProcessIdentity) -> tuple[Fate | None, str]:
        """``None``: it lives and is the recorded one, so it is a member from now on."""
        try:
            pin = self._processes.open(identity)
        except ProcessGone:
            return Fate.ENDED, ""
        except Exception as error:  # noqa: BLE001 - one process that cannot be seen ends nothing early
            return Fate.UNKNOWN, _words(error)
        try:
            look = pin.look(identity)
        except Exception as error:  # noqa: BLE001 - the same
            pin.close()
            return Fate.UNKNOWN, _words(error)
        if look.ended or look.likeness is Likeness.DIFFERENT:
            pin.close()
            if look.ended:
                return Fate.ENDED, ""
            return Fate.STRANGER, "another process has its pid now"
        if look.likeness is Likeness.SAME and identity.pid not in self._own:
            sighting = Sighting(identity, frozenset({Found.RECORDED}), look.state, look.name)
            self._ledger.add(sighting)
            self._pins[_key(identity)] = pin
            self._ever_held.add(_key(identity))
            return None, ""
        self._doubtful.append((identity, pin))
        return Fate.UNKNOWN, look.why or "nothing proves that this is the recorded process"

    def _settle_doubtful(self) -> None:
        """Those of whom nothing was known may have ended meanwhile."""
        for identity, pin in self._doubtful:
            if identity.pid in self._ledger.others and self._ended(pin):
                report = ProcessReport(identity.pid, Fate.ENDED, ("recorded",), start=identity.start)
                self._ledger.others[identity.pid] = report

    def _ended(self, pin: PinnedProcess) -> bool:
        try:
            return pin.ended()
        except Exception as error:  # noqa: BLE001 - one process that cannot be seen ends nothing early
            self._ledger.problem(_words(error))
            return False

    # --- signalling ---

    def _signal_all(self, scan: Scan, phase: Phase) -> None:
        """The group in one step, where that is safe; then everybody else, each through its pin."""
        excused = self._cleaning_up() if phase is Phase.ASK else frozenset()
        self._everybody_seen = self._everybody_seen or scan.complete
        # Orphans of a living subreaper go to it and stay members. Elsewhere what proves that one is a member
        # may be a parent that the first signal ends: so everybody is held before that.
        adopted = bool(self._membership.ancestor)
        if not adopted:
            self._hold(self._ledger.present, len(self._ledger.present))
        at_once = self._signal_group(scan, phase)
        if adopted:
            # The oldest are signalled last, and a parent that lives keeps its dead from being reaped.
            self._hold(sorted(at_once, key=_age), HELD_OF_GROUP)
            self._hold(self._ledger.present.keys() - at_once, len(self._ledger.present))
        for key, case in self._ledger.present.items():
            if key not in self._pins or key in at_once:
                continue
            if phase is Phase.ASK and (case.asked or key[0] in excused):
                continue
            for name in _IN_PHASE[phase]:
                self._signal(key, name)

    def _hold(self, keys: Iterable[Key], most: int) -> None:
        """Hold so many of them that are not held yet."""
        for key in keys:
            if most <= 0:
                return
            if key not in self._pins:
                most -= 1
                self._pin(key)

    def _cleaning_up(self) -> frozenset[int]:
        """Pids of those that members have started since they were asked: what cleans up for them is not
        stopped in the middle of it. When their parents have ended they are asked like everybody else."""
        if not self._everybody_seen:
            return frozenset()
        cases = self._ledger.present.items()
        parents = {key[0] for key, case in cases if ASKING in case.signals}
        excused: set[int] = set()
        while more := {
            key[0]
            for key, case in cases
            if case.sighting.parent in parents and ASKING not in case.signals and key[0] not in excused
        }:
            excused |= more
            parents = more
        return frozenset(excused)

    def _signal_group(self, scan: Scan, phase: Phase) -> frozenset[Key]:
        """Keys of the members that were signalled as a group. Nobody, when somebody of the group is spared or
        a scan without an end leaves that open.

        Who may signal one of a group may not be allowed to signal another, and is not told so. That is why
        the group counts as signalled only a few times; what lives then is signalled one by one.
        """
        group, leader = self._membership.group, self._leader
        if not group or leader is None or group in self._own:
            return frozenset()
        keys = frozenset(_key(each.identity) for each in scan.members if Found.GROUP in each.found)
        unsafe = not scan.complete or any(Found.GROUP in each.found for each in scan.spared)
        fresh = [key for key in keys if not self._ledger.present[key].signals]
        if not keys or unsafe or (phase is Phase.ASK and len(fresh) != len(keys)):
            return frozenset()
        tried = {key for key in keys if self._ledger.present[key].killed_with_group >= GROUP_KILLS}
        sent = [name for name in _IN_PHASE[phase] if self._reaches_group(leader, name)]
        for key in keys:
            case = self._ledger.present[key]
            case.through_group = case.through_group or (phase is Phase.ASK and ASKING in sent)
            case.killed_with_group += KILLING in sent
            for name in sent:
                case.note(name)
        return keys - tried if sent else frozenset()

    def _reaches_group(self, leader: PinnedProcess, name: str) -> bool:
        try:
            self._processes.signal_group(leader, _NUMBERS[name])
        except (ProcessGone, SignalDenied, ProbeFailed):
            return False
        except Exception as error:  # noqa: BLE001 - the members are signalled one by one instead
            self._ledger.problem(_words(error))
            return False
        return True

    def _pin(self, key: Key) -> None:
        """Hold a member, unless it is gone, is no member any more, or cannot be held."""
        case = self._ledger.present[key]
        if len(self._pins) >= MAX_PINNED:
            self._ledger.problem(
                f"more than {MAX_PINNED} members at once; the others waited for a later round"
            )
            return
        try:
            pin = self._processes.pin(self._membership, key[0])
        except Exception as error:  # noqa: BLE001 - one process that cannot be held ends nothing early
            case.why = _words(error)
            self._ledger.problem(case.why)
            return
        if pin is None:
            return
        self._pins[key] = pin
        self._ever_held.add(key)
        case.why = ""

    def _signal(self, key: Key, name: str) -> None:
        case = self._ledger.present[key]
        try:
            self._pins[key].signal(_NUMBERS[name])
        except ProcessGone:
            return
        except SignalDenied:
            case.denied = True
        except Exception as error:  # noqa: BLE001 - one process that cannot be signalled ends nothing early
            case.why = _words(error)
            self._ledger.problem(case.why)
        else:
            case.denied = case.through_group = False
            case.note(name)

    # --- waiting and reporting ---

    def _wait(self, step: NextStep) -> None:
        if step.wait <= 0:
            return
        living = [pin for pin in self._pins.values() if not self._ended(pin)]
        try:
            if living:
                self._processes.wait(living, step.wait)
            elif self._ledger.beyond_reach() or not self._ledger.present:
                self._sleeper.sleep(step.wait)
        except Exception as error:  # noqa: BLE001 - without waiting it would go round without a pause
            self._ledger.problem(_words(error))
            self._sleeper.sleep(step.wait)

    def _seconds(self) -> float:
        return max(0.0, self._clock.monotonic() - self._began)

    def _report(self) -> TeardownReport:
        whole, since = self._seconds(), self._plan.kill_since
        return self._ledger.report(
            emptied=self._plan.emptied,
            rounds=self._plan.rounds,
            asking_seconds=whole if since is None else since,
            killing_seconds=0.0 if since is None else whole - since,
        )


def _key(identity: ProcessIdentity) -> Key:
    return identity.pid, identity.start


def _age(key: Key) -> Key:
    pid, start = key
    return start, pid


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
