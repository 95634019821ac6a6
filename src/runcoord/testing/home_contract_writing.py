"""What is written into a home and removed from it, and how changes show."""

from __future__ import annotations

import os

from runcoord._core.limits import MAX_REMOVED_DEPTH
from runcoord.ports import RefusalKind
from runcoord.testing.contract_case import require_equal
from runcoord.testing.home_contract_case import LIMIT, ROOT, STATE, HomesCase

NEW = "tombstone.json"


class MarksContract(HomesCase):
    """A mark is another one after every change, and only then."""

    def _marks(self) -> list[str]:
        root = self.opened()
        seen = root.seen("r1", STATE)
        assert seen is not None, "the state file is not seen"
        with root.folder("r1") as folder:
            require_equal(folder.seen(STATE), seen, "what is seen from the folder")
            read = folder.read(STATE, LIMIT)
        assert read is not None, "the state file is not read"
        require_equal(read.seen, seen, "what reading saw")
        require_equal(root.changed({"r1": seen.mark}, STATE), [], "changed")
        require_equal(root.changed({"r1": seen.mark + "0", "r2": seen.mark}, STATE), ["r1", "r2"], "changed")
        return [seen.mark, root.mark("r1", STATE), root.mark("r1", STATE, NEW)]

    def test_marks_stay_while_nothing_changes(self) -> None:
        self.make("r1", state=b"one")
        require_equal(self._marks(), self._marks(), "marks of an unchanged file")

    def test_marks_change_with_the_file(self) -> None:
        path = os.path.join(self.make("r1", state=b"one"), STATE)
        os.utime(path, ns=(10**18, 10**18))
        marks = [self._marks()]
        self.write(path, b"three")
        os.utime(path, ns=(10**18, 10**18))  # as a forger would
        marks.append(self._marks())
        os.utime(path, ns=(10**18, 10**18 + 1))
        marks.append(self._marks())
        self.write(path + "-new", b"three")
        os.utime(path + "-new", ns=(10**18, 10**18 + 1))
        os.replace(path + "-new", path)
        marks.append(self._marks())
        for number, kind in enumerate(("of the file", "of folder and file", "of folder and two files")):
            each = [every[number] for every in marks]
            require_equal(len(set(each)), len(each), f"different marks {kind}")

    def test_the_mark_of_a_refused_folder_changes_with_its_files(self) -> None:
        path = self.make("r1")
        root = self.opened()
        marks = [root.mark("r1", STATE, NEW)]
        self.write(os.path.join(path, STATE), b"x")
        marks.append(root.mark("r1", STATE, NEW))
        os.utime(os.path.join(path, STATE), ns=(10**18, 10**18))
        marks.append(root.mark("r1", STATE, NEW))
        self.write(os.path.join(path, NEW), b"x")
        marks.append(root.mark("r1", STATE, NEW))
        os.rename(path, path + "-moved")
        marks.append(root.mark("r1", STATE, NEW))
        self.link(path + "-moved", path)
        marks.append(root.mark("r1", STATE, NEW))
        require_equal(len(set(marks)), len(marks), f"different marks of {marks}")
        require_equal(root.mark("r1", STATE, NEW), marks[-1], "the mark of a link")


class CreatingContract(HomesCase):
    """The one file that is ever written."""

    def test_a_file_is_made_with_what_it_says(self) -> None:
        path = self.make("r1", state=b"{}")
        with self.opened().folder("r1") as folder:
            folder.create(NEW, b"abc" * 1_000)
            read = folder.read(NEW, 3_000)
        assert read is not None, "the new file is not there"
        require_equal(read.data, b"abc" * 1_000, "what it says")
        require_equal(sorted(os.listdir(path)), [STATE, NEW], "files in the folder")

    def test_what_is_there_is_never_written_over(self) -> None:
        path = self.make("r1", **{NEW: b"old"})
        with self.opened().folder("r1") as folder:
            self.refused(RefusalKind.EXISTS, lambda: folder.create(NEW, b"new"))
        with open(os.path.join(path, NEW), "rb") as file:
            require_equal(file.read(), b"old", "what was there")

    def test_nothing_is_written_through_a_link(self) -> None:
        path, outside = self.make("r1"), self.outside()
        self.link(outside, os.path.join(path, NEW))
        self.link(os.path.join(self.place, "not-there"), os.path.join(path, "dangling"))
        with self.opened().folder("r1") as folder:
            self.refused(RefusalKind.EXISTS, lambda: folder.create(NEW, b"new"))
            self.refused(RefusalKind.EXISTS, lambda: folder.create("dangling", b"new"))
        with open(outside, "rb") as file:
            require_equal(file.read(), b"secret", "the file outside")
        require_equal(sorted(os.listdir(self.place)), ["home", "outside"], "what is outside of the home")


