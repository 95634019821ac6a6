"""Each descriptor has one owner: none is left open, none is closed twice, and why a call failed is kept."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from homes.masking import without_held_directories
from homes.watching import descriptors, watched
from runcoord._homes import open_homes
from runcoord._homes.descriptors import Held
from runcoord.ports import FolderRefused, OpenRoot, RefusalKind

LIMIT = 1_000


def read(root: OpenRoot) -> object:
    with root.folder("r1") as folder:
        return folder.read("state.json", LIMIT), folder.read_beginning("result.txt", 3), folder.seen("x")


def create(root: OpenRoot) -> object:
    with root.folder("r1") as folder:
        return folder.create("tombstone.json", b"new")


def linked(root: OpenRoot) -> object:
    try:
        return root.folder("linked")
    except FolderRefused as refused:
        if refused.kind in {RefusalKind.LINK, RefusalKind.NOT_A_DIRECTORY}:
            return refused
        raise


ACTS: dict[str, Callable[[OpenRoot], object]] = {
    "names": lambda root: root.names(LIMIT),
    "seen": lambda root: root.seen("r1", "state.json"),
    "read": read,
    "create": create,
    "changed": lambda root: root.changed({"r1": "x", "r2": "x"}, "state.json"),
    "mark": lambda root: root.mark("r1", "state.json", "tombstone.json"),
    "remove": lambda root: root.remove("r1", LIMIT, ("state.json",)),
    "link": linked,
}
ERRORS: tuple[BaseException, ...] = (OSError(errno.EIO, "broken disk"), MemoryError(), KeyboardInterrupt())


@pytest.fixture(params=["held", "by path"])
def home(request: pytest.FixtureRequest, tmp_path: Path):  # type: ignore[no-untyped-def]
    if request.param == "held":
        yield tmp_path
    else:
        with without_held_directories():
            yield tmp_path


def made(home: Path) -> Path:
    """The home as it is before each try."""
    folder = home / "runs" / "r1"
    folder.mkdir(parents=True, exist_ok=True)
    (home / "runs" / "r2").mkdir(exist_ok=True)
    linked = home / "runs" / "linked"
    if not linked.is_symlink():
        linked.symlink_to("r1")
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "deep" / "file").write_bytes(b"x")
    (folder / "state.json").write_bytes(b"{}")
    (folder / "result.txt").write_bytes(b"result")
    (folder / "tombstone.json").unlink(missing_ok=True)
    return home


def acted(home: Path, act: Callable[[OpenRoot], object]) -> BaseException | None:
    try:
        with open_homes().open(str(home), "runs") as root:
            act(root)
    except BaseException as error:  # noqa: BLE001 - what it is is the question
        return error
    return None


@pytest.mark.parametrize("error", ERRORS, ids=["EIO", "no-memory", "interrupt"])
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_whichever_call_of_the_system_fails_nothing_stays_open_and_the_cause_is_kept(
    home: Path, act: Callable[[OpenRoot], object], error: BaseException
) -> None:
    before = descriptors()
    number, failed = 0, "first"
    while failed:
        made(home)
        with watched() as watch:
            watch.fails_at, watch.error = number, error
            raised = acted(home, act)
        failed = watch.failed_in
        assert watch.open == {}, f"left open when call {number}, {failed}, failed"
        assert descriptors() == before
        if failed and raised is not None:
            cause = raised.__cause__ if isinstance(raised, FolderRefused) else raised
            assert cause is error, f"call {number}, {failed}: {raised!r}"
            assert (raised is error) == (not isinstance(error, OSError))
        number += 1
        assert number < 100
    assert number > 3


def test_the_error_of_a_failing_read_is_told_even_when_closing_fails_too(tmp_path: Path) -> None:
    made(tmp_path)
    with open_homes().open(str(tmp_path), "runs") as root, root.folder("r1") as folder:

        def broken_read(*_: object) -> bytes:
            raise OSError(errno.EIO, "broken disk")

        def broken_close(number: int) -> None:
            close(number)
            raise OSError(errno.ESTALE, "gone")

        close = os.close
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "read", broken_read)
            patch.setattr(os, "close", broken_close)
            with pytest.raises(FolderRefused) as refused:
                folder.read("state.json", LIMIT)
    assert (refused.value.kind, refused.value.reason) == (
        RefusalKind.UNREADABLE,
        "state.json: EIO, broken disk",
    )


def test_a_tombstone_that_cannot_be_written_whole_is_taken_away_again(home: Path) -> None:
    made(home)
    for broken, kind in (
        (errno.ENOSPC, RefusalKind.FULL),
        (errno.EDQUOT, RefusalKind.FULL),
        (errno.EIO, RefusalKind.UNREADABLE),
    ):
        real = os.write

        def torn(number: int, data: bytes, broken: int = broken, real: Callable[..., int] = real) -> int:
            if len(data) < 3:
                raise OSError(broken, os.strerror(broken))
            return real(number, data[:1])

        with open_homes().open(str(home), "runs") as root, root.folder("r1") as folder:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "write", torn)
                with pytest.raises(FolderRefused) as refused:
                    folder.create("tombstone.json", b"new")
            assert refused.value.kind is kind
            assert not (home / "runs" / "r1" / "tombstone.json").exists()
            folder.create("tombstone.json", b"new")
            (home / "runs" / "r1" / "tombstone.json").unlink()


def test_a_file_that_took_the_place_of_a_torn_tombstone_is_not_taken_away(tmp_path: Path) -> None:
    path = made(tmp_path) / "runs" / "r1" / "tombstone.json"

    def replaced(number: int, data: bytes) -> int:
        path.unlink()
        path.write_bytes(b"of somebody else")
        raise OSError(errno.ENOSPC, "full")

    with (
        open_homes().open(str(tmp_path), "runs") as root,
        root.folder("r1") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(os, "write", replaced)
        with pytest.raises(FolderRefused, match="full"):
            folder.create("tombstone.json", b"new")
    assert path.read_bytes() == b"of somebody else"


def test_a_read_that_gives_less_than_there_is_goes_on(home: Path) -> None:
    data = bytes(range(256)) * 2
    (made(home) / "runs" / "r1" / "state.json").write_bytes(data)
    real = os.read
    with (
        open_homes().open(str(home), "runs") as root,
        root.folder("r1") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(os, "read", lambda number, size: real(number, min(size, 7)))
        whole, part = folder.read("state.json", LIMIT), folder.read_beginning("state.json", 100)
    assert whole is not None
    assert part is not None
    assert (whole.data, whole.truncated) == (data, False)
    assert (part.data, part.truncated) == (data[:100], True)


def test_a_descriptor_is_closed_once_however_often_that_is_asked(tmp_path: Path) -> None:
    number = os.open(tmp_path, os.O_RDONLY)
    held = Held(number)
    held.close()
    stranger = os.open(tmp_path, os.O_RDONLY)
    assert stranger == number
    held.close()
    with held:
        pass
    os.close(stranger)  # raises when it was closed


def test_descriptors_of_other_threads_survive_reads_that_fail(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "other").write_bytes(b"x")
    done, broken = threading.Event(), list[BaseException]()

    def open_and_use() -> None:
        try:
            while not done.is_set():
                with (tmp_path / "other").open("rb") as file:
                    assert file.read() == b"x"
        except BaseException as error:  # noqa: BLE001 - told below
            broken.append(error)

    others = [threading.Thread(target=open_and_use) for _ in range(3)]
    for other in others:
        other.start()
    real = os.read
    me = threading.get_ident()

    def failing(number: int, size: int) -> bytes:
        if threading.get_ident() == me:
            raise OSError(errno.EIO, "broken disk")
        return real(number, size)

    try:
        with open_homes().open(str(tmp_path), "runs") as root, pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "read", failing)
            for _ in range(300):
                with root.folder("r1") as folder, pytest.raises(FolderRefused, match="broken disk"):
                    folder.read("state.json", LIMIT)
    finally:
        done.set()
        for other in others:
            other.join(30)
    assert broken == []
