"""A picture as text, for a terminal."""

from __future__ import annotations

import pytest

from pytest_runcoord.picture import Picture, picture_of
from pytest_runcoord.picture.text import LEAST_TEXT, LEGEND_OF_RENEWALS, MOST_ROWS, timeline
from pytest_runcoord.verdict import Failure, FailureKind
from report.histories import Story, taken_over

FAILURE = Failure(FailureKind.STEP, "claim", "it is wrong", "a.runcoord.yaml", 14, 5, "claim: r1")


def drawn(story: Story, failure: Failure | None = FAILURE) -> Picture:
    return picture_of(story.entries, story.seen, failure=failure, message="it is wrong")


def test_lanes_leases_writes_messages_and_the_failing_moment_are_drawn() -> None:
    assert timeline(drawn(taken_over()), 100) == [
        "Timeline, complete; seconds since the start:",
        "  time  line  around  gw1  gw2  store  chat",
        "     0    :5          ┬                      open",
        "     0    :6          ●         ◆            submit r1",
        "     0    :7          ●┃1       ◆            claim r1 (epoch 1)",
        "     0    :8  ~       │┃                     advance 30 s",
        "    30    :8          ○┣        ◆            a lease is renewed",
        "    30    :9          ✗┃                     crash",
        "    30   :10  ~        ┃                     advance 1 min 40 s",
        "   130   :11           ╎   ┬                 open",
        "   130   :12           ╎   ●┃2  ◆            claim r1 (epoch 2)",
        "   130   :13               ●┃   ◆            complete r1 → completed",
        "   130   :14               ●────◆──────▶     r1/finished try 1 to chat [accepted]",
        ">  130   :14               ✘                 it is wrong",
        LEGEND_OF_RENEWALS,
    ]


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    story = taken_over()
    story.add(15, "verb", "gw2", "complete", "refused", on="r" * 200, code="lease-lost")
    lines = timeline(drawn(story), width)
    assert lines
    assert max(map(len, lines)) <= width


def test_where_lanes_leave_no_room_for_words_there_is_no_timeline() -> None:
    story = taken_over()
    for number in range(3, 8):
        story.add(15, "world", f"a-long-name-{number}", "open", "ok", start=1)
    assert timeline(drawn(story), 160)
    assert timeline(drawn(story), 80) == []
    assert timeline(drawn(taken_over()), LEAST_TEXT) == []


def test_of_a_long_history_the_last_rows_are_shown_and_only_their_lanes() -> None:
    story = Story()
    for number in range(40):
        story.add(5 + number, "world", "gw0" if number < 20 else "gw1", "open", "ok", start=number)
    lines = timeline(drawn(story), 100)
    assert lines[0] == f"Timeline, the last {MOST_ROWS} of 41 rows; seconds since the start:"
    assert len(lines) == MOST_ROWS + 3
    assert lines[-2].startswith(">")


def test_of_a_scenario_in_which_nothing_happened_there_is_no_timeline() -> None:
    assert timeline(Picture((), ()), 100) == []


def test_long_names_are_cut_and_keep_their_columns_apart() -> None:
    story = Story()
    story.add(5, "world", "an-owner-with-a-name", "open", "ok", start=1)
    story.add(6, "world", "another-owner", "open", "ok", start=1)
    head = timeline(drawn(story), 100)[1]
    assert head.split()[2:] == ["an-owner-…", "another-o…"]
