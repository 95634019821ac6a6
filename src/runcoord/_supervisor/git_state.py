"""What became of the caller's git state, in the report of a command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runcoord._core.values import value
from runcoord._git import (
    Agreement,
    Difference,
    DriftReport,
    NoSnapshot,
    Outcome,
    RestoreReport,
    Result,
    What,
)

_STATES = {
    Agreement.BROKEN: "does not work as before",
    Agreement.UNKNOWN: "could not be compared in all",
}


@value
class GitReport:
    """Restored, after a run that did not complete; or compared, after one that did. ``kept`` is the directory
    of what was written down before, while it is still needed."""

    found: RestoreReport | DriftReport | NoSnapshot
    kept: str = ""

    @property
    def clean(self) -> bool:
        """Whether git works as it did before, as far as could be told."""
        if isinstance(self.found, RestoreReport):
            return self.found.settled
        if isinstance(self.found, DriftReport):
            return self.found.works
        return False

    def remarks(self, most: int) -> Iterator[str]:
        """Lines about it that are worth saying."""
        found = self.found
        if isinstance(found, NoSnapshot):
            yield f"git: {found.problem}. {found.remedy}"
        elif isinstance(found, RestoreReport):
            yield from self._restored(found, most)
        elif found.differences:
            told = [_difference(each) for each in found.differences]
            state = _STATES.get(found.agreement, "was changed")
            yield from _few(f"git: {found.top} {state}", told, most)

    def _restored(self, found: RestoreReport, most: int) -> Iterator[str]:
        done = [_difference(step.difference) for step in found.steps if step.result is Result.DONE]
        if done:
            yield from _few(f"git: put back in {found.top}", done, most)
        if found.outcome is Outcome.UNVERIFIED:
            yield f"git: that {found.top} is as before could not be verified"
        elif not found.settled:
            open_ones = [
                f"{_difference(step.difference)}" + (f" ({step.why})" if step.why else "")
                for step in found.steps
                if step.result in (Result.FAILED, Result.REFUSED, Result.SKIPPED)
            ]
            yield from _few(f"git: {found.top} is not as it was before", open_ones, most)
        if self.kept:
            yield f"git: what was written down before is kept in {self.kept}"

    def document(self) -> dict[str, Any]:
        kinds = {RestoreReport: "restored", DriftReport: "compared", NoSnapshot: "missing"}
        return {
            "what": kinds[type(self.found)],
            "clean": self.clean,
            "kept": self.kept or None,
            **self.found.document(),
        }


def _few(head: str, each: list[str], most: int) -> Iterator[str]:
    more = f"; and {len(each) - most} more" if len(each) > most else ""
    yield f"{head}: {'; '.join(each[:most])}{more}" if each else head


def _difference(found: Difference) -> str:
    if found.what is What.BEHAVIOUR and found.detail:
        return f"git says: {found.detail}"
    if found.what is What.REPAIRED:
        return f"git works in {found.path}, where it did not before"
    what = found.key or found.what.value
    if found.what is What.REGISTRATION and found.key:
        what = f"worktree {found.key}"
    if found.before or found.now:
        if len(found.before) > 1 or len(found.now) > 1:
            return f"{what} (before: {_values(found.before)}; after: {_values(found.now)})"
        return f"{what} ({_values(found.before)} before, {_values(found.now)} after)"
    return f"{what} {found.path}" + (f": {found.detail}" if found.detail else "")


def _values(values: tuple[str | None, ...]) -> str:
    return ", ".join("set without a value" if each is None else each for each in values) or "not set"
