"""What a coroutine does wrong has the subject's name, and nothing that was not run passes for done."""

from __future__ import annotations

import asyncio
from typing import Any

from subjects.toy import Job, ToySession, ToySubject
from subjects.trying import LINES, fault_of


async def _done(lease: Job) -> None: ...


def test_a_coroutine_that_gives_a_coroutine_has_not_done_what_that_would() -> None:
    class Session(ToySession):
        async def complete(self, lease: Job, result: str = "") -> Any:  # type: ignore[override]
            return _done(lease)

    class Subject(ToySubject):
        session = Session

    failure = fault_of(Subject(), LINES["complete"], "complete")
    assert failure.problem == "the subject toy: complete gave a coroutine, of which nothing has run"
    assert failure.remedy == "Await it in the verb."


def test_what_is_out_of_reach_of_a_loop_is_told_with_the_name_and_the_line_of_the_subject() -> None:
    class Session(ToySession):
        async def submit(self, run: str) -> None:  # type: ignore[override]
            await asyncio.create_subprocess_exec("true")

    class Subject(ToySubject):
        session = Session

    failure = fault_of(Subject(), LINES["submit"], "submit")
    assert failure.problem.startswith(
        "the subject toy: submit raised OutOfReach: a loop on virtual time has no"
    )
    assert failure.seen.startswith("OutOfReach raised at ")
