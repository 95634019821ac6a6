"""What is read of a home, and what is not."""

from __future__ import annotations

import os
import stat

from runcoord.ports import RefusalKind
from runcoord.testing.contract_case import require_equal
from runcoord.testing.home_contract_case import LIMIT, ROOT, STATE, HomesCase


class OpeningContract(HomesCase):
    """The home is resolved once, through any spelling; what is below it, through none."""

    def test_the_same_folders_are_found_through_every_spelling(self) -> None:
        self.make("r1", state=b"{}")
        self.link(self.home, os.path.join(self.place, "linked"))
        self.link(self.place, os.path.join(self.place, "above"))
        relative = os.path.relpath(self.home)
        spellings = [
            self.home,
            self.home + os.sep,
            os.path.join(self.place, "linked"),
            os.path.join(self.place, "above", "home"),
            os.path.join(self.place, "above", "above", "linked", "."),
            os.path.join(self.home, ROOT, ".."),
            relative,
        ]
        paths = set()
        for home in spellings:
            with self.homes.open(home, ROOT) as root:
                require_equal(root.names(LIMIT).names, ["r1"], f"names through {home}")
                with root.folder("r1") as folder:
                    read = folder.read(STATE, LIMIT)
                assert read is not None, f"no state file through {home}"
                paths.add(root.path)
        require_equal(len(paths), 1, "paths of one home")

    def test_the_root_may_be_the_home_itself_or_further_down(self) -> None:
        os.makedirs(self.at("a", "b", "r1"))
        require_equal(self.opened("a/b").names(LIMIT).names, ["r1"], "names in a/b")
        require_equal(self.opened(".").names(LIMIT).names, ["a", ROOT], "names in the home")

    def test_what_is_not_there_is_missing(self) -> None:
        self.refused(RefusalKind.MISSING, lambda: self.opened("elsewhere"))
        self.refused(RefusalKind.MISSING, lambda: self.homes.open(self.home + "-2", ROOT))

    def test_what_is_no_directory_is_refused(self) -> None:
        self.write(self.at("file"), b"secret")
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.opened("file"))
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.homes.open(self.at("file"), ROOT))
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.opened("file/runs"))

    def test_no_part_of_the_root_may_be_a_link(self) -> None:
        os.makedirs(os.path.join(self.place, "elsewhere", ROOT, "r1"))
        self.link(os.path.join(self.place, "elsewhere", ROOT), self.at("last"))
        self.link(os.path.join(self.place, "elsewhere"), self.at("first"))
        self.link(self.at(ROOT), self.at("own"))
        for root in ("last", f"first/{ROOT}", "own"):
            self.refused(RefusalKind.LINK, lambda root=root: self.opened(root))  # type: ignore[misc]

    def test_names_that_lead_elsewhere_are_none(self) -> None:
        for root in ("", "..", f"{ROOT}/..", f"{ROOT}//x", f"/{ROOT}", "a\0b"):
            self.refused(RefusalKind.NAME, lambda root=root: self.opened(root))  # type: ignore[misc]
        for home in ("", "a\0b"):
            self.refused(RefusalKind.NAME, lambda home=home: self.homes.open(home, ROOT))  # type: ignore[misc]

    def test_a_root_that_is_closed_is_refused_and_may_be_closed_again(self) -> None:
        self.make("r1", state=b"{}")
        root = self.homes.open(self.home, ROOT)
        folder = root.folder("r1")
        for each in (root, root, folder, folder):
            each.close()
        self.refused(RefusalKind.UNREADABLE, lambda: root.names(LIMIT))
        self.refused(RefusalKind.UNREADABLE, lambda: root.folder("r1"))
        self.refused(RefusalKind.UNREADABLE, lambda: folder.read(STATE, LIMIT))


class ListingContract(HomesCase):
    """Names in order, page by page, whatever they are."""

    def test_every_entry_is_listed_in_order_whatever_it_is(self) -> None:
        for name in ("b", "a", "\u00e9", "Z", ".x"):
            self.make(name)
        self.write(self.at(ROOT, "file"), b"")
        found = self.opened().names(LIMIT)
        require_equal(found.names, [".x", "Z", "a", "b", "file", "\u00e9"], "names")
        assert not found.more, "there are no more names"
        assert not found.uncounted, "every entry was looked at"

    def test_an_empty_root_has_no_names(self) -> None:
        found = self.opened().names(LIMIT)
        require_equal((found.names, found.more), ([], False), "names of nothing")

    def test_pages_hold_every_name_once(self) -> None:
        names = [f"r{number:02}" for number in range(25)]
        for name in reversed(names):
            self.make(name)
        root = self.opened()
        for limit in (1, 7, 24, 25, 26):
            seen: list[str] = []
            more = True
            while more:
                page = root.names(limit, seen[-1] if seen else "")
                assert len(page.names) <= limit, f"{len(page.names)} names, {limit} were asked for"
                seen += page.names
                more = page.more
                assert page.names or not more, "an empty page says that there is more"
            require_equal(seen, names, f"names in pages of {limit}")


