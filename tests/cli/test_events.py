"""``runcoord events``."""

from __future__ import annotations

import pytest

from cli.planting import REFUSAL, Garden
from cli.shell import Shell, in_a_terminal, unchanged

ALL = [
    "completed/finished", "failed/finished", "held/finished", "nowhere/finished", "waiting/finished",
    "withdrawn/finished", "late/finished",
]  # fmt: skip


def names(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if "/finished" in line]


def test_the_list_shows_every_event_with_its_state_and_reason(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("events")
    assert answer.code == 0
    assert names(answer.out) == ALL
    seen = {line.split()[0]: line.split(maxsplit=7) for line in answer.out.splitlines()}
    assert seen["completed/finished"][1:4] == ["delivered", "chat", "1"]
    assert seen["held/finished"][1:4] == ["held", "archived", "1"]
    assert seen["held/finished"][7] == REFUSAL
    assert seen["nowhere/finished"][1:3] == ["held", "-"]
    assert seen["nowhere/finished"][7] == "no destination"
    assert seen["waiting/finished"][1:3] == ["pending", "sms"]
    assert seen["waiting/finished"][7] == "ConnectionError: connection refused"


def test_an_event_that_nobody_sends_is_overdue(garden: Garden, shell: Shell) -> None:
    garden.coordinator.stop(garden.accepted("r"))
    assert shell("events").out.splitlines()[1].split()[4] == "now"
    garden.clock.advance(61)
    assert shell("events").out.splitlines()[1].split()[4] == "overdue"


def test_held_events_are_listed_whatever_page_is_looked_at(garden: Garden, shell: Shell) -> None:
    garden.everything()
    answer = shell("events", "--after", "3")
    page, also = answer.out.split("\nAlso held:\n")
    assert names(page) == ["completed/finished", "failed/finished"]
    assert names(also) == ["held/finished", "nowhere/finished"]
    document = shell("events", "--json", "--after", "3").document
    assert [event["event"] for event in document["events"]] == ["failed/finished", "completed/finished"]
    assert [event["event"] for event in document["held"]] == ["nowhere/finished", "held/finished"]
    assert document["held_more"] is False
    document = shell("events", "--json", "--oldest", "--after", "5").document
    assert [event["event"] for event in document["events"]] == ALL[5:]
    assert [event["event"] for event in document["held"]] == ["held/finished", "nowhere/finished"]


def test_a_list_of_other_states_says_that_events_are_held(garden: Garden, shell: Shell) -> None:
    garden.everything()
    answer = shell("events", "--state", "pending")
    assert names(answer.out) == ["waiting/finished"]
    assert answer.err == "2 events are held: see --held\n"


def test_no_more_held_events_are_listed_beside_a_page_than_the_bound(garden: Garden, shell: Shell) -> None:
    for number in range(102):
        garden.coordinator.stop(garden.accepted(f"r{number}", destination=""))
    for flags, first in (([], "r101/finished"), (["--oldest"], "r0/finished")):
        document = shell("events", "--json", "--limit", "1", *flags).document
        assert (len(document["held"]), document["held_more"]) == (100, True)
        assert document["held"][0]["event"] == first
    assert shell("events", "--state", "pending").err.splitlines() == [
        "No events.",
        "100 or more events are held: see --held",
    ]


@pytest.mark.parametrize("flags", [["--held"], ["--state", "held"], ["--held", "--state", "held"]])
def test_only_held_events_can_be_listed(garden: Garden, shell: Shell, flags: list[str]) -> None:
    garden.everything()
    answer = shell("events", *flags)
    assert names(answer.out) == ["held/finished", "nowhere/finished"]
    assert answer.err == ""


def test_held_joins_the_other_states_that_are_asked_for(garden: Garden, shell: Shell) -> None:
    garden.everything()
    assert names(shell("events", "--held", "--state", "pending").out) == [
        "held/finished",
        "nowhere/finished",
        "waiting/finished",
    ]


def test_a_terminal_shows_the_reason_below_its_event(garden: Garden) -> None:
    garden.everything()
    lines = in_a_terminal(garden.path, 80, "events", "--no-color").out.splitlines()
    held = next(number for number, line in enumerate(lines) if line.startswith("held/finished"))
    assert lines[held + 1] == f"    held: {REFUSAL}"
    waiting = next(number for number, line in enumerate(lines) if line.startswith("waiting/finished"))
    assert lines[waiting + 1] == "    last try: ConnectionError: connection refused"


def test_a_long_reason_takes_a_few_lines_of_a_terminal(garden: Garden) -> None:
    garden.everything()
    garden.sql("UPDATE events SET reason = ? WHERE run_id = 'held'", "long explanation " * 100)
    lines = in_a_terminal(garden.path, 60, "events", "--no-color", "--run", "held").out.splitlines()
    assert len(lines) == 5
    assert all(len(line) <= 60 for line in lines)
    assert lines[-1].endswith("…")


def test_events_of_one_run_can_be_listed(garden: Garden, shell: Shell) -> None:
    garden.everything()
    answer = shell("events", "--run", "late")
    assert (names(answer.out), answer.err) == (["late/finished"], "")
    assert shell("events", "--run", "accepted").err == "No events.\n"


def test_events_of_an_unknown_run_are_refused_and_change_nothing(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("events", "--run", "nobody", "--json")
    assert (answer.code, answer.out, answer.error["code"]) == (1, "", "unknown-run")


@pytest.mark.parametrize(("flags", "order"), [([], ALL[::-1]), (["--oldest"], ALL)])
def test_pages_of_events_together_are_the_list(
    garden: Garden, shell: Shell, flags: list[str], order: list[str]
) -> None:
    garden.everything()
    seen: list[str] = []
    after, more = 0, True
    while more:
        page = shell("events", "--json", "--limit", "3", "--after", str(after), *flags).document
        seen += [event["event"] for event in page["events"]]
        after, more = page["after"], page["more"]
        assert len(seen) <= len(ALL)
    assert seen == order


def test_a_page_of_events_has_the_newest_below_and_says_how_to_see_the_next(
    garden: Garden, shell: Shell
) -> None:
    garden.everything()
    newest = shell("events", "--state", "delivered", "--held", "--limit", "3")
    assert names(newest.out) == ["nowhere/finished", "withdrawn/finished", "late/finished"]
    asked = "runcoord events --held --state delivered --limit 3"
    assert newest.err == f"There are older ones: {asked} --after 4\n"
    oldest = shell("events", "--run", "late", "--limit", "1", "--oldest")
    assert (names(oldest.out), oldest.err) == (["late/finished"], "")
    oldest = shell("events", "--limit", "3", "--oldest")
    assert names(oldest.out.partition("\nAlso held:\n")[0]) == ALL[:3]
    assert oldest.err == "There are newer ones: runcoord events --limit 3 --oldest --after 3\n"


def test_an_event_that_cannot_be_read_hides_no_other(garden: Garden, shell: Shell) -> None:
    garden.everything()
    garden.sql("UPDATE events SET kind = 'rumour' WHERE run_id = 'held'")
    with unchanged(garden.path):
        answer = shell("events", "--json")
    assert answer.code == 5
    listed = [event["event"] for event in answer.document["events"]]
    assert listed == [name for name in reversed(ALL) if name != "held/finished"]
    assert [row["key"] for row in answer.document["bad"]] == ["held/finished"]
    assert answer.error["details"]["count"] == 1


# --- sending again ---


def test_a_held_event_is_pending_again_and_only_that_changes(garden: Garden, shell: Shell) -> None:
    garden.everything()
    answer = shell("events", "--replay", "held/finished")
    assert answer.code == 0
    assert answer.out.startswith("held/finished is pending again, and goes to archived")
    listed = {event["event"]: event["state"] for event in shell("events", "--json").document["events"]}
    assert listed == {
        **dict.fromkeys(ALL, "delivered"),
        "held/finished": "pending",
        "nowhere/finished": "held",
        "waiting/finished": "pending",
    }


def test_a_held_event_can_be_sent_to_another_destination(garden: Garden, shell: Shell) -> None:
    garden.everything()
    document = shell("events", "--replay", "nowhere/finished", "--to", "chat", "--json").document
    assert (document["event"], document["state"], document["destination"]) == (
        "nowhere/finished",
        "pending",
        "chat",
    )
    garden.coordinator.deliver()
    assert "nowhere/finished" not in names(shell("events", "--held").out)


@pytest.mark.parametrize(
    ("args", "code", "name"),
    [
        (["nobody/finished"], 1, "unknown-event"),
        ([""], 1, "unknown-event"),
        (["late/finished"], 1, "invalid-request"),
        (["nowhere/finished"], 1, "invalid-request"),
        (["held/finished", "--to", "x" * 201], 1, "invalid-request"),
        (["held/finished", "--held"], 2, "usage-error"),
        (["held/finished", "--limit", "5"], 2, "usage-error"),
        (["held/finished", "--oldest"], 2, "usage-error"),
        (["held/finished", "--run", "held"], 2, "usage-error"),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused_and_changes_nothing(
    garden: Garden, shell: Shell, args: list[str], code: int, name: str
) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("--json", "events", "--replay", *args)
    assert (answer.code, answer.out, answer.error["code"]) == (code, "", name)


def test_a_destination_without_a_replay_is_refused_and_changes_nothing(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("events", "--to", "chat")
    assert (answer.code, answer.out) == (2, "")
    assert "--to goes with --replay" in answer.err
