"""From a history to a picture: lanes, rows, bars, the failing moment, and bounds."""

from __future__ import annotations

import json

import pytest

from pytest_runcoord.picture import LaneKind, Lease, Life, Mark, Picture, picture_of
from pytest_runcoord.picture.lanes import MOST
from pytest_runcoord.picture.model import NOWHERE
from pytest_runcoord.picture.rows import LEAST_REPEATS, MAX_ROWS
from pytest_runcoord.picture.words import MAX_DETAIL, duration
from pytest_runcoord.verdict import Failure, FailureKind
from report.histories import Story, taken_over


def drawn(story: Story, failure: Failure | None = None) -> Picture:
    return picture_of(story.entries, story.seen, failure=failure, message="it is wrong" if failure else "")


def row_of_lane(picture: Picture, name: str) -> int:
    return [lane.name for lane in picture.lanes].index(name)


def failing(line: int) -> Failure:
    return Failure(FailureKind.STEP, "claim", "it is wrong", "a.runcoord.yaml", line, 5, "claim: r1")


def test_everybody_who_acts_or_is_reached_has_a_lane_in_a_fixed_order() -> None:
    story = taken_over()
    story.add(15, "signal", "gw2", "SIGTERM to child", "sent", pid=4)
    picture = drawn(story)
    assert [(lane.name, lane.kind) for lane in picture.lanes] == [
        ("around", LaneKind.AROUND),
        ("gw1", LaneKind.OWNER),
        ("gw2", LaneKind.OWNER),
        ("store", LaneKind.STORE),
        ("chat", LaneKind.DESTINATION),
        ("child", LaneKind.PROCESS),
    ]


def test_a_call_takes_its_moments_into_its_row_and_says_that_it_wrote() -> None:
    picture = drawn(taken_over())
    claim = picture.rows[2]
    assert (claim.mark, claim.text, claim.moments, claim.writes) == (
        Mark.VERB,
        "claim r1 (epoch 1)",
        ("after-claim",),
        True,
    )
    assert (claim.line, claim.at, claim.stands_for) == (7, 0.0, 2)


def test_a_message_reaches_the_lane_of_its_destination() -> None:
    picture = drawn(taken_over())
    [message] = [row for row in picture.rows if row.mark is Mark.MESSAGE]
    assert picture.lanes[message.lane].name == "gw2"
    assert picture.lanes[message.to].name == "chat"
    assert (message.status, message.moments) == ("accepted", ("after-send", "after-acknowledge"))


def test_what_a_timer_does_is_a_row_of_its_own_in_words() -> None:
    picture = drawn(taken_over())
    [renewal] = [row for row in picture.rows if row.mark is Mark.MOMENT]
    assert (renewal.text, renewal.moments, renewal.at) == ("a lease is renewed", ("after-renew",), 30.0)


def test_leases_are_bars_with_owner_epoch_renewals_expiry_and_end() -> None:
    picture = drawn(taken_over())
    texts = [row.text for row in picture.rows]
    first, second = picture.leases
    assert first == Lease(
        row_of_lane(picture, "gw1"),
        "r1",
        1,
        texts.index("claim r1 (epoch 1)"),
        texts.index("claim r1 (epoch 2)"),
        texts.index("open", 2),
        "taken over",
        (texts.index("a lease is renewed"),),
    )
    assert second == Lease(
        row_of_lane(picture, "gw2"),
        "r1",
        2,
        texts.index("claim r1 (epoch 2)"),
        texts.index("complete r1 → completed"),
        NOWHERE,
        "outcome: completed",
    )


def test_a_lease_that_is_given_back_ends_there_and_one_that_is_kept_lasts_to_the_end() -> None:
    story = Story()
    story.add(1, "world", "gw1", "open", "ok")
    for run in ("r1", "r2"):
        story.add(2, "verb", "gw1", "claim", "ok", on=run, run=run, epoch=1)
        story.see(run, 1, "gw1", 90.0)
    story.add(3, "verb", "gw1", "release", "ok", on="r1", run="r1")
    story.see("r1", 1, "")
    story.add(4, "world", "gw1", "close", "ok")
    picture = drawn(story)
    assert [(lease.run, lease.first, lease.last, lease.ended) for lease in picture.leases] == [
        ("r1", 1, 3, "given back"),
        ("r2", 2, 4, ""),
    ]


def test_lives_end_with_a_crash_and_last_to_the_end_without() -> None:
    picture = drawn(taken_over())
    texts = [row.text for row in picture.rows]
    assert picture.lives == (
        Life(row_of_lane(picture, "gw1"), 0, texts.index("crash"), "crash"),
        Life(row_of_lane(picture, "gw2"), texts.index("open", 2), len(texts) - 1, ""),
    )


def test_the_failing_moment_is_the_last_row_and_has_the_line_of_the_step() -> None:
    picture = drawn(taken_over(), failing(12))
    assert picture.failed == len(picture.rows) - 1
    row = picture.rows[picture.failed]
    assert (row.mark, row.text, row.line, row.at) == (Mark.FAIL, "it is wrong", 12, 130.0)


def test_a_passing_history_has_no_failing_moment() -> None:
    assert drawn(taken_over()).failed == NOWHERE


