"""Each invariant about homes fails on a coordinator that breaks its rule, and counts its occasions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.running import compiled
from pytest_runcoord.homes.words import CANARY
from pytest_runcoord.reference import Reference, ReferenceSession
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import Answer, SubjectWorld
from pytest_runcoord.verdict import RunResult
from runcoord import RunFolders

Deed = Callable[["Meddler", Path], None]

GIVEN = "given: {destinations: {chat: accepts, mail: accepts}}\n"
ONE = GIVEN + "steps:\n  - folder: {run: r1, result: the answer}\n  - open: gw1\n"
LINKED = ONE + "  - folder: r2\n  - link: {of: r2}\n"
TORN = ONE + "  - folder: {run: r2, is: torn}\n"
IMPORTED = "  - import: {to: mail}\n"


@dataclass
class How:
    """What a broken importer does besides, or instead."""

    before: Deed | None = None
    after: Deed | None = None
    changes: Callable[[dict[str, Any]], None] = field(default=lambda report: None)
    instead: Callable[[Meddler, dict[str, Any]], Answer] | None = None
    asks: Callable[[dict[str, Any]], dict[str, Any]] = field(default=lambda said: said)


class Broken(Reference):
    """The reference with an importer that does something else."""

    def __init__(self, how: How, *, deaf: bool = False) -> None:
        super().__init__()
        self._how, self._deaf = how, deaf

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        if self._deaf:
            world.imports = ()
        session = super().open(owner, world)
        return Meddler(session._coordinator, world, self._how)


class Meddler(ReferenceSession):
    def __init__(self, coordinator: Any, world: SubjectWorld, how: How) -> None:
        super().__init__(coordinator, world)
        self._how = how

    def import_folders(self, **said: Any) -> Answer:
        how, root = self._how, Path(said["home"]) / said["root"]
        if how.before is not None:
            how.before(self, root)
        said = how.asks(said)
        answer = super().import_folders(**said) if how.instead is None else how.instead(self, said)
        if how.after is not None:
            how.after(self, root)
        how.changes(answer.values)
        return answer


def run(body: str, how: How, *, deaf: bool = False) -> RunResult:
    scenario = compiled(body)
    [variant] = variants(scenario)
    return run_variant(scenario, variant, subject=Broken(how, deaf=deaf))


def violated(result: RunResult, invariant: str, part: str) -> None:
    assert result.failure is not None
    assert result.failure.name == invariant, result.failure
    assert part in f"{result.failure.problem}; {result.failure.seen}", result.failure


def write(name: str, text: str) -> Deed:
    def deed(session: Meddler, root: Path) -> None:
        (root / name).write_text(text, "utf-8")

    return deed


# --- source-untouched ---


@pytest.mark.parametrize("name", ["r1/state.json", "r1/result.txt", "r1/.read", "cursor"])
def test_an_importer_that_writes_in_a_home_is_noticed(name: str) -> None:
    violated(run(ONE + IMPORTED, How(after=write(name, "x"))), "source-untouched", name.rpartition("/")[2])


def test_a_folder_that_is_removed_though_nobody_asked_is_noticed() -> None:
    def remove(session: Meddler, root: Path) -> None:
        for each in (root / "r1").iterdir():
            each.unlink()
        (root / "r1").rmdir()

    violated(run(ONE + IMPORTED, How(after=remove)), "source-untouched", "r1 is gone")


def test_a_tombstone_before_the_delivery_is_noticed_also_when_the_event_is_delivered_later() -> None:
    early = How(after=write("r1/tombstone.json", '{"outcome": "interrupted"}'))
    violated(run(ONE + IMPORTED, early), "source-untouched", "tombstone.json is new")

    def through_the_port(session: Meddler, root: Path) -> None:
        assert session._world.homes is not None
        with session._world.homes.open(str(root.parent), root.name) as opened, opened.folder("r1") as folder:
            folder.create("tombstone.json", b"{}")
        session._coordinator.deliver()

    said = run(ONE + IMPORTED, How(after=through_the_port))
    violated(said, "source-untouched", "r1/tombstone.json was written before its event was delivered")


def test_a_tombstone_after_the_delivery_is_right() -> None:
    result = run(ONE + IMPORTED + "  - deliver\n" + IMPORTED, How())
    assert result.failure is None
    assert result.exercised["source-untouched"] > 0


# --- inside-the-root ---


def test_what_is_read_through_a_link_is_noticed_where_it_comes_up() -> None:
    def tell(session: Meddler, root: Path) -> None:
        session.submit("x", task=json.loads((root / "r2" / "state.json").read_bytes())["task"])

    violated(run(LINKED + IMPORTED, How(after=tell)), "inside-the-root", CANARY)

    def report(values: dict[str, Any]) -> None:
        values["reasons"]["r2"] = CANARY

    violated(run(LINKED + IMPORTED, How(changes=report)), "inside-the-root", "the answer of import_folders")


@pytest.mark.parametrize("name", ["r2/tombstone.json", "r2/state.json"])
def test_what_is_written_through_a_link_is_noticed(name: str) -> None:
    violated(run(LINKED + IMPORTED, How(after=write(name, "x"))), "inside-the-root", "outside of the home")


def test_what_is_only_opened_through_a_link_is_noticed_while_it_is_open() -> None:
    def hold(session: Meddler, root: Path) -> None:
        number = os.open(root / "r2", os.O_PATH)
        try:
            assert session._world.homes is not None
            session._world.homes.open(str(root.parent), root.name).close()
        finally:
            os.close(number)

    violated(run(LINKED + IMPORTED, How(before=hold)), "inside-the-root", "/outside/1/r2")


def test_a_home_without_links_is_no_occasion() -> None:
    assert run(ONE + IMPORTED, How()).exercised["inside-the-root"] == 0
    assert run(LINKED + IMPORTED, How()).exercised["inside-the-root"] == 1


# --- descriptors-closed-once ---


def test_what_stays_open_is_noticed() -> None:
    kept: list[int] = []

    def keep(session: Meddler, root: Path) -> None:
        kept.append(os.open(root / "r1", os.O_PATH))

    try:
        violated(run(ONE + IMPORTED, How(after=keep)), "descriptors-closed-once", "runs/r1")
    finally:
        os.close(kept[0])


def test_closing_twice_is_noticed_where_numbers_are_used_again_at_once() -> None:
    def twice(session: Meddler, root: Path) -> None:
        assert session._world.homes is not None
        opened: Any = session._world.homes.open(str(root.parent), root.name)
        number = opened._inner._held.number
        opened.close()
        with opened._around.system.active():
            os.close(number)

    busy = ONE + "  - busy_descriptors\n"
    violated(run(busy + IMPORTED, How(before=twice)), "descriptors-closed-once", "descriptor")
    assert run(busy + IMPORTED, How()).failure is None


# --- import-only-adds ---


def test_an_import_that_changes_a_run_of_the_coordinator_is_noticed() -> None:
    body = ONE + "  - submit: r1\n  - submit: r2\n  - claim: r1\n"
    assert run(body + IMPORTED, How()).exercised["import-only-adds"] == 1

    def stop(session: Meddler, root: Path) -> None:
        session.stop("r1")

    violated(run(body + IMPORTED, How(after=stop)), "import-only-adds", "an import changed r1")


# --- no-silent-zero ---


def test_a_root_that_cannot_be_looked_at_must_be_named() -> None:
    def nothing(values: dict[str, Any]) -> None:
        values["problem"] = None

    for hidden in ("link: {to: outside}", "remove_root", "deny: {}"):
        body = ONE + f"  - {hidden}\n"
        assert run(body + IMPORTED, How()).failure is None, hidden
        violated(run(body + IMPORTED, How(changes=nothing)), "no-silent-zero", "does not say so")


def test_every_entry_must_be_accounted_for() -> None:
    def less(values: dict[str, Any]) -> None:
        values["imported"] = 0

    violated(run(ONE + IMPORTED, How(changes=less)), "no-silent-zero", "does not account for every entry")


@pytest.mark.parametrize("name", ["corrupt", "reasons"])
def test_a_bad_folder_must_be_named_with_a_reason(name: str) -> None:
    def unnamed(values: dict[str, Any]) -> None:
        values["known"] += 0
        values[name] = {} if name == "reasons" else {"another": "x"}

    violated(run(TORN + IMPORTED, How(changes=unnamed)), "no-silent-zero", "r2 is no good, and is not named")


def test_an_error_must_not_leave_a_report_of_nothing() -> None:
    body = ONE + "  - home_fault: {on: list-folders, is: io-error}\n"
    assert run(body + IMPORTED, How()).failure is None

    def nothing(values: dict[str, Any]) -> None:
        values["problem"] = None

    violated(run(body + IMPORTED, How(changes=nothing)), "no-silent-zero", "reports nothing at all")


# --- one-bad-apple, converges ---


def test_a_good_folder_that_is_left_out_beside_a_bad_one_is_noticed() -> None:
    def claims_to_have_done_it(session: Meddler, said: dict[str, Any]) -> Answer:
        right = ReferenceSession.import_folders(session, **said | {"root": "elsewhere"})
        right.values.update(problem=None, imported=1, corrupt_count=1)
        right.values.update(corrupt={"r2": "torn"}, reasons={"r2": "torn"})
        return right

    body = TORN.replace("given: {", "given: {home: {also: [other]}, ")
    violated(run(body + IMPORTED, How(instead=claims_to_have_done_it)), "one-bad-apple", "none for r1")
    assert run(TORN + IMPORTED, How()).exercised["one-bad-apple"] > 0


def test_a_bad_folder_that_ends_the_whole_import_is_noticed() -> None:
    def raises(session: Meddler, said: dict[str, Any]) -> Answer:
        raise RecursionError("maximum recursion depth exceeded")

    result = run(TORN + IMPORTED, How(instead=raises))
    assert result.failure is not None
    assert "RecursionError" in result.failure.problem


def test_a_home_that_an_owner_imports_by_itself_must_be_imported_in_the_end() -> None:
    body = GIVEN + "steps:\n  - folder: r1\n  - open: {owner: gw1, imports: {to: mail}}\n"
    assert run(body, How()).failure is None
    violated(run(body, How(), deaf=True), "converges", "never became a run")


# --- idle-is-free, work-in-proportion ---


def test_rows_that_new_folders_do_not_account_for_are_noticed() -> None:
    def write_more(session: Meddler, root: Path) -> None:
        session._coordinator.store.counters.rows_written += 9

    violated(run(ONE + IMPORTED, How(after=write_more)), "work-in-proportion", "11 rows")
    violated(
        run(GIVEN + "steps:\n  - open: gw1\n" + IMPORTED * 2, How(after=write_more)), "idle-is-free", "9 rows"
    )


def test_a_second_import_is_free_and_one_after_a_change_need_not_be() -> None:
    result = run(TORN + IMPORTED * 2 + "  - rewrite: {run: r2, is: empty}\n" + IMPORTED * 2, How())
    assert result.failure is None
    assert result.exercised["idle-is-free"] >= 2


# --- bounded-and-clean ---


def test_a_credential_that_was_in_a_folder_and_comes_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    body = GIVEN + "steps:\n  - folder: {run: r1, is: secrets}\n  - open: gw1\n"
    assert run(body + IMPORTED, How()).failure is None
    monkeypatch.setattr(
        "pytest_runcoord.reference_homes.folders_of",
        lambda said: RunFolders(said["home"], fallback=said["fallback"], redact=lambda text: text),
    )
    violated(run(body + IMPORTED, How()), "bounded-and-clean", "credential")


# --- delivered-to-someone, acknowledged-stays ---


def test_an_event_that_goes_where_only_its_folder_says_is_noticed() -> None:
    body = ONE.replace("result: the answer", "set: {destination: chat}") + "  - import\n  - deliver\n"
    assert run(body, How()).failure is None

    def believe(session: Meddler, root: Path) -> None:
        session.route("r1/finished", "chat")

    violated(run(body, How(after=believe)), "delivered-to-someone", "nobody but its folder named")


def test_an_event_that_the_operator_routes_may_go_there() -> None:
    result = run(ONE + "  - import\n  - route: {run: r1, to: chat}\n  - deliver\n", How())
    assert result.failure is None
    assert result.exercised["delivered-to-someone"] > 0


def test_history_that_is_told_again_is_noticed() -> None:
    def hide(session: Meddler, root: Path) -> None:
        (root / "r1" / "tombstone.json").rename(root.parent / "hidden")

    def bring_back(session: Meddler, root: Path) -> None:
        (root.parent / "hidden").rename(root / "r1" / "tombstone.json")

    body = ONE + "  - tombstone: r1\n" + IMPORTED + "  - deliver\n"
    assert run(body, How()).exercised["acknowledged-stays"] > 0
    violated(run(body, How(before=hide, after=bring_back)), "acknowledged-stays", "is told again")


# --- result-kept ---


def test_a_result_that_cannot_be_reached_from_the_event_is_noticed() -> None:
    def hide(session: Meddler, root: Path) -> None:
        (root / "r1" / "result.txt").rename(root.parent / "hidden")

    def bring_back(session: Meddler, root: Path) -> None:
        (root.parent / "hidden").rename(root / "r1" / "result.txt")

    assert run(ONE + IMPORTED, How()).exercised["result-kept"] == 1
    violated(run(ONE + IMPORTED, How(before=hide, after=bring_back)), "result-kept", "cannot be reached")
