"""A reader who does what one page says, block by block, in an empty directory."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from docs import prepared
from docs.blocks import Block, Command, UnreadableBlock, commands
from docs.normal import agree, scrubbed
from docs.terminals import Finished, Terminal, on_a_terminal, piped
from pytest_runcoord._scope import Scope
from pytest_runcoord._strict_yaml import read_documents
from pytest_runcoord.from_python import CheckedResult, ScenarioRunner
from pytest_runcoord.scenario import InvalidScenario, Scenario, ScenarioError, load_text, variants
from pytest_runcoord.schema import schema
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Verdict
from pytest_runcoord.vocabulary import Json

RUNNABLE = frozenset({"cat", "export", "kill", "ls", "pytest", "python", "runcoord"})
"""First words of commands that are run. A block with any other is marked as not run, with its reason."""
ON_A_TERMINAL = "runcoord"
"""The command whose output is laid out for a terminal."""
COLUMNS = 88
"""Width of the terminal where a page does not say."""
SHOWN_PID = "4242"
"""What a page shows as the number of a process in a terminal."""


class Wrong(AssertionError):
    """Something on a page is not as it says. ``output`` is what should stand there, if that is known."""

    def __init__(self, place: str, problem: str, *, shown: str = "", output: str | None = None) -> None:
        text = f"{place}: {problem}"
        if output is not None:
            text += f"\n--- shown ---\n{shown}--- seen ---\n{output}"
            text += "--- if that is right: python tests/docs/capture.py ---"
        super().__init__(text)


@dataclass(frozen=True)
class Correction:
    """Output that a page shows and a run does not give."""

    begin: int
    end: int
    output: str


class Session:
    """One page being followed. With ``corrections`` other output is noted there instead of raising."""

    def __init__(self, directory: Path, corrections: list[Correction] | None = None) -> None:
        self.directory = directory
        self.corrections = corrections
        home = directory / ".home"
        home.mkdir(parents=True)
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "TZ": "UTC",
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        self._columns = COLUMNS
        self._terminals: dict[str, Terminal] = {}
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = io.StringIO()
        self._tests = 0
        self._unused: dict[str, Block] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for terminal in self._terminals.values():
            terminal.end()

    # --- one block ---

    def follow(self, block: Block) -> None:
        """Do what the block is for. Raises :class:`Wrong`."""
        if "prepared" in block.says:
            self.environment |= prepared.prepare(block.says["prepared"], self.directory)
        self._columns = int(block.says.get("columns", self._columns))
        if "not run" in block.says:
            if not block.says["not run"]:
                raise UnreadableBlock(f"{block.place}: say why it is not run")
            return
        self._note_use(block)
        if "file" in block.says:
            self._write(block, block.says["file"])
            self._unused[block.says["file"]] = block
        what: dict[str, Callable[[Block], None]] = {
            "yaml": self._yaml,
            "python": self._python,
            "console": self._console,
            "text": self._text,
        }
        what.get(block.language, _nothing)(block)

    def end(self) -> None:
        """Run the tests that the page has, and look for files that nothing used."""
        if self._tests:
            done = self._run("pytest -q -p runcoord test_of_the_page_*.py")
            if done.code:
                raise Wrong("the tests of the page", f"exit code {done.code}\n{done.output}")
        for block in self._unused.values():
            raise Wrong(block.place, f"nothing that follows uses {block.says['file']}")

    def _note_use(self, block: Block) -> None:
        """A file is used by what names it; pytest reads its own files unasked."""
        reads = block.language == "console" and ("pytest" in block.text or "runcoord check" in block.text)
        for name in list(self._unused):
            own = name.endswith((".runcoord.yaml", ".toml", "conftest.py")) and reads
            if own or Path(name).name.partition(".")[0] in block.text:
                del self._unused[name]

    def _write(self, block: Block, name: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")

    def _replace(self, block: Block, name: str) -> None:
        """Put functions in the place of those of the same names, at their indentation."""
        path = self.directory / name
        if not path.is_file():
            raise Wrong(block.place, f"there is no {name} to replace anything in")
        text = path.read_text("utf-8")
        functions = list(functions_of(block.text))
        if not functions:
            raise UnreadableBlock(f"{block.place}: there is no function to replace one with")
        for function, source in functions:
            there = [old for found, old in functions_of(text) if found == function]
            if len(there) != 1:
                raise Wrong(block.place, f"{name} has {len(there)} functions named {function}")
            indent = there[0][: len(there[0]) - len(there[0].lstrip())]
            text = text.replace(there[0], textwrap.indent(source, indent))
        path.write_text(text, "utf-8")

    # --- YAML ---

    def _yaml(self, block: Block) -> None:
        if "own words" in block.says:
            if "file" not in block.says:
                raise UnreadableBlock(
                    f"{block.place}: a scenario with own words is a file, which a command runs"
                )
        elif block.is_scenario:
            self._scenarios(block)
        elif "file" not in block.says:
            check_fragment(block)

    def _scenarios(self, block: Block) -> None:
        failures = list(_failures(block))
        if "fails" not in block.says:
            for problem in failures:
                raise Wrong(block.place, problem)
            return
        line, _, message = block.says["fails"].partition(" ")
        as_said = [problem for problem in failures if problem.startswith(f"{line}: ") and message in problem]
        if not failures or as_said != failures:
            raise Wrong(
                block.place, f"does not fail as it says ({block.says['fails']}); failures: {failures}"
            )

    # --- Python ---

    def _python(self, block: Block) -> None:
        if "file" in block.says:
            compile(block.text, block.place, "exec")
        elif "replaces" in block.says:
            self._replace(block, block.says["replaces"])
        elif "\ndef test_" in f"\n{block.text}" or "\nasync def test_" in f"\n{block.text}":
            self._tests += 1
            self._write(block, f"test_of_the_page_{block.line}.py")
        else:
            code = compile("\n" * (block.line - 1) + block.text, block.page, "exec", dont_inherit=True)
            with contextlib.chdir(self.directory), contextlib.redirect_stdout(self._printed):
                exec(code, self._names)

    # --- consoles ---

    def _console(self, block: Block) -> None:
        given = commands(block)
        for command in given:
            words = shlex.split(command.text)
            if words[0] not in RUNNABLE:
                raise UnreadableBlock(
                    f"{block.place}: {words[0]!r} is not run here; mark the block: <!-- not run: why -->"
                )
            last = command is given[-1]
            if words[0] == "export":
                self.environment |= dict(word.partition("=")[::2] for word in words[1:])
            elif words[0] == "kill":
                self._terminals[block.says["kills"]].end()
            elif last and "terminal" in block.says:
                name = block.says["terminal"]
                if name in self._terminals:
                    self._terminals[name].end()
                terminal = Terminal(command.text, self.directory, self.environment)
                self._terminals[name] = terminal
                self._compare(block, command, self._seen(terminal, command.shown))
            else:
                done = self._run(command.text)
                self._check_code(block, command, done, int(block.says.get("exit", 0)) if last else 0)
                self._compare(block, command, done.output, tables=words[0] == ON_A_TERMINAL)

    def _run(self, command: str) -> Finished:
        if command.startswith(f"{ON_A_TERMINAL} "):
            return on_a_terminal(command, self.directory, self.environment, self._columns)
        more = {"COLUMNS": str(self._columns)}
        if " -n " in command:
            more["PYTEST_PLUGINS"] = "xdist.plugin"
        return piped(command, self.directory, self.environment | more)

    def _check_code(self, block: Block, command: Command, done: Finished, wanted: int) -> None:
        if done.code != wanted:
            raise Wrong(block.place, f"{command.text!r} ended with {done.code}, not {wanted}\n{done.output}")

    def _seen(self, terminal: Terminal, shown: str) -> str:
        return scrubbed(terminal.shows(shown), str(self.directory), {terminal.process.pid: SHOWN_PID})

    def _compare(self, block: Block, command: Command, output: str, *, tables: bool = False) -> None:
        if command.shown:
            begin = block.begin + command.begin
            self._require(block, begin, command.shown, output, tables=tables)

    def _text(self, block: Block) -> None:
        if "goes on" in block.says:
            terminal = self._terminals[block.says["goes on"]]
            self._require(block, block.begin, block.text, self._seen(terminal, block.text))
        elif "prints" in block.says:
            printed = self._printed.getvalue()
            self._printed.seek(0)
            self._printed.truncate()
            self._require(block, block.begin, block.text, printed)

    def _require(self, block: Block, begin: int, shown: str, output: str, *, tables: bool = False) -> None:
        output = scrubbed(output, str(self.directory), {})
        if agree(shown, output, tables=tables):
            return
        if self.corrections is None:
            raise Wrong(block.place, "shows other output than a run gives", shown=shown, output=output)
        self.corrections.append(Correction(begin, begin + len(shown), output))


def functions_of(text: str) -> Iterator[tuple[str, str]]:
    """Names of the functions and methods in a source, each with its lines."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, "".join(lines[node.lineno - 1 : node.end_lineno])


