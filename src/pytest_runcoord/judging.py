"""Whether a run as a whole is green: what the project requires of everything it has, beside its single tests.

Judged once, where all reports come together, and only of a run that was asked for everything: of a part
nobody can say what is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_runcoord._positions import did_you_mean, listed, nearest
from pytest_runcoord.known_failures import Known, KnownFailure, KnownFailures, Standing, key_of
from pytest_runcoord.options import BY_TABLE, Options, suite_directory
from pytest_runcoord.project_place import Place
from pytest_runcoord.table_file import TIERS
from pytest_runcoord.tally import FAILURES, Tally
from pytest_runcoord.verdict import Verdict
from runcoord.values import field, record, value

JUDGED_AFTER = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
ENDS_SOON_DAYS = 14
"""Days before its end from which on a known failure is shown as ending soon: a sprint."""
MOST_KNOWN = 20
"""Known failures that a summary tells one by one; the JSON report has all."""
MOST_NAMED = 3
"""Tests that one reason names."""
BITE = "--runcoord-bite"
_FLAGS = "hlqsvx"
"""Options of pytest that have no value, and may stand before another one in the same word: ``-qk one``."""


@value
class Problem:
    """Why the run as a whole is not green."""

    kind: str
    """``min-scenarios``, ``required-tier``, ``required-invariant``, ``unmatched-known-failure``,
    ``ambiguous-known-failure``, ``hidden-failure``, ``unread-table``, ``ended-early``, ``hook`` or
    ``report``."""
    message: str
    remedy: str = ""
    place: Place | None = None


@record
class Judgement:
    """What came of a run as a whole."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_judged: str = ""
    """Why what the project's table requires was not looked at; empty where it was."""

    @property
    def verdict(self) -> str:
        return "failed" if self.problems else "not-judged" if self.not_judged else "passed"


@value
class Selection:
    """What was chosen by whoever started the run."""

    by_word: str = ""
    """What chose single tests: a node id, ``-k``, …; empty if nothing did."""
    by_place: str = ""
    """What chose a folder or a tier, which is a part of what the project has."""

    def narrowed(self, *, by_table: bool) -> str:
        """What makes this a part only of what was meant: of all by the project's table, or of the paths that
        the same command line names."""
        return self.by_word or (self.by_place if by_table else "")


def turn_red(session: pytest.Session) -> None:
    """Something beside the single tests is wrong: a run that would be green, or empty, fails. One that ended
    otherwise keeps its exit code, which says more."""
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def selection_of(config: pytest.Config, options: Options) -> Selection:
    """What the command line chose. What stands in ``addopts`` is the project's idea of all its tests: it
    would switch the gate off for good."""
    option = config.option
    typed = [str(each) for each in config.invocation_params.args]

    def said(*names: str) -> bool:
        return any(each.startswith(names) for each in typed)

    def flag(letter: str) -> bool:
        return any(re.match(f"-[{_FLAGS}]*{letter}", each) for each in typed)

    paths = []
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        paths = [each for each in map(str, config.args) if each in typed]
    words = {
        BITE: getattr(option, "runcoord_bite", False),
        "a node id": any("::" in each for each in paths),
        "-k": option.keyword and flag("k"),
        "-m": flag("m"),
        "--deselect": option.deselect and said("--deselect"),
        "--lf": getattr(option, "lf", False) and said("--lf", "--last-failed"),
        "--sw": getattr(option, "stepwise", False) and said("--sw", "--stepwise"),
        "--ignore": said("--ignore"),
    }
    everything = config.rootpath.resolve()
    parts = [each for each in paths if not everything.is_relative_to(_resolved(config, each))]
    places = {
        "a path": len(parts) == len(paths) > 0,
        "the folder that pytest was started in": _started_below(config) and not options.suite_alone,
        "--runcoord-tier": options.tiers_by_option and said("--runcoord-tier"),
    }
    return Selection(
        next((name for name, given in words.items() if given), ""),
        next((name for name, given in places.items() if given), ""),
    )


def _started_below(config: pytest.Config) -> bool:
    """Whether the folder decides what runs: ``testpaths`` count in the rootdir only."""
    by_folder = config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR
    return by_folder and config.invocation_params.dir.resolve() != config.rootpath.resolve()


def _resolved(config: pytest.Config, path: str) -> Path:
    return (config.invocation_params.dir / path).resolve()