class RemovingContract(HomesCase):
    """A folder goes with all that is in it, and with nothing else."""

    def need_removal(self) -> None:
        self.need_holding()

    def _tree(self) -> str:
        path = self.make("r1", state=b"{}", result=b"x")
        os.makedirs(os.path.join(path, "a", "b"))
        self.write(os.path.join(path, "a", "b", "file"), b"x")
        self.make("r2", state=b"{}")
        return path

    def test_a_folder_is_removed_and_its_neighbours_stay(self) -> None:
        self.need_removal()
        self._tree()
        root = self.opened()
        root.remove("r1", 5, (STATE,))
        require_equal(root.names(LIMIT).names, ["r2"], "folders that are left")

    def test_a_folder_without_the_file_that_is_removed_last_stays_whole(self) -> None:
        self.need_removal()
        path = self._tree()
        self.refused(RefusalKind.SWAPPED, lambda: self.opened().remove("r1", LIMIT, (STATE, "tombstone")))
        require_equal(sorted(os.listdir(path)), ["a", "result", STATE], "the folder")

    def test_what_is_not_there_is_nothing_to_do(self) -> None:
        self.opened().remove("r1", 5)

    def test_links_are_removed_and_what_they_lead_to_stays(self) -> None:
        self.need_removal()
        path, outside = self._tree(), self.outside()
        other = os.path.join(self.place, "other")
        os.mkdir(other)
        self.write(os.path.join(other, "file"), b"x")
        self.link(outside, os.path.join(path, "file"))
        self.link(other, os.path.join(path, "directory"))
        self.link(self.at(ROOT, "r2"), os.path.join(path, "a", "neighbour"))
        root = self.opened()
        root.remove("r1", LIMIT)
        require_equal(root.names(LIMIT).names, ["r2"], "folders that are left")
        require_equal(os.listdir(self.at(ROOT, "r2")), [STATE], "the neighbour")
        require_equal((os.listdir(other), os.path.exists(outside)), (["file"], True), "what is outside")

    def test_a_folder_with_more_than_the_limit_stays_whole(self) -> None:
        self.need_removal()
        path = self._tree()
        self.refused(RefusalKind.TOO_LARGE, lambda: self.opened().remove("r1", 4))
        require_equal(sorted(os.listdir(path)), ["a", "result", STATE], "the folder")

    def test_a_folder_that_is_too_deep_stays_whole(self) -> None:
        self.need_removal()
        path = self._tree()
        deep = os.path.join(path, *["d"] * MAX_REMOVED_DEPTH)
        os.makedirs(deep)
        self.refused(RefusalKind.TOO_LARGE, lambda: self.opened().remove("r1", LIMIT))
        assert os.path.isdir(deep), "a part of it was removed"
        os.rmdir(deep)
        self.opened().remove("r1", LIMIT)
        assert not os.path.exists(path), "the folder is there"

    def test_a_link_or_file_in_the_place_of_a_folder_is_not_removed(self) -> None:
        other = os.path.join(self.place, "other")
        os.mkdir(other)
        self.write(self.at(ROOT, "r2"), b"x")
        self.refused(RefusalKind.NOT_A_DIRECTORY, lambda: self.opened().remove("r2", 5))
        self.link(other, self.at(ROOT, "r1"))
        self.refused(RefusalKind.LINK, lambda: self.opened().remove("r1", 5))
        assert os.path.isdir(other), "the directory behind the link was removed"
        assert os.path.islink(self.at(ROOT, "r1")), "the link was removed"

    def test_where_directories_cannot_be_held_nothing_is_removed(self) -> None:
        path = self._tree()
        self.need(bool(self.opened().missing), "a system without held directories")
        self.refused(RefusalKind.UNSUPPORTED, lambda: self.opened().remove("r1", LIMIT))
        require_equal(sorted(os.listdir(path)), ["a", "result", STATE], "the folder")
