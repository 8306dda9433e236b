"""Fixtures of the queue's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from clockwork import FakeClock, OwnedThread, join_all
from workqueue import Queue

InBackground = Callable[[Callable[[], Any]], "Future[Any]"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> Queue[str]:
    return Queue("test", clock=clock)


@pytest.fixture
def in_background() -> Iterator[InBackground]:
    """Run a call in a thread of its own, and join all threads at the end of the test."""
    threads: list[OwnedThread] = []

    def start(call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - whatever it is
                future.set_exception(error)

        threads.append(OwnedThread(f"background-{len(threads)}", run).start())
        return future

    yield start
    assert join_all(threads, 10.0) == []
