"""Hooks: what they add, and that every one that is wrong is said by name, without a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from plugin.conftest import Run
from plugin.scenario_files import PASSING, together
from plugin.test_gate import summary
from pytest_runcoord.commands import check, schema

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

WORDS = """\
from pytest_runcoord.steps import Argument, Count, Name, Unmet

def pytest_runcoord_words(registry):
    registry.fault("brown-out", says="half of the answers are lost")

    @registry.given("pace", group="clocks", says="How long a nap is.",
                    arguments=(Argument("hours", Count(1, 24), "how many", required=True),))
    def pace(plan, given):
        plan.environment["PACE"] = str(given.args["hours"])

    @registry.step("nap", group="clocks", says="An hour passes.")
    def nap(world, step):
        world.pass_time(3600)
        world.note("nobody", "slept")

    @registry.step("take", group="runs", says="Somebody claims a run.", options=("by", "as", "refused"),
                   arguments=(Argument("run", Name("run"), "which", required=True, shorthand=True),))
    def take(world, step):
        world.ask(step, "claim", {"run": step.args["run"], "lease": 60.0}, acquires="lease")

    @registry.expectation("awake", group="clocks", says="How many owners run.",
                          arguments=(Argument("count", Count(), "how many", required=True),))
    def awake(world, expectation):
        if len(world.owners()) != expectation.args["count"]:
            raise Unmet("others are awake", expected=str(expectation.args["count"]), seen=str(world.owners()))
"""
OWN = """\
runcoord: 1
scenario: own-words
says: A run is taken twice, an hour apart.
given: {pace: {hours: 2}}
steps:
  - open: gw1
  - open: gw2
  - submit: {run: r1, by: gw1}
  - take: {run: r1, by: gw1, as: mine}
  - take: {run: r1, by: gw2, refused: lease-held}
  - nap
  - take: {run: r1, by: gw2}
  - start: {with: mine, refused: lease-lost}
expect:
  - awake: {count: COUNT}
"""
INVARIANT = """\
from pytest_runcoord.invariants import Invariant

class FewRuns(Invariant):
    id = "few-runs"
    says = "There are never more than three runs."

    def compare(self, before, after):
        if after.runs:
            self.exercised += 1
        if len(after.runs) > 3:
            self.fail("too many runs", expected="at most 3", seen=str(len(after.runs)))

def pytest_runcoord_invariants():
    return [FewRuns]
"""
MANY_RUNS = """\
runcoord: 1
scenario: many-runs
says: Four runs are submitted.
steps:
  - open: gw1
  - submit: r1
  - submit: r2
  - submit: r3
  - submit: r4
"""


BROWNED = """\
from pytest_runcoord.reference import Reference
from pytest_runcoord.subjects import Refused

class Subject(Reference):
    name = "browned"

    def open(self, owner, world):
        session = super().open(owner, world)
        submit = session.submit

        def browned(*given, **said):
            if world.probe.fault("any") == "brown-out":
                raise Refused("store-timeout", "half an answer", happened="maybe")
            return submit(*given, **said)

        session.submit = browned
        return session

    def refusal(self, error):
        return error.code if isinstance(error, Refused) else super().refusal(error)
"""


@pytest.fixture(autouse=True)
def _rootdir(write: Write) -> None:
    write("pytest.ini", "[pytest]\n")


def error_of(result: pytest.RunResult) -> str:
    """The one message of a run that was stopped."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "passed" not in text
    [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
    return line.removeprefix("ERROR: ")


# --- words ---


def test_words_of_a_conftest_are_words_of_its_scenarios(write: Write, run: Run) -> None:
    write("conftest.py", WORDS)
    write("a.runcoord.yaml", OWN.replace("COUNT", "2"))
    assert run().parseoutcomes() == {"passed": 1}


def test_an_expectation_of_a_conftest_fails_as_any_other_does(write: Write, run: Run) -> None:
    write("conftest.py", WORDS)
    write("a.runcoord.yaml", OWN.replace("COUNT", "3"))
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    assert "a.runcoord.yaml:15: others are awake (expected: 3)" in result.outlines
    result.stdout.fnmatch_lines(["*nobody*slept*"])


def test_words_of_a_plugin_are_there_in_every_worker(write: Write, run_apart: Run) -> None:
    write("own_words.py", WORDS)
    for letter in "abcd":
        write(f"{letter}.runcoord.yaml", OWN.replace("COUNT", "2").replace("own-words", f"own-{letter}"))
    result = run_apart("-p", "own_words", "-p", "xdist", "-n2")
    assert result.parseoutcomes() == {"passed": 4}


def test_words_of_one_session_are_not_those_of_the_next(write: Write, run: Run) -> None:
    conftest = write("conftest.py", WORDS)
    write("a.runcoord.yaml", OWN.replace("COUNT", "2"))
    assert run().parseoutcomes() == {"passed": 1}
    conftest.write_text("", "utf-8")
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["a.runcoord.yaml:4:*unknown given 'pace'*"])


