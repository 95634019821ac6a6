"""The head and the end of a run, foreign subjects, the shipped suite, and a run that must not be green."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import DELIVERING, FAILING, LITTLE_SUBJECT, PASSING, WRONG, passing, together
from pytest_runcoord.options import suite_directory

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]


def summary(result: pytest.RunResult) -> str:
    """The paragraphs of the plugin's own section, each on one line."""
    lines = result.outlines
    begin = next(index for index, line in enumerate(lines) if line.strip("= ") == "runcoord")
    section = []
    for line in lines[begin + 1 :]:
        if line.startswith("="):
            break
        section.append(line)
    return "\n".join(section).replace("\n  ", " ")


# --- what is said ---


def test_the_head_says_version_and_what_scenarios_run_on(write: Write, run: Run) -> None:
    from runcoord import __version__

    write("a.runcoord.yaml", PASSING)
    run().stdout.fnmatch_lines([f"runcoord {__version__}: scenarios on the reference coordinator"])


def test_a_run_without_scenarios_has_no_summary_of_them(write: Write, run: Run) -> None:
    write("test_a.py", "def test_a():\n    pass\n")
    result = run()
    assert result.parseoutcomes() == {"passed": 1}
    assert not any(line.strip("= ") == "runcoord" for line in result.outlines)


