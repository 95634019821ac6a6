"""What a subject can be asked for is read off the methods of its sessions."""

from __future__ import annotations

from functools import wraps
from typing import Any

import pytest

from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.subjects import (
    CAPABILITY_METHODS,
    Answer,
    Refused,
    RunSeen,
    SessionBase,
    Snapshot,
    SubjectBase,
    SubjectWorld,
    capabilities_of,
    deadline,
)
from pytest_runcoord.verdict import FailureKind, Verdict
from runcoord.testing import ManualClock
from subjects.toy import ToySession, ToySubject
from subjects.trying import LIFE, tried


def session(**methods: Any) -> type[SessionBase]:
    return type("Session", (SessionBase,), methods)


def test_the_base_class_alone_can_do_nothing() -> None:
    assert capabilities_of(SessionBase) == frozenset()


def test_every_capability_of_the_table_is_a_capability() -> None:
    assert CAPABILITY_METHODS.keys() <= CAPABILITIES.keys()


def test_a_verb_counts_when_all_that_a_capability_needs_is_there() -> None:
    def verb(self: Any, run: str) -> None: ...

    assert capabilities_of(session(submit=verb, claim=verb)) == frozenset()
    assert capabilities_of(session(submit=verb, claim=verb, complete=verb)) == {"runs"}


def test_claiming_whatever_is_next_is_claiming() -> None:
    def verb(self: Any) -> None: ...

    found = capabilities_of(session(submit=verb, claim_next=verb, complete=verb))
    assert found == {"runs", "claim-next"}


def test_an_argument_that_a_verb_takes_is_a_capability_of_its_own() -> None:
    def complete(self: Any, lease: object, result: str = "") -> None: ...

    def complete_anything(self: Any, lease: object, **fields: Any) -> None: ...

    assert capabilities_of(session(complete=complete)) == {"results"}
    assert capabilities_of(session(complete=complete_anything)) == {"outcomes", "results", "errors"}


def test_an_argument_that_is_never_read_is_no_capability() -> None:
    def submit(self: Any, run: str, payload: Any = None, key: str = "") -> None:
        self.kept[run] = payload

    def complete(self: Any, lease: object, outcome: str, result: str = "", error: str = "") -> None:
        del error
        self.kept[lease] = [lambda: result]

    assert capabilities_of(session(submit=submit)) == frozenset()
    assert capabilities_of(session(complete=complete)) == {"results"}


