"""What recovery does with the processes of a run: always bounded, and never to anybody else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME, SOMEBODY
from runcoord._core.cleanup import (
    Found,
    Plan,
    Seen,
    Sight,
    Step,
    backoff,
    corrected,
    handed_on,
    membership,
    plan,
    settled,
    summed_up,
    with_fates,
)
from runcoord._core.limits import (
    CLEANUP_ATTEMPTS,
    CLEANUP_BACKOFF_SECONDS,
    MAX_CLEANUP_BACKOFF_SECONDS,
    SURVIVORS_NAMED,
)
from runcoord.ports import (
    Cleanup,
    CleanupState,
    Fate,
    Membership,
    ProcessReport,
    RecordedProcess,
    Role,
    Scan,
    Scope,
    Sighting,
    TeardownReport,
    Terms,
    UnknownIdentity,
)

OTHER = replace(SOMEBODY, pid=4243)
EMPTY = TeardownReport(True)
MEMBER = Scan((Sighting(OTHER, frozenset()),))


def found(sight: Sight, *, role: Role = Role.LEADER, **more: object) -> Found:
    fields = {"identity": SOMEBODY, "terms": Terms(), **more}
    process = RecordedProcess("r1", 1, role, 2, recorded_at=1.0, **fields)  # type: ignore[arg-type]
    return Found(process, Seen(sight, "sleep", "S", "because"))


SAME, GONE, STRANGER, UNKNOWN = (found(each) for each in Sight)
SHIM = found(Sight.SAME, role=Role.SHIM)

sights = st.sampled_from(Sight)
roles = st.sampled_from(Role)
anybody = st.lists(st.builds(lambda sight, role: found(sight, role=role), sights, roles), max_size=4)
scans = st.sampled_from([None, Scan(), Scan(complete=False), MEMBER])
fates = st.lists(st.builds(ProcessReport, st.sampled_from([4242, 7]), st.sampled_from(Fate)), max_size=3)
reports = st.one_of(st.none(), st.builds(TeardownReport, st.booleans(), fates.map(tuple)))


@SOME
@given(anybody, st.integers(1, 9), st.floats(0, 20), st.floats(0, 300), scans, reports, st.booleans())
def test_every_run_ends_after_a_bounded_number_of_bounded_steps(
    seen: list[Found],
    attempt: int,
    patience: float,
    promised: float,
    scan: Scan | None,
    report: TeardownReport | None,
    hidden: bool,
) -> None:
    step = plan(seen, attempt, patience=patience, promised=promised, scan=scan, report=report, hidden=hidden)
    if attempt >= CLEANUP_ATTEMPTS:
        assert step.step is not Step.DEFER
    if report is not None:
        assert step.step not in (Step.WAIT, Step.KILL)
    if patience == 0:
        assert step.step is not Step.WAIT
    assert 0 <= step.seconds <= max(20.0, 300.0, MAX_CLEANUP_BACKOFF_SECONDS)
    if step.step is Step.FINISH:
        assert not hidden
        assert all(each.seen.sight is not Sight.UNKNOWN for each in seen)
        assert report is None or (report.emptied and not report.left)


@SOME
@given(anybody)
def test_only_who_is_proved_to_be_ours_is_ever_meant(seen: list[Found]) -> None:
    members = membership(seen)
    assert len(members.recorded) == sum(each.seen.sight is Sight.SAME for each in seen)
    shims = [each for each in seen if each.process.role is Role.SHIM and each.seen.sight is Sight.SAME]
    assert bool(members.ancestor) == bool(shims)
    assert (members.group, members.session) == (0, 0)


@pytest.mark.parametrize(
    ("seen", "more", "expected"),
    [
        ([], {}, Plan(Step.FINISH)),
        ([GONE, STRANGER], {}, Plan(Step.FINISH)),
        ([GONE], {"scan": Scan()}, Plan(Step.FINISH)),
        ([GONE], {"scan": MEMBER}, Plan(Step.KILL)),
        ([GONE], {"scan": Scan(complete=False)}, Plan(Step.KILL)),
        ([SAME, UNKNOWN], {}, Plan(Step.KILL)),
        ([SAME, UNKNOWN], {"report": EMPTY}, Plan(Step.DEFER, 30.0)),
        ([SAME], {"report": EMPTY}, Plan(Step.FINISH)),
        ([SAME], {"report": TeardownReport(False)}, Plan(Step.DEFER, 30.0)),
        ([UNKNOWN], {}, Plan(Step.DEFER, 30.0)),
        ([GONE], {"hidden": True}, Plan(Step.DEFER, 30.0)),
        ([SHIM], {"patience": 20.0}, Plan(Step.WAIT, 20.0)),
        ([SHIM], {"promised": 50.0}, Plan(Step.DEFER, 50.0)),
        ([SHIM], {}, Plan(Step.KILL)),
        ([SAME], {"patience": 20.0, "promised": 50.0}, Plan(Step.KILL)),
    ],
)
def test_the_next_step_of_a_first_attempt(seen: list[Found], more: dict[str, object], expected: Plan) -> None:
    assert plan(seen, 1, **more) == expected  # type: ignore[arg-type]


def test_a_shim_is_left_the_time_it_was_promised_only_once() -> None:
    assert plan([SHIM], 2, promised=50.0).step is Step.KILL


def test_the_last_attempt_gives_up() -> None:
    assert plan([UNKNOWN], CLEANUP_ATTEMPTS - 1).step is Step.DEFER
    assert plan([UNKNOWN], CLEANUP_ATTEMPTS) == Plan(Step.GIVE_UP)


def test_waits_grow_up_to_a_limit() -> None:
    waits = [backoff(attempt) for attempt in range(1, 40)]
    assert waits[:4] == [CLEANUP_BACKOFF_SECONDS * factor for factor in (1, 2, 4, 8)]
    assert waits == sorted(waits)
    assert waits[-1] == MAX_CLEANUP_BACKOFF_SECONDS


def test_the_cookie_counts_only_where_all_records_agree_on_it() -> None:
    assert membership([GONE]).cookie == SOMEBODY.cookie
    odd = found(Sight.GONE, identity=replace(OTHER, cookie="d0"))
    assert membership([GONE, odd]).cookie == ""
    assert membership([found(Sight.UNKNOWN, identity=UnknownIdentity("?"))]) == Membership()


def test_a_run_that_chose_its_group_as_the_limit_is_searched_by_cookie_in_it_alone() -> None:
    grouped = found(Sight.SAME, terms=Terms(Scope.GROUP, handed_over="c0"))
    members = membership([grouped])
    assert (members.scope, members.group, members.session, members.ancestor) == (Scope.GROUP, 0, 0, 0)
    assert (members.cookie, members.former_group) == (SOMEBODY.cookie, SOMEBODY.pid)
    assert membership([SAME]).former_group == 0
    assert (members.recorded, members.spared) == ((SOMEBODY,), "c0")


def test_the_report_of_an_attempt_says_what_became_of_every_recorded_process() -> None:
    killed = ProcessReport(SOMEBODY.pid, Fate.KILLED)
    unknown = found(Sight.UNKNOWN, identity=UnknownIdentity("hidepid", 9))
    stranger = found(Sight.STRANGER, identity=OTHER)
    report = summed_up([SAME, unknown, stranger], TeardownReport(True, (killed,), 1), [])
    assert [(each.pid, each.fate) for each in report.processes] == [
        (9, Fate.UNKNOWN),
        (SOMEBODY.pid, Fate.KILLED),
        (OTHER.pid, Fate.STRANGER),
    ]
    assert not report.emptied
    assert [each.name for each in report.processes if each.fate is Fate.STRANGER] == [""]
    assert [each.fate for each in with_fates([SAME, unknown, stranger], report)] == [
        Fate.KILLED,
        Fate.UNKNOWN,
        Fate.STRANGER,
    ]


def test_where_nobody_could_search_a_survivor_without_a_name_stands_for_what_the_unknown_one_started() -> (
    None
):
    unknown = found(Sight.UNKNOWN)
    report = summed_up([unknown], None, [], searched=False)
    cleanup = settled(Cleanup(), report)
    assert [each.pid for each in cleanup.survivors] == [SOMEBODY.pid, None]
    assert cleanup.survivors[1].why == "what else the run has started cannot be seen from here"
    assert len(settled(Cleanup(), summed_up([unknown], None, [])).survivors) == 1
    assert summed_up([GONE], None, [], searched=False).emptied


def test_nothing_left_and_nothing_unclear_is_empty() -> None:
    report = summed_up([GONE], None, [])
    assert report.emptied
    assert settled(Cleanup(), report).state is CleanupState.DONE
    assert not summed_up([GONE], None, ["a row cannot be read"]).emptied


def test_another_look_settles_what_was_unclear_while_it_went() -> None:
    unclear = TeardownReport(
        True,
        (ProcessReport(4242, Fate.UNKNOWN, why="?"), ProcessReport(7, Fate.SURVIVED)),
    )
    assert [each.fate for each in corrected(unclear, [STRANGER]).processes] == [
        Fate.STRANGER,
        Fate.SURVIVED,
    ]
    assert corrected(unclear, [SAME]) == unclear


def test_a_crowd_of_survivors_is_named_in_part_and_counted() -> None:
    crowd = tuple(ProcessReport(pid, Fate.SURVIVED, why="w" * 999) for pid in range(100, 150))
    cleanup = settled(Cleanup(), TeardownReport(False, crowd))
    assert len(cleanup.survivors) == SURVIVORS_NAMED
    assert cleanup.unnamed == 50 - SURVIVORS_NAMED
    assert max(len(each.why) for each in cleanup.survivors) == 200


STUCK, DENIED = ProcessReport(7, Fate.SURVIVED, why="D"), ProcessReport(8, Fate.DENIED)
ASKED = ProcessReport(9, Fate.ASKED)


def test_whom_a_shim_had_to_leave_is_left_when_recovery_finds_nobody() -> None:
    told = TeardownReport(False, (STUCK, DENIED, ASKED), 3)
    known = handed_on(None, told, {8})
    assert not known.emptied
    assert {each.pid: each.fate for each in known.processes} == {
        7: Fate.SURVIVED,
        8: Fate.ENDED,
        9: Fate.ASKED,
    }
    assert handed_on(None, told, {7, 8}).emptied


def test_what_recovery_has_seen_itself_counts_more_than_what_a_shim_told() -> None:
    own = TeardownReport(True, (ProcessReport(7, Fate.KILLED),), 1)
    assert handed_on(own, TeardownReport(False, (STUCK,), 1), ()) == own
    known = handed_on(own, TeardownReport(False, (STUCK, DENIED), 2), ())
    assert [each.pid for each in known.left] == [8]
    assert not known.emptied


def test_a_shim_that_could_not_see_whether_somebody_is_left_leaves_that_open() -> None:
    assert not handed_on(None, TeardownReport(False, (ASKED,), 1, problems=("no /proc",)), ()).emptied
    assert handed_on(None, TeardownReport(True, (ASKED,), 1), ()).emptied
