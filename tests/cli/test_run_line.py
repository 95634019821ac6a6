"""A plain ``runcoord run`` is read without click: as click reads it, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runcoord import cli
from runcoord._core import limits
from runcoord._core.scope import Scope
from runcoord._core.values import names_of
from runcoord._supervisor.preparing import VariableNames
from runcoord._supervisor.report import ExitStatus
from runcoord.cli.app import App
from runcoord.cli.failures import Exit
from runcoord.cli.run import FAILED_ITSELF, run
from runcoord.cli.run_invocation import Wishes
from runcoord.cli.run_line import COMPLETION_VARIABLE, RunLine, read
from runcoord.cli.run_options import OPTIONS, Kind
from runcoord.cli.session import Session

NAMES = [name for option in OPTIONS for name in option.names]
VALUES = [
    "",
    "0",
    "1",
    "5",
    "007",
    "-1",
    "+3",
    "1.5",
    "90s",
    "5 m",
    "x",
    "tree",
    "TREE",
    "group",
    "-",
    "--",
    "a=b",
]
WORDS = [
    "run",
    "true",
    "--json",
    "--store",
    "--store=",
    "--store=s.db",
    "--no-color",
    "-h",
    "--help",
    "--version",
]
ODD = ["-qC", "-Cx", "-C=x", "--quiet=1", "--timeou", "\udcff", "٣", "１", "1_0", "99999999999", "--", "-"]


def lines() -> st.SearchStrategy[list[str]]:
    """Command lines, most of them nearly right."""
    value = st.sampled_from(VALUES)
    option = st.one_of(
        st.tuples(st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(NAMES), value),
        st.tuples(st.builds("{}={}".format, st.sampled_from(NAMES), value)),
        st.tuples(st.sampled_from([*WORDS, *ODD])),
    )
    options = st.lists(option, max_size=4).map(lambda found: [word for each in found for word in each])
    command = st.sampled_from([[], ["--"], ["--", "true"], ["true", "--json"], ["--", "--help"], ["", "x"]])
    before = st.sampled_from([[], ["--json"], ["--store", "a.db"], ["--color"]])
    return st.builds(lambda a, b, c: [*a, "run", *b, *c], before, options, command)


def as_click_reads(arguments: Sequence[str], environ: dict[str, str]) -> RunLine | None:
    """What click understands; ``None`` when it refuses the line, or answers it with a text of help."""
    app, session = App(source=lambda: ()), Session()
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("RUNCOORD_STORE", raising=False)
        for name, text in environ.items():
            patched.setenv(name, text)
        try:
            with app.make_context("runcoord", list(arguments), obj=session) as above:
                rest = list(arguments[arguments.index("run") + 1 :])
                with click.Command.make_context(run, "run", rest, above) as context:
                    params: dict[str, Any] = dict(context.params)
        except (click.ClickException, click.exceptions.Exit):
            return None
    command = params.pop("command")
    return RunLine(params, command, session.store, session.store_from, session.json)


@given(lines(), st.sampled_from([{}, {"RUNCOORD_STORE": ""}, {"RUNCOORD_STORE": "env.db"}]))
@example(["run", "--store", "x.db", "-q", "--", "true"], {})
@example(["run", "-C", "/tmp", "--timeout=90s", "sh", "-c", "exit 3"], {})
def test_a_line_is_read_as_click_reads_it_or_left_to_click(
    arguments: list[str], environ: dict[str, str]
) -> None:
    found = read(arguments, environ)
    if found is not None:
        # What click asks the terminal about colours and pages is none of the question.
        assert found == as_click_reads(arguments, environ)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.field)
def test_every_option_has_a_plain_form(option: Any) -> None:
    text = {Kind.LENGTH: ["2m"], Kind.COUNT: ["3"], Kind.CHOICE: ["group"], Kind.FLAG: [], Kind.SWITCH: []}
    seen = []
    for name in option.names:
        arguments = ["run", name, *text.get(option.kind, ["words"]), "true"]
        found = read(arguments, {})
        assert found is not None
        assert found == as_click_reads(arguments, {})
        seen.append(found.options[option.field])
    # The first name of a switch says what goes without saying.
    assert option.begins_with() not in (seen[1:] if option.kind is Kind.SWITCH else seen)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["runs"],
        ["run"],
        ["run", "--"],
        ["run", "--help"],
        ["run", "-h", "true"],
        ["run", "--timeou", "5", "true"],
        ["run", "--timeout", "soon", "true"],
        ["run", "--timeout", "-5", "true"],
        ["run", "--max-live-runs", "0", "true"],
        ["run", "--scope", "all", "true"],
        ["run", "--task", "\udcff", "true"],
        ["run", "--store", "", "true"],
        ["run", "--color", "true"],
        ["--version", "run", "true"],
    ],
    ids=" ".join,
)
def test_what_is_not_plain_is_left_to_click(arguments: list[str]) -> None:
    assert read(arguments, {}) is None


def test_what_the_table_says_of_defaults_is_what_a_run_begins_with() -> None:
    table, names = {option.field: option for option in OPTIONS}, VariableNames()
    variables = [table[field].default for field in ("depth_variable", "max_depth_variable", "grace_variable")]
    assert variables == [names.depth, names.maximum, names.grace]
    assert f"[default: {limits.GRACE_SECONDS};" in table["grace"].help
    assert f"[default: {limits.LIVE_RUNS}]" in table["max_live_runs"].help
    assert (table["scope"].default, table["scope"].choices) == (Scope.TREE, tuple(Scope))


def test_every_option_is_a_wish_and_every_wish_an_option() -> None:
    assert {option.field for option in OPTIONS} == set(names_of(Wishes))


def test_codes_that_are_needed_before_their_enumerations_are_the_same() -> None:
    assert cli.INTERRUPTED == Exit.INTERRUPTED
    assert FAILED_ITSELF == ExitStatus.FAILED_ITSELF


def test_a_request_for_completions_is_left_to_click() -> None:
    assert read(["run", "true"], {}) is not None
    assert read(["run", "true"], {COMPLETION_VARIABLE: "bash_complete"}) is None
