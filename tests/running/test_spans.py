"""OpenTelemetry spans, where a program uses OpenTelemetry."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.processes.plans import Plan
from runcoord import _spans as spans
from runcoord._supervisor.accepting import Intake
from runcoord._supervisor.driving import drive
from running.simulated import Machine

pytest.importorskip("opentelemetry.trace", reason="opentelemetry-api is not installed")

from opentelemetry import trace


@dataclass
class Recorded:
    name: str
    parent: str
    attributes: dict[str, Any] = field(default_factory=dict)


class Recorder(trace.TracerProvider):
    """A provider that keeps what is said of spans."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []
        self.open: list[str] = [""]

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return _Tracer(self)


class _Tracer(trace.Tracer):
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def start_span(self, name: str, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    @contextmanager
    def start_as_current_span(self, name: str, *_: Any, **__: Any) -> Iterator[Any]:  # type: ignore[override]
        recorded = Recorded(name, self._recorder.open[-1])
        self._recorder.spans.append(recorded)
        self._recorder.open.append(name)
        try:
            yield _Span(recorded)
        finally:
            self._recorder.open.pop()


class _Span(trace.NonRecordingSpan):
    def __init__(self, recorded: Recorded) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self._recorded = recorded

    def set_attribute(self, key: str, value: Any) -> None:
        self._recorded.attributes[key] = value


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder()
    monkeypatch.setattr(trace, "get_tracer", made.get_tracer)
    return made


def test_spans_are_nested_and_have_their_attributes_under_our_name(recorder: Recorder) -> None:
    with spans.span("runcoord.run", run="r1") as outer, spans.span("runcoord.teardown") as inner:
        inner.say(left=0)
        outer.say(outcome="completed")
    assert [(each.name, each.parent) for each in recorder.spans] == [
        ("runcoord.run", ""),
        ("runcoord.teardown", "runcoord.run"),
    ]
    assert recorder.spans[0].attributes == {"runcoord.run": "r1", "runcoord.outcome": "completed"}
    assert recorder.spans[1].attributes == {"runcoord.left": 0}


def test_an_exception_passes_and_leaves_its_type_and_not_its_text(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError), spans.span("runcoord.run"):
        raise RuntimeError("a secret of the environment")
    assert recorder.spans[0].attributes == {"runcoord.error": "RuntimeError"}


def test_the_interface_is_not_loaded_for_a_program_that_does_not_use_it() -> None:
    code = (
        "import sys; from runcoord import _spans\n"
        "with _spans.span('x') as one: one.say(a=1)\n"
        "print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"


def test_a_command_has_spans_with_numbers_and_outcomes_and_nothing_of_what_was_run(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RUNCOORD_DEPTH", "RUNCOORD_MAX_DEPTH", "RUNCOORD_COOKIE"):
        monkeypatch.delenv(name, raising=False)
    machine = Machine(tmp_path, {"true": Plan("true", ends_after=1.0, status=3)})
    (tmp_path / ".git").mkdir()  # no repository, but a place where one is looked for
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true", Intake(run_id="r1"))
    drive(command)
    coordinator.close()
    assert [each.name for each in recorder.spans] == [
        "runcoord.run",
        "runcoord.git.take",
        "runcoord.teardown",
    ]
    run, take, teardown = (each.attributes for each in recorder.spans)
    assert run == {
        "runcoord.run": "r1",
        "runcoord.cause": "ended",
        "runcoord.outcome": "failed",
        "runcoord.status": 3,
        "runcoord.clean": True,
    }
    assert take == {"runcoord.run": "r1", "runcoord.checkout": False}
    assert (teardown["runcoord.left"], teardown["runcoord.cause"]) == (0, "ended")
