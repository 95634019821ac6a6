"""``runcoord show``."""

from __future__ import annotations

import json

import pytest

from cli.planting import Garden
from cli.shell import Shell, in_a_process, in_a_terminal, unchanged

WHOLE = "line one\n\n  line three, with a tab\t and 🦔 and \x1b[31mred\x1b[0m\r\n" + "x" * 64_000


def test_a_run_is_shown_with_its_inputs_life_end_and_events(garden: Garden, shell: Shell) -> None:
    garden.finished(
        "r",
        "failed",
        payload={"url": "https://example.org", "depth": 3, "why": "because it is long enough for lines"},
        task="fetch it",
        agent="researcher",
        conversation_key="room-7",
        result="half of it",
        error="no route",
        interruption_budget=2,
        group="nightly",
        group_size=3,
    )
    garden.coordinator.retry("r")
    garden.clock.advance(125)
    with unchanged(garden.path):
        answer = shell("show", "r", env={"TZ": "UTC"})
    assert answer.code == 0
    assert answer.err == ""
    assert answer.out.startswith("r  finished: failed, retried\n")
    for line in (
        "Task           fetch it",
        "Agent          researcher",
        "Conversation   room-7",
        "Destination    chat",
        '               url: "https://example.org"',
        "Accepted       2023-11-14 22:13:20 +00:00  2m ago",
        "Started        2023-11-14 22:13:20 +00:00  0s later",
        "Finished       2023-11-14 22:13:20 +00:00  0s later, 2m ago",
        "Last owner     worker-1, epoch 1",
        "Error          no route",
        "Result         10 characters",
        "               half of it",
        "Retried as     run-1",
        "Interruptions  0 before this run, 2 automatic retries allowed",
        "Group          nightly: 1 of 3 ended (1 failed)",
    ):
        assert line in answer.out.splitlines()
    assert answer.out.splitlines()[-1].split()[:4] == ["r/finished", "delivered", "chat", "1"]


def test_a_running_run_is_shown_with_its_lease_progress_and_stop(garden: Garden, shell: Shell) -> None:
    lease = garden.running("r")
    garden.coordinator.progress(lease, "step 2 of 5")
    garden.clock.advance(20)
    garden.coordinator.stop("r", "too expensive")
    answer = shell("show", "r", env={"TZ": "UTC"})
    assert answer.out.startswith("r  running, stopping\n")
    assert "Lease        1m10s left of 1m30s, until 2023-11-14 22:14:50 +00:00" in answer.out
    assert "Stop asked   2023-11-14 22:13:40 +00:00  20s later: too expensive" in answer.out
    assert "Progress     step 2 of 5" in answer.out
    assert answer.out.endswith("No events yet.\n")


def test_a_lease_that_ran_out_is_shown_with_what_follows_from_it(garden: Garden, shell: Shell) -> None:
    garden.running("started")
    garden.claimed("claimed")
    garden.clock.advance(150)
    assert "ran out 1m ago" in shell("show", "started").out
    assert "recovery ends it" in shell("show", "started").out
    assert "it can be claimed again" in shell("show", "claimed").out


def test_an_outcome_that_a_stop_overruled_is_shown_with_what_was_reported(
    garden: Garden, shell: Shell
) -> None:
    lease = garden.running("r")
    garden.coordinator.stop("r")
    garden.coordinator.complete(lease, "completed", result="done anyway")
    assert "Reported     completed, which the stop overruled" in shell("show", "r").out


