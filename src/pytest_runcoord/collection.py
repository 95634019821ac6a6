"""Scenario files as pytest collects them: ``file.runcoord.yaml::scenario::variant``.

The nodes are nested because pytest 9.2 compares node ids by their parts: ``--lf`` loses an item whose own
name has ``::`` or brackets. The file is a :class:`pytest.Module` with an empty module and an item is a
:class:`pytest.Function`, although neither is Python: so autouse fixtures of every scope apply, and plugins
that look at ``item.function`` or ``item.module`` find what they expect.
"""

from __future__ import annotations

import shlex
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord.extending import registry_of, watched_in
from pytest_runcoord.garbage import collected_at_the_end
from pytest_runcoord.gate import OPTIONS
from pytest_runcoord.rendering import FailureText, ScenarioFailed, excerpt, failure_text
from pytest_runcoord.report import collection_report, failure_report
from pytest_runcoord.runner import of_the_reference, run_variant
from pytest_runcoord.scenario import (
    AnyScenario,
    Scenario,
    ScenarioError,
    ScenarioFileError,
    Variant,
    load_file,
    variants,
)
from pytest_runcoord.subject_met import SUBJECT_MET
from pytest_runcoord.tally import (
    FAILED_COLUMN,
    FAILED_LINE,
    LINE,
    OF_A_RESULT,
    SCENARIO,
    TIER,
    VARIANT,
    VERDICT,
    properties,
)
from pytest_runcoord.verdict import RunResult, Verdict

if TYPE_CHECKING:
    from pytest_runcoord.known_failures import KnownFailure
    from pytest_runcoord.picture.recording import Recorder

TAGS = pytest.StashKey[set[str]]()
INVALID = "invalid"
"""Name of the one node below a scenario that is wrong."""
SHOWN_BYTES = 64 * 1024
"""Size up to which a file that cannot be read is quoted; a scenario has one or two kilobytes."""
COLUMNS = 80
"""Width of reports where no terminal says its own."""
MARKS_WITH_A_MEANING = frozenset(
    {"filterwarnings", "parametrize", "skip", "skipif", "tryfirst", "trylast", "usefixtures", "xfail"}
)
"""As a tag each of these would change silently whether or how a scenario runs."""


