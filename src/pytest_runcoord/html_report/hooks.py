"""Around a run for which a report was asked: pictures are taken where scenarios run, and written at the end.

Registered with ``--runcoord-report`` only; without it nothing of this is loaded. What a scenario's process
has to tell is an attribute of its report: pytest-xdist carries those, and unlike ``user_properties`` they
do not end up in JUnit files.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.collection import ScenarioItem, VariantItem
from pytest_runcoord.extending import watched_in
from pytest_runcoord.gate import OPTIONS, left_out_line
from pytest_runcoord.html_report.gate_told import gate_told
from pytest_runcoord.html_report.gathering import Gathered, told
from pytest_runcoord.html_report.page import page
from pytest_runcoord.judging import turn_red
from pytest_runcoord.options import REFERENCE
from pytest_runcoord.picture.recording import Recorder
from pytest_runcoord.registered import version
from pytest_runcoord.subject_met import SUBJECT_MET, SubjectMet
from pytest_runcoord.tally import SCENARIO
from pytest_runcoord.whole_files import require_writable, write_whole

ATTRIBUTE = "runcoord_report"
OPTION = "--runcoord-report"
FILE = "index.html"


class HtmlReport:
    """The hooks of one process. Only the one without ``workerinput`` gathers and writes.

    Raises :class:`pytest.UsageError` for a directory that cannot be written, before anything runs.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = config.stash[OPTIONS]
        self.directory = self.options.report or config.invocation_params.dir
        self.writes = not hasattr(config, "workerinput") and not config.getoption("collectonly")
        self.gathered = Gathered()
        self.files_told: set[str] = set()
        self.outcome = ""
        self.failed = False
        config.stash.setdefault(SUBJECT_MET, SubjectMet())
        if self.writes:
            require_writable("--runcoord-report", self.directory)
            _require_meant(config, self.directory)

    # --- where scenarios run ---

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        if isinstance(item, VariantItem):
            item.recorder = Recorder()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if isinstance(item, ScenarioItem) and (call.when == "call" or not report.passed):
            file = item.file.shown_as
            source = None if file in self.files_told else item.file.text
            self.files_told.add(file)
            setattr(report, ATTRIBUTE, told(file, item.scenario, _recorder(item), source, self._met()))
        return report  # type: ignore[no-any-return]

    # --- where it is written ---

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.writes and any(name == SCENARIO for name, _ in report.user_properties):
            self.gathered.add(
                report.nodeid,
                report.when or "",
                report.outcome,
                report.user_properties,
                getattr(report, ATTRIBUTE, ""),
                report.longreprtext if report.failed else "",
                str(getattr(report, "wasxfail", "")),
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.writes:
            return
        path = self.directory / FILE
        try:
            write_whole(path, page(self._data(), self.gathered.tally.counts_line()))
        except OSError as error:
            self.failed = True
            self.outcome = f"the report could not be written to {path}: {error.strerror or error}"
            turn_red(session)
        else:
            self.outcome = f"report in {path}"

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.outcome and (self.failed or self.config.get_verbosity() >= -1):
            terminalreporter.write_line(f"runcoord: {self.outcome}", red=self.failed)

    def _data(self) -> dict[str, Any]:
        options, gate = self.options, self.config.pluginmanager.getplugin("runcoord-gate")
        asked_for = options.subject_name or REFERENCE
        name, version_of_it = self.gathered.subject
        subject = " ".join((name if options.foreign and name else asked_for).split())
        version_of_it = (
            " ".join((options.subject_version or version_of_it).split()) if options.foreign else ""
        )
        named = [] if subject == asked_for else [f"({asked_for})"]
        facts = [
            ("subject", " ".join(filter(None, (subject, version_of_it, *named)))),
            ("runcoord", version(self.config)),
            ("pytest", pytest.__version__),
            ("Python", platform.python_version()),
            ("SQLite", sqlite3.sqlite_version),
            ("on", f"{platform.system()} {platform.release()}"),
            ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ]
        says = {each.id: " ".join(each.says.split()) for each in reversed(watched_in(self.config))}
        return {
            "title": " ".join(
                ("Scenarios on", *(() if options.foreign else ("the",)), subject, version_of_it)
            ).strip(),
            "facts": [[name, value] for name, value in facts],
            "gate": gate_told(options, gate.judgement, self.gathered.tally),
            "leftOut": left_out_line(gate.left_out) if gate.left_out else "",
            **self.gathered.as_json(says, self._in_suite, options.table.required_invariants),
        }

    def _in_suite(self, file: str) -> str | None:
        """Where a file of the shipped suite is in it; ``None`` for one of the project's own."""
        suite, path = self.options.suite, (self.config.invocation_params.dir / file).resolve()
        return (
            path.relative_to(suite).as_posix() if suite is not None and path.is_relative_to(suite) else None
        )

    def _met(self) -> SubjectMet:
        return self.config.stash[SUBJECT_MET]


def _recorder(item: ScenarioItem) -> Recorder | None:
    """What was recorded of the last attempt, let go of: it holds a whole world."""
    if not isinstance(item, VariantItem):
        return None
    recorder, item.recorder = item.recorder, None
    return recorder


def _require_meant(config: pytest.Config, directory: Path) -> None:
    """pytest looks for its configuration before it knows the options of plugins: a directory that is there,
    written after a blank, is taken for one of tests; if it lies elsewhere the project's settings are lost."""
    params = config.invocation_params
    elsewhere = directory.is_dir() and not directory.resolve().is_relative_to(params.dir.resolve())
    if elsewhere and OPTION in map(str, params.args):
        raise pytest.UsageError(
            f"{OPTION}: pytest takes {directory} for a directory of tests, and may have read no settings of "
            f"the project. Write it in one word: {OPTION}={directory}. Nothing was run."
        )
