"""What a run tells machines: the JSON report, annotations, and plugins that asked for the report.

Registered where one of them is wanted; without, nothing of this is loaded. Only the process without
``workerinput`` tells; the others say, with their first report on a scenario, what they know of the subject.
"""

from __future__ import annotations

import copy
import json
import os
import platform
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_runcoord.annotations import Annotation, lines
from pytest_runcoord.extending import EXTENSIONS, Extensions, watched_in
from pytest_runcoord.judging import Judgement, Problem, selection_of, turn_red
from pytest_runcoord.known_failures import SUFFIX, described, key_of
from pytest_runcoord.options import Options
from pytest_runcoord.registered import version
from pytest_runcoord.report_schema import VERDICTS, VERSION
from pytest_runcoord.subject_met import SUBJECT_MET, SubjectMet
from pytest_runcoord.tally import FAILED_BY, FAILED_COLUMN, FAILED_LINE, LINE, SCENARIO, VARIANT
from pytest_runcoord.whole_files import require_file, write_whole

if TYPE_CHECKING:
    from pytest_runcoord.tally import Tally

ATTRIBUTE = "runcoord_subject_met"
OPTION = "--runcoord-json"
MAX_MESSAGE = 500
"""Characters of a failure in one line."""
FAULTS = (Exception, SystemExit, pytest.skip.Exception, pytest.fail.Exception)
"""What fails the gate if a hook raises it: all but an interrupt. An exit of its own could be green."""
_AT_COLUMN = re.compile(r":\d+:(\d+): ")


class Judged(Protocol):
    """What judges the run, and counts its reports."""

    options: Options
    judgement: Judgement | None
    left_out: dict[str, int]

    def counted(self) -> Tally: ...


