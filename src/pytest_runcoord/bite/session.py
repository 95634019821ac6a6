"""Around a run with ``--runcoord-bite``: faults take the place of scenarios, and a table closes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord.bite.choosing import candidates
from pytest_runcoord.bite.items import ATTRIBUTE, BiteItem, BiteNode
from pytest_runcoord.bite.registry import registered
from pytest_runcoord.bite.summary import counts, table
from pytest_runcoord.bite.trying import Trials
from pytest_runcoord.collection import InvalidItem, VariantItem
from pytest_runcoord.extending import watched_in
from pytest_runcoord.gate import OPTIONS
from pytest_runcoord.known_failures import BITE as NAME
from pytest_runcoord.options import Options
from pytest_runcoord.project_place import mistake
from pytest_runcoord.reference import Reference

REPORT = pytest.StashKey[list[dict[str, Any]]]()
"""What came of each fault so far, as plain JSON types; complete when the session finishes."""
NOTHING_COLLECTED = (
    "--runcoord-bite: no scenario was collected in the tier sim, so there is nothing that a fault could turn "
    "red. Name files with scenarios, or add --runcoord-suite for the shipped ones."
)


class BiteSession:
    """The hooks of one process. Raises :class:`pytest.UsageError` for what cannot go together."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options: Options = config.stash[OPTIONS]
        self.faults = registered(config)
        self._check_accepted()
        self.told: dict[str, dict[str, Any]] = {}
        self.reruns: set[str] = set()
        config.stash[REPORT] = []
        self.collected = 0
        if self.options.report is not None:
            raise pytest.UsageError(
                "--runcoord-bite and --runcoord-report: a picture shows a scenario, and this runs faults. "
                "Give one of them."
            )
        if self.options.tiers and "sim" not in self.options.tiers:
            raise pytest.UsageError(
                f"--runcoord-bite runs in the tier sim, and only {', '.join(self.options.tiers)} is asked for"
            )

    def pytest_report_header(self) -> str:
        return f"runcoord bite: {len(self.faults)} boundary faults in place of the scenarios, tier sim"

    # --- before ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        variants = [each for each in items if isinstance(each, VariantItem)]
        kept = [each for each in items if isinstance(each, InvalidItem)]
        found = candidates((each.scenario, each.variant, each.nodeid.partition("::")[0]) for each in variants)
        self.config.hook.pytest_deselected(items=[each for each in items if each not in kept])
        items[:] = kept
        self.collected = len(found)
        if not found:
            if not session.testsfailed and not kept and not hasattr(self.config, "workerinput"):
                raise pytest.UsageError(NOTHING_COLLECTED)
            return
        scenarios = len({(each.shown_as, each.scenario.name) for each in found})
        self._require(scenarios)
        node = BiteNode.from_parent(session, path=self.config.rootpath / NAME, name=NAME, nodeid=NAME)
        trials = self._trials(found)
        made: list[pytest.Item | pytest.Collector] = [
            BiteItem.from_parent(node, fault=each, number=number, trials=trials)
            for number, each in enumerate(self.faults)
        ]
        # Whoever counts what was collected hears of them as of all others.
        report = pytest.CollectReport(NAME, "passed", None, made)
        self.config.hook.pytest_collectreport(report=report)
        items += [each for each in made if isinstance(each, pytest.Item)]

    def _check_accepted(self) -> None:
        """Refuse a table that accepts what is no fault."""
        names = [each.name for each in self.faults]
        for entry in self.options.table.known_failures:
            if entry.fault and entry.fault not in names:
                raise mistake(
                    entry.place, f"{entry.scenario!r} names no fault", did_you_mean(entry.fault, names)
                )

    def _require(self, scenarios: int) -> None:
        """The number that a user asks for is one of scenarios, here of those that faults are tried on."""
        asked = self.config.getoption("runcoord_require")
        if asked is not None and scenarios < self.options.required:
            raise pytest.UsageError(
                f"--runcoord-require: {scenarios} scenarios were collected to try faults on, at least "
                f"{self.options.required} are required"
            )

    def _trials(self, found: list[Any]) -> Trials:
        options = self.options
        try:
            subject = options.new_subject()
        except pytest.fail.Exception as error:
            raise pytest.UsageError(str(error)) from None
        able = Reference.capabilities if subject is None else frozenset(subject.capabilities)
        name = "runcoord" if subject is None else str(subject.name)
        if options.known is not None:
            options.known.hear(getattr(subject, "version", ""))
        return Trials(found, options.new_subject, able, name, watched_in(self.config))

    # --- meanwhile ---

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if isinstance(item, BiteItem) and call.when == "call" and (told := item.told()) is not None:
            setattr(report, ATTRIBUTE, told)
        return report  # type: ignore[no-any-return]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: dict[str, Any] | None = getattr(report, ATTRIBUTE, None)
        if told is not None:
            self.told[told["fault"]] = told
            self.config.stash[REPORT][:] = [
                {name: value for name, value in each.items() if name != "number"} for each in self._in_order()
            ]

    def _in_order(self) -> list[dict[str, Any]]:
        return sorted(self.told.values(), key=lambda each: int(each["number"]))

    # --- after ---

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Under xdist nobody could say before that there was nothing to try faults on."""
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not self.told:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verbosity = self.config.get_verbosity()
        if not self.told or verbosity < -1:
            return
        if verbosity == -1:
            terminalreporter.write_line(f"runcoord bite: {counts(self._in_order())}")
            return
        terminalreporter.write_sep("=", "runcoord bite")
        subject = self.options.subject_name or "the reference coordinator"
        for line in table(self._in_order(), subject):
            terminalreporter.write_line(line.text, red=line.bad, bold=line.bad)
