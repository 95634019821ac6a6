"""Failures that are known and accepted for a while: what they are about, and whether they still hold.

An entry is strict: what it lists must fail, as it says, until the day it names. The scenario is then
reported as xfailed; whatever is otherwise fails the run, with what to do about the entry.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pytest_runcoord.project_place import Place, mistake
from pytest_runcoord.verdict import Failure, FailureKind, RunResult, Verdict
from runcoord.values import field, record, value

SUFFIX = ".runcoord.yaml"
BITE = "bite"
"""What stands before the name of a boundary fault."""
MAX_KNOWN_FAILURES = 1_000
"""Entries of one project; whoever has more wants another list."""
MAX_TEXT = 4_000
"""Characters of one text of an entry; more belongs into an issue that the entry names."""
MOST_OF_A_REASON = 160
"""Characters of a reason in a line of the terminal; reports have all of it."""

BEFORE_THE_FIRST_VERB = frozenset({"__init__", "hello", "open", "start_up"})
"""Calls into a subject that fail all scenarios alike, as where its library is not installed."""

ENTRY_KEYS: dict[str, tuple[str, str]] = {
    "scenario": (
        "text, required",
        (
            "`name`, `name::variant`, `file.runcoord.yaml::name` or `file.runcoord.yaml::name::variant`; "
            "`bite::fault` for a fault that `--runcoord-bite` finds unnoticed"
        ),
    ),
    "by": ("text, required", "who accepted it"),
    "why": ("text, required", "the reason, in words that somebody else understands"),
    "until": (
        "date; may be left out where there is a revision",
        "the last day, in UTC, on which it is accepted",
    ),
    "revision": (
        "text",
        (
            "the version of the subject that it is accepted for: all of what the subject says, or its last "
            "word; where the subject says none, the entry needs an `until`"
        ),
    ),
    "failed_by": (
        "text",
        (
            "what it fails by, as reports say it: `invariant stale-owner-refused`; then failing "
            "by anything else is no known failure"
        ),
    ),
}
"""Keys of an entry, with their values and meaning; the reference is written from it."""


class Standing(enum.StrEnum):
    """Whether an entry counts for this run."""

    APPLIES = "applies"
    EXPIRED = "expired"
    ENDLESS = "endless"
    """It ends with a revision, and the subject does not say which it is."""
    OTHER_REVISION = "other-revision"


@value
class KnownFailure:
    """One entry, as written."""

    place: Place
    scenario: str
    by: str
    why: str
    until: date | None = None
    revision: str = ""
    failed_by: str = ""

    @property
    def parts(self) -> tuple[str, str, str]:
        """File, name and variant; the first and the last are empty where the entry does not say them."""
        parts = self.scenario.split("::")
        file = parts.pop(0) if parts[0].endswith(SUFFIX) else ""
        return file, parts[0], parts[1] if len(parts) > 1 else ""

    def is_about(self, path: Path, scenario: str, variant: str) -> bool:
        """Whether one variant is meant; a file may be named by the last parts of its path."""
        file, name, only = self.parts
        in_file = not file or f"/{path.as_posix()}".endswith(f"/{file}")
        return name == scenario and only in ("", variant) and in_file

    @property
    def fault(self) -> str:
        """The boundary fault that it is about, of ``--runcoord-bite``; empty where it is about a scenario."""
        file, name, fault = self.parts
        return fault if not file and name == BITE else ""

    @property
    def brief(self) -> str:
        """Who accepted it, until when, and why, on one line."""
        term = f" until {self.until}" if self.until else ""
        revision = f" for {self.revision}" if self.revision else ""
        why = " ".join(self.why.split())
        why = why if len(why) <= MOST_OF_A_REASON else f"{why[: MOST_OF_A_REASON - 1]}…"
        said = " ".join(f"accepted by {self.by}{revision}{term}: {why}".split())
        return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in said)


@record
class KnownFailures:
    """The entries of one run: what stands, and which of them met a scenario."""

    entries: tuple[KnownFailure, ...]
    version: str = ""
    """What the subject says of itself; empty where it says nothing."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    met: set[str] = field(default_factory=set)
    """Entries, by their scenario and revision, that were about something that was collected."""

    def about(self, path: Path, scenario: str, variant: str) -> KnownFailure | None:
        """The entry for one variant: of several that which stands, else the one that says most."""
        found = [each for each in self.entries if each.is_about(path, scenario, variant)]
        self.met.update(map(key_of, found))
        order = list(Standing)
        found.sort(key=lambda each: (order.index(self.standing(each)), -len(each.scenario)))
        return found[0] if found else None

    def hear(self, version: object) -> None:
        """What the subject says once it is there, where nothing was known before."""
        if not self.version and isinstance(version, str):
            self.version = version

    def standing(self, entry: KnownFailure) -> Standing:
        if entry.revision and self.version and not same_revision(entry.revision, self.version):
            return Standing.OTHER_REVISION
        if entry.until is not None and self.today > entry.until:
            return Standing.EXPIRED
        if entry.until is None and not self.version:
            return Standing.ENDLESS
        return Standing.APPLIES

    def unmet(self) -> list[KnownFailure]:
        """Entries that are about nothing that was collected."""
        return [each for each in self.entries if not each.fault and key_of(each) not in self.met]


