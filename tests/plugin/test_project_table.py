"""``[tool.runcoord]`` and ``runcoord.toml``: what is read, and that what cannot be meant stops the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import LITTLE_SUBJECT, PASSING
from pytest_runcoord.known_failures import ENTRY_KEYS
from pytest_runcoord.options import read_table as read
from pytest_runcoord.project_table import KEYS
from pytest_runcoord.table_file import MAX_FILE_BYTES
from pytest_runcoord.toml_lines import lines_of

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

ENTRY = '[[tool.runcoord.known_failures]]\nscenario = "a"\nby = "b"\nwhy = "c"\n'


@pytest.mark.parametrize(
    "text",
    [
        "[tool.runcoord]\nmin_scenarios = 3\n",
        "[ tool . runcoord ]\nmin_scenarios = 3\n",
        '[tool."runcoord"]\nmin_scenarios = 3\n',
        "[tool]\nruncoord.min_scenarios = 3\n",
        "[tool]\nruncoord = {min_scenarios = 3}\n",
        "tool.runcoord.min_scenarios = 3\n",
        "tool = {runcoord = {min_scenarios = 3}}\n",
        "[tool . runcoord] # = what the gate asks\r\nmin_scenarios = 3\r\n",
    ],
)
def test_the_table_is_found_however_toml_spells_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    assert read(tmp_path).min_scenarios == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[project]\nname = 'runcoord'\ndependencies = ['runcoord==0.1']\n",
        "[tool.uv.sources]\nruncoord = {path = '..'}\n",
        "[tool.runcoordination]\nmin_scenarios = 'many'\n",
    ],
)
def test_a_project_without_the_table_asks_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    found = read(tmp_path)
    assert found.place is None
    assert found.min_scenarios == 0


@pytest.mark.parametrize("name", ["runcoord.toml", "pyproject.toml"])
def test_a_link_to_a_table_that_is_gone_stops_the_run(write: Write, run: Run, name: str) -> None:
    write("a.runcoord.yaml", PASSING).with_name(name).symlink_to("shared.toml")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{name}: cannot be read: it is a link to what is not there. Nothing was run." in (
        result.stderr.str()
    )


def test_a_table_behind_what_is_read_of_a_file_is_not_passed_over(write: Write, run: Run) -> None:
    write("pyproject.toml", "#" * MAX_FILE_BYTES + "\n[tool.runcoord]\nmin_scenarios = 3\n")
    write("pytest.ini", "[pytest]\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"pyproject.toml: has more than {MAX_FILE_BYTES} bytes" in result.stderr.str()


def test_a_file_that_is_no_toml_and_has_no_table_is_pytests_own_business(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n", "utf-8")
    assert read(tmp_path).place is None


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        (
            "[tool.runcoord]\nmin_scenario = 3\n",
            ":2",
            "has no key 'min_scenario' (did you mean 'min_scenarios'?)",
        ),
        ("\n[tool.runcoord]\ntiers = ['sym']\n", ":3", "tiers = ['sym']: 'sym' is no tier"),
        ("[tool.runcoord]\ntiers = 'sim'\n", ":2", "tiers = 'sim': it is no list of words"),
        ("[tool.runcoord]\ntiers = ['sim', 'sim']\n", ":2", "'sim' is in it twice"),
        ("[tool.runcoord]\nmin_scenarios = true\n", ":2", "it is no whole number from 0 to 1000000"),
        ("[tool.runcoord]\nmin_scenarios = -1\n", ":2", "it is no whole number"),
        ("[tool.runcoord]\nsubject = ''\n", ":2", "it is no text"),
        ("[tool.runcoord]\nsuite = 'yes'\n", ":2", "it is neither true nor false"),
        ("[tool.runcoord]\nrequired_invariants = [1]\n", ":2", "it is no list of words"),
        ("[tool.runcoord]\nknown_failures = 'all'\n", ":2", "is no array of tables"),
        ("[tool]\nruncoord = 3\n", "", "tool.runcoord is no table"),
        (
            ENTRY,
            ":1",
            "the known failure 'a' has no end (say until when it is accepted, or for which revision)",
        ),
        (ENTRY + "untill = 2027-01-01\n", ":5", "has no key 'untill' (did you mean 'until'?)"),
        (ENTRY + "until = 'soon'\n", ":5", "until = 'soon' is no day (write it as 2027-03-31)"),
        (ENTRY + "until = 2027-01-01T00:00:00Z\n", ":5", "is no day"),
        (ENTRY + "until = 2027-01-01\nrevision = 3\n", ":6", "revision = 3: it is no text"),
        (ENTRY + "until = 2027-01-01\nfailed_by = 'one-outcome'\n", ":6", "begins with no kind of failure"),
        (ENTRY.replace('by = "b"\n', ""), ":1", "a known failure has no 'by' (add it: who accepted it)"),
        (ENTRY.replace('"a"', '"a::b::c"'), ":2", "'a::b::c' names no scenario"),
        (ENTRY.replace('"a"', '"x/a.runcoord.yaml"'), ":2", "names no scenario"),
        (2 * (ENTRY + "until = 2027-01-01\n"), ":6", "'a' is known already, by pyproject.toml:1 (keep one"),
    ],
)
def test_what_cannot_be_meant_stops_the_run_with_file_line_and_remedy(
    write: Write, run: Run, text: str, place: str, problem: str
) -> None:
    write("a.runcoord.yaml", PASSING)
    write("pyproject.toml", text)
    write("pytest.ini", "[pytest]\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert line.startswith(f"ERROR: pyproject.toml{place}: ")
    assert problem in line
    assert line.endswith(" Nothing was run.")
    assert "Traceback" not in result.stderr.str()
    assert not any("passed" in line for line in result.outlines)


def test_a_file_of_its_own_has_the_keys_at_the_top(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    write("pytest.ini", "[pytest]\n")
    write("runcoord.toml", "min_scenarios = 2\n")
    assert run().ret == pytest.ExitCode.TESTS_FAILED
    write("runcoord.toml", "[tool.runcoord]\nmin_scenarios = 2\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*in runcoord.toml the keys stand at the top, without [[]tool.runcoord[]]*"])
    write("runcoord.toml", "known_failures = 'all'\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*runcoord.toml:1: *no array of tables (write [[][[]known_failures[]][]])*"])


def test_a_file_of_its_own_that_is_no_toml_is_shown_with_its_line(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\n")
    write("runcoord.toml", "suite = true\nsubject = = 'a'\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: runcoord.toml:2: is no TOML: * (correct the file). Nothing was run."]
    )


def test_a_file_of_its_own_that_begins_with_a_mark_is_said_to(write: Write, run: Run) -> None:
    write("runcoord.toml", "\ufeffmin_scenarios = 3\r\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "runcoord.toml: begins with a byte order mark, which TOML does not have" in result.stderr.str()


def test_two_tables_are_one_too_many(write: Write, run: Run) -> None:
    write("runcoord.toml", "min_scenarios = 1\n")
    write("pyproject.toml", "[tool.pytest.ini_options]\n[tool.runcoord]\nmin_scenarios = 2\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: pyproject.toml:2: *and runcoord.toml stands beside it (keep one*"])


def test_a_subject_in_a_file_counts_from_where_it_is_named(
    pytester: pytest.Pytester, write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("tests/recovery/subject.py", LITTLE_SUBJECT)
    write("tests/a.runcoord.yaml", PASSING)
    write("pytest.ini", "[pytest]\n")
    write("runcoord.toml", 'subject = "tests/recovery/subject.py:Little"\n')
    monkeypatch.chdir(pytester.path / "tests")
    result = run()
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["runcoord *: scenarios on tests/recovery/subject.py:Little"])
    assert run("--runcoord-subject=recovery/subject.py:Little").parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("absent.py:Little", "", "cannot be imported: there is no file *absent.py"),
        (
            "s.py:Little",
            "\nimport absent_module\n",
            "cannot be imported: ModuleNotFoundError: *, at line 2 of it",
        ),
        ("s.py:Little", "def broken(:\n", "cannot be imported: SyntaxError: * at line 1 of it"),
        ("s.py:Little", "x = 1\n\n1 / 0\n", "cannot be imported: ZeroDivisionError: *, at line 3 of it"),
        ("s.py:Little", "class Big: ...\n", "is not there: * has no 'Little'"),
        ("s.py:", "", "is not of the form *"),
    ],
)
def test_a_subject_in_a_file_that_is_none_stops_the_run(
    write: Write, run: Run, name: str, text: str, problem: str
) -> None:
    write("s.py", text)
    write("a.runcoord.yaml", PASSING)
    result = run(f"--runcoord-subject={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: the runcoord subject '{name}' {problem}*"])
    assert "Traceback" not in result.stderr.str()


def test_lines_are_those_of_the_keys_and_long_texts_are_no_keys() -> None:
    text = 'a = """\nb = 1\n"""\n[t]\nb = 2\n[[t.k]]\nx = 1\n[[t.k]]\n"x" = 2\n'
    assert lines_of(text, "t") == {"t": 4, "b": 5, "k[0]": 6, "k[0].x": 7, "k[1]": 8, "k[1].x": 9, "k": 6}


def test_every_key_of_the_table_is_in_the_reference() -> None:
    page = Path(__file__).resolve().parents[2] / "docs/reference/plugin-options.md"
    text = page.read_text("utf-8")
    for key in (*KEYS, *ENTRY_KEYS):
        assert f"| `{key}` |" in text
