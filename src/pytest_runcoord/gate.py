"""Around a whole run: what is run, the line at its head, the summary at its end, and whether enough ran.

Loaded with the plugin, so it costs next to nothing where no scenario is: what counts comes with the first
report on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord.options import BY_TABLE, TIERS, Options

if TYPE_CHECKING:
    from pytest_runcoord.tally import Tally

OPTIONS = pytest.StashKey[Options]()
SCENARIO_PROPERTY = "runcoord_scenario"


class Gate:
    """The hooks of one session. Under xdist each process has one; only the controller's sees all reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = Options(config)
        self.tally: Tally | None = None
        self.problem = ""
        self.problem_markup: dict[str, bool] = {}
        config.stash[OPTIONS] = self.options
        if self.options.suite is not None:
            _add_argument(config, str(self.options.suite), alone=self.options.suite_alone)

    # --- before ---

    def pytest_report_header(self) -> str:
        return f"runcoord {version(self.config)}: {self.options.header()}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Workers of xdist have no terminal; their reports are laid out for the one that shows them."""
        node.workerinput["runcoord_width"] = self.config.get_terminal_writer().fullwidth

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        tiers = self.options.tiers
        if not tiers:
            return
        # Tests that are no scenarios have no tier, and stay.
        chosen = [item for item in items if getattr(item, "runcoord_tier", tiers[0]) in tiers]
        if len(chosen) < len(items):
            others = [item for item in items if getattr(item, "runcoord_tier", tiers[0]) not in tiers]
            self.config.hook.pytest_deselected(items=others)
            items[:] = chosen

    # --- meanwhile ---

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not any(name == SCENARIO_PROPERTY for name, _ in report.user_properties):
            return
        if self.tally is None:
            from pytest_runcoord.tally import Tally

            self.tally = Tally()
        self.tally.add(report.nodeid, report.when or "", report.outcome, report.user_properties)

    # --- after ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = self.config
        if hasattr(config, "workerinput") or config.getoption("collectonly"):
            return
        ran = 0 if self.tally is None else self.tally.scenarios_run()
        self._tell_junit(ran)
        required, by = self.options.required, self.options.required_by
        if ran >= required:
            self._require_tiers(session)
            return
        narrowed = self._narrowed_by()
        if narrowed:
            self.problem = f"{by} asks for {required} scenarios; not checked, because {narrowed} chose some"
            self.problem_markup = {"yellow": True}
            return
        self.problem = f"{ran} scenarios ran, at least {required} are required by {by}"
        self.problem_markup = {"red": True, "bold": True}
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _require_tiers(self, session: pytest.Session) -> None:
        """A tier that is required, and of which nothing ran, fails a run that asked for everything."""
        ran = [] if self.tally is None else [each for each in TIERS if self.tally.ran_in(each)]
        absent = [each for each in self.options.required_tiers if each not in ran]
        if not absent or self._narrowed_by():
            return
        self.problem = f"no scenario ran in the tier {', '.join(absent)}, which is required"
        self.problem_markup = {"red": True, "bold": True}
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        verbosity = self.config.get_verbosity()
        if self.tally is not None and verbosity >= 0:
            terminalreporter.write_sep("=", "runcoord")
            for line in self.tally.summary(self.config.get_terminal_writer().fullwidth):
                terminalreporter.write_line(line)
        elif self.tally is not None and verbosity == -1:
            terminalreporter.write_line(f"runcoord: {self.tally.counts_line()}")
        if self.problem:
            terminalreporter.write_line(f"runcoord: {self.problem}", **self.problem_markup)

    def _narrowed_by(self) -> str:
        """The option by which the user asked for a part only; then a minimum says nothing."""
        config = self.config
        option = config.option
        typed = [str(each) for each in config.invocation_params.args]
        if any("::" in each for each in config.args):
            return "a node id"
        for name, given in {
            "-k": option.keyword,
            # One in addopts is the project's idea of all its tests.
            "-m": any(each.startswith("-m") for each in typed),
            "--deselect": option.deselect,
            "--lf": getattr(option, "lf", False),
            "--sw": getattr(option, "stepwise", False),
        }.items():
            if given:
                return name
        paths = config.args_source is pytest.Config.ArgsSource.ARGS
        if paths and self.options.suite is None and self.options.required_by == BY_TABLE:
            return "a path"
        return ""

    def _tell_junit(self, ran: int) -> None:
        """Says in a JUnit file that scenarios ran, for those who see only that file."""
        if self.tally is None and not self.options.required:
            return
        for plugin in self.config.pluginmanager.get_plugins():
            tell = getattr(plugin, "add_global_property", None)
            if callable(tell):
                tell("runcoord_scenarios_run", str(ran))
                tell("runcoord_subject", self.options.subject_name or "reference")


def _add_argument(config: pytest.Config, path: str, *, alone: bool) -> None:
    """Asked for on the command line, the suite is all that runs without arguments of the user's own; asked
    for by the project, it runs beside the project's own where there are none."""
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    if alone and not given:
        config.args[:] = [path]
    elif path not in config.args and alone is given:
        config.args.append(path)


def version(config: pytest.Config) -> str:
    """From the distribution that pytest found the plugin in; importing the library for it would cost more."""
    for plugin, dist in config.pluginmanager.list_plugin_distinfo():
        if getattr(plugin, "__name__", "") == "pytest_runcoord.plugin":
            return str(dist.version)
    return "(version unknown: not loaded from an installed distribution)"