def test_the_summary_counts_and_names_invariants_that_were_never_exercised(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", together(PASSING, FAILING, WRONG))
    text = summary(run())
    assert text.startswith("3 scenarios in 3 variants: 1 passed, 1 failed, 1 invalid\n")
    assert text.endswith(" invariants (-v names them)")
    exercised, never = summary(run("-v")).splitlines()[1:]
    assert exercised.startswith("invariants with occasions to fail: ")
    assert "one-outcome " in exercised
    assert never.startswith("never exercised, so nothing is known about: ")
    # Nothing was ever stopped in these scenarios.
    assert "stop-wins" in never
    assert "one-outcome" not in never


def test_the_summary_adds_up_what_the_workers_of_xdist_ran(write: Write, run: Run, run_apart: Run) -> None:
    for letter in "abcd":
        write(f"{letter}.runcoord.yaml", together(passing(f"{letter}1"), passing(f"{letter}2")))
    alone = summary(run())
    assert alone.startswith("8 scenarios in 8 variants: 8 passed\n")
    assert summary(run_apart("-p", "xdist", "-n2")) == alone


# --- foreign subjects ---


def test_scenarios_run_on_a_foreign_subject_and_skip_what_it_cannot(write: Write, run: Run) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("a.runcoord.yaml", together(PASSING, DELIVERING))
    assert run("a.runcoord.yaml").parseoutcomes() == {"passed": 2}
    result = run("--runcoord-subject=little:Little", "-rs")
    assert result.parseoutcomes() == {"passed": 1, "skipped": 1}
    result.stdout.fnmatch_lines(["runcoord *: scenarios on little:Little"])
    line = PASSING.count("\n") + 2
    result.stdout.fnmatch_lines([f"SKIPPED [[]1[]] a.runcoord.yaml:{line}: little lacks outbox"])
    assert "skipped for what the subject lacks: outbox 1" in summary(result)


def test_the_subject_of_the_command_line_wins_over_that_of_the_configuration(write: Write, run: Run) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("runcoord.toml", 'subject = "little:Little"\n')
    write("a.runcoord.yaml", DELIVERING)
    assert run().parseoutcomes() == {"skipped": 1}
    assert run("--runcoord-subject=pytest_runcoord.reference:Reference").parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("little", "is not of the form module:Class"),
        ("little:", "is not of the form module:Class"),
        ("absent:Little", "cannot be imported"),
        ("little:Big", "is not there"),
        ("little:Litle", "is not there: <module 'little' from *has no 'Litle'; did you mean 'Little'?"),
        ("little:Nothing", "has no method 'open'; pytest_runcoord.subject.Subject says what"),
    ],
)
def test_a_subject_that_is_none_stops_the_run_before_anything_runs(
    write: Write, run: Run, name: str, problem: str
) -> None:
    write("little.py", LITTLE_SUBJECT + "\nclass Nothing:\n    pass\n")
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("a.runcoord.yaml", PASSING)
    result = run(f"--runcoord-subject={name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not any("::" in line for line in result.outlines)
    result.stderr.fnmatch_lines([f"ERROR: *'{name}' {problem}*"])
    assert "Traceback" not in result.stderr.str()


def test_a_subject_that_does_not_say_what_it_can_fails_every_scenario_without_a_traceback(
    write: Write, run: Run
) -> None:
    methods = "".join(
        f"    def {name}(self, *_): ...\n" for name in ("open", "refusal", "snapshot", "finish")
    )
    write("silent.py", f"class Silent:\n    name = 'silent'\n{methods}")
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-subject=silent:Silent")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["the runcoord subject 'silent:Silent' has no 'capabilities'"])
    assert "options.py" not in result.stdout.str()


# --- the shipped suite ---


def test_the_suite_is_that_of_the_checkout_when_nothing_else_is_installed() -> None:
    directory = suite_directory()
    assert directory.name == "scenarios"
    assert (directory / "README.md").is_file()


def test_the_suite_runs_alone_without_arguments_and_beside_them_with_some(
    pytester: pytest.Pytester, write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = pytester.path.parent / f"{pytester.path.name}-installed" / "scenarios"
    shipped.mkdir(parents=True)
    (shipped / "s.runcoord.yaml").write_text(PASSING, "utf-8")
    monkeypatch.setattr("pytest_runcoord.options.suite_directory", lambda: shipped)
    write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    write("tests/test_a.py", "def test_a():\n    pass\n")
    alone = run("--runcoord-suite")
    assert alone.parseoutcomes() == {"passed": 1}
    assert summary(alone).startswith("1 scenario in 1 variant: 1 passed\n")
    alone.stdout.fnmatch_lines([f"runcoord *; suite {shipped}"])
    assert run("--runcoord-suite", "tests").parseoutcomes() == {"passed": 2}
    assert run("tests").parseoutcomes() == {"passed": 1}


def test_a_failure_on_a_subject_names_a_command_that_finds_the_subject(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING)
    lines = run("--runcoord-subject=pytest_runcoord.reference:Reference").outlines
    assert next(line for line in lines if line.startswith("Rerun: ")) == (
        "Rerun: python -m pytest -p runcoord --runcoord-subject pytest_runcoord.reference:Reference"
        " a.runcoord.yaml::never-refused::default"
    )


def test_the_head_says_what_the_subject_can_be_asked_for(write: Write, run: Run) -> None:
    write(
        "queue_subject.py",
        "from pytest_runcoord.subjects import SessionBase, SubjectBase\n"
        "class Session(SessionBase):\n"
        "    def submit(self, run): ...\n"
        "    def claim_next(self): ...\n"
        "    def complete(self, lease): ...\n"
        "class Queue(SubjectBase):\n"
        "    name, session, promises = 'my queue', Session, ('epochs',)\n",
    )
    write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-subject=queue_subject.py:Queue")
    result.stdout.fnmatch_lines(
        ["runcoord *: scenarios on queue_subject.py:Queue", "my queue can: claim-next, epochs, runs"]
    )
    assert " can: " not in run().stdout.str()


def test_reference_leads_back_to_the_reference_where_the_table_has_a_subject(write: Write, run: Run) -> None:
    write("little.py", LITTLE_SUBJECT)
    write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\npythonpath = ['.']\n[tool.runcoord]\nsubject = 'little:Little'\n"
        "[[tool.runcoord.known_failures]]\nscenario = 'starts-and-ends'\nby = 'me'\nwhy = 'it is little'\n"
        "until = 2099-01-01\n",
    )
    write("a.runcoord.yaml", FAILING)
    result = run("--runcoord-subject=reference")
    result.stdout.fnmatch_lines(["runcoord *: scenarios on the reference coordinator"])
    assert result.parseoutcomes() == {"failed": 1}
    assert "Rerun: python -m pytest -p runcoord --runcoord-subject reference a.run" in result.stdout.str()
    run().stdout.fnmatch_lines(["runcoord *: scenarios on little:Little*; 1 known failure"])


def test_failures_of_the_suite_are_found_again_although_it_lies_elsewhere(
    pytester: pytest.Pytester, write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = pytester.path.parent / f"{pytester.path.name}-installed" / "scenarios"
    shipped.mkdir(parents=True)
    (shipped / "s.runcoord.yaml").write_text(together(PASSING, FAILING), "utf-8")
    monkeypatch.setattr("pytest_runcoord.options.suite_directory", lambda: shipped)
    result = run("--runcoord-suite")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    again = next(line for line in result.outlines if line.startswith("Rerun: ")).rpartition(" ")[2]
    assert run(again).parseoutcomes() == {"failed": 1}
    assert run("--runcoord-suite", "--lf").parseoutcomes() == {"failed": 1, "deselected": 1}


# --- enough ran ---


@pytest.fixture
def two(write: Write) -> None:
    write("a.runcoord.yaml", together(passing("one"), passing("two")))


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("required", "code"), [("0", 0), ("2", 0), ("3", 1)])
def test_a_run_fails_if_fewer_scenarios_ran_than_are_required(run: Run, required: str, code: int) -> None:
    result = run(f"--runcoord-require={required}")
    assert result.ret == code
    assert result.parseoutcomes() == {"passed": 2}
    told = "runcoord: 2 scenarios ran, at least 3 are required by --runcoord-require"
    assert (told in result.outlines) == bool(code)


@pytest.mark.parametrize("quiet", ["-v", "-q", "-qq"])
def test_a_run_without_any_scenario_fails_and_says_so_however_quiet_it_is(run: Run, quiet: str) -> None:
    result = run("--runcoord-require=1", quiet)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "runcoord: 0 scenarios ran, at least 1 are required by --runcoord-require" in result.outlines


def test_skipped_scenarios_and_further_variants_do_not_count_as_more(write: Write, run: Run) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    variants = PASSING.replace("steps:", "axes: {store: [memory, default]}\nsteps:")
    write("a.runcoord.yaml", together(variants, DELIVERING))
    arguments = ("--runcoord-subject=little:Little", "--runcoord-require=2")
    assert run(*arguments).ret == pytest.ExitCode.TESTS_FAILED
    run(*arguments).stdout.fnmatch_lines(["runcoord: 1 scenario ran, at least 2 *"])


@pytest.mark.usefixtures("two")
def test_the_setting_counts_for_a_run_of_everything_and_for_no_part_of_it(write: Write, run: Run) -> None:
    write("runcoord.toml", "min_scenarios = 3\n")
    assert run().ret == pytest.ExitCode.TESTS_FAILED
    assert run("--runcoord-require=2").ret == pytest.ExitCode.OK
    for part, why in {
        ("a.runcoord.yaml",): "a path",
        ("a.runcoord.yaml::one",): "a node id",
        ("-k", "one"): "-k",
        ("-m", "not slow"): "-m",
        ("--lf",): "--lf",
        ("--sw",): "--sw",
        ("--deselect=a.runcoord.yaml::one",): "--deselect",
    }.items():
        result = run(*part)
        assert result.ret == pytest.ExitCode.OK, part
        told = f"runcoord: min_scenarios asks for 3 scenarios; not checked, because {why} chose a part"
        assert told in result.outlines


@pytest.mark.usefixtures("two")
def test_an_m_in_the_configuration_is_the_whole_selection_of_the_project(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\naddopts = -m 'not slow'\n")
    write("runcoord.toml", "min_scenarios = 3\n")
    assert run().ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.usefixtures("two")
def test_a_path_given_with_the_required_number_is_what_the_number_is_about(run: Run) -> None:
    assert run("--runcoord-require=3", "a.runcoord.yaml").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.usefixtures("two")
def test_a_look_at_what_there_is_requires_nothing(run: Run) -> None:
    assert run("--collect-only", "--runcoord-require=3").ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("two")
def test_the_required_number_counts_over_all_workers_of_xdist(run_apart: Run) -> None:
    result = run_apart("-p", "xdist", "-n2", "--runcoord-require=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "runcoord: 2 scenarios ran, at least 3 are required by --runcoord-require" in result.outlines


@pytest.mark.parametrize("number", ["-1", "1.5", "many", "1e3", "٣", "10000000"])
@pytest.mark.usefixtures("two")
def test_a_required_number_that_is_none_stops_the_run(write: Write, run: Run, number: str) -> None:
    result = run(f"--runcoord-require={number}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --runcoord-require: '{number}' is not a whole number from 0 to *"])
    write("runcoord.toml", f"min_scenarios = '{number}'\n")
    assert run().ret == pytest.ExitCode.USAGE_ERROR


def test_a_failing_run_stays_failing_when_enough_ran(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING)
    assert run("--runcoord-require=1").ret == pytest.ExitCode.TESTS_FAILED


# --- a tier that is required ---

NOT_REAL = """\
runcoord: 1
scenario: not-real
says: A process leaves its parent, which no real one can.
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - spawn: {run: r1, process: child, children: [helper]}
  - setsid: {process: helper, orphan: true}
axes: {tier: [real]}
"""


@pytest.mark.real
def test_what_cannot_be_real_is_skipped_and_the_summary_says_why(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", NOT_REAL)
    result = run()
    assert result.parseoutcomes() == {"skipped": 1}
    lines = summary(result).splitlines()
    assert "tier real: skipped 1" in lines
    assert any(line.startswith("skipped in tier real: 1, ") for line in lines)


@pytest.mark.real
def test_a_variant_of_a_required_tier_that_is_skipped_fails_with_the_reason(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", NOT_REAL)
    result = run("--runcoord-require-tier", "real")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*the tier real is required, and could not be run*"])


def test_a_run_without_any_variant_of_a_required_tier_fails(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-require-tier", "real")
    assert result.parseoutcomes() == {"passed": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*no scenario ran in the tier real, which is required*"])


def test_the_tier_sim_is_what_variants_without_a_tier_ran_in(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    assert run("--runcoord-require-tier", "sim").ret == pytest.ExitCode.OK


# --- skips ---


def test_skips_for_what_the_subject_lacks_are_folded_by_folder_and_reason(write: Write, run: Run) -> None:
    write("little.py", LITTLE_SUBJECT)
    for letter in "ab":
        write(f"one/{letter}.runcoord.yaml", DELIVERING.replace("told-once", letter))
    alone = write("two/c.runcoord.yaml", DELIVERING)
    write("test_a.py", "import pytest\n\n@pytest.mark.skip('no time')\ndef test_a():\n    pass\n")
    result = run("--runcoord-subject=little.py:Little", "-rs")
    assert result.parseoutcomes() == {"skipped": 4}
    lines = [line for line in result.outlines if line.startswith("SKIPPED")]
    assert lines == [
        "SKIPPED [1] test_a.py:3: no time",
        "SKIPPED [2] one: little lacks outbox",
        f"SKIPPED [1] two/{alone.name}:1: little lacks outbox",
    ]


def test_a_long_list_of_lacks_is_one_line_and_stands_in_full_elsewhere(write: Write, run: Run) -> None:
    write("poor.py", LITTLE_SUBJECT.replace('{"outbox"}', '{"outbox", "leases", "runs", "outcomes"}'))
    for letter in "ab":
        write(f"{letter}.runcoord.yaml", DELIVERING.replace("told-once", letter))
    result = run("--runcoord-subject=poor.py:Little", "-rs", "--junit-xml=junit.xml")
    path = next(line for line in result.outlines if line.startswith("SKIPPED"))
    assert path == "SKIPPED [2] .: little lacks more than 2 of what is needed"
    assert "outbox 2" in summary(result)
    assert "runs 2" in summary(result)