def judge(
    session: pytest.Session, options: Options, tally: Tally, met: Iterable[str] | None, ended_by: str = ""
) -> Judgement:
    """Whether the run is green as a whole. ``met``: the known failures that are about something that was
    collected, ``None`` where nobody knows. ``ended_by``: what ended it before everything ran."""
    found = Judgement()
    if ended_by and session.exitstatus == pytest.ExitCode.OK:
        message = f"the run was ended early, with exit code 0, by {' '.join(ended_by.split())}"
        found.problems.append(Problem("ended-early", message, "Give pytest.exit another returncode."))
    if session.exitstatus not in JUDGED_AFTER or session.shouldfail:
        found.not_judged = "the run ended early"
        return found
    selection = selection_of(session.config, options)
    if options.table.place is not None:
        found.not_judged = _chosen(selection.narrowed(by_table=True))
    _minimum(options, tally, selection, found)
    _tiers(options, tally, selection, found)
    _hidden(options, tally, found)
    _unread(session.config, options, tally, found)
    if not found.not_judged:
        _invariants(options, tally, found)
        if options.known is not None and met is not None:
            options.known.met.update(met)
            _unmatched(session.config, options, tally, options.known, found)
    elif options.table.required_invariants:
        found.notes.append(f"required_invariants were not checked, because {found.not_judged}")
    if options.known is not None:
        found.problems += _ambiguous(options.known, tally)
        found.notes += list(_about_known(options.known, tally))
    return found


def _chosen(by: str) -> str:
    if by == BITE:
        return f"{BITE} tries faults, and judges no scenario"
    return f"{by} chose a part" if by else ""


def _scenarios(count: int) -> str:
    return f"{count} scenario{'' if count == 1 else 's'}"


def _minimum(options: Options, tally: Tally, selection: Selection, found: Judgement) -> None:
    required, by, ran = options.required, options.required_by, tally.scenarios_run()
    if ran >= required:
        return
    narrowed = selection.narrowed(by_table=by == BY_TABLE)
    if narrowed:
        found.notes.append(f"{by} asks for {_scenarios(required)}; not checked, because {_chosen(narrowed)}")
        return
    found.problems.append(
        Problem(
            "min-scenarios",
            f"{_scenarios(ran)} ran, at least {required} are required by {by}",
            place=options.table.at(by) if by == BY_TABLE else None,
        )
    )


def _tiers(options: Options, tally: Tally, selection: Selection, found: Judgement) -> None:
    """A tier that is required, and of which nothing ran, or something was skipped around the scenario."""
    required = options.required_tiers
    ran = [each for each in TIERS if tally.ran_in(each)]
    absent = [each for each in required if each not in ran]
    by_table = not options.required_tiers_by_option
    place = options.table.at("required_tiers") if by_table else None
    if absent and not selection.narrowed(by_table=by_table):
        message = f"no scenario ran in the tier {', '.join(absent)}, which is required"
        found.problems.append(Problem("required-tier", message, place=place))
    skipped = [
        node
        for node, each in tally.variants.items()
        if each.verdict == Verdict.SKIPPED and each.outcome == "skipped" and (each.tier or "sim") in required
    ]
    if skipped:
        found.problems.append(
            Problem(
                "required-tier",
                f"skipped by a mark or a fixture, although the tier is required: {_named(skipped)}",
                "Take the skip away, or the tier out of what is required.",
                place,
            )
        )


