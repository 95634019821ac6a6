"""Defects in how a submission meets a store that hangs, is locked, or whose answer is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_all
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from pytest_runcoord import reference_threads
from runcoord import Coordinator, _async_calls
from runcoord._answers import Receipt
from runcoord._async_calls import AsyncCalls, Drained
from runcoord._bounded import ThreadBounded
from runcoord._core import submission
from runcoord._core.model import Command, Run, Spec
from runcoord._stores import reading, waiting
from runcoord._stores.reading import SqliteView
from runcoord.errors import Happened, StoreTimeout

SOON = 0.1
"""Seconds after which the harness takes an answer that is overdue to come never, where it does come never."""


# --- a store that hangs, or is locked -------------------------------------------------------------


def _waits_for_the_lock_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiting, "LOCK_WAIT_SECONDS", math.inf)
    patch.setattr(waiting, "LOCK_TRIES", math.inf)
    patch.setattr(waiting, "MAX_LOCK_BACKOFF_SECONDS", 1.0)  # for the speed of the test alone


def _does_not_wait_for_the_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiting, "LOCK_TRIES", 1)


def _waits_for_the_answer_for_ever(patch: pytest.MonkeyPatch) -> None:
    async def run_within(self: AsyncCalls, seconds: float, call: Any) -> Any:
        future = self._bounded.begin(call)
        return await asyncio.shield(asyncio.wrap_future(future))

    patch.setattr(AsyncCalls, "run_within", run_within)
    patch.setattr(reference_threads, "BEYOND_PATIENCE_SECONDS", SOON)


def _a_timeout_says_that_nothing_happened(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        _async_calls,
        "timed_out",
        lambda seconds: StoreTimeout("the store did not answer", happened=Happened.NO),
    )


def _hanging_calls_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ThreadBounded, "abandon", lambda self, future: None)


# --- repeating ------------------------------------------------------------------------------------


def _every_submission_is_new(patch: pytest.MonkeyPatch) -> None:
    right, numbers = submission.require_id, itertools.count()

    def require_id(field: str, value: str) -> str:
        return right(field, f"{value}-{next(numbers)}" if field == "key" else value)

    patch.setattr(submission, "require_id", require_id)


def _the_key_alone_decides(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(submission, "require_same_content", lambda known, digest: None)


def _keys_are_remembered_in_memory(patch: pytest.MonkeyPatch) -> None:
    right, seen = SqliteView.command, set[tuple[int, str]]()

    def command(self: SqliteView, key: str) -> Command | None:
        asked = (id(self._connections), key)
        known = asked in seen
        seen.add(asked)
        return right(self, key) if known else None

    patch.setattr(SqliteView, "command", command)


def _order_of_keys_is_content(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(submission, "canonical_json", json.dumps)


def _every_retry_is_new(patch: pytest.MonkeyPatch) -> None:
    right: Any = Coordinator.retry
    find: Any = reading.SqliteView.run

    def retry(self: Coordinator, run_id: str) -> Receipt:
        with pytest.MonkeyPatch.context() as inner:

            def forgetful(view: SqliteView, wanted: str) -> Run | None:
                run: Run | None = find(view, wanted)
                return replace(run, retried_as="") if run is not None and wanted == run_id else run

            inner.setattr(SqliteView, "run", forgetful)
            receipt: Receipt = right(self, run_id)
        return receipt

    patch.setattr(Coordinator, "retry", retry)


# --- draining -------------------------------------------------------------------------------------


def _a_cancelled_call_stays_for_ever(patch: pytest.MonkeyPatch) -> None:
    right: Any = AsyncCalls.run_within

    async def run_within(self: AsyncCalls, seconds: float, call: Any) -> Any:
        try:
            return await right(self, seconds, call)
        except asyncio.CancelledError:
            cancelled: Future[Any] = Future()
            cancelled.cancel()
            self._under_way.add(cancelled)
            raise

    async def drain(self: AsyncCalls, seconds: float) -> Drained:
        while self._under_way:
            tasks = [asyncio.wrap_future(future) for future in self._under_way if future.cancelled()]
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)
        return Drained(0, 0)

    patch.setattr(AsyncCalls, "run_within", run_within)
    patch.setattr(AsyncCalls, "drain", drain)
    patch.setattr(reference_threads, "BEYOND_PATIENCE_SECONDS", SOON)


def _draining_blocks_the_loop(patch: pytest.MonkeyPatch) -> None:
    async def drain(self: AsyncCalls, seconds: float) -> Drained:
        done, stuck = wait_for_all(list(self._under_way), timeout=seconds)
        return Drained(len(done), len(stuck))

    patch.setattr(AsyncCalls, "drain", drain)


def _a_cancelled_call_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    right: Any = AsyncCalls.run_within

    async def run_within(self: AsyncCalls, seconds: float, call: Any) -> Any:
        try:
            return await right(self, seconds, call)
        except asyncio.CancelledError:
            self._under_way.clear()
            raise

    patch.setattr(AsyncCalls, "run_within", run_within)


def _is_not_compared(field: str) -> Any:
    """A defect that leaves one field out of what a repeated submission is compared by."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        right: Any = submission.content_hash

        def hashed(spec: Spec, run_id: str, budget: int | None) -> str:
            left_out: Any = {"group": "", "group_size": 0} if field == "group" else {field: ""}
            digest: str = (
                right(spec, run_id, None)
                if field == "interruption_budget"
                else right(replace(spec, **left_out), run_id, budget)
            )
            return digest

        patch.setattr(submission, "content_hash", hashed)

    return breaks


