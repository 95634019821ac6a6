"""``runcoord schema`` and ``runcoord check``: what editors and reviewers need without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pytest_runcoord.scenario import InvalidScenario, Scenario, ScenarioFileError, load_file, variants
from pytest_runcoord.schema import schema as scenario_schema
from pytest_runcoord.verbs import default_registry

SUFFIX = ".runcoord.yaml"
MAX_FILES = 10_000
"""Scenario files that one call reads; more is a wrong directory."""
FOUND_FAULTS = 1
"""Exit code of ``check`` when a scenario is wrong."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a scenario file, with its place."""

    path: str
    line: int
    column: int
    problem: str
    remedy: str
    scenario: str

    def __str__(self) -> str:
        advice = f" ({self.remedy})" if self.remedy else ""
        return f"{self.path}:{self.line}:{self.column}: {self.problem}{advice}"


@click.command(name="schema", short_help="Print the JSON schema of scenario files, for editors.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file instead."
)
def schema(output: Path | None) -> None:
    """Print the JSON schema (draft-07) of scenario files, for completion and checks in an editor.

    Name it in the first line of a scenario: # yaml-language-server: $schema=PATH
    """
    text = json.dumps(scenario_schema(default_registry()), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror or str(error)) from error


@click.command(name="check", short_help="Check scenario files without running them.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.pass_context
def check(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Check scenario files, and all *.runcoord.yaml below directories, without running anything.

    Every fault is named with file, line, column and what to do. Exit code 1 when there is any.
    """
    faults: list[Fault] = []
    files = scenarios = cases = 0
    for path in _files(paths):
        files += 1
        checked = check_file(path)
        faults.extend(checked.faults)
        scenarios += checked.scenarios
        cases += checked.variants
    if _wants_json(context):
        document = {
            "files": files,
            "scenarios": scenarios,
            "variants": cases,
            "faults": [_plain(fault) for fault in faults],
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for fault in faults:
            click.echo(str(fault))
        click.echo(
            f"{files} {_plural(files, 'file')}, {scenarios} {_plural(scenarios, 'scenario')}, "
            f"{cases} {_plural(cases, 'variant')}: {len(faults) or 'no'} {_plural(len(faults), 'fault')}"
        )
    if faults:
        context.exit(FOUND_FAULTS)


@dataclass(frozen=True, slots=True)
class Checked:
    """What one file holds, and what is wrong in it."""

    faults: list[Fault]
    scenarios: int
    variants: int


def check_file(path: Path) -> Checked:
    """The faults of one file, and how many scenarios and variants it has."""
    try:
        loaded = load_file(path, default_registry())
    except ScenarioFileError as error:
        at = error.position
        return Checked([Fault(at.path, at.line, at.column, error.problem, error.remedy, "")], 0, 0)
    faults: list[Fault] = []
    cases = 0
    for scenario in loaded.scenarios:
        if isinstance(scenario, InvalidScenario):
            wrong = scenario.error
            at = wrong.position
            faults.append(Fault(at.path, at.line, at.column, wrong.problem, wrong.remedy, scenario.name))
        elif isinstance(scenario, Scenario):
            cases += len(variants(scenario))
    return Checked(faults, len(loaded.scenarios), cases)


def _files(paths: tuple[Path, ...]) -> Iterator[Path]:
    count = 0
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob(f"*{SUFFIX}"))
        if not found:
            raise click.UsageError(f"{path} has no *{SUFFIX} below it")
        for each in found:
            count += 1
            if count > MAX_FILES:
                raise click.UsageError(f"more than {MAX_FILES} scenario files; name fewer directories")
            yield each


def _wants_json(context: click.Context) -> bool:
    return bool(getattr(context.obj, "json", False))


def _plain(fault: Fault) -> dict[str, Any]:
    return {
        "path": fault.path,
        "line": fault.line,
        "column": fault.column,
        "problem": fault.problem,
        "remedy": fault.remedy,
        "scenario": fault.scenario,
    }


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else noun + "s"