def _named(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else ""
    return ", ".join(nodes[:MOST_NAMED]) + more


def _hidden(options: Options, tally: Tally, found: Judgement) -> None:
    """Failures that a mark, or a plugin, made something else of. A project with a table has a list for them,
    with reasons and an end."""
    hidden = [
        node
        for node, each in tally.variants.items()
        if each.verdict in FAILURES and each.outcome != Verdict.FAILED
    ]
    if not hidden:
        return
    message = f"a failure is hidden, as by a mark: {_named(hidden)}"
    if options.table.place is None:
        found.notes.append(message)
        return
    found.problems.append(
        Problem(
            "hidden-failure", message, "Take the mark away, and list it in known_failures if it is known."
        )
    )


def hooks_never_called(config: pytest.Config, known: dict[str, frozenset[int]]) -> list[Problem]:
    """Hooks that were registered too late, or are no functions: what they add did not watch."""
    from pytest_runcoord.extending import never_called

    return [Problem("hook", each, "Mend the hook.") for each in never_called(config, known)]


def _unread(config: pytest.Config, options: Options, tally: Tally, found: Judgement) -> None:
    """A table that is there, and that pytest's rootdir made invisible."""
    if options.table.place is not None or not tally.variants:
        return
    from pytest_runcoord.unread_tables import unread_table

    files = [config.rootpath / each for each in {node.partition("::")[0] for node in tally.variants}]
    suite = options.suite
    own = [each for each in files if suite is None or not each.resolve().is_relative_to(suite)]
    if place := unread_table(config, own):
        found.problems.append(
            Problem(
                "unread-table",
                f"scenarios ran without this table: pytest's rootdir is {config.rootpath}",
                "Keep the table, in pyproject.toml or runcoord.toml, in one folder with pytest's "
                "configuration, or say --rootdir. An empty runcoord.toml in the rootdir asks for nothing.",
                place,
            )
        )


def _invariants(options: Options, tally: Tally, found: Judgement) -> None:
    required = options.table.required_invariants
    exercised = tally.exercised() if required else Counter[str]()
    for name in required:
        if exercised[name]:
            continue
        why = (
            "nothing that ran gave it an occasion to fail"
            if name in exercised
            else "it did not watch: the subject lacks what it needs, or nothing ran"
        )
        found.problems.append(
            Problem(
                "required-invariant",
                f"the invariant {name} is required, and was never exercised: {why}",
                "Add a scenario in which it could fail, or take it out of required_invariants.",
                options.table.at("required_invariants"),
            )
        )


# --- known failures ---


def _unmatched(
    config: pytest.Config, options: Options, tally: Tally, known: KnownFailures, found: Judgement
) -> None:
    entries = known.unmet()
    if not entries:
        return
    from pytest_runcoord.names_elsewhere import not_found_in, shipped_names

    elsewhere = set() if options.suite is not None else shipped_names(suite_directory())
    if options.suite_alone:  # it had none of the project's own
        left = not_found_in(config, options.suite, entries)
        if others := len(entries) - len(left):
            noun = "known failure is" if others == 1 else "known failures are"
            found.notes.append(f"{others} {noun} about scenarios that --runcoord-suite alone does not run")
        entries = left
    nodes = [node.split("::") for node in tally.variants]
    for entry in entries:
        if entry.parts[1] in elsewhere:
            continue  # it is about the shipped suite, which this run did not have
        found.problems.append(
            Problem(
                "unmatched-known-failure",
                f"the known failure {entry.scenario!r} is about nothing that was collected",
                _remedy(entry, nodes, alone=options.suite_alone),
                entry.place,
            )
        )


def _ambiguous(known: KnownFailures, tally: Tally) -> Iterable[Problem]:
    """Entries without a file that are about scenarios in several: who accepted one did not see the others."""
    for entry in known.entries:
        if entry.parts[0]:
            continue
        key = key_of(entry)
        files = sorted(
            {node.partition("::")[0] for node, each in tally.variants.items() if each.known == key}
        )
        if len(files) > 1:
            yield Problem(
                "ambiguous-known-failure",
                f"the known failure {entry.scenario!r} is about scenarios in {_named(files)}",
                "Write one entry for each that is known, with its file: "
                f"scenario = '{files[0].rpartition('/')[2]}::{entry.scenario}'.",
                entry.place,
            )


def _remedy(entry: KnownFailure, nodes: Sequence[Sequence[str]], *, alone: bool) -> str:
    file, name, _ = entry.parts
    same = [node for node in nodes if node[-2] == name]
    if same:
        if file and not any(f"/{node[0]}".endswith(f"/{file}") for node in same):
            return f"The scenario {name} is in {listed(sorted({node[0] for node in same}))}."
        return f"Variants of {name}: {listed(sorted({node[-1] for node in same}))}."
    names = sorted({node[-2] for node in nodes})
    if nearest(name, names) is None:
        own = (
            " If it is about the project's own scenarios, say suite = true in the table, and call pytest "
            "without --runcoord-suite: then one run has both."
        )
        return f"Remove the entry, or correct the name.{own if alone else ''}"
    return did_you_mean(name, names).capitalize()


def _about_known(known: KnownFailures, tally: Tally) -> Iterable[str]:
    """What the summary says of known failures, so that nobody forgets them."""
    came_to: dict[str, list[str]] = {}
    for each in tally.variants.values():
        if each.known:
            came_to.setdefault(each.known, []).append(each.known_is)
    shown = [entry for entry in known.entries if key_of(entry) in came_to]
    for entry in shown[:MOST_KNOWN]:
        yield f"known failure {entry.scenario}: {_state(entry, known, came_to[key_of(entry)])}{entry.brief}"
    if len(shown) > MOST_KNOWN:
        yield f"and {len(shown) - MOST_KNOWN} more known failures"


def _state(entry: KnownFailure, known: KnownFailures, came_to: Sequence[str]) -> str:
    if set(came_to) == {Known.OTHER_REVISION.value}:
        return "left aside, the subject is another revision; "
    if known.standing(entry) is Standing.EXPIRED:
        return "over; "
    if Known.ENDLESS.value in came_to:  # said by who met the subject, which may be a worker of xdist only
        return "without an end; "
    if set(came_to) == {"skipped"}:
        return "skipped, so nothing is known about it; "
    days = (entry.until - known.today).days if entry.until else ENDS_SOON_DAYS
    return f"ends in {days} days; " if days < ENDS_SOON_DAYS else ""