def test_a_fault_of_ones_own_reaches_the_port_of_the_subject(write: Write, run: Run) -> None:
    write("subject.py", BROWNED)
    write("conftest.py", WORDS)
    write(
        "a.runcoord.yaml",
        "runcoord: 1\nscenario: browned\nsays: The answer is lost.\nsteps:\n  - open: gw1\n"
        "  - fault: {by: gw1, on: any, is: brown-out}\n  - submit: {run: r1, refused: store-timeout}\n",
    )
    result = run("--runcoord-subject=subject.py:Subject")
    assert result.parseoutcomes() == {"passed": 1}, result.stdout.str()
    assert run().parseoutcomes() == {"failed": 1}  # the reference does not know it, and does not guess


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "def pytest_runcoord_word(registry): ...\n",
            "*:1: runcoord has no hook 'pytest_runcoord_word' (did you mean 'pytest_runcoord_words'?)",
        ),
        (
            "def pytest_runcoord_banana(): ...\n",
            "conftest.py:1: runcoord has no hook 'pytest_runcoord_banana' (known: *pytest_runcoord_words*)",
        ),
        (
            "def pytest_runcoord_words(regstry): ...\n",
            "*:1: the hook pytest_runcoord_words has no argument 'regstry' (did you mean 'registry'?)",
        ),
        (
            "def pytest_runcoord_invariants(config): ...\n",
            "*:1: the hook pytest_runcoord_invariants has no argument 'config' (it has none)",
        ),
        ("async def pytest_runcoord_words(registry): ...\n", "*is async, and nobody awaits it"),
        (
            (
                "import pytest\n@pytest.hookimpl(wrapper=True)\n"
                "def pytest_runcoord_words(registry):\n    yield\n"
            ),
            "conftest.py:2: the hook pytest_runcoord_words cannot be wrapped",
        ),
        ("def pytest_runcoord_words(registry):\n    return 3\n", "*gave int (add words to registry, *"),
        ("def pytest_runcoord_words(registry):\n    yield 3\n", "*gave generator (add words to registry, *"),
        (
            "def pytest_runcoord_words(registry):\n    registry.nothing()\n",
            "conftest.py:1: *raised AttributeError: *, at line 2",
        ),
        (
            (
                "def pytest_runcoord_words(registry):\n"
                "    @registry.step('claim', group='runs', says='Again.')\n    def claim(world, step): ...\n"
            ),
            "*registers a word that makes no sense: step 'claim' is registered already, by pytest_runcoord.*",
        ),
        (
            (
                "def pytest_runcoord_words(registry):\n"
                "    @registry.step('nap', group='runs', says='')\n    def nap(world, step): ...\n"
            ),
            "*registers a word that makes no sense: step 'nap': 'says' is empty",
        ),
        (
            (
                "def pytest_runcoord_words(registry):\n"
                "    @registry.step('nap', group='runs', says='A nap.')\n    def nap(world): ...\n"
            ),
            "*registers the step 'nap' with a function that cannot be called: *, world and step)",
        ),
        (
            (
                "def pytest_runcoord_words(registry):\n"
                "    @registry.step('nap', group='runs', says='A nap.')\n"
                "    async def nap(world, step): ...\n"
            ),
            "*registers the step 'nap' with an async function or a generator (make it a plain one)",
        ),
        (
            "def pytest_runcoord_words(registry):\n    registry.fault('hang', says='It hangs.')\n",
            "*fault 'hang' is registered already*",
        ),
        (
            "def pytest_runcoord_words(registry):\n    registry.fault('brown-out', says=' ')\n",
            "*fault 'brown-out': 'says' is empty*",
        ),
    ],
)
def test_a_hook_that_is_wrong_stops_the_run_and_says_where_it_stands(
    write: Write, run: Run, text: str, problem: str
) -> None:
    write("conftest.py", text)
    write("a.runcoord.yaml", PASSING)
    pytest.LineMatcher([error_of(run())]).fnmatch_lines([f"{problem}. Nothing was run."])


