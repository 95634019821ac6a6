"""``runcoord runs``."""

from __future__ import annotations

import shlex

import pytest
from rich.cells import cell_len

from cli.planting import Garden
from cli.shell import Answer, Shell, in_a_process, in_a_terminal, unchanged

ALL = [
    "completed", "failed", "run-1", "held", "nowhere", "waiting", "withdrawn", "late", "expired", "stopping",
    "claimed", "accepted",
]  # fmt: skip


def rows(text: str) -> dict[str, list[str]]:
    """The table by its first column; the others as they stand between blanks."""
    return {cells[0]: cells for cells in (line.split() for line in text.splitlines()[1:])}


def test_the_list_shows_every_run_in_the_order_of_acceptance(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("runs")
    assert answer.code == 0
    assert list(rows(answer.out)) == ALL
    assert answer.err == ""


def test_the_list_says_what_is_special_about_a_run(garden: Garden, shell: Shell) -> None:
    garden.everything()
    table = shell("runs").out
    assert table.splitlines()[0].split() == [
        "RUN", "STATE", "OUTCOME", "LEASE", "AGE", "FLAGS", "EPOCH", "OWNER", "DESTINATION", "TASK",
    ]  # fmt: skip
    seen = {run: cells[1:] for run, cells in rows(table).items()}
    assert seen["completed"][:4] == ["finished", "completed", "-", "3m"]
    assert seen["completed"][4:] == ["-", "1", "worker-1", "chat", "weekly", "report"]
    assert seen["failed"][:5] == ["finished", "failed", "-", "3m", "retried"]
    assert seen["run-1"] == ["accepted", "-", "-", "3m", "retry", "-", "-", "chat", "billing"]
    assert seen["late"][4] == "late"
    assert seen["withdrawn"][:2] == ["finished", "stopped"]
    assert seen["expired"][:4] == ["running", "-", "expired", "1m"]
    assert seen["stopping"][:5] == ["running", "-", "1m30s", "0s", "stopping"]
    assert seen["claimed"][:3] == ["claimed", "-", "1m30s"]
    assert seen["nowhere"][7] == "-"


def test_the_states_to_list_can_be_named_several_times(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        assert list(rows(shell("runs", "--state", "claimed", "--state", "running").out)) == [
            "expired",
            "stopping",
            "claimed",
        ]


@pytest.mark.parametrize("size", [1, 5, 12, 100])
@pytest.mark.parametrize(("flags", "order"), [([], ALL[::-1]), (["--oldest"], ALL)])
def test_pages_together_are_the_list_and_only_the_last_says_that_there_is_no_more(
    garden: Garden, shell: Shell, size: int, flags: list[str], order: list[str]
) -> None:
    garden.everything()
    seen: list[str] = []
    after, more = "", True
    while more:
        begin = ["--after", after] if after else []
        page = shell("runs", "--json", "--limit", str(size), *flags, *begin).document
        seen += [run["run"] for run in page["runs"]]
        after, more = page["after"], page["more"]
        assert len(seen) <= len(ALL)
    assert seen == order


def test_a_page_shows_the_newest_runs_with_the_newest_below_and_says_how_to_see_older_ones(
    garden: Garden, shell: Shell
) -> None:
    garden.everything()
    answer = shell("runs", "--limit", "2")
    assert list(rows(answer.out)) == ["claimed", "accepted"]
    assert answer.err == "There are older ones: runcoord runs --limit 2 --after claimed\n"
    assert answer.code == 0


def test_the_oldest_runs_can_be_shown_and_then_the_page_says_how_to_see_newer_ones(
    garden: Garden, shell: Shell
) -> None:
    garden.everything()
    answer = shell("runs", "--limit", "2", "--oldest")
    assert list(rows(answer.out)) == ["completed", "failed"]
    assert answer.err == "There are newer ones: runcoord runs --limit 2 --oldest --after failed\n"
    assert answer.code == 0


def next_command(answer: Answer) -> list[str]:
    """The command that the one line on standard error names, without its program."""
    [line] = answer.err.splitlines()
    program, *words = shlex.split(line.partition(": ")[2])
    assert program == "runcoord"
    return words


def test_the_commands_that_pages_name_lead_through_the_whole_list(garden: Garden) -> None:
    garden.everything()
    awkward = ["-x", "it's mine", "tilde ~ & semicolon;"]
    for run_id in awkward:
        garden.accepted(run_id)
    shell = Shell(garden.path.with_name("another.db"))
    asked = ["--state", "finished", "--state", "accepted", "--limit", "2", "--no-color"]
    answer = shell("--store", str(garden.path), "runs", *asked)
    pages = [list(rows(answer.out))]
    while answer.err:
        answer = shell(*next_command(answer))
        assert answer.code == 0
        pages.insert(0, list(rows(answer.out)))
    under_way = {"expired", "stopping", "claimed"}
    first_words = [name.split()[0] for name in [*ALL, *awkward] if name not in under_way]
    assert [name for page in pages for name in page] == first_words


def test_a_run_that_is_accepted_meanwhile_does_not_move_the_next_page(garden: Garden, shell: Shell) -> None:
    garden.everything()
    first = shell("runs", "--limit", "2")
    garden.accepted("newer")
    assert list(rows(shell(*next_command(first)).out)) == ["expired", "stopping"]


def test_the_command_for_the_next_page_is_one_line_on_a_narrow_terminal_too(garden: Garden) -> None:
    for number in range(3):
        garden.accepted(f"{number}-{'x' * 60}")
    lines = in_a_terminal(garden.path, 40, "runs", "--limit", "1", "--no-color").out.splitlines()
    assert lines[-1] == f"There are older ones: runcoord runs --limit 1 --after 2-{'x' * 60}"


def test_a_table_taller_than_its_terminal_has_its_titles_at_both_ends(garden: Garden) -> None:
    for number in range(50):
        garden.accepted(f"r{number}")
    tall = in_a_terminal(garden.path, 80, "runs", "--no-color").out.splitlines()
    assert tall[0].split()[:2] == ["RUN", "STATE"]
    assert (tall[-2].split()[0], tall[-1]) == ("r49", tall[0])
    short = in_a_terminal(garden.path, 80, "runs", "--no-color", "--limit", "20").out.splitlines()
    assert short.count(short[0]) == 1


def test_a_page_after_an_unknown_run_is_refused_and_changes_nothing(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("--json", "runs", "--after", "nobody")
    assert (answer.code, answer.out, answer.error["code"]) == (1, "", "unknown-run")


def test_a_store_without_runs_is_an_answer_and_not_an_error(garden: Garden, shell: Shell) -> None:
    with unchanged(garden.path):
        assert shell("runs").err == "No runs.\n"
        assert shell("runs").out == ""
        answer = shell("runs", "--json")
    assert answer.code == 0
    assert answer.document == {"runs": [], "bad": [], "more": False, "after": None}


def test_the_document_has_times_in_utc_and_lengths_in_seconds(garden: Garden, shell: Shell) -> None:
    garden.clock.step(0.25)
    garden.claimed("r")
    garden.clock.advance(12.5)
    [run] = shell("runs", "--json").document["runs"]
    assert run["created_at"] == "2023-11-14T22:13:20.250Z"
    assert run["age"] == 12.5
    assert run["lease"] == {
        "until": "2023-11-14T22:14:50.250Z",
        "remaining": 77.5,
        "seconds": 90.0,
        "expired": False,
    }


def test_a_lease_that_ran_out_says_so_in_the_document(garden: Garden, shell: Shell) -> None:
    garden.claimed("r")
    garden.clock.advance(100)
    [run] = shell("runs", "--json").document["runs"]
    assert run["lease"]["expired"] is True
    assert run["lease"]["remaining"] == -10.0


# --- rows that cannot be read ---


def test_a_row_that_cannot_be_read_hides_no_other_and_gives_a_code_of_its_own(
    garden: Garden, shell: Shell
) -> None:
    garden.everything()
    garden.sql("UPDATE runs SET state = 'dreaming' WHERE run_id = 'held'")
    with unchanged(garden.path):
        answer = shell("runs")
    assert answer.code == 5
    assert list(rows(answer.out)) == [run for run in ALL if run != "held"]
    first, *_ = answer.err.splitlines()
    assert first.startswith("Error: 1 row could not be read (row 'held' of runs cannot be understood: ")
    assert "dreaming" in first
    assert first.count("held") == 1


def test_a_row_that_cannot_be_read_is_in_the_document_and_on_standard_error(
    garden: Garden, shell: Shell
) -> None:
    garden.everything()
    garden.sql("UPDATE runs SET epoch = 'x' WHERE run_id IN ('held', 'late')")
    answer = shell("runs", "--json")
    assert answer.code == 5
    assert len(answer.document["runs"]) == len(ALL) - 2
    assert [row["key"] for row in answer.document["bad"]] == ["late", "held"]
    assert answer.error["code"] == "undecodable-row"
    assert answer.error["happened"] == "no"
    assert answer.error["details"]["count"] == 2


def test_a_page_of_nothing_but_bad_rows_says_that_there_is_more(garden: Garden, shell: Shell) -> None:
    garden.everything()
    garden.sql("UPDATE runs SET state = 'dreaming' WHERE run_id IN ('claimed', 'accepted')")
    answer = shell("runs", "--limit", "2")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.splitlines()[0] == "There are older ones: raise --limit."


# --- how wide it is ---

LONG = "a-name-that-somebody-chose-" + "x" * 150
TASK = "a task with a very long description " * 10


def test_a_pipe_gets_names_and_tasks_whole_and_on_one_line_each(garden: Garden) -> None:
    garden.accepted(LONG, task=TASK)
    garden.finished("r", task=TASK)
    answer = in_a_process(garden.path, "runs", COLUMNS="40")
    assert answer.code == 0
    _, first, second = answer.out.splitlines()
    assert first.startswith(LONG + " ")
    assert first.endswith(TASK)
    assert second.startswith("r  ")
    assert "\x1b" not in answer.out


@pytest.mark.parametrize("columns", [50, 80, 140])
def test_a_terminal_gets_lines_that_fit_it_and_names_that_are_whole(garden: Garden, columns: int) -> None:
    garden.everything()
    garden.accepted("run-0123456789abcdef0123", task="翻訳してください：新しい料金プランの説明文" * 5)
    answer = in_a_terminal(garden.path, columns, "runs", "--no-color")
    assert answer.code == 0
    assert max(cell_len(line) for line in answer.out.splitlines()) <= columns
    assert [line.split()[0] for line in answer.out.splitlines()[1:14]] == [*ALL, "run-0123456789abcdef0123"]


def test_a_terminal_that_is_too_narrow_for_a_column_says_which(garden: Garden) -> None:
    garden.everything()
    narrow, wide = (in_a_terminal(garden.path, width, "runs") for width in (80, 200))
    assert "Not shown at this width: EPOCH" in narrow.out
    assert "Not shown" not in wide.out


def test_a_name_too_long_for_its_column_has_a_line_of_its_own(garden: Garden) -> None:
    garden.accepted(LONG)
    garden.accepted("short")
    lines = in_a_terminal(garden.path, 200, "runs", "--no-color").out.splitlines()
    assert lines[1] == LONG
    assert lines[2].split()[:2] == ["accepted", "-"]
    assert lines[2].index("accepted") == lines[3].index("accepted") == lines[0].index("STATE")


# --- colours ---


@pytest.mark.parametrize(
    ("args", "variables", "colored"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--no-color"], {}, False),
        (["--color"], {"NO_COLOR": "1"}, True),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_gets_colours_unless_told_otherwise(
    garden: Garden, args: list[str], variables: dict[str, str], colored: bool
) -> None:
    garden.finished("r")
    assert ("\x1b[" in in_a_terminal(garden.path, 80, "runs", *args, **variables).out) is colored


def test_a_pipe_gets_colours_only_when_told_to(garden: Garden, shell: Shell) -> None:
    garden.finished("r")
    assert "\x1b[" not in shell("runs").out
    assert "\x1b[32mcompleted" in shell("--color", "runs").out
    assert "\x1b[32mcompleted" in shell("runs", "--color").out
    assert "\x1b[" not in shell("--color", "runs", "--json").out
