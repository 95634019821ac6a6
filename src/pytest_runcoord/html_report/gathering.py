"""What a report shows, gathered from pytest's reports. Plain JSON types: they come from other processes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from pytest_runcoord.picture.recording import Recorder
from pytest_runcoord.rendering import message
from pytest_runcoord.scenario import AnyScenario, Scenario
from pytest_runcoord.subject_met import SubjectMet
from pytest_runcoord.tally import LINE, SCENARIO, VARIANT, Tally
from pytest_runcoord.verdict import Failure, RunResult

MAX_TEXT = 20_000
"""Characters of a failure as the terminal shows it; more is a history that went in circles."""
NO_AREA = "."
_FROM_WORKER = re.compile(r"\A\[gw\d+\] .*\n")
"""What pytest-xdist puts above a failure: on which worker it was."""


def told(
    file: str, scenario: AnyScenario, recorder: Recorder | None, source: str | None, met: SubjectMet
) -> str:
    """What one variant's process tells the one that writes the report, as JSON.

    ``source`` is the text of the file, ``None`` where this process has told it before.
    """
    values: dict[str, Any] = {"file": file}
    if met.name:
        values["subject"] = [met.name, met.version]
    if source is not None:
        values["source"] = source
    if isinstance(scenario, Scenario):
        values |= {
            "says": " ".join(scenario.says.split()),
            "tags": list(scenario.tags),
            "origin": list(scenario.origin),
        }
    if recorder is not None and recorder.result is not None:
        values |= _of_result(recorder.result)
        picture = recorder.picture()
        if picture.rows:
            values["picture"] = picture.as_json()
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _of_result(result: RunResult) -> dict[str, Any]:
    values: dict[str, Any] = {"seconds": round(result.seconds, 4)}
    if result.failure is not None:
        values["failure"] = _of_failure(result, result.failure)
    return values


def _of_failure(result: RunResult, failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.kind.value,
        "name": failure.name,
        "message": message(result),
        "line": failure.line,
        "step": failure.step,
        "expected": failure.expected,
        "seen": failure.seen,
        "remedy": failure.remedy,
    }


@dataclass(slots=True)
class Gathered:
    """All variants of a run by node id; a later report on the same one replaces an earlier one."""

    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    subject: tuple[str, str] = ("", "")
    """What the subject calls itself, and its version."""

    def add(
        self,
        nodeid: str,
        when: str,
        outcome: str,
        pairs: Iterable[tuple[str, object]],
        said: str,
        text: str,
        known: str = "",
    ) -> None:
        """Take in one report. ``said`` is what :func:`told` gave, empty for a report that carries nothing;
        ``known`` is the reason why it may fail."""
        pairs = list(pairs)
        self.tally.add(nodeid, when, outcome, pairs)
        found = dict(pairs)
        counted = self.tally.variants.get(nodeid)
        if counted is None or not (when == "call" or outcome != "passed"):
            return
        if when != "call" and nodeid in self.variants:
            return
        values: dict[str, Any] = json.loads(said) if said else {}
        source = values.pop("source", None)
        if subject := values.pop("subject", None):
            self.subject = (str(subject[0]), str(subject[1]))
        file = str(values.get("file") or nodeid.partition("::")[0])
        if source is not None:
            self.files[file] = source
        self.variants[nodeid] = {
            "says": "",
            "node": nodeid,
            **values,
            "file": file,
            "scenario": str(found.get(SCENARIO, "")),
            "variant": str(found.get(VARIANT, "")),
            "line": found.get(LINE, 1),
            "verdict": counted.verdict,
            "exercised": dict(counted.exercised),
            **({"tier": counted.tier} if counted.tier else {}),
            **({"skipped": counted.skipped} if counted.skipped else {}),
            **({"known": known} if known else {}),
            **({"missing": list(counted.missing)} if counted.missing else {}),
            **({"text": _FROM_WORKER.sub("", text)[:MAX_TEXT]} if text and outcome == "failed" else {}),
        }

    def as_json(
        self,
        says: Mapping[str, str],
        shipped: Callable[[str], str | None] = lambda file: None,
        required: Container[str] = (),
    ) -> dict[str, Any]:
        """What the page is made of. ``says`` has a sentence for each invariant; ``shipped`` gives the place
        of a file in the shipped suite, ``None`` for one of the project's own."""
        names = sorted(self.tally.exercised())
        found = {str(each["file"]) for each in self.variants.values()}
        in_suite = {file: below for file in found if (below := shipped(file)) is not None}
        areas = areas_of(found - in_suite.keys())
        areas |= {file: f"{PurePosixPath(below).parent} (shipped)" for file, below in in_suite.items()}
        short = {file: f"…/{below}" for file, below in in_suite.items() if PurePosixPath(file).is_absolute()}
        ran = {areas[str(each["file"])] for each in self.variants.values() if each["verdict"] != "skipped"}
        variants = [
            {
                **each,
                "file": short.get(str(each["file"]), each["file"]),
                "area": areas[str(each["file"])],
                **({"shipped": True} if each["file"] in in_suite else {}),
                "exercised": [each["exercised"].get(name, 0) for name in names],
            }
            for each in self.variants.values()
        ]
        # The project's own first, and what could not be run last.
        variants.sort(
            key=lambda each: (
                *("shipped" in each, each["area"] not in ran, each["area"]),
                *(each["file"], each["line"], each["scenario"], each["variant"]),
            )
        )
        return {
            "files": {short.get(file, file): text for file, text in self.files.items()},
            "variants": variants,
            "invariants": [
                {"id": name, "says": says.get(name, ""), **({"required": True} if name in required else {})}
                for name in names
            ],
        }


def areas_of(files: Iterable[str]) -> dict[str, str]:
    """For each file the folder that it is in, below what all of them have in common."""
    folders = {file: PurePosixPath(file).parent for file in files}
    if not folders:
        return {}
    first = next(iter(folders.values()))
    for common in (first, *first.parents):
        if all(folder.is_relative_to(common) for folder in folders.values()):
            break
    else:  # files elsewhere are named from the root, those below the start from there
        return {file: str(folder) for file, folder in folders.items()}
    found = {}
    for file, folder in folders.items():
        below = folder.relative_to(common).as_posix()
        alone = below == NO_AREA and len(set(folders.values())) == 1
        found[file] = folder.name or NO_AREA if alone else below
    return found
