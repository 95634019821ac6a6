"""The store contract: imported runs, and what is known of run folders."""

from __future__ import annotations

from dataclasses import replace

from runcoord.ports import (
    BadRow,
    Change,
    Claims,
    ClosableFolders,
    Deadline,
    EventState,
    KeptResult,
    KnownFolders,
    RefusedFolder,
    Run,
    Source,
    SourceState,
)
from runcoord.testing.contract_case import StoreCase, event, finished, require_equal

ROOT, OTHER_ROOT, LAST = "/home/runs", "/other/runs", "\U0010ffff"


def imported(run_id: str, state: SourceState = SourceState.OPEN, root: str = ROOT, **fields: object) -> Run:
    """A run that was imported, as a rule with nothing left to tell."""
    source = Source(
        root,
        f"mark-of-{run_id}",
        state,
        7.5,
        KeptResult("result.txt", 12),
        Claims("dashboard:main", "c-1", 4242, 6.5),
        ("task is cut", "pid is left out"),
        "runs",
    )
    return replace(finished(run_id, 5.0, owner="", epoch=0, started_at=None, source=source), **fields)  # type: ignore[arg-type]


def refused(name: str, root: str = ROOT, mark: str = "m1", reason: str = "it is a link") -> RefusedFolder:
    return RefusedFolder(root, name, mark, "link", reason, 3.5)