def test_the_wall_clock_that_was_set_is_told_apart() -> None:
    story = Story()
    story.add(1, "world", "gw1", "open", "ok")
    story.clock.advance(10.0)
    story.clock.step(3600.0)
    story.add(2, "world", "gw1", "close", "ok")
    row = drawn(story).rows[1]
    assert (row.at, row.ahead) == (10.0, 3600.0)


def crowd(count: int) -> Story:
    story = Story()
    story.add(1, "world", "gw1", "open", "ok")
    for number in range(count):
        story.add(2, "verb", "gw1", "submit", "ok", on=f"r{number}", run=f"r{number}")
        story.add(3, "verb", "gw1", "stop", "ok", on=f"r{number}", run=f"r{number}")
    return story


def test_what_repeats_itself_is_folded_and_counted() -> None:
    picture = drawn(crowd(50))
    assert [row.text for row in picture.rows[1:]] == [
        "submit r0",
        "stop r0",
        "the 2 rows above, 49 times more",
    ]
    assert sum(row.stands_for for row in picture.rows) == picture.entries == 101


def test_a_few_of_a_kind_are_not_folded() -> None:
    assert len(drawn(crowd(LEAST_REPEATS - 1)).rows) == 1 + 2 * (LEAST_REPEATS - 1)


def test_what_led_to_a_failure_is_not_folded() -> None:
    rows = drawn(crowd(50), failing(3)).rows
    assert [row.text for row in rows[-5:]] == [
        "submit r48",
        "stop r48",
        "submit r49",
        "stop r49",
        "it is wrong",
    ]


def test_a_bar_that_begins_among_folded_rows_begins_at_their_row() -> None:
    story = crowd(50)
    story.seen.append(type(taken_over().seen[0])(60, "r29", 1, "gw1", None))
    [lease] = drawn(story).leases
    assert (lease.first, lease.last) == (3, 3)


def test_too_many_rows_keep_begin_and_end_and_say_what_is_missing() -> None:
    story = Story()
    for number in range(MAX_ROWS * 2):
        story.add(number, "verb", "gw1", f"verb-{number}", "ok")
    picture = drawn(story, failing(MAX_ROWS * 2 - 1))
    assert len(picture.rows) == MAX_ROWS + 1
    assert picture.left_out == MAX_ROWS + 1
    assert f"{MAX_ROWS + 1} rows are not shown" in [row.text for row in picture.rows]
    assert picture.rows[-2].text == f"verb-{MAX_ROWS * 2 - 1}"


def test_too_many_processes_share_a_lane() -> None:
    story = Story()
    story.add(1, "world", "gw1", "open", "ok")
    for number in range(50):
        story.add(2, "signal", "gw1", f"SIGKILL to p{number}", "sent")
    picture = drawn(story)
    processes = [lane.name for lane in picture.lanes if lane.kind is LaneKind.PROCESS]
    assert len(processes) == MOST[LaneKind.PROCESS]
    assert processes[-1] == "+processes"
    assert picture.lanes[picture.rows[-1].to].name == "+processes"


def test_details_are_bounded_and_name_no_directory_of_this_machine() -> None:
    story = Story()
    story.add(1, "verb", "gw1", "import_folders", "ok", root="/tmp/s-1/home", more="x" * 2 * MAX_DETAIL)
    row = picture_of(story.entries, directory="/tmp/s-1").rows[0]
    assert row.detail.startswith("root=…/home more=xxx")
    assert len(row.detail) == MAX_DETAIL


def test_an_empty_history_is_an_empty_picture() -> None:
    assert picture_of([]) == Picture((), ())


def test_a_picture_is_plain_json_and_comes_back_as_it_was() -> None:
    values = drawn(taken_over(), failing(12)).as_json()
    assert json.loads(json.dumps(values)) == values
    assert values["rows"][2] == ["verb", 1, -1, "claim r1 (epoch 1)", "", 7, 0.0, 0.0, *values["rows"][2][8:]]
    assert values["failed"] == len(values["rows"]) - 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (1.5, "1.5 s"), (60, "1 min"), (11100, "3 h 5 min"), (-86400, "−1 d"), (93784, "1 d 2 h")],
)
def test_a_length_of_time_is_said_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_clock_that_moves_a_lease_does_not_renew_it_and_what_ran_out_before_was_held_until_then() -> None:
    story = Story()
    story.add(5, "world", "gw1", "open", "ok", start=1)
    story.add(6, "verb", "gw1", "claim", "ok", on="r1", run="r1", epoch=1)
    story.see("r1", 1, "gw1", 60.0)
    story.add(7, "world", "clock", "step", seconds=3600.0)
    story.see("r1", 1, "gw1", -3540.0)
    story.add(8, "world", "clock", "step", seconds=-3600.0)
    story.see("r1", 1, "gw1", 60.0)
    story.add(9, "world", "clock", "step", seconds=3600.0)
    story.see("r1", 1, "gw1", -3540.0)
    [lease] = picture_of(story.entries, story.seen).leases
    assert lease.renewals == ()
    assert (lease.first, lease.expired) == (1, 4)
