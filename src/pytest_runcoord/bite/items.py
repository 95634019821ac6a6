"""Faults as pytest runs them: ``bite::<fault>``, in place of the scenarios that they are tried on."""

from __future__ import annotations

import textwrap
import time
import types
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import pytest

from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.trying import MOST_NAMED, Bite, Bitten, CannotBePutIn, Trials
from pytest_runcoord.gate import OPTIONS
from pytest_runcoord.known_failures import BITE as NAME
from pytest_runcoord.known_failures import Standing
from pytest_runcoord.options import Options

VERDICT, BY, PLACE = "runcoord_bite", "runcoord_bite_by", "runcoord_bite_at"
"""What a report says of a fault: the verdict, what turned red, and where."""
ATTRIBUTE = "runcoord_bite"
"""Of a report: all that came of a fault, as plain JSON types. pytest-xdist carries it."""
PROGRESS_SECONDS = 10.0
"""Real time between two lines about a fault that takes long."""
WIDTH = 100
"""Columns of the text of a failure."""

_NOT_STANDING = {
    Standing.EXPIRED: "its time is over",
    Standing.ENDLESS: "it has no end, since the subject says no version",
    Standing.OTHER_REVISION: "another revision is tried",
}
_now = time.perf_counter


class NoBite(Exception):
    """A fault turned nothing red."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines[0])
        self.lines = lines


class BiteNode(pytest.Module):
    """Above all faults. A module like that of a scenario file, so that fixtures which every test of the
    project has are there, as they are for its scenarios."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.obj = types.ModuleType(NAME)


class BiteItem(pytest.Function):
    """One fault, tried on the scenarios of a session."""

    def __init__(self, *, fault: BoundaryFault, number: int, trials: Trials, **kwargs: Any) -> None:
        super().__init__(name=fault.name, callobj=self._function(fault), **kwargs)
        self.fault, self.number, self.trials = fault, number, trials
        self.bite: Bite | None = None

    def _function(self, fault: BoundaryFault) -> Any:
        def run() -> None:
            self.try_fault()

        run.__name__ = run.__qualname__ = fault.name
        run.__doc__ = fault.says
        return run

    def runtest(self) -> None:
        """By pytest's hook for calling functions; a fault that nobody called is no pass."""
        self.bite = None
        super().runtest()
        if self.bite is None:
            self.try_fault()

    def try_fault(self) -> None:
        self.user_properties[:] = [
            each for each in self.user_properties if each[0] not in (VERDICT, BY, PLACE)
        ]
        try:
            bite = self.bite = self.trials.bite(self.fault, Progress(self))
        except CannotBePutIn as error:
            raise NoBite([str(error), *_paragraph("the fault", self.fault.says)]) from error
        self.user_properties.append((VERDICT, bite.verdict.value))
        if bite.verdict is Bitten.SKIPPED:
            pytest.skip(bite.reason)
        note = self._accepted(bite)
        if bite.verdict is not Bitten.RED:
            raise NoBite([*self._text(bite), *_paragraph("known", note)])
        if note:
            raise NoBite(["a scenario turns red by the fault now", *_paragraph("known", note)])
        assert bite.failure is not None
        self.user_properties += [(BY, bite.by), (PLACE, f"{bite.failure.path}:{bite.failure.line}")]

    def _accepted(self, bite: Bite) -> str:
        """What the project's table says of this fault, if that makes a difference; empty otherwise. A fault
        that is accepted is an expected failure from now on."""
        known = self.config.stash[OPTIONS].known
        entry = None if known is None else known.about(self.path, NAME, self.fault.name)
        if known is None or entry is None or self.config.getoption("runxfail", False):
            return ""
        standing = known.standing(entry)
        if bite.verdict is Bitten.RED:
            if standing is Standing.OTHER_REVISION:
                return ""
            return f"{entry.brief}. Remove the entry ({entry.place})."
        if standing is not Standing.APPLIES:
            return f"{entry.brief}; {_NOT_STANDING[standing]} ({entry.place})."
        bite.accepted = entry.brief
        self.add_marker(pytest.mark.xfail(raises=NoBite, strict=True, reason=entry.brief))
        return entry.brief

    def told(self) -> dict[str, Any] | None:
        """All that came of it, as plain JSON types."""
        return None if self.bite is None else {"number": self.number, **self.bite.as_json()}

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, f"{NAME}::{self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NoBite) and not self.config.getoption("fulltrace"):
            return "\n".join(excinfo.value.lines)
        return super().repr_failure(excinfo)

    def _text(self, bite: Bite) -> Iterable[str]:
        fault = self.fault
        yield bite.reason
        yield from _paragraph("the fault", fault.says)
        if fault.caught_by:
            yield from _paragraph("expected", f"one of these turns red: {', '.join(fault.caught_by)}")
        broke = [f"{name}: {problem}" for name, problem in bite.broke.items()]
        for what, names in (("met by", bite.met), ("failed on it", broke)):
            yield from (f"  {what + ':':13} {name}" for name in names[:MOST_NAMED])
            if len(names) > MOST_NAMED:
                yield f"  {'':13} and {len(names) - MOST_NAMED} more"
        yield from _paragraph("what to do", _remedy(bite, self.config.stash[OPTIONS]))


def _paragraph(what: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 16, break_on_hyphens=False)
    return [f"  {what + ':' if not number else '':13} {line}" for number, line in enumerate(wrapped)]


def _remedy(bite: Bite, options: Options) -> str:
    if bite.verdict is Bitten.GREEN:
        return (
            "Have a scenario that meets it expect what must be so, or let the snapshot show what an "
            "invariant has to see."
        )
    if bite.verdict is Bitten.NEVER_MET:
        words = ", ".join(sorted(bite.fault.words))
        asked = f" ({words})" if words else ""
        more = ", or add the shipped ones: --runcoord-suite" if options.suite is None else ""
        return f"Write a scenario in which it would show{asked}{more}."
    return "A fault counts only where a scenario is green without it: run them without --runcoord-bite."


class Progress:
    """Says, while a fault takes long, how far it is."""

    def __init__(self, item: BiteItem) -> None:
        self._item, self._next = item, _now() + PROGRESS_SECONDS

    def __call__(self, bite: Bite) -> None:
        if _now() < self._next:
            return
        self._next = _now() + PROGRESS_SECONDS
        config = self._item.config
        terminal = config.pluginmanager.getplugin("terminalreporter")
        capture = config.pluginmanager.getplugin("capturemanager")
        if terminal is None or config.get_verbosity() < 0 or hasattr(config, "workerinput"):
            return
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            so_far = f"tried on {bite.tried} of {bite.of} variants, {len(bite.met)} met it"
            terminal.write_line(f"{NAME}::{bite.fault.name}: {so_far}")