def key_of(entry: KnownFailure) -> str:
    """What tells an entry from all others."""
    return f"{entry.scenario} {entry.revision}".strip()


def same_revision(revision: str, version: str) -> bool:
    """``0.9`` and ``litequeue 0.9`` are both the version that a subject calls ``litequeue 0.9``."""
    words = version.split()
    return revision.split() == words or (bool(words) and revision.split() == words[-1:])


# --- reading ---


def entries(value: object, at: Callable[[str], Place], header: str) -> tuple[KnownFailure, ...]:
    """The entries of ``known_failures``; raises :class:`pytest.UsageError`. ``header`` is that of a table of
    them in this file."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise mistake(at("known_failures"), "known_failures is no array of tables", f"write [[{header}]]")
    if len(value) > MAX_KNOWN_FAILURES:
        raise mistake(
            at("known_failures"),
            f"there are {len(value)} known failures",
            f"have at most {MAX_KNOWN_FAILURES}",
        )
    found: dict[str, KnownFailure] = {}
    for number, each in enumerate(value):
        entry = _entry(each, number, at)
        first = found.setdefault(key_of(entry), entry)
        if first is not entry:
            raise mistake(
                entry.place, f"{entry.scenario!r} is known already, by {first.place}", "keep one of them"
            )
    return tuple(found.values())


def _entry(values: dict[str, Any], number: int, at: Callable[[str], Place]) -> KnownFailure:
    begin = f"known_failures[{number}]"
    # Where the tables are written in one line, all are at the line of the key.
    place = at(begin) if at(begin).line != at("").line else at("known_failures")

    def where(key: str) -> Place:
        found = at(f"{begin}.{key}")
        return found if found.line != at("").line else place

    for key in values:
        if key not in ENTRY_KEYS:
            from pytest_runcoord._positions import did_you_mean

            raise mistake(where(key), f"a known failure has no key {key!r}", did_you_mean(key, ENTRY_KEYS))
    for key in ("scenario", "by", "why"):
        if key not in values:
            raise mistake(place, f"a known failure has no {key!r}", f"add it: {ENTRY_KEYS[key][1]}")
    for key in ENTRY_KEYS.keys() - {"until"} & values.keys():
        text = values[key]
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise mistake(
                where(key),
                f"{key} = {text!r}: it is no text of 1 to {MAX_TEXT} characters",
                ENTRY_KEYS[key][1],
            )
    _check_scenario(values["scenario"], where("scenario"))
    _check_failed_by(values.get("failed_by", ""), where("failed_by"))
    until = _day(values["until"], where("until")) if "until" in values else None
    if until is None and "revision" not in values:
        raise mistake(
            place,
            f"the known failure {values['scenario']!r} has no end",
            "say until when it is accepted, or for which revision",
        )
    texts = {key: text.strip() for key, text in values.items() if key != "until"}
    return KnownFailure(place, **texts, until=until)


def _check_scenario(text: str, place: Place) -> None:
    parts = text.strip().split("::")
    names = parts[1:] if parts[0].endswith(SUFFIX) else parts
    if not (
        1 <= len(names) <= 2 and all(each and not set(each) & set(" /[]") for each in parts[-len(names) :])
    ):
        raise mistake(place, f"scenario = {text!r} names no scenario", f"write {ENTRY_KEYS['scenario'][1]}")


def _check_failed_by(text: str, place: Place) -> None:
    kinds = [each.value for each in FailureKind]
    if text and text.split()[0] not in kinds:
        raise mistake(
            place,
            f"failed_by = {text!r} begins with no kind of failure",
            f"write one of {', '.join(kinds)}, and a name: 'invariant stale-owner-refused'",
        )


def _day(value: object, place: Place) -> date:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    elif isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise mistake(place, f"until = {str(value)!r} is no day", "write it as 2027-03-31")


def described(entries: Iterable[KnownFailure]) -> list[dict[str, Any]]:
    """Entries as plain JSON values."""
    return [
        {
            "scenario": each.scenario,
            "by": each.by,
            "why": each.why,
            "until": str(each.until) if each.until else None,
            "revision": each.revision or None,
            "failed_by": each.failed_by or None,
            "at": str(each.place),
        }
        for each in entries
    ]


# --- judging one variant ---


class Known(enum.StrEnum):
    """What an entry came to on one variant."""

    EXPECTED = "expected"
    """It failed as the entry says: reported as xfailed."""
    PASSES = "passes"
    EXPIRED = "expired"
    ENDLESS = "endless"
    OTHER_REVISION = "other-revision"
    FAILS_OTHERWISE = "fails-otherwise"
    SKIPPED = "skipped"


@value
class CameTo:
    """What an entry came to, and what a report says about it."""

    known: Known
    note: str = ""

    @property
    def fails(self) -> bool:
        """Whether the variant fails for the entry's sake, although it passed."""
        return self.known is Known.PASSES


