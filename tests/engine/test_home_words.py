"""Words about homes: what they make and refuse, and that scenarios mean the same through every spelling."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.running import compiled, refused, run, run_all
from pytest_runcoord.homes.shapes import SHAPES, bad_shapes
from pytest_runcoord.options import suite_directory
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_file, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import FailureKind, RunResult, Verdict

WATCHING = (
    "source-untouched",
    "inside-the-root",
    "descriptors-closed-once",
    "no-silent-zero",
    "one-bad-apple",
)
GIVEN = "given: {destinations: {chat: accepts}}\n"


def passed(result: RunResult) -> None:
    assert result.verdict is Verdict.PASSED, (result.skipped, result.failure)


def failed(result: RunResult, kind: FailureKind, name: str, part: str) -> None:
    assert result.failure is not None
    assert (result.failure.kind, result.failure.name) == (kind, name), result.failure
    assert part in f"{result.failure.problem}; {result.failure.seen}; {result.failure.remedy}", result.failure


# --- spellings ---


def _with_home_axis() -> Iterator[object]:
    for path in sorted((suite_directory() / "homes").glob("*.runcoord.yaml")):
        for scenario in load_file(path, default_registry()).scenarios:
            if isinstance(scenario, Scenario) and "home" in scenario.axes:
                yield pytest.param(scenario, id=scenario.name)


@pytest.mark.parametrize("scenario", list(_with_home_axis()))
def test_a_shipped_scenario_means_the_same_through_every_spelling(scenario: Scenario) -> None:
    seen: dict[str, tuple[Verdict, dict[str, int]]] = {}
    for variant in variants(scenario):
        if variant.choices["tier"] == "sim":
            result = run_variant(scenario, variant)
            seen[variant.name] = result.verdict, result.exercised
    assert len(seen) == 5
    first = next(iter(seen.values()))
    assert all(each == first for each in seen.values()), seen


@pytest.mark.parametrize("body", ["link: {of: r1}", "deny: {of: r1}", "remove_root", "fifo: {of: r1}"])
def test_a_failure_is_the_same_through_every_spelling(body: str) -> None:
    steps = f"steps:\n  - folder: r1\n  - {body}\n  - open: gw1\n  - import: {{to: chat}}\n"
    axes = (
        "expect: [runs: 1]\naxes: {home: [plain, symlinked, symlinked-ancestor, relative, trailing-slash]}\n"
    )
    results = run_all(GIVEN + steps + axes)
    assert len(results) == 5
    seen = {(each.failure.line, each.failure.seen) for each in results if each.failure is not None}
    assert seen == {(10, "0: ")}


def test_what_given_says_of_the_home_wins_over_the_axis() -> None:
    steps = "steps:\n  - folder: r1\n  - open: gw1\n  - import\nexpect: [runs: 1]\n"
    body = "given: {home: {via: symlinked}}\n" + steps
    [result] = run_all(body + "axes: {home: [trailing-slash]}\n")
    passed(result)


# --- what is made ---


def test_a_scenario_without_homes_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: object) -> None:
        raise AssertionError("a home was made")

    monkeypatch.setattr("pytest_runcoord.homes.around.RunHomes.__init__", made)
    passed(run("steps:\n  - open: gw1\n  - submit: r1\n  - recover: {by: gw1}\n"))


@pytest.mark.parametrize("shape", bad_shapes())
def test_every_bad_shape_is_refused_beside_a_good_folder(shape: str) -> None:
    passed(
        run(
            GIVEN
            + f"""steps:
  - folder: r1
  - folder: {{run: r2, is: {shape}}}
  - open: gw1
  - import: {{to: chat}}
expect:
  - import_report: {{imported: 1, known: 0, problem: false}}
  - no_run: r2
  - refused_folders: [r2]
"""
        )
    )


@pytest.mark.parametrize("shape", [name for name, shape in SHAPES.items() if shape.fine])
def test_every_shape_that_is_fine_is_imported_as_a_state_and_as_a_tombstone(shape: str) -> None:
    history = "" if not SHAPES[shape].whole else f"  - folder: r2\n  - tombstone: {{run: r2, is: {shape}}}\n"
    passed(
        run(
            GIVEN
            + f"steps:\n  - folder: {{run: r1, is: {shape}}}\n{history}"
            + "  - open: gw1\n  - import: {to: chat}\n"
            + "expect:\n  - run: {id: r1, outcome: interrupted}\n  - run: {id: r2, outcome: completed}\n"
        )
    )


@pytest.mark.parametrize("part", ["state", "tombstone", "result", "folder"])
@pytest.mark.parametrize("to", ["outside", "nowhere", "itself", "r1"])
@pytest.mark.parametrize("relative", ["false", "true"])
def test_a_link_in_the_place_of_any_part_leads_nobody_anywhere(part: str, to: str, relative: str) -> None:
    result = run(
        GIVEN
        + f"""steps:
  - folder: {{run: r1, result: one}}
  - tombstone: r1
  - folder: {{run: r2, result: two}}
  - tombstone: r2
  - link: {{of: r2, part: {part}, to: {to}, relative: {relative}}}
  - open: gw1
  - import: {{to: chat}}
  - deliver
  - import: {{to: chat}}
expect:
  - run: {{id: r1, outcome: completed}}