@pytest.mark.parametrize("name", ["words", "wrds"])
@pytest.mark.parametrize("argument", ["registry", "registy"])
@pytest.mark.parametrize("others", [True, False], ids=["with-others", "alone"])
def test_a_hook_in_a_conftest_that_comes_too_late_is_refused(
    write: Write, run: Run, name: str, argument: str, others: bool
) -> None:
    if others:
        write("conftest.py", WORDS)
    write("below/conftest.py", f"def pytest_runcoord_{name}({argument}): ...\n")
    write("below/a.runcoord.yaml", PASSING)
    text = error_of(run())
    assert "below/conftest.py" in text
    assert f"the hook pytest_runcoord_{name}" in text
    assert "too late for hooks of runcoord (move the hook to the conftest.py beside pytest's conf" in text
    if name == "words" and argument == "registry":
        assert run("below").ret == pytest.ExitCode.OK  # there pytest loads it before it collects


def test_a_late_hook_fails_the_collection_of_workers(write: Write, run_apart: Run) -> None:
    write("below/conftest.py", "def pytest_runcoord_wrds(registry): ...\n")
    write("below/a.runcoord.yaml", PASSING)
    result = run_apart("-p", "xdist", "-n2")
    assert result.ret != pytest.ExitCode.OK
    assert "too late for hooks of runcoord" in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.parametrize(
    ("registering", "code"),
    [
        ("def pytest_sessionstart(session):\n    config = session.config", pytest.ExitCode.USAGE_ERROR),
        ("@pytest.hookimpl(trylast=True)\ndef pytest_configure(config):", pytest.ExitCode.USAGE_ERROR),
        ("def pytest_collection_finish(session):\n    config = session.config", pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_a_plugin_that_is_registered_too_late_for_its_hooks_is_refused(
    write: Write, run: Run, registering: str, code: int
) -> None:
    late = INVARIANT.replace("def pytest_runcoord", "class Late:\n  def pytest_runcoord").replace(
        "()", "(self)"
    )
    write(
        "conftest.py",
        f"import pytest\n{late}\n{registering}\n    config.pluginmanager.register(Late(), 'late')\n",
    )
    write("a.runcoord.yaml", PASSING)
    result = run()
    assert result.ret == code
    said = result.stderr.str() + result.stdout.str()
    assert "the hook pytest_runcoord_invariants: this plugin was registered when runcoord was" in said


def test_a_hook_that_is_no_function_fails_the_run(write: Write, run: Run) -> None:
    text = INVARIANT.replace("def pytest_runcoord_invariants():\n    return", "pytest_runcoord_invariants =")
    write("conftest.py", text)
    write("a.runcoord.yaml", PASSING)
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "conftest.py: pytest_runcoord_invariants is no function, so it was never called" in (
        result.stdout.str()
    )


def test_a_hook_of_another_version_may_say_that_it_is_optional(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        "import pytest\n@pytest.hookimpl(optionalhook=True)\ndef pytest_runcoord_tomorrow(): ...\n",
    )
    write("a.runcoord.yaml", PASSING)
    assert run().parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("body", "name", "kind"),
    [
        ("    @registry.step('bad', group='runs', says='Bad.')", "bad", "step"),
        ("    @registry.expectation('bad', group='runs', says='Bad.')", "bad", "expectation"),
        ("    @registry.given('bad', group='runs', says='Bad.')", "bad", "given"),
    ],
)
def test_a_word_that_raises_is_said_as_its_own_fault_and_the_run_goes_on(
    write: Write, run: Run, body: str, name: str, kind: str
) -> None:
    write(
        "conftest.py",
        f"def pytest_runcoord_words(registry):\n{body}\n    def bad(world, what):\n        {{}}[1]\n",
    )
    text = "runcoord: 1\nscenario: bad\nsays: Bad.\n"
    text += "given: {bad: {}}\n" if kind == "given" else ""
    text += "steps:\n  - open: gw1\n" + ("  - bad\n" if kind == "step" else "")
    text += "expect:\n  - bad\n" if kind == "expectation" else ""
    write("a.runcoord.yaml", together(text, PASSING))
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    output = result.stdout.str()
    assert f"the {kind} bad of this project itself raised KeyError: 1" in output
    assert "conftest.py:4" in output.replace("\nE   ", "").replace("          ", "")
    assert "Mend the word; this says nothing of the subject." in output
    assert "Traceback" not in output


@pytest.mark.parametrize("end", ["pytest.xfail('later')", "pytest.fail('no')", "raise SystemExit(0)"])
def test_a_word_cannot_end_its_scenario_as_anything_but_failed_or_skipped(
    write: Write, run: Run, end: str
) -> None:
    write(
        "conftest.py",
        "import pytest\ndef pytest_runcoord_words(registry):\n"
        "    @registry.step('bad', group='runs', says='Bad.')\n"
        f"    def bad(world, step):\n        {end}\n",
    )
    write("a.runcoord.yaml", "runcoord: 1\nscenario: bad\nsays: Bad.\nsteps:\n  - open: gw1\n  - bad\n")
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    assert "the step bad of this project itself raised" in result.stdout.str()


# --- invariants ---


def test_an_invariant_of_ones_own_watches_is_counted_and_can_be_required(write: Write, run: Run) -> None:
    write("conftest.py", INVARIANT)
    write("a.runcoord.yaml", together(PASSING, MANY_RUNS))
    write("runcoord.toml", "required_invariants = ['few-runs']\n")
    result = run("-v")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    line = together(PASSING, MANY_RUNS).splitlines().index("  - submit: r4") + 1
    assert f"a.runcoord.yaml:{line}: few-runs: too many runs" in result.outlines
    assert "few-runs " in summary(result)
    write("a.runcoord.yaml", "runcoord: 1\nscenario: x\nsays: X.\nsteps:\n  - open: gw1\n")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "the invariant few-runs is required, and was never exercised" in result.stdout.str()


def test_an_invariant_of_ones_own_is_in_the_html_report(write: Write, run_apart: Run) -> None:
    write("conftest.py", INVARIANT)
    path = write("a.runcoord.yaml", PASSING)
    run_apart("-p", "xdist", "-n2", "--runcoord-report=out")
    text = (path.parent / "out" / "index.html").read_text("utf-8")
    assert "There are never more than three runs." in text


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[FewRuns]", "None", "*gave nothing (give a list of classes)"),
        ("[FewRuns]", "'FewRuns'", "*gave 'FewRuns' (give a list of classes)"),
        ("[FewRuns]", "[FewRuns(None)]", "*which is an instance, not a class (give subclasses of *)"),
        ("[FewRuns]", "[dict]", "*gave <class 'dict'>, which is no invariant *"),
        ("[FewRuns]", "[FewRuns, FewRuns]", "*with the id 'few-runs', which conftest.py:13 has *"),
        ("return [FewRuns]", "return [1 / 0]", "*raised ZeroDivisionError: division by zero, at line 14"),
        ('id = "few-runs"', "", "*gave the invariant FewRuns without an id *"),
        ('id = "few-runs"', "id = 'Few Runs'", "*with an id that is none: *"),
        ('id = "few-runs"', "id = 'stop-wins'", "*FewRuns with the id 'stop-wins', which runcoord has *"),
        ('says = "There', 'said = "There', "*gave the invariant FewRuns without a sentence in 'says' *"),
        (
            "    def compare",
            "    needs = {'lease'}\n    def compare",
            "*needs 'lease'* (did you mean 'leases'?)",
        ),
        ("    def compare", "    needs = 'leases'\n    def compare", "*with needs = 'leases' *"),
        (
            "(self, before, after)",
            "(self, after)",
            "*whose 'compare' cannot be called: * (take self, before, after)",
        ),
        ("def compare", "async def compare", "*whose 'compare' is async or a generator"),
        (
            "def compare",
            "def compares",
            "*gave the invariant FewRuns that watches nothing (write one of see,*",
        ),
        (
            "    def compare",
            "    def sweep(self, before, after, rows): ...\n    def compare",
            "*with 'sweep', and sweeps = () (say after which verbs)",
        ),
    ],
)
def test_an_invariant_that_is_none_stops_the_run(
    write: Write, run: Run, old: str, new: str, problem: str
) -> None:
    assert old in INVARIANT
    write("conftest.py", INVARIANT.replace(old, new))
    write("a.runcoord.yaml", PASSING)
    text = error_of(run())
    assert text.startswith("conftest.py:")
    assert "the hook pytest_runcoord_invariants" in text
    pytest.LineMatcher([text]).fnmatch_lines([f"{problem}. Nothing was run."])


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("self.exercised += 1", "raise OSError('gone')", "raised OSError in compare: gone"),
        (
            "self.exercised += 1",
            "self.exercised = 'once'",
            "raised TypeError in compare: exercised is 'once'",
        ),
        ("self.exercised += 1", "self.exercised = True", "raised TypeError in compare: exercised is True"),
        ("self.exercised += 1", "self.exercised = -1", "raised TypeError in compare: exercised is -1"),
        ("self.exercised += 1", "import sys; sys.exit(0)", "raised SystemExit in compare: 0"),
        ("self.exercised += 1", "import pytest; pytest.skip('no')", "raised Skipped in compare: no"),
        ("self.exercised += 1", "import pytest; pytest.xfail('no')", "raised XFailed in compare: no"),
        (
            "    def compare",
            "    def __init__(self, world):\n        1 / 0\n\n    def compare",
            "raised ZeroDivisionError in __init__: division by zero",
        ),
        (
            "    def compare",
            "    def end(self, s):\n        [][1]\n\n    def compare",
            "raised IndexError in end",
        ),
    ],
)
def test_an_invariant_that_raises_is_said_as_its_own_fault_and_the_run_goes_on(
    write: Write, run: Run, old: str, new: str, where: str
) -> None:
    write("conftest.py", INVARIANT.replace(old, new, 1))
    write("a.runcoord.yaml", together(PASSING, MANY_RUNS))
    result = run()
    assert sum(result.parseoutcomes().values()) == 2
    assert result.parseoutcomes()["failed"] == 2
    output = result.stdout.str()
    assert f"the invariant few-runs of this project itself {where}" in output
    assert "Mend the invariant; this says nothing of the subject." in output
    assert "Traceback" not in output


