"""``runcoord import``, and what the other commands show of imported runs."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from cli.shell import Shell, in_a_terminal, unchanged
from runcoord import RUN_FOLDERS, Layout
from runcoord.cli import layouts
from runcoord.cli.failures import Exit
from runcoord.cli.importing import BAR_AFTER_SECONDS, LateBar


class Home:
    """A home with run folders, made by hand."""

    def __init__(self, path: Path) -> None:
        self.path, self.root = path, path / "runs"
        self.root.mkdir(parents=True)

    def folder(self, name: str, *, result: str = "", outcome: str = "", **state: Any) -> Path:
        folder = self.root / name
        folder.mkdir()
        (folder / "state.json").write_text(
            json.dumps({"id": name, "started": 1.0, "updated_at": 2.0} | state)
        )
        if result:
            (folder / "result.txt").write_text(result)
        if outcome:
            (folder / "tombstone.json").write_text(json.dumps({"died": 3.0, "outcome": outcome}))
        return folder

    def contents(self) -> dict[str, str]:
        return {
            str(each.relative_to(self.path)): str(each.readlink()) if each.is_symlink() else each.read_text()
            for each in sorted(self.path.rglob("*"))
            if each.is_symlink() or each.is_file()
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_home_whose_name_no_system_takes_is_refused_and_makes_no_store(shell: Shell) -> None:
    answer = shell("import", "a" * 5_000)
    assert answer.code == Exit.USAGE
    assert "cannot be looked at: File name too long" in answer.err
    assert len(answer.err) < 1_000
    assert not Path(shell.store).exists()


def test_folders_become_runs_and_the_report_names_what_was_left_out(home: Home, shell: Shell) -> None:
    home.folder("under-way", task="index the archive", parent_session="chat:main")
    home.folder("over", outcome="failed")
    (home.root / "torn").mkdir()
    (home.root / "torn" / "state.json").write_text("{")
    (home.root / "evil").symlink_to("/etc")
    before = home.contents()
    answer = shell("import", str(home.path))
    assert answer.code == Exit.SOMETHING_LEFT
    lines = answer.out.splitlines()
    assert lines[:4] == [
        f"Looked at 4 entries of {home.root}.",
        "  1 run imported as interrupted; 1 event held: runcoord events --held",
        "  1 run imported as history, of which nobody is told again",
        "  1 refused:",
    ]
    assert lines[4] == "    evil  link: the folder is a link"
    assert lines[5] == "  1 corrupt:"
    assert lines[6].startswith("    torn  corrupt: state.json: it is not JSON")
    assert home.contents() == before
    listed = shell("runs", "--json").document["runs"]
    assert {each["run"]: (each["outcome"], each["imported"]) for each in listed} == {
        "under-way": ("interrupted", True),
        "over": ("failed", True),
    }


def test_importing_again_changes_nothing_and_says_what_was_known(
    home: Home, shell: Shell, path: Path
) -> None:
    home.folder("a")
    assert shell("import", str(home.path)).code == Exit.DONE
    with unchanged(path):
        answer = shell("import", str(home.path))
    assert (answer.code, answer.out.splitlines()[1:]) == (Exit.DONE, ["  1 known before"])


def test_an_empty_root_was_looked_at(home: Home, shell: Shell) -> None:
    answer = shell("import", str(home.path))
    assert answer.code == Exit.DONE
    assert answer.out == f"Looked at 0 entries of {home.root}.\n  No run folder is there.\n"
    document = shell("import", str(home.path), "--json").document
    assert (document["looked_at"], document["problem"]) == (0, None)


def test_the_document_names_what_people_are_only_shown_the_beginning_of(home: Home, shell: Shell) -> None:
    for number in range(25):
        (home.root / f"bad{number:02}").mkdir()
    home.folder("good")
    answer = shell("import", str(home.path), "--json")
    assert answer.code == Exit.SOMETHING_LEFT
    document = answer.document
    assert (document["refused_count"], len(document["refused"])) == (25, 25)
    assert document["refused"][0] == {
        "name": "bad00",
        "kind": "missing",
        "reason": "it has no state.json",
    }
    assert (document["imported"], document["held"], document["routed"]) == (1, 1, 0)
    *_, last, more = shell("import", str(home.path)).out.splitlines()
    assert last == "    bad19  missing: it has no state.json"
    assert more == "    … and 5 more; --json names up to 1,000"


@pytest.mark.parametrize("which", ["no home", "no root", "a file"])
def test_a_mistyped_home_makes_no_store(which: str, tmp_path: Path, path: Path, shell: Shell) -> None:
    place = tmp_path / "place"
    if which == "no root":
        place.mkdir()
    elif which == "a file":
        place.write_text("")
    answer = shell("import", str(place))
    assert answer.code == Exit.USAGE
    assert repr(str(place)) in answer.err
    assert not path.exists()


def test_a_root_that_is_a_link_is_a_problem_with_its_name(home: Home, shell: Shell) -> None:
    home.folder("a")
    home.root.rename(home.path / "aside")
    home.root.symlink_to("aside")
    answer = shell("import", str(home.path))
    assert answer.code == Exit.REFUSED
    assert str(home.root) in answer.err
    assert "link" in answer.err
    assert "home-unreachable; nothing was changed" in answer.err
    assert answer.out == ""
    assert shell("runs").out == ""
    error = shell("import", str(home.path), "--json")
    assert error.error["code"] == "home-unreachable"
    assert error.document["problem"].startswith("link")


def test_events_go_to_the_destination_that_the_operator_names(home: Home, shell: Shell) -> None:
    home.folder("a", parent_session="evil")
    answer = shell("import", str(home.path), "--to", "ops")
    assert answer.out.splitlines()[1] == "  1 run imported as interrupted; 1 event to be delivered"
    [event] = shell("events", "--json").document["events"]
    assert (event["destination"], event["state"]) == ("ops", "pending")


def test_a_held_event_of_an_import_is_routed_by_the_operator(home: Home, shell: Shell) -> None:
    home.folder("a", parent_session="evil")
    shell("import", str(home.path))
    [held] = shell("events", "--held", "--json").document["events"]
    assert "'evil' is not trusted" in held["reason"]
    assert shell("events", "--replay", held["event"], "--to", "ops").code == Exit.DONE
    [event] = shell("events", "--json").document["events"]
    assert (event["destination"], event["state"], event["body"]) == ("ops", "pending", held["body"])


def test_an_imported_run_shows_its_folder_and_what_is_not_believed(home: Home, shell: Shell) -> None:
    home.folder("a", parent_session="evil", pid=1, result="all of it\n", started=float(10**30))
    shell("import", str(home.path))
    text = shell("show", "a").out
    assert f"Imported from  {home.root}/a" in text
    assert "destination evil, not believed" in text
    assert "process 1, never signalled" in text
    assert "10 bytes, kept in result.txt" in text
    assert "Inputs" not in text
    document = shell("show", "a", "--json").document
    assert document["source"]["claims"]["destination"] == "evil"
    assert document["source"]["state"] == "open"
    assert any("started" in note for note in document["source"]["notes"])


def test_of_history_nobody_is_said_to_be_told(home: Home, shell: Shell) -> None:
    home.folder("a", outcome="completed")
    shell("import", str(home.path))
    text = shell("show", "a").out
    assert "held" not in text
    assert "No events yet." in text


def test_the_result_of_an_imported_run_is_read_from_its_folder(home: Home, shell: Shell) -> None:
    folder = home.folder("a", result="line one\nline two\n")
    shell("import", str(home.path))
    assert shell("show", "a", "--result").out == "line one\nline two\n"
    document = shell("show", "a", "--result", "--json").document
    assert (document["size"], document["where"]) == (18, str(folder / "result.txt"))
    (folder / "result.txt").unlink()
    (folder / "result.txt").symlink_to("/etc/hostname")
    answer = shell("show", "a", "--result")
    assert (answer.code, answer.out) == (Exit.STORE_NO, "")
    assert "result-unreachable" in answer.err
    assert "link" in answer.err


def test_folders_of_another_layout_are_described_in_a_file(tmp_path: Path, shell: Shell) -> None:
    jobs = tmp_path / "home" / "jobs" / "j1"
    jobs.mkdir(parents=True)
    (jobs / "job.json").write_text('{"job": "j1", "what": "count"}')
    description = tmp_path / "jobs.toml"
    description.write_text('name = "jobs"\nroot = "jobs"\nstate_file = "job.json"\n'
                           '[state]\nrun_id = "job"\ntask = "what"\n')  # fmt: skip
    answer = shell("import", str(tmp_path / "home"), "--layout", str(description))
    assert answer.code == Exit.DONE, answer.err
    assert shell("show", "j1", "--json").document["task"] == "count"


def test_a_root_can_be_named_and_can_be_the_home_itself(home: Home, shell: Shell) -> None:
    home.folder("a")
    assert shell("import", str(home.root), "--root", ".").code == Exit.DONE
    assert shell("runs", "--json").document["runs"][0]["run"] == "a"
    assert shell("import", str(home.path.parent), "--root", "home/runs").out.splitlines()[1] == (
        "  1 known before"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("root = [", "is not TOML"),
        ('rout = "x"', "there is no such entry"),
        ('root = "../x"', "root '..'"),
        ("[state]\nrun_id = 5\n", "run_id 5"),
        (None, "cannot be read"),
        ("a FIFO", "is no plain file"),
    ],
)
def test_a_layout_file_that_cannot_be_meant_is_refused_with_its_reason(
    text: str | None, says: str, tmp_path: Path, home: Home, path: Path, shell: Shell
) -> None:
    file = tmp_path / "layout.toml"
    if text == "a FIFO":
        os.mkfifo(file)
    elif text is not None:
        file.write_text(text)
    answer = shell("import", str(home.path), "--layout", str(file))
    assert answer.code == Exit.USAGE
    assert str(file) in answer.err
    assert says in answer.err
    assert not path.exists()


class _Entry:
    value = "somewhere:LAYOUT"

    def __init__(self, name: str, found: object) -> None:
        self.name, self._found = name, found

    def load(self) -> object:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def test_layouts_of_other_distributions_are_found_by_name() -> None:
    theirs = Layout(name="theirs", root="jobs")
    entries = [_Entry("theirs", theirs), _Entry("broken", ImportError("gone")), _Entry("number", 5)]
    choice = layouts.LayoutChoice(lambda: entries)
    assert choice.convert("theirs", None, None) is theirs
    assert choice.convert(RUN_FOLDERS.name, None, None) is RUN_FOLDERS
    for name, says in (("broken", "gone"), ("number", "no runcoord.Layout"), ("x", "broken, number, runs")):
        with pytest.raises(click.BadParameter, match=says):
            choice.convert(name, None, None)


def test_names_that_would_move_the_cursor_are_shown_harmless(home: Home, shell: Shell) -> None:
    (home.root / "bad\x1b[2Jname\n").mkdir()
    answer = shell("import", str(home.path))
    assert "\x1b" not in answer.out
    assert answer.code == Exit.SOMETHING_LEFT


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_import_shows_a_bar_that_goes_away_and_a_short_one_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    now, stream = [0.0], _Terminal()
    bar = LateBar(stream, colored=False, clock=lambda: now[0])
    bar(1, 4)
    assert stream.getvalue() == ""
    now[0] = BAR_AFTER_SECONDS
    bar(2, 4)
    bar.close()
    assert "Importing" in stream.getvalue()
    assert "2/4" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")


def test_a_short_import_on_a_terminal_is_only_its_report(home: Home, path: Path) -> None:
    home.folder("a")
    answer = in_a_terminal(path, 240, "import", str(home.path))
    assert answer.code == 0
    assert (
        answer.out.splitlines()[1] == "  1 run imported as interrupted; 1 event held: runcoord events --held"
    )
    assert "Importing" not in answer.out


def test_the_documents_of_a_program_have_no_bar_between(home: Home, path: Path) -> None:
    home.folder("a")
    answer = in_a_terminal(path, 240, "import", str(home.path), "--json")
    assert json.loads(answer.out)["imported"] == 1
