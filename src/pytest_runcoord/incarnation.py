"""One incarnation of one owner, and the verbs asked of it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from pytest_runcoord.moments import HOMES
from pytest_runcoord.probed_ports import Crashed
from pytest_runcoord.scenario import Step
from pytest_runcoord.subject import Answer, Timer
from runcoord.ports import Counters
from runcoord.values import field, record

T = TypeVar("T")


class Life(enum.StrEnum):
    """Whether an incarnation runs."""

    ALIVE = "alive"
    PAUSED = "paused"
    CRASHED = "crashed"
    CLOSED = "closed"


RUNNING = (Life.ALIVE, Life.PAUSED)
GONE = (Life.CRASHED, Life.CLOSED)


class Arranged(Protocol):
    """Something that was arranged to go wrong; what meets it says so."""

    met: bool

    @property
    def verb(self) -> str: ...

    @property
    def step(self) -> Step | None: ...


class Process(Protocol):
    """Where a session lives: in this process, or in one of its own."""

    def call(self, verb: str, args: Mapping[str, Any], given: str = "", keep: str = "") -> dict[str, Any]:
        """Ask the session for a verb. ``given`` names the object to hand in as its first argument, ``keep``
        the name under which the answer's object is kept. Raises what the session raises."""

    def timers(self) -> list[tuple[str, Timer]]: ...

    def counters(self) -> Counters | None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...

    def kill(self) -> None: ...


@record
class Handle:
    """What a scenario calls by a name given with ``as``: a lease, a delivery or an execution."""

    name: str
    kind: str
    owner: str
    incarnation: int
    run: str | None
    epoch: int | None
    event: str | None = None
    attempt: int | None = None


@record
class Incarnation:
    """One start of one owner."""

    owner: str
    number: int
    process: Process | None = None
    life: Life = Life.ALIVE
    stalled: set[str] = field(default_factory=set)
    """Names of timers that do not fire now."""
    faults: list[Fault] = field(default_factory=list)

    @property
    def owner_id(self) -> str:
        """Unique to this start, as owner ids must be."""
        return f"{self.owner}#{self.number}"

    def heard(self, act: Callable[[], T]) -> T:
        """What comes of something that its code does. Raises :class:`Crashed` if it died meanwhile: the dead
        say nothing, whatever caught their death, as ``except BaseException`` does."""
        try:
            said = act()
        except Exception as error:
            if self.life is Life.CRASHED:
                raise Crashed(self.owner_id) from error
            raise
        if self.life is Life.CRASHED:
            raise Crashed(self.owner_id)
        return said

    def how_it_goes_on(self) -> str:
        """What a scenario writes above a step of an owner that does not run now."""
        if self.life is Life.PAUSED:
            return f"Write 'resume: {self.owner}' above this step."
        return f"Write 'open: {self.owner}' above this step; what it held before is no longer in its hand."


@record
class Fault:
    """A fault that calls of one kind meet, ``times`` times (``None``: until taken away)."""

    verb: str
    kind: str
    times: int | None = 1
    step: Step | None = None
    """The step that arranged it."""
    met: bool = False

    def meets(self, verb: str) -> bool:
        """Whether a call of this kind meets it now. ``any`` call is one to the store."""
        any_of_store = self.verb == "any" and verb.split(" ")[0] not in HOMES
        return (self.verb == verb or any_of_store) and (self.times is None or self.times > 0)

    def meet(self) -> None:
        self.met = True
        if self.times is not None:
            self.times -= 1


class LocalProcess:
    """A session in this process. A crash is fencing: its ports refuse from then on."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._kept: dict[str, Any] = {}

    def call(self, verb: str, args: Mapping[str, Any], given: str = "", keep: str = "") -> dict[str, Any]:
        method = getattr(self._session, verb, None)
        if method is None:
            raise AttributeError(f"the session has no method {verb!r}, though its capability is claimed")
        answer: Answer = method(self._kept[given], **args) if given else method(**args)
        if answer.handle is not None:
            if keep:
                self._kept[keep] = answer.handle
            elif given and verb in ("renew", "reacquire"):
                self._kept[given] = answer.handle
        return answer.values

    def holds(self, name: str) -> bool:
        return name in self._kept

    def timers(self) -> list[tuple[str, Timer]]:
        timers: list[tuple[str, Timer]] = self._session.timers()
        return timers

    def counters(self) -> Counters | None:
        counters: Counters | None = self._session.counters()
        return counters

    def pause(self) -> None:
        """It stands still. Only a session that is a process of its own can be told."""
        self._tell("pause")

    def resume(self) -> None:
        """It goes on."""
        self._tell("resume")

    def _tell(self, what: str) -> None:
        told = getattr(self._session, what, None)
        if told is not None:
            told()

    def close(self) -> None:
        self._session.close()

    def kill(self) -> None:
        self._session.abandon()