# --- subjects ---


def test_a_name_without_a_colon_is_asked_of_the_plugins(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        "def pytest_runcoord_subject(name):\n"
        "    from pytest_runcoord.reference import Reference\n"
        "    return {'queue': Reference, 'text': 'x', 'module': __import__('os'), 'half': dict}.get(name)\n",
    )
    write("a.runcoord.yaml", PASSING)
    assert run("--runcoord-subject=queue").parseoutcomes() == {"passed": 1}
    assert "no plugin knows it by pytest_runcoord_subject" in error_of(run("--runcoord-subject=other"))
    assert "gave 'x' for 'text' (give a class, or None" in error_of(run("--runcoord-subject=text"))
    assert "gave <module 'os'" in error_of(run("--runcoord-subject=module"))
    assert "has no method 'open'" in error_of(run("--runcoord-subject=half"))


def test_a_hook_for_subjects_that_raises_is_named(write: Write, run: Run) -> None:
    write("conftest.py", "def pytest_runcoord_subject(name):\n    raise LookupError(name)\n")
    write("a.runcoord.yaml", PASSING)
    text = error_of(run("--runcoord-subject=queue"))
    assert text.startswith(
        "conftest.py:1: the hook pytest_runcoord_subject raised LookupError: queue, at line 2"
    )


