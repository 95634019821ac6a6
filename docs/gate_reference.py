"""The reference pages of the hooks and of the JSON report, from the code that checks and writes them."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from source_text import markdown, module_source

from pytest_runcoord import hookspecs, report_schema, steps
from pytest_runcoord.extending import HOOKS
from pytest_runcoord.invariants import Invariant

PageMaker = Callable[..., str]
TableMaker = Callable[[Iterable[str], Iterable[Iterable[str]]], str]
Members = Callable[[type], Iterator[str]]
SCHEMA_FILE = "report.schema.json"


def hooks_page(page: PageMaker, table: TableMaker, members: Members) -> str:
    """Every hook, with its example, and what words and invariants of a project may use."""
    lead, _, rest = (hookspecs.__doc__ or "").partition("\n\n")
    parts = [
        markdown(lead),
        markdown(rest, paragraphs=True),
        "Whole ones that run: [extend the harness](../how-to/extend-the-harness.md).",
    ]
    for name, function in HOOKS.items():
        says, _, example = inspect.cleandoc(function.__doc__ or "").partition("\nExample::\n")
        arguments = ", ".join(inspect.signature(function).parameters)
        parts += [
            f"## `{name}({arguments})`",
            markdown(says, paragraphs=True),
            f"<!-- not run: a fragment -->\n```python\n{textwrap.dedent(example).strip()}\n```",
        ]
    lead, _, rest = (steps.__doc__ or "").partition("\n\n")
    parts += ["## `pytest_runcoord.steps`", markdown(lead), markdown(rest, paragraphs=True)]
    parts += ["### `StepWorld`", *members(steps.StepWorld)]
    source = module_source(Invariant.__module__).symbols["Invariant"]
    parts += [
        "## `pytest_runcoord.invariants.Invariant`",
        markdown(source.doc, paragraphs=True),
        *members(Invariant),
        (
            "An invariant reads what it is handed: entries of the history (`kind`, `actor`, `what`, "
            "`status`, `data`, and three clocks) and snapshots ([subject](subject.md)); "
            "`self.world.instant()` is the moment."
        ),
    ]
    return page("Hooks", *parts)


def report_page(page: PageMaker, table: TableMaker) -> str:
    """Every field of the JSON report."""
    lead, _, rest = (report_schema.__doc__ or "").partition("\n\n")
    parts = [
        f"What `pytest --runcoord-json=FILE` writes, whole or not at all. {markdown(lead)}",
        markdown(rest, paragraphs=True),
        (
            f"The [schema]({SCHEMA_FILE}) is also what `runcoord schema --report` prints. With pytest-xdist "
            "the report is that of the whole run; a run that is interrupted writes one too. "
            "[Gate CI](../how-to/gate-ci.md#json) shows one."
        ),
    ]
    for name, says, rows in report_schema.described():
        title = name if name[0].isupper() else name.replace("_", "-")
        parts += [f"## {title}", says, table(("Field", "Value", "Meaning"), rows)]
    return page("JSON report", *parts)


def schema_text() -> str:
    """The schema as a file."""
    found: dict[str, Any] = report_schema.report_schema()
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