class ScenarioFile(pytest.Module):
    """One ``*.runcoord.yaml``. A file that cannot be read is one collection error; its text is kept from now
    on, since later there may be another file system, or none, under a fixture."""

    text = ""
    shown_as = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Fixtures of module scope and plugins ask for a module; pytest would import the file to have one.
        self.obj = types.ModuleType(self.path.name.partition(".")[0])
        self.fixture_closure: Any = None

    def collect(self) -> Iterator[pytest.Collector]:
        self.shown_as = _shown(self.path, self.config)
        try:
            with collected_at_the_end():
                found = load_file(self.path, registry_of(self.config), shown_as=self.shown_as)
        except ScenarioFileError as error:
            raise self.CollectError(str(error)) from error
        self.text = found.text
        for scenario in found.scenarios:
            yield ScenarioNode.from_parent(self, name=scenario.name, scenario=scenario)

    def repr_failure(  # type: ignore[override]  # as pytest's own: no style
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        error = excinfo.value.__cause__
        if isinstance(error, ScenarioFileError) and not self.config.getoption("fulltrace"):
            at = error.position
            lines = [f"{at}: {error.problem} ({error.remedy})"]
            around = excerpt(self._raw_text(), at.line, at.column)
            return collection_report(
                at.path, at.line, error.problem, [*lines, "", *around] if around else lines
            )
        return super().repr_failure(excinfo)

    def _raw_text(self) -> str:
        """What can be shown of a file that could not be read; nothing of one that is too large, or gone."""
        try:
            with self.path.open("rb") as stream:
                data = stream.read(SHOWN_BYTES + 1)
        except OSError:
            return ""
        return data.decode("utf-8", "replace") if len(data) <= SHOWN_BYTES else ""


class ScenarioNode(pytest.Collector):
    """One scenario of a file; below it are its variants, or one failing item if it is wrong."""

    def __init__(self, *, scenario: AnyScenario, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scenario = scenario

    def collect(self) -> Iterator[ScenarioItem]:
        scenario = self.scenario
        if isinstance(scenario, Scenario):
            error = _tag_error(scenario)
            if error is None:
                for tag in scenario.tags:
                    self.add_marker(_mark(tag, self.config))
                for variant in variants(scenario):
                    yield self._item(VariantItem, variant.name, scenario.position.line, variant=variant)
                return
        else:
            error = scenario.error
        yield self._item(InvalidItem, INVALID, error.position.line, error=error)

    def _item(self, kind: type[ScenarioItem], name: str, line: int, **kwargs: Any) -> ScenarioItem:
        file = self.parent
        assert isinstance(file, ScenarioFile)
        item = kind.from_parent(
            self,
            name=name,
            line=line,
            file=file,
            scenario=self.scenario,
            closure=file.fixture_closure,
            **kwargs,
        )
        # All items of a file see the same fixtures: working them out once is a tenth of an item's cost.
        file.fixture_closure = getattr(item, "_fixtureinfo", None)
        return item


class ScenarioItem(pytest.Function):
    """What pytest runs. ``line`` counts from 1."""

    def __init__(
        self,
        *,
        name: str,
        parent: Any,
        line: int,
        file: ScenarioFile,
        scenario: AnyScenario,
        closure: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            name=name, parent=parent, callobj=self._function(scenario), fixtureinfo=closure, **kwargs
        )
        self.line = line
        self.file = file
        self.scenario: AnyScenario = scenario
        self.ran = False
        self.user_properties += [(SCENARIO, scenario.name), (VARIANT, name), (LINE, line)]

    def runtest(self) -> None:
        """By pytest's hook for calling functions, as plugins expect. If none of them called it (with
        ``-p no:python`` there is nobody to), a scenario that never ran would be a pass."""
        self.ran = False
        self.user_properties[:] = [each for each in self.user_properties if each[0] not in OF_A_RESULT]
        super().runtest()
        if not self.ran:
            self.run_once()

    def run_once(self) -> None:
        self.ran = True
        self.run_scenario()

    def run_scenario(self) -> None:
        raise NotImplementedError

    def _function(self, scenario: AnyScenario) -> Callable[[], None]:
        """What plugins see as the test function: ``pytest --collect-only -v`` prints its docstring."""

        def run() -> None:
            self.run_once()

        run.__name__ = run.__qualname__ = scenario.name
        run.__doc__ = scenario.says if isinstance(scenario, Scenario) else None
        return run

    def add_report_section(self, when: str, key: str, content: str) -> None:
        """With bytes that are no text (lone surrogates) as escapes: pytest-xdist cannot pass such on, and
        gives the whole run up."""
        if content:  # most are empty, and pytest does nothing with those
            passable = content if content.isascii() else content.encode("utf-8", "backslashreplace").decode()
            super().add_report_section(when, key, passable)

    def reportinfo(self) -> tuple[Path, int, str]:
        # Not the end of the node id: pytest would show its dots as colons.
        name = self.scenario.name
        return self.path, self.line - 1, name if self.name == "default" else f"{name} ({self.name})"

    def repr_failure(  # type: ignore[override]  # as pytest's own: no style
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        if isinstance(excinfo.value, ScenarioFailed) and not self.config.getoption("fulltrace"):
            return failure_report(excinfo.value.text, self.config.getoption("tbstyle"))
        return super().repr_failure(excinfo)

    def rerun_command(self) -> str:
        subject = self.config.getoption("runcoord_subject")
        on = ["--runcoord-subject", subject] if subject else []
        # Run as a module, it finds a subject in the current folder without further settings.
        program = ["python", "-m", "pytest"] if subject else ["pytest"]
        name = f"{self.file.shown_as}::{self.scenario.name}::{self.name}"
        return shlex.join([*program, "-p", "runcoord", *self._found_by(), *on, name])

    def _found_by(self) -> list[str]:
        """Options without which a file that lies elsewhere is run without the project's configuration."""
        config = self.config
        if self.path.is_relative_to(config.rootpath):
            return []
        if config.inipath is not None:
            return ["-c", _shown(config.inipath, config)]
        has_table = config.stash[OPTIONS].table.place is not None
        return ["--rootdir", _shown(config.rootpath, config)] if has_table else []


class InvalidItem(ScenarioItem):
    """A scenario that is wrong: fails at the place of its first error and tells all of them; the rest of the
    file still runs."""

    def __init__(self, *, error: ScenarioError, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error = error

    def run_scenario(self) -> None:
        error, at = self.error, self.error.position
        self.user_properties += [(VERDICT, "invalid"), (FAILED_LINE, at.line), (FAILED_COLUMN, at.column)]
        raise ScenarioFailed(
            FailureText(
                at.path,
                at.line,
                error.problem,
                excerpt(self.file.text, at.line, at.column),
                [
                    "the scenario is not valid; nothing of it was run",
                    f"remedy: {error.remedy}",
                    *([""] if error.others else []),
                    *(f"also {each}" for each in error.others),
                ],
                [],
                [f"Rerun: {self.rerun_command()}"],
            )
        )


class VariantItem(ScenarioItem):
    """One variant of one scenario. ``recorder`` is set by who wants to know what happened in it."""

    scenario: Scenario

    def __init__(self, *, variant: Variant, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.variant = variant
        self.recorder: Recorder | None = None
        self.runcoord_tier = str(variant.choices.get("tier", "sim"))
        if "tier" in variant.choices:  # said of one that a mark or a fixture skips, too
            self.user_properties.append((TIER, self.runcoord_tier))
        options = self.config.stash[OPTIONS]
        self.runcoord_never = ""
        if options.foreign:
            choices = {name: str(value) for name, value in variant.choices.items()}
            self.runcoord_never = of_the_reference(choices)
        known = options.known
        self.known: KnownFailure | None = (
            None if known is None else known.about(self.path, self.scenario.name, self.name)
        )

    def run_scenario(self) -> None:
        subject, recorder = self.config.stash[OPTIONS].new_subject(), self.recorder
        met = self.config.stash.get(SUBJECT_MET, None)
        if met is not None:
            met.meet(subject)
        result = run_variant(
            self.scenario,
            self.variant,
            subject=subject,
            attach=None if recorder is None else recorder.attach,
            watched=watched_in(self.config),
        )
        if recorder is not None:
            recorder.result = result
        self.user_properties += properties(result)
        if self.known is not None and not self.config.getoption("runxfail", False):
            self._judge_known(result, subject)
        if result.verdict is Verdict.SKIPPED:
            if self.runcoord_tier in self.config.stash[OPTIONS].required_tiers:
                why = f"the tier {self.runcoord_tier} is required, and could not be run"
                reason = str(result.skipped or "it was skipped without a reason")
                raise ScenarioFailed(self.text_at_scenario(why, [reason]))
            self._skip(result.skipped)
        if result.verdict is not Verdict.PASSED:
            raise ScenarioFailed(self.text_of(result))

    def _skip(self, reason: str) -> None:
        skipped = pytest.skip.Exception(reason or "skipped without a reason")
        skipped._use_item_location = True  # shown at the scenario's line, as a skip mark would be
        raise skipped

    def _judge_known(self, result: RunResult, subject: Any) -> None:
        from pytest_runcoord.known_items import judge_known

        known = self.config.stash[OPTIONS].known
        assert known is not None
        known.hear(getattr(subject, "version", ""))
        # Chosen anew: which of several entries counts depends on the version.
        entry = known.about(self.path, self.scenario.name, self.name)
        assert entry is not None
        judge_known(self, entry, known, result, _width(self.config))

    def text_at_scenario(self, message: str, verdict: Sequence[str]) -> FailureText:
        """A report on a test that did not fail by itself."""
        at = self.scenario.position
        shown = excerpt(self.file.text, at.line, at.column)
        return FailureText(
            at.path, at.line, message, shown, list(verdict), [], [f"Rerun: {self.rerun_command()}"]
        )

    def text_of(self, result: RunResult) -> FailureText:
        return failure_text(
            result,
            self.file.text,
            path=self.file.shown_as,
            line=self.line,
            rerun=self.rerun_command(),
            says=self.scenario.says,
            width=_width(self.config),
            brief=self.config.getoption("tbstyle") == "short",
            whole=self.config.getoption("verbose") > 1,
        )


def _shown(path: Path, config: pytest.Config) -> str:
    """A path as the user sees it: from where pytest was started, absolute if it lies elsewhere."""
    start = config.invocation_params.dir
    return str(path.relative_to(start) if path.is_relative_to(start) else path)


def _width(config: pytest.Config) -> int:
    if hasattr(config, "workerinput"):
        return int(config.workerinput.get("runcoord_width", COLUMNS))
    if config.pluginmanager.getplugin("terminalreporter") is None:
        return COLUMNS
    return config.get_terminal_writer().fullwidth


def _mark(tag: str, config: pytest.Config) -> pytest.MarkDecorator:
    """A tag is data of a file that may come from elsewhere, so it is registered as it is met: with
    ``--strict-markers`` it would otherwise stop the whole run as a collection error."""
    known = config.stash.setdefault(TAGS, set())
    if tag not in known:
        known.add(tag)
        config.addinivalue_line("markers", f"{tag}: a tag of runcoord scenarios")
    decorator: pytest.MarkDecorator = getattr(pytest.mark, tag)
    return decorator


def _tag_error(scenario: Scenario) -> ScenarioError | None:
    for tag in scenario.tags:
        if tag in MARKS_WITH_A_MEANING:
            return ScenarioError(
                scenario.position,
                f"the tag '{tag}' is a mark by which pytest changes what runs",
                "use another word; a scenario that cannot run is skipped by the capabilities it needs",
            )
    return None
