"""Commands of other packages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pytest

from cli.planting import Garden
from cli.shell import Answer, Shell, in_a_process, unchanged
from runcoord.errors import LeaseHeld


@dataclass(frozen=True)
class Entry:
    """An entry point: what ``importlib.metadata`` gives, with the thing itself at hand."""

    name: str
    thing: Any
    value: str = "somewhere:something"

    def load(self) -> Any:
        if isinstance(self.thing, BaseException):
            raise self.thing
        return self.thing


@click.command("greet")
@click.option("--name", default="you")
@click.pass_obj
def greet(session: Any, name: str) -> None:
    """Say hello."""
    if session.json:
        session.output.document({"hello": name})
    else:
        click.echo(f"hello {name}")


@click.command("refuse")
def refuse() -> None:
    """Be refused."""
    raise LeaseHeld("somebody has it", remedy="Wait.", owner="x")


def shell_with(shell: Shell, *entries: Entry) -> Shell:
    return replace(shell, source=lambda: entries)


def test_a_contributed_command_is_listed_and_works_like_any_other(shell: Shell) -> None:
    shell = shell_with(shell, Entry("greet", greet))
    assert "Commands of other packages:\n  greet  Say hello.\n" in shell("--help").out
    assert shell("greet", "--name", "me") == Answer(0, "hello me\n")
    assert shell("--json", "greet").document == {"hello": "you"}
    assert shell("greet", "--json").document == {"hello": "you"}
    assert "--json" in shell("greet", "--help").out


def test_a_refusal_of_a_contributed_command_is_told_like_any_other(shell: Shell) -> None:
    shell = shell_with(shell, Entry("refuse", refuse))
    answer = shell("refuse", "--json")
    assert (answer.code, answer.error["code"], answer.error["details"]) == (1, "lease-held", {"owner": "x"})
    assert shell("refuse").err == "Error: somebody has it.\n  Wait.\n  (lease-held; nothing was changed)\n"


BROKEN = {
    "ModuleNotFoundError: No module named 'x'": ModuleNotFoundError("No module named 'x'"),
    "SyntaxError: bad \\x1b[31m syntax": SyntaxError("bad \x1b[31m syntax"),
    "SystemExit: 3": SystemExit(3),
    "is a str, not a click command": "just text",
}


@pytest.mark.parametrize(("reason", "thing"), BROKEN.items(), ids=["missing", "syntax", "exit", "other"])
def test_a_command_that_cannot_be_imported_is_listed_with_the_reason_and_breaks_no_other(
    garden: Garden, shell: Shell, reason: str, thing: object
) -> None:
    garden.accepted("r")
    shell = shell_with(shell, Entry("broken", thing), Entry("greet", greet))
    help_text = " ".join(shell("--help").out.split())
    assert "broken (cannot be used: " in help_text
    assert reason in help_text
    assert "greet Say hello." in help_text
    assert shell("greet").code == 0
    assert shell("runs").code == 0
    with unchanged(garden.path):
        answer = shell("broken", "--some", "thing", "--json")
    assert (answer.code, answer.out) == (1, "")
    assert reason in answer.error["problem"]
    assert answer.error["code"] == "invalid-configuration"
    assert reason in " ".join(shell("broken", "--help").out.split())


def test_our_own_commands_are_not_replaced_and_do_not_look_for_others(garden: Garden, shell: Shell) -> None:
    garden.accepted("r")

    def forbidden() -> tuple[Entry, ...]:
        raise AssertionError("looked for commands of other packages")

    assert replace(shell, source=forbidden)("runs").code == 0
    replaced = shell_with(shell, Entry("runs", greet))
    assert "hello" not in replaced("runs").out
    assert "Commands of other packages" not in replaced("--help").out


def test_of_two_commands_with_one_name_the_same_one_is_taken_every_time(shell: Shell) -> None:
    first, second = Entry("greet", greet, "a:a"), Entry("greet", refuse, "b:b")
    assert shell_with(shell, first, second)("greet").code == 0
    assert shell_with(shell, second, first)("greet").code == 0


def plant_package(folder: Path) -> None:
    """A package as an installer leaves it, with one good command and one that is broken."""
    (folder / "planted.py").write_text(
        "import click\n@click.command()\ndef good():\n    'Works.'\n    click.echo('it works')\n", "utf-8"
    )
    info = folder / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[runcoord.commands]\nplanted-good = planted:good\nplanted-bad = planted_elsewhere:bad\n", "utf-8"
    )


def test_commands_of_an_installed_package_are_found(tmp_path: Path) -> None:
    plant_package(tmp_path)
    unused = tmp_path / "runs.db"
    shown = in_a_process(unused, "--help", PYTHONPATH=str(tmp_path))
    assert "planted-good  Works." in shown.out
    assert "No module named 'planted_elsewhere'" in " ".join(shown.out.split())
    assert in_a_process(unused, "planted-good", PYTHONPATH=str(tmp_path)).out == "it works\n"
    broken = in_a_process(unused, "planted-bad", PYTHONPATH=str(tmp_path))
    assert broken.code == 1
    assert "Traceback" not in broken.err
    assert not unused.exists()