# --- reports ---

REPORTS = """\
import json

def pytest_runcoord_report(config, report):
    assert not hasattr(config, "workerinput")
    with open("told.jsonl", "a") as stream:
        print(json.dumps([report["runcoord_report"], report["counts"]["passed"]]), file=stream)
"""


def test_the_report_is_given_once_where_everything_comes_together(write: Write, run_apart: Run) -> None:
    path = write("conftest.py", REPORTS)
    for letter in "abc":
        write(f"{letter}.runcoord.yaml", PASSING.replace("plain-life", letter))
    assert run_apart("-p", "xdist", "-n2").ret == pytest.ExitCode.OK
    lines = (path.parent / "told.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [[1, 3]]


def test_a_hook_for_reports_that_raises_fails_the_gate_and_the_rest_is_told(write: Write, run: Run) -> None:
    write("conftest.py", "def pytest_runcoord_report(report):\n    raise OSError('no space')\n")
    path = write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-json=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"passed": 1}
    line = "runcoord: conftest.py:1: the hook pytest_runcoord_report raised OSError: no space, at line 2"
    assert line in result.outlines
    gate = json.loads((path.parent / "out.json").read_text("utf-8"))["gate"]
    assert gate["verdict"] == "failed"
    assert [each["kind"] for each in gate["reasons"]] == ["hook"]