def judged(entry: KnownFailure, standing: Standing, result: RunResult) -> CameTo:
    """What an entry came to on the result of a variant that it is about."""
    at = entry.place
    if result.verdict is Verdict.SKIPPED:
        return CameTo(Known.SKIPPED)
    if standing is Standing.OTHER_REVISION:
        note = f"the known failure at {at} is for {entry.revision} only, so it does not count here"
        return CameTo(Known.OTHER_REVISION, f"{note}; {entry.brief}")
    if result.verdict is Verdict.PASSED:
        return CameTo(Known.PASSES, f"remove the known failure at {at}; {entry.brief}")
    if standing is Standing.EXPIRED:
        note = f"the known failure at {at} was accepted until {entry.until}, which is over"
        return CameTo(Known.EXPIRED, f"{note}: mend it, or have it accepted anew; {entry.brief}")
    if standing is Standing.ENDLESS:
        note = f"the known failure at {at} is for {entry.revision}, and the subject says no version"
        remedy = "let the subject have a 'version', or give the entry an 'until'"
        return CameTo(Known.ENDLESS, f"{note}, so it would never end: {remedy}; {entry.brief}")
    failed_by = failed_by_of(result)
    other = bool(entry.failed_by) and entry.failed_by != failed_by
    broken = result.failure is not None and _says_nothing(result.failure)
    if result.verdict is not Verdict.FAILED or other or (broken and not entry.failed_by):
        what = f"fails by {entry.failed_by}" if entry.failed_by else "fails"
        seen = f"by {failed_by}" if result.verdict is Verdict.FAILED else "to no verdict"
        return CameTo(
            Known.FAILS_OTHERWISE,
            f"the known failure at {at} {what}, and this came {seen}: look at it anew; {entry.brief}",
        )
    return CameTo(Known.EXPECTED, f"known failure, {entry.brief}")


def _says_nothing(failure: Failure) -> bool:
    """Whether it is a word or an invariant of the project's own that is broken, or a subject that is not
    even there: that says nothing of what somebody accepted."""
    absent = failure.kind is FailureKind.SUBJECT and failure.name in BEFORE_THE_FIRST_VERB
    return absent or failure.kind is FailureKind.EXTENSION


def failed_by_of(result: RunResult) -> str:
    """By what a variant failed, in the words of summaries and reports."""
    failure = result.failure
    return "" if failure is None else f"{failure.kind.value} {failure.name}".strip()
