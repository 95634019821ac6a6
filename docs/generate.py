"""The pages of the reference that are made from the code, and the JSON schema beside the scenarios.

``python docs/generate.py`` says which of them are not current, with exit code 1 if any is;
``python docs/generate.py --write`` writes them. A test asks the same.
"""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from boundary_faults import faults_page
from click.testing import CliRunner
from gate_reference import hooks_page, report_page, schema_text
from program_protocol import program_page
from source_text import Field, Symbol, constants, first_paragraph, markdown, module_source, one_line
from subject_reference import subject_page

import pytest_runcoord._limits as language_limits
import pytest_runcoord.file_names
import pytest_runcoord.plugin
import runcoord
import runcoord._core.limits as coordinator_limits
import runcoord.ports
import runcoord.testing
import runcoord.values
from pytest_runcoord import fixtures, from_python, known_failures, patching, project_table
from pytest_runcoord.commands import schema as schema_command
from pytest_runcoord.homes import fixtures as home_fixtures
from pytest_runcoord.patching import tree
from pytest_runcoord.processes import plans
from pytest_runcoord.reference_page import reference_page
from pytest_runcoord.subjects.program_schema import lines_schema
from pytest_runcoord.verbs import default_registry
from runcoord import errors
from runcoord._bounded import timed_out
from runcoord._stores import failures

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = "<!-- Written by `python docs/generate.py --write`; a test compares. -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", WRITTEN, *(part for part in parts if part)]) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), ["---" for _ in head], *map(list, rows)]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(text: str) -> str:
    # A bar would end the cell, a line break the table.
    return one_line(text).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`"


# --- the language and its schema ------------------------------------------------------------------


def scenario_language() -> str:
    title, _, rest = reference_page(default_registry()).partition("\n\n")
    return f"{title}\n\n{WRITTEN}\n\n{rest}"


def json_schema() -> str:
    """What ``runcoord schema`` prints."""
    result = CliRunner().invoke(schema_command, [])
    if result.exit_code:
        raise RuntimeError(f"runcoord schema failed: {result.output}") from result.exception
    return result.stdout


# --- errors ---------------------------------------------------------------------------------------


def errors_page() -> str:
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    refusals = [each for each in kinds if issubclass(each, errors.Refused)]
    of_store = [each for each in kinds if issubclass(each, errors.StoreError)]
    of_processes = [each for each in kinds if issubclass(each, errors.ProcessError)]
    head = ("Class", "Code", "Meaning")
    return page(
        "Errors",
        "All are in `runcoord.errors` and derive from `RuncoordError`, which has `problem` (what is "
        "wrong, with the offending value), `remedy` (what to do), `happened` (`no`, `maybe`, or `yes`: see "
        "`LaunchFailed`), "
        "`details` (the offending values as plain JSON types) and `code`. The code is what a scenario "
        "names as `refused`, and what `--json` prints; it stays what it is. A `RuncoordError` pickles.",
        "## Refusals",
        "A rule forbade the request. Nothing changed, `happened` is `no`, and the same request will be "
        "refused again for as long as what it is about stays as it is.",
        table(head, [_error_row(each) for each in refusals]),
        "## Errors of the store",
        "The store could not carry the request out. The last column says whether the change may be in "
        "the store nevertheless; `happened` of the error says it for the case at hand.",
        table((*head, "May have happened"), [[*_error_row(each), _happened(each)] for each in of_store]),
        "## Errors of processes",
        "Something could not be done to a process, or a command could not begin. Nothing of the store was "
        "changed, unless the class says otherwise.",
        table(head, [_error_row(each) for each in of_processes]),
        "## What a destination raises",
        markdown(errors.DestinationRefused.__doc__ or ""),
        "`DestinationRefused` is no `RuncoordError`: it goes from a destination to the outbox, and "
        "reaches no caller.",
    )


def _error_row(kind: type[errors.RuncoordError]) -> list[str]:
    return [code(kind.__name__), code(kind.code), markdown(kind.__doc__ or "")]


def _happened(kind: type[errors.RuncoordError]) -> str:
    if type(timed_out(1.0)) is kind:
        return "maybe"
    meanings = [*failures._MEANINGS.values(), failures._UNKNOWN]
    commits = {each.commit for each in meanings if each.kind is kind}
    return "no; maybe if the commit itself failed" if errors.Happened.MAYBE in commits else "no"


# --- limits ---------------------------------------------------------------------------------------

UNITS = {"_SECONDS": "s", "_BYTES": "bytes", "_CHARACTERS": "characters"}


def limits_page() -> str:
    return page(
        "Limits",
        "Every loop, batch, field, retry and wait has one. None can be changed from outside, but for "
        "those that are the defaults of [settings](settings.md).",
        "## Coordinator",
        "*(origin)*: as in the coordinator whose recovery review this project grew out of.",
        *_limits_of(coordinator_limits),
        "## Scenario files",
        *_limits_of(language_limits),
    )


def _limits_of(module: ModuleType) -> Iterator[str]:
    for section, members in constants(module).items():
        yield f"### {section[:1].upper()}{section[1:]}"
        rows = [
            [
                code(name),
                _number(getattr(module, name)),
                _unit(name),
                markdown(doc).replace("(origin)", "*(origin)*"),
            ]
            for name, doc in members.items()
        ]
        yield table(("Limit", "Value", "Unit", "Meaning and reason"), rows)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def _unit(name: str) -> str:
    return next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), "")


# --- the library ----------------------------------------------------------------------------------

LIBRARY = {
    "Opening and using a coordinator": "runcoord._assembly runcoord._core.settings",
    "Working under a lease": "runcoord._executor runcoord._heartbeat",
    "Running commands": (
        "runcoord._supervisor.preparing runcoord._supervisor.accepting runcoord._supervisor.command "
        "runcoord._supervisor.report runcoord._supervisor.git_state "
        "runcoord._processes runcoord._launching.launcher runcoord._launching.orphans runcoord._teardown"
    ),
    "Importing run folders": (
        "runcoord._core.run_folders runcoord._core.layouts runcoord._importer.report runcoord._folder_verbs "
        "runcoord._homes"
    ),
    "Calls from asyncio, and calls with a bound": "runcoord._async_calls runcoord._bounded",
    "Answers and reports": "runcoord._answers runcoord._recoverer runcoord._outbox",
    "Values": "runcoord._core.model",
    "At the edges": "runcoord.ports runcoord._store_ports",
    "Errors": "runcoord.errors",
}
"""Sections of the page, with the modules whose public names they have."""
PORTS_BESIDE = {"Running commands": ("Membership", "TeardownReport", "ProcessReport")}
"""Names of ``runcoord.ports`` that are described beside what takes or gives them."""


def library_page() -> str:
    names = {name: getattr(runcoord, name) for name in runcoord.__all__ if not name.startswith("__")}
    parts = [
        (
            "The names that a program may rely on: those of `runcoord`, listed here, of `runcoord.errors` "
            "(see [errors](errors.md)), `runcoord.ports`, `runcoord.testing` and `runcoord.values`. A "
            "name that begins with an underscore may change in any version. All times are in seconds."
        )
    ]
    placed: set[str] = set()
    for title, modules in LIBRARY.items():
        parts.append(f"## {title}")
        members = {n: each for n, each in names.items() if each.__module__ in modules.split()}
        placed |= members.keys()
        if title == "Errors":
            parts.append(table(("Name", "Meaning"), [_brief(n, each) for n, each in members.items()]))
            continue
        for name, each in _by_line(members):
            parts += _described(name, each)
        for name in PORTS_BESIDE.get(title, ()):
            parts += _described(name, getattr(runcoord.ports, name))
    for module in (runcoord.ports, runcoord.testing):
        parts += [f"## `{module.__name__}`", markdown(module.__doc__ or "")]
        rest = {name: getattr(module, name) for name in module.__all__ if name not in names}
        parts.append(table(("Name", "Meaning"), [_brief(name, each) for name, each in rest.items()]))
    parts += [f"## `{runcoord.values.__name__}`", markdown(runcoord.values.__doc__ or "")]
    if missing := names.keys() - placed:
        raise RuntimeError(f"no section of the page has {', '.join(sorted(missing))}")
    return page("Library", *parts)


def _by_line(members: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """In the order of the source, module by module: what belongs together stands together."""
    lines = {name: module_source(each.__module__).symbols[name].line for name, each in members.items()}
    return sorted(members.items(), key=lambda pair: (pair[1].__module__, lines[pair[0]]))


def _brief(name: str, each: Any) -> list[str]:
    return [code(name), first_paragraph(_source_of(name, each).doc)]


def _source_of(name: str, each: Any) -> Symbol:
    """A class, function or alias in the module that defines it."""
    module = getattr(each, "__module__", "")
    if isinstance(each, type) or getattr(each, "__name__", "") == name:
        return module_source(module).symbols[name]
    # An alias of a type, such as Destination, or a value, which do not say where they are from.
    modules = ("runcoord.ports", "runcoord._core.records", "runcoord._core.layouts")
    return next(found[name] for each in modules if name in (found := module_source(each).symbols))


def _described(name: str, each: Any) -> Iterator[str]:
    found = _source_of(name, each)
    yield f"### `{name}`"
    if not isinstance(each, type):
        if found.signature:
            yield f"`{found.signature}`"
        yield markdown(found.doc, paragraphs=True)
        return
    yield markdown(found.doc, paragraphs=True)
    if name == "Settings":
        yield "Its fields: [settings](settings.md)."
    else:
        yield from _members(each)


def _members(kind: type) -> Iterator[str]:
    """Fields and methods of a class, those of its bases first."""
    bases = [
        each for each in reversed(kind.__mro__) if each.__module__.partition(".")[0].endswith("runcoord")
    ]
    classes = [module_source(each.__module__).symbols[each.__name__] for each in bases]
    fields = {n: f for each in classes for n, f in each.fields.items() if not n.startswith("_")}
    methods = {n: m for each in classes for n, m in each.methods.items() if n == "__call__" or n[0] != "_"}
    if issubclass(kind, enum.Enum) and not any(f.doc for f in fields.values()):
        yield "Members: " + ", ".join(f"`{n}` (`{f.annotation}`)" for n, f in fields.items()) + "."
    elif issubclass(kind, enum.Enum):
        yield table(("Member", "Value", "Meaning"), [_field_row(n, f) for n, f in fields.items()])
    elif fields and not any(f.doc for f in fields.values()):
        yield "Fields: " + ", ".join(code(f"{n}: {f.annotation}") for n, f in fields.items()) + "."
    elif fields:
        yield table(("Field", "Type", "Meaning"), [_field_row(n, f) for n, f in fields.items()])
    if methods:
        yield "\n".join(map(_method, methods.values()))


def _field_row(name: str, each: Field) -> list[str]:
    return [code(name), code(each.annotation), markdown(each.doc)]


def _method(each: Symbol) -> str:
    call = each.signature.removeprefix("__call__")
    return f"- `{call}`: {markdown(each.doc)}" if each.doc else f"- `{call}`"


def settings_page() -> str:
    found = module_source("runcoord._core.settings").symbols["Settings"]
    defaults = runcoord.Settings()
    rows = [
        [code(name), code(repr(getattr(defaults, name))), markdown(each.doc)]
        for name, each in found.fields.items()
    ]
    return page(
        "Settings",
        markdown(found.doc, paragraphs=True),
        "Given as `open_coordinator(path, settings=Settings(lease=60, renew=20))`; in a scenario as "
        "`given: {settings: {lease: 60s, renew: 20s}}`, each with its unit. They are checked together "
        "when they are made, before a store is opened.",
        table(("Setting", "Default", "Meaning"), rows),
    )


# --- the plugin -----------------------------------------------------------------------------------


class Declared:
    """Stands for pytest's parser and keeps what the plugin declares."""

    def __init__(self) -> None:
        self.options: dict[str, dict[str, Any]] = {}

    def getgroup(self, name: str, description: str) -> Declared:
        return self

    def addoption(self, name: str, **how: Any) -> None:
        self.options[name] = how


def plugin_page() -> str:
    declared: Any = Declared()
    pytest_runcoord.plugin.pytest_addoption(declared)
    options = [
        [code(f"{name} {how['metavar']}" if "metavar" in how else name), how["help"]]
        for name, how in declared.options.items()
    ]
    keys = [[code(name), value, says] for name, (value, says) in project_table.KEYS.items()]
    entry = [[code(name), value, says] for name, (value, says) in known_failures.ENTRY_KEYS.items()]
    return page(
        "Options of the plugin",
        "The plugin is named `runcoord`: pytest loads it by itself where the distribution is installed, "
        "and `-p runcoord` asks for it, so that a run stops where it is missing.",
        "## On the command line",
        table(("Option", "Meaning"), options),
        "An option of the command line wins over the key of the project's table.",
        "## In the project's table",
        f"`[{project_table.TABLE}]` in the `{project_table.PYPROJECT}` of pytest's rootdir, or "
        f"`{project_table.OWN_FILE}` there, with the keys at the top; not both. It is read strictly: an "
        "unknown key, or a value that cannot be meant, stops the run before anything runs, with exit code 4.",
        table(("Key", "Value", "Meaning"), keys),
        f"Each `[[{project_table.TABLE}.known_failures]]` has these keys; how they are judged is said in "
        "[gate CI](../how-to/gate-ci.md#known-failures).",
        table(("Key", "Value", "Meaning"), entry),
        "## Files",
        f"Files named `*{pytest_runcoord.file_names.SUFFIX}` are collected, and no others. A test has the id "
        "`file::scenario::variant`; without axes the variant is `default`.",
        "## Marks",
        "Each of a scenario's `tags` is a mark, for `-m`. It is registered as it is met, so "
        "`--strict-markers` has nothing against it.",
        "## Environment",
        "The plugin reads no variable of its own. `GITHUB_ACTIONS` and `GITHUB_WORKSPACE` say whether and "
        "for which folder failures are annotated; those of pytest (`PYTEST_ADDOPTS`, "
        "`PYTEST_DISABLE_PLUGIN_AUTOLOAD`, …) work as ever. While a scenario says `tz`, the variable "
        "`TZ` of the process has its value.",
        "While a scenario runs, the garbage collector waits longer than usual, and what the scenario left is "
        "collected at its end; thresholds are as before afterwards. One that is switched off stays so.",
    )


def fixtures_page() -> str:
    parts = [
        (
            "Each is given to a test that names it. All but `runcoord_tz_drift`, `runcoord_kill_guard` and "
            "`runcoord_scenario` share one clock, `runcoord_clock`; those with a coordinator have its store "
            "in the test's `tmp_path`. Examples: [use the fixtures](../how-to/use-the-fixtures.md)."
        )
    ]
    gives: list[str] = []
    for name, fixture in module_source("pytest_runcoord.plugin").symbols.items():
        if any(each.startswith("pytest.fixture") for each in fixture.decorators):
            kind = fixture.returns.removeprefix("Iterator[").removesuffix("]")
            parts += [f"## `{name}`", markdown(fixture.doc, paragraphs=True), f"Gives: `{kind}`."]
            gives.append(kind)
    parts.append("## What they give")
    for kind in dict.fromkeys([*gives, "Simulated", "Plan", "CheckedResult"]):
        modules = (fixtures, patching, tree, plans, home_fixtures, from_python)
        found = next((getattr(module, kind) for module in modules if hasattr(module, kind)), None)
        if found is None or found.__module__.startswith("runcoord"):
            continue
        source = module_source(found.__module__).symbols[kind]
        parts += [f"### `{kind}`", markdown(source.doc, paragraphs=True), *_members(found)]
    parts.append(
        "`ManualClock` is `runcoord.testing.ManualClock`, `Coordinator` is `runcoord.Coordinator`: see "
        "[library](library.md)."
    )
    return page("Fixtures", *parts)


# --- all of them ----------------------------------------------------------------------------------

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/scenario-language.md": scenario_language,
    "docs/reference/errors.md": errors_page,
    "docs/reference/limits.md": limits_page,
    "docs/reference/library.md": library_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/plugin-options.md": plugin_page,
    "docs/reference/fixtures.md": fixtures_page,
    "docs/reference/hooks.md": lambda: hooks_page(page, table, _members),
    "docs/reference/json-report.md": lambda: report_page(page, table),
    "docs/reference/report.schema.json": schema_text,
    "docs/reference/boundary-faults.md": lambda: faults_page(page, table),
    "docs/reference/subject.md": lambda: subject_page(page, table),
    "docs/reference/program-protocol.md": lambda: program_page(page, table),
    "docs/reference/program-lines.schema.json": lambda: json.dumps(lines_schema(), indent=2) + "\n",
    "scenarios/runcoord.schema.json": json_schema,
}


def outdated() -> dict[str, str]:
    """The files that are not what they should be, with what they should be."""
    made = {name: make() for name, make in PAGES.items()}
    return {
        name: text
        for name, text in made.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text("utf-8") != text
    }


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--write"]):
        sys.stderr.write("usage: python docs/generate.py [--write]\n")
        return 2
    found = outdated()
    for name, text in found.items():
        if arguments:
            (ROOT / name).write_text(text, "utf-8")
        sys.stdout.write(f"{'wrote' if arguments else 'not current:'} {name}\n")
    return 0 if arguments or not found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