DEFECTS = [
    Defect(
        "store-hangs-at-submit",
        "A submission waits for a locked store without bound, and its slot with it.",
        "refused",
        _waits_for_the_lock_for_ever,
        name="unbounded-lock",
    ),
    Defect(
        "store-hangs-at-submit",
        "The wait for a submission has lost its bound, so a wedged store blocks the caller for ever.",
        "never-returns",
        _waits_for_the_answer_for_ever,
        name="unbounded-answer",
        scenario="hanging-submit-through-the-helper",
    ),
    Defect(
        "store-hangs-at-submit",
        "The error of a submission that got no answer claims that nothing happened.",
        "answer",
        _a_timeout_says_that_nothing_happened,
        name="certain-without-reason",
        scenario="hanging-submit-through-the-helper",
    ),
    Defect(
        "store-hangs-at-submit",
        "Every call that hangs takes a thread for good, and nobody counts them.",
        "refused",
        _hanging_calls_are_not_counted,
        name="slots-without-bound",
        scenario="every-slot-hangs",
    ),
    Defect(
        "reply-lost-on-submit",
        "A key is not looked up, so a repeated submission is new work.",
        "answer",
        _every_submission_is_new,
        name="done-twice",
        scenario="reply-lost-and-the-id-is-made",
    ),
    Defect(
        "reply-lost-on-submit",
        "Other content under a known key is answered as the first.",
        "refused",
        _the_key_alone_decides,
        name="content-not-compared",
    ),
    Defect(
        "reply-lost-on-submit",
        "Keys are remembered by the process that accepted them, and forgotten with it.",
        "submit",
        _keys_are_remembered_in_memory,
        name="forgotten-at-restart",
    ),
    Defect(
        "reply-lost-on-submit",
        "The same payload with its fields in another order is a conflict.",
        "submit",
        _order_of_keys_is_content,
        name="order-of-fields",
    ),
    Defect(
        "reply-lost-on-submit",
        "A retry that is asked for again makes a second new run.",
        "answer",
        _every_retry_is_new,
        name="retried-twice",
        scenario="reply-lost-on-retry",
    ),
    Defect(
        "store-locked-is-retried",
        "A store that is locked for a moment fails what was asked of it.",
        "submit",
        _does_not_wait_for_the_lock,
    ),
    Defect(
        "store-locked-is-retried",
        "The same, met by a heartbeat.",
        "hold",
        _does_not_wait_for_the_lock,
        name="renewal",
        scenario="renewal-meets-a-locked-store",
    ),
    Defect(
        "cancelled-drain-spins",
        "A call whose caller was cancelled is never taken off the list, and draining goes round and round.",
        "never-returns",
        _a_cancelled_call_stays_for_ever,
    ),
    Defect(
        "cancelled-drain-spins",
        "Draining keeps the event loop to itself.",
        "answer",
        _draining_blocks_the_loop,
        name="loop-starved",
    ),
    Defect(
        "cancelled-drain-spins",
        "Draining does not know of a call whose caller was cancelled.",
        "answer",
        _a_cancelled_call_is_forgotten,
        name="forgotten",
    ),
    *(
        Defect(
            "reply-lost-on-submit",
            f"A submission that differs in its {field.replace('_', ' ')} is answered as the first.",
            "refused",
            _is_not_compared(field),
            name=f"other-{field.replace('_', '-')}",
        )
        for field in ("task", "agent", "conversation_key", "group", "interruption_budget")
    ),
]