class FoldersContract(StoreCase):
    def known(self, root: str = ROOT, after: str = "", last: str = LAST, limit: int = 99) -> KnownFolders:
        with self.open().view("look") as view:
            return view.known_folders(root, after, last, limit)

    def names(self, root: str = ROOT, after: str = "", last: str = LAST, limit: int = 99) -> list[str]:
        found = self.known(root, after, last, limit)
        return sorted([*found.marks, *found.refused])

    def test_an_imported_run_comes_back_with_all_that_is_known_of_its_folder(self) -> None:
        bare = replace(imported("b"), source=Source(ROOT, "", SourceState.CLOSED, 1.0))
        self.saved(imported("a"), bare)
        self.saved(finished("c", 1.0))
        with self.open().view("look") as view:
            require_equal(view.run("a"), imported("a"))
            require_equal(view.run("b"), bare)
            require_equal(view.runs(limit=9), [imported("a"), bare, finished("c", 1.0)])

    def test_an_update_changes_what_is_known_of_a_folder_and_not_where_it_is(self) -> None:
        run = imported("a")
        self.saved(run)
        assert run.source is not None
        moved = replace(run.source, root="/elsewhere", imported_at=9.0, mark="m2", state=SourceState.CLOSED)
        self.save(Change(before=run, run=replace(run, version=5, source=moved, retried_as="r2")))
        after = replace(run.source, mark="m2", state=SourceState.CLOSED)
        with self.open().view("look") as view:
            require_equal(view.run("a"), replace(run, version=5, source=after, retried_as="r2"))
        require_equal(self.known().marks, {"a": "m2"})

    def test_a_run_that_was_not_imported_gets_no_source_by_an_update(self) -> None:
        run = finished("a", 5.0)
        self.saved(run)
        self.save(Change(before=run, run=replace(run, version=5)))
        with self.open().view("look") as view:
            require_equal(view.run("a"), replace(run, version=5))
        require_equal(self.names(), [])

    def test_known_folders_are_those_of_one_root_by_name_behind_one_and_up_to_another(self) -> None:
        self.saved(
            imported("b"), imported("a"), imported("d", SourceState.GONE), imported("x", root=OTHER_ROOT)
        )
        self.save(Change(refused=(refused("c"), refused("e"), refused("a", OTHER_ROOT))))
        self.save(Change(refused=(refused("b2"),)))
        found = self.known()
        require_equal([*found.marks], ["a", "b", "d"])
        require_equal((found.gone, found.upto), (frozenset({"d"}), LAST))
        require_equal(found.refused, {name: refused(name) for name in ("b2", "c", "e")})
        require_equal(self.names(after="a", last="d"), ["b", "b2", "c", "d"])
        require_equal(self.names("/nowhere"), [])

    def test_a_list_of_known_folders_says_up_to_where_it_is_complete(self) -> None:
        self.saved(*(imported(name) for name in ("a", "c", "e", "g")))
        self.save(Change(refused=tuple(refused(name) for name in ("b", "d", "f"))))
        require_equal((self.names(limit=2), self.known(limit=2).upto), (["a", "b", "c"], "c"))
        require_equal(
            (self.names(after="c", limit=3), self.known(after="c", limit=3).upto),
            (["d", "e", "f", "g"], LAST),
        )
        require_equal((self.names(limit=3), self.known(limit=3).upto), (["a", "b", "c", "d", "e"], "e"))
        require_equal((self.names(last="b", limit=1), self.known(last="b", limit=1).upto), (["a"], "a"))

    def test_names_are_in_the_order_of_their_code_points(self) -> None:
        names = ["Z", "a", "\u00e9", "\ufb01", "\U0001f600"]
        self.saved(*(imported(name) for name in reversed(names)))
        require_equal([*self.known().marks], names)
        require_equal([*self.known(after="\u00e9", last="\ufb01").marks], ["\ufb01"])

    def test_a_refused_folder_has_one_row_which_is_replaced_and_forgotten(self) -> None:
        self.save(Change(refused=(refused("a"), refused("b"), refused("a", OTHER_ROOT))))
        again = refused("a", mark="m2", reason="it is a FIFO")
        self.save(Change(refused=(again,)))
        with self.open().view("look") as view:
            every = [again, refused("b"), refused("a", OTHER_ROOT)]
            require_equal(view.refused_folders(limit=9), every)
            require_equal(view.refused_folders(after=(ROOT, "a"), limit=1), [refused("b")])
        with self.store.transaction("forget") as tx:
            tx.remove_refused(ROOT, ["a", "nobody"])
        with self.open().view("look") as view:
            require_equal(view.refused_folders(limit=9), [refused("b"), refused("a", OTHER_ROOT)])

    def test_a_refused_folder_of_a_transaction_that_was_undone_is_not_there(self) -> None:
        try:
            with self.store.transaction("undone") as tx:
                tx.save([Change(refused=(refused("a"),)), Change(run=imported("b"))])
                raise KeyError
        except KeyError:
            pass
        require_equal(self.names(), [])

    def test_a_refused_folder_whose_row_makes_no_sense_is_named_and_the_others_are_listed(self) -> None:
        self.save(Change(refused=(refused("a"), refused("b"))))
        self.plant(self.store, "refused_folders", f"{ROOT}/a", "seen_at", b"never")
        bad: list[BadRow] = []
        with self.open().view("look") as view:
            require_equal(view.refused_folders(limit=9, bad=bad), [refused("b")])
            require_equal([*view.known_folders(ROOT, "", LAST, 9).refused], ["b"], "what is known")
        require_equal([(each.table, each.key) for each in bad], [("refused_folders", f"{ROOT}/a")])

    def test_an_imported_run_whose_source_makes_no_sense_is_a_bad_row(self) -> None:
        self.saved(imported("a"), imported("b"))
        self.plant(self.store, "runs", "a", "source", "{")
        bad: list[BadRow] = []
        with self.open().view("look") as view:
            require_equal(view.load_runs(["a", "b"], bad), [imported("b")])
        require_equal([each.key for each in bad], ["a"])
        require_equal(self.names(), ["a", "b"], "a look at folders")

    def test_ids_are_known_wherever_the_run_comes_from(self) -> None:
        self.saved(imported("a"), finished("b", 1.0))
        self.save(Change(refused=(refused("c"),)))
        with self.open().view("look") as view:
            require_equal(view.known_runs(["a", "b", "c", "d"]), {"a", "b"})
            require_equal(view.known_runs([]), set())

    def test_a_folder_can_be_closed_when_its_run_has_nothing_left_to_tell(self) -> None:
        due = Deadline.after(self.now, 0.0)
        for way in SourceState:
            for state in EventState:
                name = f"{way.value}-{state.value}"
                self.save(
                    Change(run=imported(name, way), new_events=(event(f"{name}/finished", due, state),))
                )
            self.saved(imported(f"{way.value}-history", way))
        self.saved(
            imported("closed-now", SourceState.CLOSED, finished_at=9.0), imported("x", root=OTHER_ROOT)
        )
        ready = ("open-delivered", "open-history")
        old = ("closed-delivered", "closed-history")
        with self.open().view("look") as view:
            require_equal(view.closable_folders(ROOT, "", LAST), ClosableFolders(ready, ()))
            require_equal(view.closable_folders(ROOT, "", LAST, 9.0), ClosableFolders(ready, old))
            require_equal(view.closable_folders(ROOT, "", LAST, 5.0), ClosableFolders(ready, ()))
            require_equal(view.closable_folders(ROOT, ready[0], LAST), ClosableFolders(ready[1:], ()))
            require_equal(view.closable_folders(ROOT, "", ready[0]), ClosableFolders(ready[:1], ()))

    def test_an_imported_run_is_to_prune_only_when_its_folder_is_gone(self) -> None:
        self.saved(*(imported(state.value, state) for state in SourceState))
        with self.store.transaction("prune") as tx:
            require_equal(tx.finished_before(9.0, 9), ["gone"])
            tx.remove_runs(["gone"])
        require_equal(self.names(), ["closed", "open"])
