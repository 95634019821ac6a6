"""Faults of one kind: a verb is answered as if it had been done, and nothing was."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_runcoord.bite.boundary import Asked, Boundary
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.subject import Answer


class _OnlyAnswered(Boundary):
    verb: ClassVar[str]
    says: ClassVar[dict[str, Any]] = {}
    """Values of the answer besides those that the verb was asked with."""
    keeps: ClassVar[bool] = False
    """The handle stays as it is."""

    def call(self, asked: Asked) -> Answer:
        if asked.verb != self.verb or asked.run is None:
            return asked.go()
        self.meet()
        args = {name: value for name, value in asked.args.items() if name == "outcome"}
        values = {**asked.known, **args, **self.says, "run": asked.run}
        return Answer(values, asked.handle if self.keeps else None)


class _Submission(_OnlyAnswered):
    verb = "submit"
    says: ClassVar[dict[str, Any]] = {"state": "accepted", "outcome": None, "replayed": False}


class _Completion(_OnlyAnswered):
    verb = "complete"
    says: ClassVar[dict[str, Any]] = {"late": False}


class _Renewal(_OnlyAnswered):
    verb = "renew"
    says: ClassVar[dict[str, Any]] = {"stop_requested": False}
    keeps = True


class _Release(_OnlyAnswered):
    verb = "release"


class _Progress(_OnlyAnswered):
    verb = "progress"


def _unstored(
    name: str, what: str, boundary: type[_OnlyAnswered], *, needs: str, words: str, caught_by: str
) -> BoundaryFault:
    return fault(
        f"{name}-not-stored",
        f"{what} is answered, and nothing is written.",
        boundary,
        needs=needs,
        words=f"{boundary.verb} {words}",
        shows_in=boundary.verb,
        caught_by=caught_by,
    )


FAULTS: tuple[BoundaryFault, ...] = (
    _unstored(
        "submission", "A submission", _Submission, needs="runs", words="crash", caught_by="nothing-lost"
    ),
    _unstored(
        "completion", "The end of a run", _Completion, needs="runs", words="deliver", caught_by="nothing-lost"
    ),
    _unstored(
        "renewal",
        "A renewal",
        _Renewal,
        needs="leases renewal",
        words="advance",
        caught_by="live-lease-kept",
    ),
    _unstored(
        "release",
        "That a run is given back",
        _Release,
        needs="release",
        words="claim",
        caught_by="stale-owner-refused run claim refused",
    ),
    _unstored(
        "progress", "Progress", _Progress, needs="progress", words="run", caught_by="run stale-owner-refused"
    ),
)
