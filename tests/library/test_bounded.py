"""Calls in threads answer in time, or say that they did not; what is stuck is counted and bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from runcoord import ThreadBounded
from runcoord.errors import Happened, StoreTimeout, StoreUnavailable

SHORT = 0.01
"""Seconds; nothing that these tests give this bound to returns by itself."""
LONG = 30.0


class Stuck:
    """A call that returns when it is released, and says when it has begun."""

    def __init__(self) -> None:
        self.released, self.begun = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.released.wait(LONG)
        return "late"


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    call = Stuck()
    yield call
    call.released.set()


def test_a_call_in_time_gives_its_answer() -> None:
    assert ThreadBounded().call(LONG, lambda: 7) == 7


def test_an_error_of_the_call_passes_to_the_caller() -> None:
    with pytest.raises(KeyError, match="absent"):
        ThreadBounded().call(LONG, lambda: {}["absent"])


def test_a_call_that_does_not_return_is_a_timeout_that_may_have_happened(stuck: Stuck) -> None:
    with pytest.raises(StoreTimeout, match=r"within 0\.01 s") as caught:
        ThreadBounded().call(SHORT, stuck)
    assert caught.value.happened is Happened.MAYBE
    assert caught.value.remedy


def test_a_timeout_that_the_call_raised_itself_passes_as_it_is() -> None:
    raised = TimeoutError("its own")

    def call() -> None:
        raise raised

    with pytest.raises(TimeoutError) as caught:
        ThreadBounded().call(LONG, call)
    assert caught.value is raised
    assert not isinstance(caught.value, StoreTimeout)


def test_an_answer_that_comes_with_the_bound_is_given_and_no_timeout(
    stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait ends, and before anybody looks the call has ended too."""
    result = Future.result

    def too_late(future: Future[str], timeout: float | None = None) -> str:
        if timeout is None:
            return result(future)
        stuck.released.set()
        result(future, LONG)
        raise TimeoutError

    monkeypatch.setattr(Future, "result", too_late)
    assert ThreadBounded().call(SHORT, stuck) == "late"


def test_too_many_abandoned_calls_refuse_further_ones_before_anything_is_sent(stuck: Stuck) -> None:
    bounded = ThreadBounded(most_abandoned=2)
    for _ in range(2):
        with pytest.raises(StoreTimeout):
            bounded.call(SHORT, stuck)
    sent: list[str] = []
    with pytest.raises(StoreUnavailable, match="2 earlier calls have not returned") as caught:
        bounded.call(LONG, lambda: sent.append("sent"))
    assert caught.value.happened is Happened.NO
    assert sent == []


def test_an_abandoned_call_that_returned_makes_room(stuck: Stuck) -> None:
    bounded = ThreadBounded(most_abandoned=1)
    future = bounded.begin(stuck)
    bounded.abandon(future)
    with pytest.raises(StoreUnavailable):
        bounded.call(LONG, lambda: 7)
    stuck.released.set()
    assert future.result(LONG) == "late"
    assert bounded.call(LONG, lambda: 7) == 7


def test_calls_under_way_are_bounded_even_if_each_is_waited_for(stuck: Stuck) -> None:
    bounded = ThreadBounded(most_under_way=3)
    futures = [bounded.begin(stuck) for _ in range(3)]
    sent: list[str] = []
    with pytest.raises(StoreUnavailable, match="3 calls are under way") as caught:
        bounded.begin(lambda: sent.append("sent"))
    assert caught.value.happened is Happened.NO
    assert sent == []
    stuck.released.set()
    assert [future.result(LONG) for future in futures] == ["late"] * 3
    assert bounded.call(LONG, lambda: 7) == 7


def test_a_call_that_failed_makes_room_too() -> None:
    bounded = ThreadBounded(most_under_way=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            bounded.call(LONG, lambda: 1 // 0)
    assert bounded.call(LONG, lambda: 7) == 7


def test_no_thread_to_be_had_is_a_store_error_and_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = ThreadBounded(most_under_way=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="can't start new thread") as caught:
                bounded.call(LONG, lambda: 7)
            assert caught.value.happened is Happened.NO
    assert bounded.call(LONG, lambda: 7) == 7


def _no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_call_under_way_cannot_be_cancelled_away(stuck: Stuck) -> None:
    future = ThreadBounded().begin(stuck)
    assert not future.cancel()
    stuck.released.set()
    assert future.result(LONG) == "late"


@pytest.mark.parametrize("answer", [lambda: None, lambda: False, lambda: ""], ids=["none", "false", "empty"])
def test_an_empty_answer_is_an_answer(answer: Callable[[], object]) -> None:
    assert ThreadBounded().call(LONG, answer) == answer()
