"""``runcoord schema``, ``check`` and ``init``: what editors, reviewers and new projects need.

``runcoord --help`` loads this module to show them; the language of scenarios comes when one is called.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from pytest_runcoord.file_names import ALMOST, SUFFIX

if TYPE_CHECKING:
    from pytest_runcoord.checking import Fault
    from pytest_runcoord.vocabulary import Registry

MAX_FILES = 10_000
"""Scenario files that one call reads; more is a wrong directory."""
UNKNOWN_WORD = ("unknown step", "unknown expectation", "unknown given")
"""How a fault begins whose word may be one that a plugin adds."""
FOUND_FAULTS = 1
"""Exit code of ``check`` when a scenario is wrong."""


_plugins = click.option(
    "-p",
    "plugins",
    multiple=True,
    metavar="PLUGIN",
    help="Know the words that this module or file (conftest.py) adds by pytest_runcoord_words, too.",
)


def _registry(plugins: tuple[str, ...]) -> Registry:
    """All words, those of some plugins too."""
    from pytest_runcoord.words_of_plugins import WrongPlugin, registry_with

    try:
        return registry_with(plugins)
    except WrongPlugin as error:
        raise click.UsageError(str(error)) from error


@click.command(name="schema", short_help="Print the JSON schema of scenario files, for editors.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file instead."
)
@click.option("--report", is_flag=True, help="That of the report which pytest --runcoord-json writes.")
@_plugins
def schema(output: Path | None, report: bool, plugins: tuple[str, ...]) -> None:
    """Print the JSON schema (draft-07) of scenario files, for completion and checks in an editor.

    Name it in the first line of a scenario: # yaml-language-server: $schema=PATH
    """
    from pytest_runcoord.report_schema import report_schema
    from pytest_runcoord.schema import schema as scenario_schema

    found = report_schema() if report else scenario_schema(_registry(plugins))
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror or str(error)) from error


@click.command(name="check", short_help="Check scenario files without running them.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@_plugins
@click.pass_context
def check(context: click.Context, paths: tuple[Path, ...], plugins: tuple[str, ...]) -> None:
    """Check scenario files, and all *.runcoord.yaml below directories, without running anything.

    Every fault is named with file, line, column and what to do. Exit code 1 when there is any.
    """
    from pytest_runcoord.checking import check_file

    registry = _registry(plugins)
    faults: list[Fault] = []
    files = scenarios = cases = 0
    for path in _files(paths):
        files += 1
        checked = check_file(path, registry)
        faults.extend(checked.faults)
        scenarios += checked.scenarios
        cases += checked.variants
    if _wants_json(context):
        document = {
            "files": files,
            "scenarios": scenarios,
            "variants": cases,
            "faults": [fault.document() for fault in faults],
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for fault in faults:
            click.echo(str(fault))
        strange = [each for each in faults if each.problem.startswith(UNKNOWN_WORD)]
        if not plugins and any(not each.remedy.startswith("did you mean") for each in strange):
            click.echo(
                "A word of the project's own? Name what adds it: runcoord check -p conftest.py …", err=True
            )
        click.echo(
            f"{files} {_plural(files, 'file')}, {scenarios} {_plural(scenarios, 'scenario')}, "
            f"{cases} {_plural(cases, 'variant')}: {len(faults) or 'no'} {_plural(len(faults), 'fault')}"
        )
    if faults:
        context.exit(FOUND_FAULTS)


@click.command(name="init", short_help="Begin to run scenarios on this project's own coordinator.")
@click.argument(
    "directory", default=".", type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path)
)
@click.option(
    "--tests",
    default="tests/recovery",
    show_default=True,
    metavar="DIR",
    help="Where the subject and the scenarios go, below the project.",
)
@click.option(
    "--github",
    is_flag=True,
    help="Write a workflow for GitHub Actions, too; in a project that has begun, only that.",
)
@click.pass_context
def init(context: click.Context, directory: Path, tests: str, github: bool) -> None:
    """Write a commented subject, two first scenarios and the configuration of the gate into a project.

    What is written runs as it is, on a placeholder, and says what to fill in. DIRECTORY is the project, the
    current one if it is left out. Nothing that is there is changed; if one of the files is there, none is
    written.
    """
    from pytest_runcoord.starting.project import CannotBegin, new_files, write

    try:
        files = new_files(directory, PurePosixPath(tests), workflow=github)
    except CannotBegin as problem:
        raise click.UsageError(f"{problem.problem}. {problem.remedy} Nothing was written.") from None
    try:
        write(directory, files)
    except OSError as error:
        reason = f"{error.strerror or error}; nothing was written"
        raise click.FileError(str(error.filename or directory), reason) from error
    if _wants_json(context):
        click.echo(json.dumps({"written": [str(each.path) for each in files]}, indent=2))
        return
    width = max(len(str(each.path)) for each in files)
    for each in files:
        click.echo(f"{each.path!s:{width}}  {each.what}")
    click.echo()
    place = "" if directory == Path() else f"  (in {directory})"
    click.echo(f"Run it:           pytest -p runcoord{place}")
    if len(files) > 1:
        click.echo(f"Then fill in:     {tests}/subject.py, from top to bottom")
        click.echo("All scenarios:    pytest -p runcoord --runcoord-suite")


@click.command(
    name="speak",
    short_help="Talk to a program that is to be a subject, and say what is wrong.",
    context_settings={"ignore_unknown_options": True},
)
@click.option("--lines", "whole", is_flag=True, help="Show the whole conversation, also where all is right.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def speak(context: click.Context, whole: bool, command: tuple[str, ...]) -> None:
    """Talk to a program that is to be a subject, and say what is wrong.

    \b
        runcoord speak -- python worker.py

    It is started, asked what it can do, and asked for one life of a run with a crash in it, as scenarios ask.
    What is wrong is said, with what it wrote and the end of its standard error; then the exit code is 1.
    """
    from pytest_runcoord.subjects.speaking import converse

    said = converse(command, Path.cwd())
    if _wants_json(context):
        click.echo(json.dumps(said.document(), indent=2, ensure_ascii=False))
    else:
        for line in said.text(whole):
            click.echo(line)
    if not said.is_right:
        context.exit(FOUND_FAULTS)


def _files(paths: tuple[Path, ...]) -> Iterator[Path]:
    count = 0
    for path in paths:
        below = (each for ending in (SUFFIX, ALMOST) for each in path.rglob(f"*{ending}"))
        found = [path] if path.is_file() else sorted(below)
        if not found:
            raise click.UsageError(f"{path} has no *{SUFFIX} below it")
        for each in found:
            count += 1
            if count > MAX_FILES:
                raise click.UsageError(f"more than {MAX_FILES} scenario files; name fewer directories")
            yield each


def _wants_json(context: click.Context) -> bool:
    return bool(getattr(context.obj, "json", False))


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else noun + "s"