"""
    )
    passed(result)
    assert bool(result.exercised["inside-the-root"]) is (to == "outside")


def test_the_many_folders_of_one_step_are_as_many_and_as_good_as_said() -> None:
    passed(
        run(
            GIVEN
            + """steps:
  - many_folders: {run: crowd, count: 7}
  - many_folders: {run: crowd, count: 3, from: 8, tombstone: true, result: done}
  - many_folders: {run: bad, count: 2, is: torn}
  - open: gw1
  - import: {to: chat}
expect:
  - import_report: {imported: 7, history: 3, corrupt: [bad.1, bad.2]}
"""
        )
    )


def test_a_pid_of_a_process_of_the_scenario_is_claimed_and_the_process_left_alone() -> None:
    result = run(
        """
given: {machines: shared, destinations: {chat: accepts}}
steps:
  - open: gw1
  - submit: r9
  - claim: {run: r9, by: gw1}
  - spawn: {run: r9, by: gw1, process: child}
  - folder: {run: r1, pid: child}
  - import: {by: gw1, to: chat}
expect:
  - signals: {to: child, count: 0}
  - run: {id: r1, outcome: interrupted}
"""
    )
    passed(result)


@pytest.mark.real
def test_what_watches_over_homes_watches_owners_in_processes_of_their_own_too() -> None:
    results = run_all(
        GIVEN
        + """steps:
  - folder: {run: r1, result: one}
  - folder: r2
  - link: {of: r2}
  - open: gw1
  - import: {to: chat}
  - deliver
  - import: {to: chat}
expect:
  - import_report: {tombstoned: 1, refused: {r2: link}}
axes: {tier: [sim, real]}
"""
    )
    for result in results:
        passed(result)
    exercised = [
        {name: count for name, count in result.exercised.items() if name in WATCHING} for result in results
    ]
    assert exercised[0] == exercised[1]
    assert all(exercised[0].values()), exercised[0]


# --- what is refused, or fails ---


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("tombstone: r1", "r1 has no folder"),
        ("link: {to: r1}", "the root cannot be a link to r1"),
        ("fifo: {of: r1, part: folder, is: directory}", "is nothing odd"),
        ("put_root_back", "nothing was moved aside"),
    ],
)
def test_a_step_that_makes_no_sense_says_so(step: str, part: str) -> None:
    result = run(f"steps:\n  - open: gw1\n  - submit: r1\n  - {step}\n")
    failed(result, FailureKind.STEP, "scenario", part)


def test_a_home_that_is_not_there_is_refused_before_anything_runs() -> None:
    wrong = refused("steps:\n  - folder: {run: r1, in: other}\n")
    assert "other" in str(wrong.error)
    assert "given.home" in wrong.error.remedy


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("os_fault: {on: read, is: EIO, path: nothing.json}", "fault"),
        ("home_fault: {on: remove-folder, is: io-error}", "fault"),
    ],
)
def test_an_error_that_nothing_meets_fails_the_scenario(step: str, name: str) -> None:
    result = run(GIVEN + f"steps:\n  - folder: r1\n  - open: gw1\n  - {step}\n  - import: {{to: chat}}\n")
    failed(result, FailureKind.MOMENT, name, "none by the end")


@pytest.mark.parametrize(
    ("expectation", "part"),
    [
        ("import_report: {imported: 2}", "imported"),
        ("import_report: {refused: {r2: fifo}}", "r2"),
        ("import_report: {refused: [r1]}", "others were refused"),
        ("import_report: {problem: true}", "nothing"),
        ("import_report: {missing: true}", "nothing"),
        ("import_report: {in: other}", "nothing was imported"),
        ("folder: {run: r1, tombstone: true}", "tombstone"),
        ("folder: {run: r1, has: [state.json]}", "has"),
        ("folder: {run: r1, says: {outcome: interrupted}}", "the tombstone of r1"),
        ("folder: {run: r3, there: true}", "there"),
        ("source: {run: r1, state: closed}", "open"),
        ("source: {run: r1, claims: {pid: 1}}", "4242"),
        ("source: {run: r1, result: false}", "result"),
        ("source: {run: r1, result: {size: 9}}", "size"),
        ("source: {run: r1, notes: true}", "none"),
        ("refused_folders: [r1]", "r2"),
    ],
)
def test_what_does_not_hold_is_told_with_what_was_seen(expectation: str, part: str) -> None:
    body = """
given: {home: {also: [other]}, destinations: {chat: accepts}}
steps:
  - folder: {run: r1, result: ten bytes.}
  - folder: r2
  - link: {of: r2, part: folder}
  - folder: r3
  - remove_folder: r3
  - open: gw1
  - import: {to: chat}
expect:
"""
    failed(run(body + f"  - {expectation}\n"), FailureKind.EXPECTATION, "expect", part)


def test_the_home_of_a_scenario_is_gone_with_it(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    passed(
        run(
            GIVEN
            + "steps:\n  - folder: r1\n  - deny: {of: r1}\n  - busy_descriptors\n  - open: gw1\n  - import\n"
        )
    )
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_subject_that_cannot_import_is_skipped_by_that_name() -> None:
    assert "import" in compiled("steps:\n  - open: gw1\n  - import\n").needs
