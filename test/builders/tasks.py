"""A call under way in another thread, for tests of what blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

LIMIT_SECONDS = 30.0


@contextmanager
def running(call: Callable[[], T]) -> Iterator[Future[T]]:
    """Run `call` in a thread during the block; `future.result(LIMIT_SECONDS)` gives what it returned or raised."""
    with ThreadPoolExecutor(1, thread_name_prefix="test") as executor:
        yield executor.submit(call)
