"""Around a whole run: what is run, the line at its head, the summary at its end, and whether it is green.

Loaded with the plugin, so it costs next to nothing where no scenario is: what counts and judges comes with
the first report on one, or with a project that asks for something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord.options import Options
from pytest_runcoord.registered import hooks_in, version

if TYPE_CHECKING:
    from pytest_runcoord.judging import Judgement
    from pytest_runcoord.tally import Tally

OPTIONS: pytest.StashKey[Options] = pytest.StashKey()
SCENARIO_PROPERTY = "runcoord_scenario"
SUFFIX = ".runcoord.yaml"
KNOWN_MET = "runcoord_known_met"
"""What a worker of xdist tells when it ends: the known failures that are about something it collected."""
LEFT_OUT = "runcoord_left_out"
"""The same: the variants that it deselected, since they can run on the reference only."""


LOOKS = ("collectonly", "showfixtures", "show_fixtures_per_test", "cacheshow")
"""Options by which pytest shows something, and runs nothing that could be required."""


class Gate:
    """The hooks of one session. Under xdist each process has one; only the controller's sees all reports."""

    def __init__(self, config: pytest.Config, teller: Callable[[Gate], Any]) -> None:
        """``teller`` makes the :class:`~pytest_runcoord.telling.Telling` of a session."""
        self.config, self._teller = config, teller
        self.options = Options(config)
        self.tally: Tally | None = None
        self.judgement: Judgement | None = None
        self.spread = False
        self.met: set[str] | None = None
        self.left_out: dict[str, int] = {}
        """What only the reference has, with the number of variants that chose it and so cannot run at all."""
        self.ended_by = ""
        config.stash[OPTIONS] = self.options
        self.hooks = hooks_in(config)
        self.registered = True
        """Whether a plugin was registered since hooks were looked for: nobody else brings any."""
        self.telling: Any = None
        """Who tells machines what came of the run, as soon as there is something to tell."""
        self.tells = self.options.json is not None
        if self.hooks or self.options.table.required_invariants:
            from pytest_runcoord.extending import extend, require_invariants

            extended = extend(config)
            require_invariants(config, self.options.table)
            self.tells = self.tells or bool(extended.reports)
        if self.options.suite is not None:
            _add_argument(config, str(self.options.suite), alone=self.options.suite_alone)

    # --- before ---

    @pytest.hookimpl(trylast=True)  # shown above what pytest itself says
    def pytest_report_header(self) -> list[str]:
        able = self.options.able()
        return [f"runcoord {version(self.config)}: {self.options.header()}", *([able] if able else [])]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Workers of xdist have no terminal; their reports are laid out for the one that shows them."""
        self.spread = True
        node.workerinput["runcoord_width"] = self.config.get_terminal_writer().fullwidth

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        told = output.get(KNOWN_MET)
        if told is not None:
            self.met = (self.met or set()) | set(told)
        self.left_out = output.get(LEFT_OUT) or self.left_out  # each of them collects all

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # Tests that are no scenarios have no tier, and stay.
        if tiers := self.options.tiers:
            self._deselect(items, lambda item: getattr(item, "runcoord_tier", tiers[0]) not in tiers)
        if self.options.foreign:
            required = self.options.required_tiers
            never = [
                getattr(item, "runcoord_never", "")
                for item in self._deselect(items, lambda item: _never_runs(item, required))
            ]
            self.left_out = {each: never.count(each) for each in sorted(set(never))}

    def _deselect(self, items: list[pytest.Item], meant: Callable[[pytest.Item], bool]) -> list[pytest.Item]:
        """Leave out some, and say which."""
        kept: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            (others if meant(item) else kept).append(item)
        if others:
            items[:] = kept
            self.config.hook.pytest_deselected(items=others)
        return others

    def pytest_plugin_registered(self) -> None:
        self.registered = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A conftest that pytest loads while it collects is too late for hooks of runcoord, and says so."""
        if report.failed and self.options.annotations and report.nodeid.endswith(SUFFIX):
            self.tell().pytest_collectreport(report)  # twice is once
        registered, self.registered = self.registered, False
        if report.failed or (registered and hooks_in(self.config) != self.hooks):
            from pytest_runcoord.extending import refuse_late_hooks

            refuse_late_hooks(self.config, report, self.hooks)

    # --- meanwhile ---

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not any(name == SCENARIO_PROPERTY for name, _ in report.user_properties):
            return
        if self.options.annotations and self.telling is None and not hasattr(self.config, "workerinput"):
            self.tell().pytest_runtest_logreport(report)
        self.counted().add(report.nodeid, report.when or "", report.outcome, report.user_properties)

    def tell(self) -> Any:
        """Who tells machines; loaded when it is needed, since many runs on GitHub have no scenarios."""
        if self.telling is None:
            self.telling = self._teller(self)
            named = self.config.pluginmanager.register(self.telling, "runcoord-telling")
            if named is None and self.options.json is not None:
                raise pytest.UsageError(
                    "-p no:runcoord-telling: it writes the report that --runcoord-json asks for; leave one "
                    "of them out. Nothing was run."
                )
        return self.telling

    def counted(self) -> Tally:
        if self.tally is None:
            from pytest_runcoord.tally import Tally

            self.tally = Tally()
        return self.tally

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Also called for ``pytest.exit``, whose exit code may be 0."""
        self.ended_by = f"{excinfo.typename}: {excinfo.value}"

    # --- after ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config, known = self.config, self.options.known
        if hasattr(config, "workerinput"):
            if known is not None:
                config.workeroutput[KNOWN_MET] = sorted(known.met)  # type: ignore[attr-defined]
            config.workeroutput[LEFT_OUT] = self.left_out  # type: ignore[attr-defined]
            return
        looks = any(config.getoption(name, None) for name in LOOKS)
        if looks or not self._has_something_to_judge():
            return
        from pytest_runcoord.judging import hooks_never_called, judge, turn_red

        if not self.spread and known is not None:
            self.met = known.met
        self.judgement = judge(session, self.options, self.counted(), self.met, ended_by=self.ended_by)
        if self.tally is not None and session.exitstatus == pytest.ExitCode.OK:
            self.judgement.problems += hooks_never_called(config, self.hooks)
        self._tell_junit(self.judgement)
        if self.judgement.problems and self.options.annotations:
            self.tell()
        if self.judgement.problems:
            turn_red(session)

    def _has_something_to_judge(self) -> bool:
        options = self.options
        return self.tally is not None or bool(
            options.required or options.required_tiers or options.table.place is not None
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verbosity = self.config.get_verbosity()
        if self.tally is not None and self.tally.variants and verbosity >= 0:
            terminalreporter.write_sep("=", "runcoord")
            width = self.config.get_terminal_writer().fullwidth
            for line in self.tally.summary(width, whole=verbosity > 0):
                terminalreporter.write_line(line)
        elif self.tally is not None and self.tally.variants and verbosity == -1:
            terminalreporter.write_line(f"runcoord: {self.tally.counts_line()}")
        if self.left_out and (verbosity >= 0 or self.tally is None):
            terminalreporter.write_line(f"runcoord: {left_out_line(self.left_out)}")
        if self.tally is not None and self.tally.verdicts()["skipped"]:
            from pytest_runcoord.skips import group_skips, skipped_reports

            skipped = skipped_reports(terminalreporter)
            group_skips(skipped, self.options.suite, self.config.rootpath)
        if self.judgement is not None:
            self._show(terminalreporter, self.judgement)

    def _show(self, terminalreporter: pytest.TerminalReporter, judgement: Judgement) -> None:
        for note in judgement.notes:
            terminalreporter.write_line(f"runcoord: {note}", yellow=True)
        for problem in judgement.problems:
            at = "" if problem.place is None else f" ({problem.place})"
            terminalreporter.write_line(f"runcoord: {problem.message}{at}", red=True, bold=True)
            if problem.remedy:
                terminalreporter.write_line(f"  {problem.remedy}", red=True)

    def _tell_junit(self, judgement: Judgement) -> None:
        """Says in a JUnit file that scenarios ran, for those who see only that file."""
        tally, options = self.counted(), self.options
        if not tally.variants and not judgement.problems and not options.required:
            return
        facts = {
            "runcoord_scenarios_run": str(tally.scenarios_run()),
            "runcoord_subject": options.subject_name or "reference",
            "runcoord_subject_version": options.subject_version,
            "runcoord_gate": judgement.verdict,
            "runcoord_gate_reasons": "; ".join(each.message for each in judgement.problems),
            "runcoord_known_failures": str(tally.verdicts()["xfailed"] or ""),
        }
        for plugin in self.config.pluginmanager.get_plugins():
            tell = getattr(plugin, "add_global_property", None)
            if callable(tell):
                for name, value in facts.items():
                    if value:
                        tell(name, value)


def _never_runs(item: pytest.Item, required: tuple[str, ...]) -> bool:
    """Whether a variant cannot run on any subject but the reference. One of the tier real stays where that is
    required: what is required fails when it cannot be had."""
    tier = getattr(item, "runcoord_tier", "")
    return bool(getattr(item, "runcoord_never", "")) and not (tier == "real" and tier in required)


def left_out_line(left_out: Mapping[str, int]) -> str:
    """How many variants were left out, and why."""
    count = sum(left_out.values())
    of = ", ".join(f"{choice} {number}" for choice, number in left_out.items())
    return f"deselected: {count} variant{'' if count == 1 else 's'} of what only the reference has: {of}"


def _add_argument(config: pytest.Config, path: str, *, alone: bool) -> None:
    """Asked for on the command line, the suite is all that runs without arguments of the user's own; asked
    for by the project, it runs beside the project's own where there are none."""
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    if alone and not given:
        config.args[:] = [path]
    elif path not in config.args and alone is given:
        config.args.append(path)