@pytest.mark.parametrize("end", ["raise SystemExit(0)", "import pytest; pytest.skip('x')"])
def test_a_hook_for_reports_cannot_end_the_run_as_green(write: Write, run: Run, end: str) -> None:
    write("conftest.py", f"def pytest_runcoord_report(report):\n    {end}\n")
    path = write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-json=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert json.loads((path.parent / "out.json").read_text("utf-8"))["exit_code"] == 1


def test_what_a_hook_changes_in_its_report_changes_no_other(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        "conftest.py",
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runcoord_report(report):\n"
        "    report['subject']['capabilities'].append(object())\n    report.clear()\n",
    )
    write("also.py", "def pytest_runcoord_report(report):\n    print('verdict', report['gate']['verdict'])\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    path = write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-json=out.json", "-p", "also", "-s")
    assert result.ret == pytest.ExitCode.OK
    assert "verdict passed" in result.stdout.str()
    assert "runs" in json.loads((path.parent / "out.json").read_text("utf-8"))["subject"]["capabilities"]


# --- without pytest ---


def test_check_and_schema_know_the_words_of_a_plugin_that_is_named(write: Write) -> None:
    conftest = write("conftest.py", WORDS)
    scenario = write("a.runcoord.yaml", OWN.replace("COUNT", "2"))
    runner = CliRunner()
    assert runner.invoke(check, [str(scenario)]).exit_code == 1
    result = runner.invoke(check, ["-p", str(conftest), str(scenario)])
    assert (result.exit_code, result.output) == (0, "1 file, 1 scenario, 1 variant: no faults\n")
    assert "nap" in runner.invoke(schema, ["-p", str(conftest)]).output
    result = runner.invoke(check, ["-p", str(conftest.parent / "absent.py"), str(scenario)])
    assert result.exit_code == 2
    assert "there is no file" in result.output
    conftest.write_text("def pytest_runcoord_words(registry):\n    1 / 0\n", "utf-8")
    other = write("other.py", "def pytest_runcoord_words(registry):\n    1 / 0\n")
    result = runner.invoke(check, ["-p", str(other), str(scenario)])
    assert result.exit_code == 2
    assert "raised ZeroDivisionError: division by zero, at line 2" in result.output


def test_check_says_how_it_may_know_a_word_that_it_does_not(write: Write) -> None:
    scenario = write("a.runcoord.yaml", OWN.replace("COUNT", "2"))
    result = CliRunner().invoke(check, [str(scenario)])
    assert "runcoord check -p conftest.py" in result.stderr
    scenario.write_text(PASSING.replace("open: gw1", "open: {}"), "utf-8")
    assert CliRunner().invoke(check, [str(scenario)]).stderr == ""
