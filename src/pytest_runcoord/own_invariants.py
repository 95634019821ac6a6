"""Invariants that a project adds: checked as they are given, and guarded where they watch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord._words import VocabularyError, check_name
from pytest_runcoord.failures import StepFailed
from pytest_runcoord.invariants import WATCHED, Invariant, Violated
from pytest_runcoord.own_words import place_of
from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.verdict import FailureKind

if TYPE_CHECKING:
    from pytest_runcoord.own_hooks import Hook
    from pytest_runcoord.vocabulary import Registry
    from pytest_runcoord.world import World

WATCHING = {"see": 2, "compare": 2, "sweep": 3, "settle": 0, "end": 1}
"""Methods by which an invariant watches, with the number of arguments that each is called with."""
FAULTS = (Exception, SystemExit, pytest.skip.Exception, pytest.fail.Exception)
"""What is a fault of an invariant that raises it. Skipped, or expected to fail, the scenario would be green
because an invariant did not look."""


def collected(hooks: Sequence[Hook], registry: Registry | None) -> tuple[type[Invariant], ...]:
    """The invariants that hooks give, guarded; raises :class:`pytest.UsageError` for what makes no sense."""
    capabilities = CAPABILITIES if registry is None else registry.capabilities
    taken = {each.id: "runcoord" for each in WATCHED}
    found: list[type[Invariant]] = []
    for hook in hooks:
        given = hook.call()
        if isinstance(given, str) or not isinstance(given, Iterable) or inspect.isgenerator(given):
            raise hook.mistake(f"gave {_shown(given)}", "give a list of classes")
        for kind in given:
            _check(hook, kind, capabilities)
            if kind.id in taken:
                raise hook.mistake(
                    f"gives {kind.__name__} with the id '{kind.id}', which {taken[kind.id]} has",
                    "choose another id",
                )
            taken[kind.id] = hook.where
            found.append(guarded(kind))
    return tuple(found)


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value!r}"[:80]


def _check(hook: Hook, kind: Any, capabilities: Iterable[str]) -> None:
    if not isinstance(kind, type) or not issubclass(kind, Invariant):
        what = "an instance, not a class" if isinstance(kind, Invariant) else "no invariant"
        raise hook.mistake(
            f"gave {_shown(kind)}, which is {what}", "give subclasses of pytest_runcoord.invariants.Invariant"
        )
    name = f"the invariant {kind.__name__}"
    if not isinstance(kind.id, str) or not kind.id:
        raise hook.mistake(f"gave {name} without an id", "say id = 'a-few-words'")
    try:
        check_name("id", kind.id)
    except VocabularyError as error:
        raise hook.mistake(f"gave {name} with an id that is none: {error}") from None
    if not isinstance(kind.says, str) or not kind.says.strip():
        raise hook.mistake(f"gave {name} without a sentence in 'says'", "say what must always be so")
    if isinstance(kind.needs, str) or not isinstance(kind.needs, Iterable):
        raise hook.mistake(f"gave {name} with needs = {kind.needs!r}", "give a frozenset of capabilities")
    for need in kind.needs:
        if need not in capabilities:
            raise hook.mistake(
                f"gave {name} that needs '{need}', which is no capability", did_you_mean(need, capabilities)
            )
    written = [each for each in WATCHING if getattr(kind, each) is not getattr(Invariant, each)]
    if not written:
        raise hook.mistake(f"gave {name} that watches nothing", f"write one of {', '.join(WATCHING)}")
    if "sweep" in written and (not kind.sweeps or isinstance(kind.sweeps, str)):
        raise hook.mistake(f"gave {name} with 'sweep', and sweeps = {kind.sweeps!r}", "say after which verbs")
    for each in (*written, "__init__"):
        _check_method(hook, kind, each, 1 if each == "__init__" else WATCHING[each])


def _check_method(hook: Hook, kind: type[Invariant], name: str, arguments: int) -> None:
    method = getattr(kind, name)
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        raise hook.mistake(f"gave the invariant {kind.__name__} whose '{name}' is async or a generator")
    try:
        inspect.signature(method).bind(*[None] * (arguments + 1))
    except TypeError as error:
        wanted = [*inspect.signature(getattr(Invariant, name)).parameters][1:]
        raise hook.mistake(
            f"gave the invariant {kind.__name__} whose '{name}' cannot be called: {error}",
            f"take {', '.join(['self', *wanted])}",
        ) from None


# --- watching ---


def guarded(kind: type[Invariant]) -> type[Invariant]:
    """The same invariant; whatever it raises beside :class:`Violated` is its own fault, by its name."""
    names = [each for each in WATCHING if getattr(kind, each) is not getattr(Invariant, each)]
    methods: dict[str, Any] = {each: _guard(kind, each) for each in names}
    methods["__init__"] = _init(kind)
    # Where it could not even be made, the end says so: until then other invariants have had their say.
    methods.setdefault("end", _guard(kind, "end"))
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, **methods})


def _init(kind: type[Invariant]) -> Callable[..., None]:
    def __init__(self: Any, world: World) -> None:
        Invariant.__init__(self, world)
        self.broken = None
        try:
            kind.__init__(self, world)
        except FAULTS as error:
            self.broken = _fault(kind, "__init__", error)
        # It may not have called that of Invariant, or have made something else of what that made.
        self.world = world
        if type(getattr(self, "exercised", None)) is not int:
            self.exercised = 0

    return __init__


def _guard(kind: type[Invariant], name: str) -> Callable[..., None]:
    method = getattr(kind, name)

    @wraps(method)
    def watch(self: Any, *seen: Any) -> None:
        if self.broken is not None:
            if name == "end":
                raise self.broken
            return
        try:
            method(self, *seen)
        except Violated:
            raise
        except FAULTS as error:
            raise _fault(kind, name, error) from error
        if type(self.exercised) is not int or self.exercised < 0:
            error_of_count = TypeError(f"exercised is {self.exercised!r}, not a number from 0")
            self.exercised = 0
            raise _fault(kind, name, error_of_count)

    return watch


def _fault(kind: type[Invariant], name: str, error: BaseException) -> StepFailed:
    return StepFailed(
        FailureKind.EXTENSION,
        kind.id,
        f"the invariant {kind.id} of this project itself raised {type(error).__name__} in {name}: {error}",
        expected="that it calls fail() where it does not hold, and raises nothing else",
        seen=place_of(error),
        remedy="Mend the invariant; this says nothing of the subject.",
    )