def _nothing(block: Block) -> None:
    """Configuration is only written; other blocks are for reading."""


# --- scenarios and parts of them -------------------------------------------------------------------


def _failures(block: Block) -> Iterator[str]:
    """Of every variant of every scenario that does not pass: its line within the block, and the message."""
    run = ScenarioRunner(Path())
    for scenario in load_text(block.text, default_registry(), block.page).scenarios:
        if isinstance(scenario, InvalidScenario):
            yield _said(scenario.error)
            continue
        assert isinstance(scenario, Scenario)
        for variant in variants(scenario):
            result: CheckedResult = run(block.text, scenario=scenario.name, variant=variant.name)
            if result.verdict is not Verdict.PASSED:
                at = result.failure.line if result.failure is not None else 0
                yield f"{at}: {result.report().message} ({variant.name}) {result.skipped}"


def _said(error: ScenarioError) -> str:
    return f"{error.position.line}: {error.problem} ({error.remedy})"


def check_fragment(block: Block) -> None:
    """A part of a scenario uses words that exist, in a way that the schema knows."""
    import jsonschema

    whole = schema(default_registry())
    [document] = read_documents(block.text, block.page)
    values = Json().parse(document.root, cast(Scope, None))
    if isinstance(values, list):
        entry = {"anyOf": [{"$ref": "#/definitions/step"}, {"$ref": "#/definitions/expectation"}]}
        part = {"definitions": whole["definitions"], "type": "array", "items": entry}
    else:
        keys = {**whole["properties"], **whole["properties"]["given"]["properties"]}
        part = {**whole, "required": [], "properties": keys}
    for error in jsonschema.Draft7Validator(part).iter_errors(values):
        raise Wrong(block.place, f"no part of a scenario: {error.message}")