class SeeingContract(HomesCase):
    """Files are looked at and read, and only plain ones."""

    def test_a_file_is_read_as_it_is(self) -> None:
        data = bytes(range(256)) * 3
        self.make("r1", state=data)
        with self.opened().folder("r1") as folder:
            seen, read = folder.seen(STATE), folder.read(STATE, LIMIT)
            assert read is not None, "the file was not read"
            require_equal((read.data, read.truncated, read.seen), (data, False, seen), "what was read")
        require_equal(read.seen.size, len(data), "its size")
        require_equal(self.opened().seen("r1", STATE), read.seen, "what is seen from the root")

    def test_what_is_not_there_is_none(self) -> None:
        self.make("r1")
        with self.opened().folder("r1") as folder:
            for given in (folder.seen(STATE), folder.read(STATE, 9), folder.read_beginning(STATE, 9)):
                assert given is None, f"a file that is not there: {given}"
        assert self.opened().seen("r1", STATE) is None, "a file that is not there is seen"
        assert self.opened().seen("r2", STATE) is None, "a folder that is not there is seen"
        self.refused(RefusalKind.MISSING, lambda: self.opened().folder("r2"))

    def test_a_file_above_the_limit_is_refused_whole_and_cut_at_its_beginning(self) -> None:
        self.make("r1", state=b"secret" * 10)
        with self.opened().folder("r1") as folder:
            self.refused(RefusalKind.TOO_LARGE, lambda: folder.read(STATE, 59))
            whole = folder.read(STATE, 60)
            assert whole is not None, "a file at its limit was not read"
            require_equal((len(whole.data), whole.truncated), (60, False), "a file at its limit")
            for limit, cut in ((7, True), (59, True), (60, False), (61, False)):
                part = folder.read_beginning(STATE, limit)
                assert part is not None, "the beginning was not read"
                require_equal((part.data, part.truncated), ((b"secret" * 10)[:limit], cut), f"limit {limit}")

    def test_an_empty_file_is_a_file(self) -> None:
        self.make("r1", state=b"")
        with self.opened().folder("r1") as folder:
            read = folder.read(STATE, LIMIT)
            assert read is not None, "an empty file is none"
            require_equal((read.data, read.seen.size), (b"", 0), "an empty file")

    def test_a_linked_folder_is_refused_and_nothing_behind_it_is_seen(self) -> None:
        other = os.path.join(self.place, "other")
        os.mkdir(other)
        self.write(os.path.join(other, STATE), b"secret")
        self.make("good", state=b"{}")
        self.link(other, self.at(ROOT, "r1"))
        self.link("good", self.at(ROOT, "r2"))
        self.link("nowhere", self.at(ROOT, "r3"))
        root = self.opened()
        for name in ("r1", "r2", "r3"):
            self.refused(RefusalKind.LINK, lambda name=name: root.folder(name))  # type: ignore[misc]
            self.refused(RefusalKind.LINK, lambda name=name: root.seen(name, STATE))  # type: ignore[misc]

    def test_a_linked_file_is_refused(self) -> None:
        path = self.make("r1")
        self.link(self.outside(), os.path.join(path, STATE))
        self._refused_everywhere("r1", RefusalKind.LINK)

    def test_a_hard_link_is_refused(self) -> None:
        path = self.make("r1")
        self.hard_link(self.outside(), os.path.join(path, STATE))
        self._refused_everywhere("r1", RefusalKind.HARD_LINK)

    def test_a_directory_in_the_place_of_a_file_is_refused(self) -> None:
        os.mkdir(os.path.join(self.make("r1"), STATE))
        self._refused_everywhere("r1", RefusalKind.NOT_REGULAR)

    def test_a_fifo_is_refused_without_waiting(self) -> None:
        path = os.path.join(self.make("r1"), STATE)
        self.need(self._made_fifo(path), "a FIFO")
        self._refused_everywhere("r1", RefusalKind.NOT_REGULAR)

    def _made_fifo(self, path: str) -> bool:
        try:
            os.mkfifo(path)
            return stat.S_ISFIFO(os.lstat(path).st_mode)
        except (OSError, AttributeError, NotImplementedError):
            return False

    def _refused_everywhere(self, name: str, kind: RefusalKind) -> None:
        root = self.opened()
        with root.folder(name) as folder:
            self.refused(kind, lambda: folder.seen(STATE))
            self.refused(kind, lambda: folder.read(STATE, LIMIT))
            self.refused(kind, lambda: folder.read_beginning(STATE, LIMIT))
            self.refused(RefusalKind.EXISTS, lambda: folder.create(STATE, b"new"))
        self.refused(kind, lambda: root.seen(name, STATE))

    def test_a_file_in_the_place_of_a_folder_is_refused(self) -> None:
        self.write(self.at(ROOT, "r1"), b"secret")
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.opened().folder("r1"))
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.opened().seen("r1", STATE))

    def test_names_that_lead_out_of_a_folder_are_none(self) -> None:
        self.outside()
        self.make("r1", state=b"{}")
        root = self.opened()
        for name in ("", ".", "..", "../home", "/etc", "r1/../../outside", f"r1/{STATE}", "a\0b"):
            self.refused(RefusalKind.NAME, lambda name=name: root.folder(name))  # type: ignore[misc]
            self.refused(RefusalKind.NAME, lambda name=name: root.seen(name, STATE))  # type: ignore[misc]
            self.refused(RefusalKind.NAME, lambda name=name: root.remove(name, 9))  # type: ignore[misc]
            require_equal(root.mark(name, STATE), "", f"mark of {name!r}")
            require_equal(root.changed({name: ""}, STATE), [name], f"changed with {name!r}")
            with root.folder("r1") as folder:
                self.refused(RefusalKind.NAME, lambda name=name: folder.read(name, 9))  # type: ignore[misc]
                self.refused(RefusalKind.NAME, lambda name=name: folder.create(name, b""))  # type: ignore[misc]

    def test_a_file_beside_the_folders_is_in_none_of_them(self) -> None:
        for path in (self.at(STATE), self.at(ROOT, STATE)):
            self.write(path, b"{}")
        with self.homes.open(self.place, ".") as above:
            around, beside = above.seen("home", STATE), self.opened(".").seen(ROOT, STATE)
        assert around is not None, "the file in the home is not seen"
        assert beside is not None, "the file in the root is not seen"
        for name, seen in (("..", around), (".", beside), ("", beside)):
            require_equal(self.opened().changed({name: seen.mark}, STATE), [name], f"changed with {name!r}")

    def test_a_folder_that_is_held_is_the_one_that_was_opened(self) -> None:
        self.need_holding()
        path = self.make("r1", state=b"first")
        with self.opened().folder("r1") as folder:
            os.rename(path, path + "-moved")
            self.make("r1", state=b"second")
            read = folder.read(STATE, LIMIT)
            assert read is not None, "the folder that was opened is not read any more"
            require_equal(read.data, b"first", "what was read")

    def test_a_folder_that_cannot_be_held_is_refused_when_another_has_its_place(self) -> None:
        path = self.make("r1", state=b"first")
        root = self.opened()
        self.need(bool(root.missing), "a system without held directories")
        with root.folder("r1") as folder:
            os.rename(path, path + "-moved")
            self.make("r1", state=b"secret")
            self.refused(RefusalKind.SWAPPED, lambda: folder.seen(STATE))
            self.refused(RefusalKind.SWAPPED, lambda: folder.read(STATE, LIMIT))
            self.refused(RefusalKind.SWAPPED, lambda: folder.create("new", b"x"))
        require_equal(os.listdir(path), [STATE], "the folder in its place")

    def test_a_folder_that_cannot_be_held_is_refused_when_a_link_has_its_place(self) -> None:
        path = self.make("r1", state=b"first")
        root = self.opened()
        self.need(bool(root.missing), "a system without held directories")
        with root.folder("r1") as folder:
            os.rename(path, path + "-moved")
            self.link(path + "-moved", path)
            self.refused(RefusalKind.LINK, lambda: folder.seen(STATE))
            self.refused(RefusalKind.LINK, lambda: folder.read(STATE, LIMIT))
            self.refused(RefusalKind.LINK, lambda: folder.create("new", b"x"))
        require_equal(os.listdir(path + "-moved"), [STATE], "the folder behind the link")