def test_arguments_that_are_passed_on_are_read() -> None:
    def wrapped(method: Any) -> Any:
        @wraps(method)
        def through(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return through

    async def submit(self: Any, run: str, key: str = "") -> None:
        await self.queue.put(run, key=key)

    assert capabilities_of(session(submit=wrapped(submit))) == {"keys"}


def test_a_queue_that_ignores_keys_is_not_asked_about_them() -> None:
    class Session(ToySession):
        def submit(self, run: str, payload: Any = None, key: str = "") -> None:
            super().submit(run, payload)

    class Subject(ToySubject):
        session = Session

    result = tried("steps: [open: gw1, submit: {run: r1, key: k1}]", Subject())
    assert (result.verdict, result.missing) == (Verdict.SKIPPED, ("keys",))


def test_promises_join_what_the_methods_show() -> None:
    shown = capabilities_of(ToySubject.session)
    assert ToySubject().capabilities == shown | {"epochs", "owners", "expiry"}


def test_a_lease_frees_nothing_where_every_claim_begins_what_never_begins_again() -> None:
    class Once(ToySubject):
        promises = (*ToySubject.promises, "interruption")

    assert "expiry" not in Once().capabilities
    assert "leases" in Once().capabilities


def test_a_subject_may_say_itself_what_it_can() -> None:
    class Less(ToySubject):
        capabilities = capabilities_of(ToySubject.session) - {"results"}

    result = tried(LIFE.replace("complete: {with: job}", "complete: {with: job, result: x}"), Less())
    assert (result.verdict, result.missing) == (Verdict.SKIPPED, ("results",))
    assert result.skipped == "toy lacks results"


@pytest.mark.parametrize("axes", ["{store: [memory]}", "{tier: [real]}"])
def test_a_variant_that_only_the_reference_has_is_skipped_with_its_reason(axes: str) -> None:
    result = tried(LIFE + f"    axes: {axes}\n")
    assert result.verdict is Verdict.SKIPPED
    assert "the reference" in result.skipped


# --- a queue without names ---


class QueueSession(SessionBase):
    """Gives out whatever is next; what it gives says for which run it is, if ``named``."""

    named = True

    def submit(self, run: str) -> None:
        self.world.shared.setdefault("rows", {})[run] = RunSeen(run, "accepted")

    def claim_next(self) -> Any:
        rows = self.world.shared.get("rows", {})
        for run, row in rows.items():
            if row.state == "accepted":
                rows[run] = RunSeen(run, "claimed", owner=self.owner)
                return {"run": run} if self.named else object()
        return None

    def complete(self, lease: dict[str, str]) -> None:
        self.world.shared["rows"][lease["run"]] = RunSeen(lease["run"], "finished", "completed")


class Queue(SubjectBase):
    name = "queue"
    session: type[Any] = QueueSession

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        return Snapshot(dict(world.shared.get("rows", {})), {})


def test_a_queue_is_asked_by_name_for_what_is_next_anyway() -> None:
    result = tried(
        """
        steps:
          - open: w1
          - submit: {run: r1}
          - submit: {run: r2}
          - claim: {run: r1, as: one}
          - claim: {run: r2, as: two}
          - complete: {with: two}
          - complete: {with: one}
          - claim_next
        expect: [runs: {outcome: completed, count: 2}]
        """,
        Queue(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_queue_refuses_to_give_what_is_not_next() -> None:
    body = """
        steps:
          - open: w1
          - submit: {run: r1}
          - submit: {run: r2}
          - claim: {run: r2, refused: invalid-request}
        """
    assert tried(body, Queue()).verdict is Verdict.PASSED
    result = tried(body.replace(", refused: invalid-request", ""), Queue())
    assert result.failure is not None
    assert result.failure.kind is FailureKind.STEP
    assert "'r2' is not what is next, but 'r1'" in result.failure.seen


def test_a_queue_with_nothing_left_refuses_to_give_it() -> None:
    body = """
        steps:
          - open: w1
          - submit: {run: r1}
          - claim: {run: r1}
          - claim: {run: r1, refused: lease-held}
        """
    assert tried(body, Queue()).verdict is Verdict.PASSED


def test_a_queue_of_coroutines_is_asked_by_name_too() -> None:
    class Later(QueueSession):
        async def claim_next(self) -> Any:
            return super().claim_next()

    class Subject(Queue):
        session = Later

    result = tried(LIFE, Subject())
    assert result.verdict is Verdict.PASSED, result.failure


def test_healing_asks_for_nothing_that_the_subject_lacks() -> None:
    asked: list[str] = []

    class Sweeping(ToySession):
        def recover(self) -> dict[str, int]:
            asked.append(self.owner)
            return {"interrupted": 0}

    class Subject(ToySubject):
        session = Sweeping

    assert "claim-next" not in Subject().capabilities
    result = tried("steps: [{open: w1}, {submit: {run: r1}}, {claim: {run: r1}}, {crash: w1}]", Subject())
    assert result.verdict is Verdict.PASSED, result.failure
    assert asked
    assert set(asked) == {"healer#1"}


def test_what_is_given_without_saying_for_which_run_is_a_fault() -> None:
    class Unnamed(Queue):
        session = type("UnnamedSession", (QueueSession,), {"named": False})

    result = tried("steps: [{open: w1}, {submit: {run: r1}}, {claim_next: {as: it}}]", Unnamed())
    assert result.failure is not None
    assert "which does not say which run it is" in result.failure.problem
    assert "Answer({'run': …}, handle)" in result.failure.remedy


def test_a_lease_without_an_epoch_is_a_fault_where_epochs_are_promised() -> None:
    class Numbered(Queue):
        promises = ("epochs",)

    result = tried("steps: [{open: w1}, {submit: {run: r1}}, {claim: {run: r1}}]", Numbered())
    assert result.failure is not None
    assert "without an epoch, though epochs are promised" in result.failure.problem


def test_a_lease_without_an_epoch_is_kept_and_handed_back() -> None:
    class Leases(QueueSession):
        def claim_next(self) -> Any:
            found = super().claim_next()
            return None if found is None else Answer({"run": found["run"]}, found)

    class Subject(Queue):
        session = Leases

    assert tried(LIFE, Subject()).verdict is Verdict.PASSED


# --- refusals ---


class Narrow(ValueError):
    pass


class Ends(BaseException):
    """What an ordinary ``except`` does not see."""


class Refusing(Queue):
    refusals = {ValueError: "invalid-request", Narrow: "lease-held", Ends: "lease-lost"}  # noqa: RUF012


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("wide"), "invalid-request"),
        (UnicodeError("inherited"), "invalid-request"),
        (Narrow("narrow"), "lease-held"),
        (Ends("at once"), "lease-lost"),
        (Refused("unknown-run", "no such run"), "unknown-run"),
    ],
)
def test_a_refusal_has_the_name_of_its_most_specific_class(error: BaseException, code: str) -> None:
    def complete(self: Any, lease: object) -> None:
        raise error

    class Subject(Refusing):
        session = type("Session", (QueueSession,), {"complete": complete})

    body = """
        steps:
          - open: w1
          - submit: {run: r1}
          - claim: {run: r1}
          - complete: {run: r1, refused: CODE}
        """
    result = tried(body.replace("CODE", code), Subject())
    assert result.verdict is Verdict.PASSED, result.failure
    other = tried(body.replace("CODE", "key-conflict"), Subject())
    assert other.failure is not None
    assert other.failure.seen.startswith(f"{code}: ")


def test_a_refusal_may_say_that_nobody_knows_whether_it_happened() -> None:
    def submit(self: Any, run: str) -> None:
        QueueSession.submit(self, run)
        raise Refused("store-timeout", "no answer", happened="maybe")

    class Subject(Queue):
        session = type("Session", (QueueSession,), {"submit": submit})

    result = tried("steps: [{open: w1}, {submit: {run: r1, refused: store-timeout}}]", Subject())
    assert result.verdict is Verdict.PASSED, result.failure


# --- deadlines ---


def world_at(clock: ManualClock) -> Any:
    class Offered:
        pass

    offered: Any = Offered()
    offered.clock = clock
    return offered


def test_a_deadline_is_made_of_a_wall_time_or_of_seconds_from_now() -> None:
    clock = ManualClock()
    world = world_at(clock)
    assert deadline(world, wall=clock.wall() + 60.0) == deadline(world, seconds=60.0)
    assert deadline(world, seconds=60.0).boottime == clock.boottime() + 60.0


@pytest.mark.parametrize("how", [{}, {"wall": 1.0, "seconds": 1.0}])
def test_a_deadline_of_both_or_of_neither_is_refused(how: dict[str, float]) -> None:
    with pytest.raises(TypeError, match="either wall or seconds"):
        deadline(world_at(ManualClock()), **how)