def test_an_unknown_run_is_refused_and_changes_nothing(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        for args in (["show", "nobody"], ["show", "nobody", "--result"]):
            answer = shell(*args)
            assert (answer.code, answer.out) == (1, "")
            assert answer.err.startswith("Error: there is no run 'nobody'.\n")
            assert answer.err.endswith("(unknown-run; nothing was changed)\n")


def test_an_unknown_run_is_told_with_the_store_that_was_looked_in(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        for args in (["show", "import"], ["stop", "import"], ["runs", "--after", "import"]):
            answer = shell(*args)
            assert f"Looked in the store {garden.path}. " in answer.err
            assert shell(*args, "--json").error["details"]["store"] == str(garden.path)


def test_a_run_that_cannot_be_read_is_a_store_error_that_names_it(garden: Garden, shell: Shell) -> None:
    garden.everything()
    garden.sql("UPDATE runs SET state = 'dreaming' WHERE run_id = 'held'")
    with unchanged(garden.path):
        answer = shell("show", "held", "--json")
    assert (answer.code, answer.out) == (3, "")
    assert answer.error["code"] == "undecodable-row"
    assert answer.error["details"] == {"table": "runs", "key": "held"}
    assert shell("show", "late").code == 0


def test_what_belongs_to_a_run_and_cannot_be_read_is_named_and_the_rest_shown(
    garden: Garden, shell: Shell
) -> None:
    garden.finished("r", group="g", group_size=2)
    garden.sql("UPDATE events SET state = 'lost' WHERE run_id = 'r'")
    garden.sql("UPDATE groups SET size = -1")
    answer = shell("show", "r")
    assert answer.code == 5
    assert "Group        g (cannot be read)" in answer.out
    assert answer.err.startswith("Error: 2 rows could not be read (row 'g' of groups cannot be understood: ")
    document = shell("show", "r", "--json").document
    assert document["group_members"] is None
    assert [row["table"] for row in document["bad"]] == ["groups", "events"]


def test_the_document_has_the_inputs_and_the_bodies_exactly_as_stored(garden: Garden, shell: Shell) -> None:
    garden.finished("r", payload={"b": 1, "a": ["é", 2**70]}, result=WHOLE)
    document = shell("show", "--json", "r").document
    assert document["payload"] == '{"a":["é",1180591620717411303424],"b":1}'
    assert document["result"] == WHOLE
    [event] = document["events"]
    assert json.loads(event["body"])["result"] == WHOLE
    assert event["event"] == "r/finished"


def test_the_events_shown_with_a_run_are_its_newest_and_say_where_the_others_are(
    garden: Garden, shell: Shell
) -> None:
    lease = garden.running("r")
    for number in range(101):
        garden.coordinator.publish(lease, number)
    answer = shell("show", "r")
    assert answer.out.count("r/note/") == 100
    assert "r/note/101" in answer.out
    assert "r/note/1 " not in answer.out
    assert answer.out.endswith("Older events: runcoord events --oldest --run r\n")
    assert shell("show", "r", "--json").document["events_more"] is True


# --- the result alone ---


def test_a_result_goes_into_a_pipe_exactly_as_it_is_stored(garden: Garden) -> None:
    garden.finished("r", result=WHOLE)
    answer = in_a_process(garden.path, "show", "r", "--result")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == WHOLE


def test_a_result_on_a_terminal_has_its_control_characters_escaped(garden: Garden) -> None:
    garden.finished("r", result="red \x1b[31m\x07\rend")
    assert in_a_terminal(garden.path, 80, "show", "r", "--result").out == "red \\x1b[31m\\x07\\rend\n"


def test_a_result_can_be_asked_for_as_a_document(garden: Garden, shell: Shell) -> None:
    garden.finished("r", result=WHOLE)
    assert shell("--json", "show", "r", "--result").document == {
        "run": "r",
        "result": WHOLE,
        "result_truncated": False,
        "size": len(WHOLE.encode()),
        "where": "",
    }


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_result_of_a_run_under_way_is_not_an_empty_one(
    garden: Garden, shell: Shell, flags: list[str]
) -> None:
    garden.running("r")
    answer = shell("show", "r", "--result", *flags)
    assert (answer.code, answer.out) == (5, "")
    assert "has no result yet" in answer.err


def test_an_empty_result_is_printed_as_nothing_and_said_beside_it(garden: Garden, shell: Shell) -> None:
    garden.finished("r")
    answer = shell("show", "r", "--result")
    assert (answer.code, answer.out, answer.err) == (0, "", "The result is empty.\n")


def test_a_result_that_was_cut_off_when_it_was_stored_is_not_taken_for_the_whole(
    garden: Garden, shell: Shell
) -> None:
    garden.finished("r", result="x" * 70_000)
    answer = shell("show", "r", "--result")
    assert (answer.code, len(answer.out)) == (5, 65_536)
    assert "only the first 65,536 characters of the result were kept" in answer.err
    assert "65,536 characters, the rest was cut off" in shell("show", "r").out


# --- how much is shown ---


def test_a_long_result_is_shown_by_its_beginning_with_how_to_see_all_of_it(
    garden: Garden, shell: Shell
) -> None:
    garden.finished("r", result="\n".join(f"line {number}" for number in range(1_000)))
    shown = shell("show", "r").out
    assert "line 9\n" in shown
    assert "line 10\n" not in shown
    assert "characters more: runcoord show r --result" in shown


@pytest.mark.parametrize("payload", [[[[1]] * 40], "x" * 300, {"a": "b" * 9_000}, None, 3])
def test_inputs_of_any_shape_are_shown_within_bounds(garden: Garden, shell: Shell, payload: object) -> None:
    garden.accepted("r", payload=payload)
    lines = shell("show", "r").out.splitlines()
    [first] = [line for line in lines if line.startswith("Inputs ")]
    assert len(first) < 700
    assert len(lines) < 25


def test_inputs_nested_deeper_than_python_can_read_are_shown_as_text(garden: Garden, shell: Shell) -> None:
    garden.accepted("r")
    nested = "[" * 4_000 + "]" * 4_000
    garden.sql("UPDATE runs SET payload = ?", nested)
    assert "Inputs       [[[[[[" in shell("show", "r").out
    assert shell("show", "r", "--json").document["payload"] == nested