class Telling:
    """The hooks of one process. Raises :class:`pytest.UsageError` for a file that cannot be written."""

    def __init__(self, config: pytest.Config, gate: Judged) -> None:
        self.config, self.gate = config, gate
        self.options: Options = gate.options
        self.tells = not hasattr(config, "workerinput") and not config.getoption("collectonly")
        self.told: dict[str, dict[str, Any]] = {}
        self.unreadable: dict[tuple[str, int, str], int] = {}
        self.outcome, self.failed = "", False
        self.met = config.stash.setdefault(SUBJECT_MET, SubjectMet())
        self.said = False
        if self.tells and (file := self.options.json) is not None:
            require_file(OPTION, file)

    # --- where scenarios run ---

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report: Any = yield
        if not self.tells and not self.said and self.met.name:
            self.said = True
            setattr(report, ATTRIBUTE, self.met.as_json())
        return report  # type: ignore[no-any-return]

    # --- where it is told ---

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = getattr(report, ATTRIBUTE, None)
        if said:
            self.met = SubjectMet.from_json(said)
        found = dict(report.user_properties)
        if SCENARIO not in found or not (report.when == "call" or report.outcome != "passed"):
            return
        if report.when != "call" and report.nodeid in self.told:
            return
        self.told[report.nodeid] = {
            "properties": found,
            "seconds": round(report.duration, 6),
            **self._failure_in(report, found),
        }

    def _failure_in(self, report: pytest.TestReport, found: dict[str, Any]) -> dict[str, Any]:
        """Where a test failed, and by what in one line; one that pytest tells in words only (a strict xfail
        that passed) failed where its scenario stands."""
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            message, path, line = str(crash.message), str(crash.path), int(crash.lineno)
        elif report.failed:
            message = next(iter(report.longreprtext.strip().splitlines()), "failed")
            path, line = str(self.config.rootpath / report.nodeid.partition("::")[0]), int(found.get(LINE, 0))
        else:
            return {"message": None, "path": None, "line": None}
        return {"message": " ".join(message.split())[:MAX_MESSAGE], "path": path, "line": line}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.tells and report.nodeid.endswith(SUFFIX):
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash is None:
                self.unreadable[report.nodeid, 0, " ".join(report.longreprtext.split())[:MAX_MESSAGE]] = 0
                return
            column = _AT_COLUMN.search(report.longreprtext.partition("\n")[0])
            key = (str(crash.path), int(crash.lineno), str(crash.message))
            self.unreadable[key] = int(column[1]) if column else 0

    @pytest.hookimpl(wrapper=True, trylast=True)  # after all that may change the exit code
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        if self.tells:
            self._tell(session)

    def _tell(self, session: pytest.Session) -> None:
        judgement = self.gate.judgement or Judgement(not_judged="nothing ran, and nothing is required")
        self.gate.judgement = judgement
        reports = self.config.stash.get(EXTENSIONS, Extensions()).reports
        document = self.document(session, judgement) if reports else {}
        for hook in reports:
            given = {"config": self.config, "report": copy.deepcopy(document)}
            try:
                hook.function(*[given[name] for name in hook.arguments])
            except FAULTS as error:  # it fails the gate, and the run goes on
                message = f"{hook.where}: the hook {hook.name} {hook.raised(error)}"
                judgement.problems.append(Problem("hook", message, "Mend the hook."))
        if judgement.problems:
            turn_red(session)
        if self.options.json is not None:
            self._write(session, judgement, self.options.json)

    def _write(self, session: pytest.Session, judgement: Judgement, path: Path) -> None:
        text = json.dumps(self.document(session, judgement), indent=1, ensure_ascii=True)
        try:
            write_whole(path, text + "\n")
        except OSError as error:
            why = error.strerror or str(error)
            judgement.problems.append(Problem("report", f"the report could not be written to {path}: {why}"))
            turn_red(session)
        else:
            self.outcome = f"report in {path}"

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.tells:
            return
        if self.outcome and self.config.get_verbosity() >= -1:
            terminalreporter.write_line(f"runcoord: {self.outcome}")
        if self.options.annotations:
            workspace = Path(os.environ.get("GITHUB_WORKSPACE") or self.config.rootpath)
            terminalreporter.ensure_newline()
            for line in lines(self.annotations(), workspace):
                terminalreporter.write_line(line)

    # --- annotations ---

    def annotations(self) -> Iterator[Annotation]:
        """What is said of which place, the worst first."""
        judgement = self.gate.judgement or Judgement()
        for problem in judgement.problems:
            at = problem.place
            message = f"{problem.message}. {problem.remedy}" if problem.remedy else problem.message
            yield Annotation("error", "runcoord", message, at.path if at else None, at.line if at else 0)
        for (path, line, message), column in self.unreadable.items():
            yield Annotation("error", "unreadable scenario file", message, self._path(path), line, column)
        for node, each in self.told.items():
            verdict, found = self._tally.variants[node].verdict, each["properties"]
            if verdict in ("passed", "skipped") or each["path"] is None:
                continue
            known = verdict == "xfailed"
            column = int(found.get(FAILED_COLUMN, 0)) if found.get(FAILED_LINE) == each["line"] else 0
            title = f"known failure: {found[SCENARIO]}" if known else str(found[SCENARIO])
            yield Annotation(
                "notice" if known else "error",
                title,
                str(each["message"]),
                self._path(each["path"]),
                each["line"] or 0,
                column,
                str(found.get(VARIANT, "")),
            )

    def _path(self, shown: str | None) -> Path | None:
        return None if shown is None else self.config.invocation_params.dir / shown

    # --- the document ---

    @property
    def _tally(self) -> Tally:
        return self.gate.counted()

    def document(self, session: pytest.Session, judgement: Judgement) -> dict[str, Any]:
        """The report, as :mod:`pytest_runcoord.report_schema` describes it."""
        options = self.options
        tally = self._tally
        verdicts = tally.verdicts()
        asked_for = options.subject_name or "reference"
        return {
            "runcoord_report": VERSION,
            "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "versions": {
                "runcoord": version(self.config),
                "pytest": pytest.__version__,
                "python": platform.python_version(),
            },
            "subject": {
                "name": (options.foreign and self.met.name) or asked_for,
                "asked_for": asked_for,
                "version": options.subject_version or self.met.version or None,
                "capabilities": self.met.capabilities,
                "lacks": [
                    {"capability": name, "variants": count, "alone": tally.nearly()[name]}
                    for name, count in tally.missing().most_common()
                ],
            },
            "selection": {
                "narrowed_by": selection_of(self.config, options).narrowed(by_table=True) or None,
                "tiers": list(options.tiers),
                "suite": options.suite is not None,
                "left_out": self.gate.left_out,
            },
            "counts": {
                "scenarios": len({each.scenario for each in tally.variants.values()}),
                "scenarios_run": tally.scenarios_run(),
                "variants": len(tally.variants),
                **{name: verdicts[name] for name in VERDICTS},
            },
            "variants": [self._variant(node) for node in sorted(tally.variants)],
            "invariants": self._invariants(),
            "known_failures": self._known(),
            "unreadable": [
                {"path": path, "line": line or None, "message": message}
                for path, line, message in self.unreadable
            ],
            "gate": {
                "verdict": judgement.verdict,
                "not_judged": judgement.not_judged or None,
                "reasons": [_reason(each) for each in judgement.problems],
            },
            "bite": self._bite(),
            "exit_code": int(session.exitstatus),
        }

    def _variant(self, node: str) -> dict[str, Any]:
        counted, told = self._tally.variants[node], self.told.get(node, {})
        found = told.get("properties", {})
        failed = counted.verdict not in ("passed", "skipped")
        return {
            "node": node,
            "file": node.partition("::")[0],
            "scenario": str(found.get(SCENARIO, "")),
            "variant": str(found.get(VARIANT, "")),
            "declared_at": found.get(LINE),
            "verdict": counted.verdict,
            "tier": counted.tier or None,
            "seconds": told.get("seconds", 0.0),
            "failed_by": found.get(FAILED_BY),
            "message": told.get("message") if failed else None,
            "line": found.get(FAILED_LINE) or None,
            "column": found.get(FAILED_COLUMN) or None,
            "missing": list(counted.missing),
            "skipped": counted.skipped or None,
            "known_failure": counted.known.partition(" ")[0] or None,
            "known_failure_is": counted.known_is or None,
            "exercised": {name: count for name, count in counted.exercised.items() if count},
        }

    def _invariants(self) -> list[dict[str, Any]]:
        exercised = self._tally.exercised()
        own = {each.id for each in self.config.stash.get(EXTENSIONS, Extensions()).invariants}
        says = {each.id: " ".join(each.says.split()) for each in reversed(watched_in(self.config))}
        required = self.options.table.required_invariants
        return [
            {
                "id": name,
                "says": says[name],
                "exercised": exercised[name],
                "watched": name in exercised,
                "required": name in required,
                "own": name in own,
            }
            for name in sorted(says)
        ]

    def _known(self) -> list[dict[str, Any]]:
        known = self.options.known
        if known is None:
            return []
        known.hear(self.met.version)  # which only the workers of xdist may have met
        met: dict[str, list[str]] = {}
        for node, each in self._tally.variants.items():
            met.setdefault(each.known, []).append(node)
        return [
            {
                **values,
                "standing": known.standing(entry).value,
                "nodes": sorted(met.get(key_of(entry), [])),
            }
            for entry, values in zip(known.entries, described(known.entries), strict=True)
        ]

    def _bite(self) -> list[dict[str, Any]] | None:
        if not self.config.getoption("runcoord_bite", False):
            return None
        from pytest_runcoord.bite.session import REPORT

        return self.config.stash.get(REPORT, [])


def _reason(problem: Problem) -> dict[str, Any]:
    at = problem.place
    return {
        "kind": problem.kind,
        "message": problem.message,
        "remedy": problem.remedy or None,
        "path": at.shown if at else None,
        "line": (at.line or None) if at else None,
    }
