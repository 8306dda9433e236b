"""A source of objects whose every answer is written by the test."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from clockwork import StopToken
from informers.errors import ApiError, Stopped
from informers.list_watch import ListOptions, Page, WatchEvent, WatchOptions

T = TypeVar("T")
Answer = TypeVar("Answer")
Options = TypeVar("Options")

_REAL_LIMIT_SECONDS = 30.0


class FakeWatch(Generic[T]):
    """One watch in the hands of a test: it sends, closes and breaks what the reflector reads. Safe from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._steps: deque[WatchEvent[T] | ApiError] = deque()
        self._closed = False
        self.stops = 0

    def send(self, *events: WatchEvent[T]) -> FakeWatch[T]:
        """Append events."""
        with self._changed:
            self._steps.extend(events)
            self._changed.notify_all()
        return self

    def fail(self, error: ApiError) -> FakeWatch[T]:
        """End the stream with `error`, after the events sent so far."""
        with self._changed:
            self._steps.append(error)
            self._changed.notify_all()
        return self

    def close(self) -> FakeWatch[T]:
        """End the stream in order, after the events sent so far."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        return self

    def stop(self) -> None:
        """End the stream as its reader; each call is counted in `stops`."""
        with self._changed:
            self.stops += 1
            self._steps.clear()
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._steps) or self._closed)
                if not self._steps:
                    return
                step = self._steps.popleft()
            if isinstance(step, ApiError):
                raise step
            yield step


class FakeListWatch(Generic[T]):
    """A `ListWatch` that answers each list and watch with the next scripted answer, and remembers what was asked.

    When the script has run out, a request waits until its stop token is set. Safe from any thread.
    """

    def __init__(self, name: str = "pods") -> None:
        self._name = name
        self._changed = threading.Condition(threading.Lock())
        self._pages: deque[Page[T] | ApiError] = deque()
        self._watches: deque[FakeWatch[T] | ApiError] = deque()
        self._asked_lists: list[ListOptions] = []
        self._asked_watches: list[WatchOptions] = []

    @property
    def name(self) -> str:
        """What is listed."""
        return self._name

    @property
    def lists(self) -> tuple[ListOptions, ...]:
        """The options of every list so far."""
        with self._changed:
            return tuple(self._asked_lists)

    @property
    def watches(self) -> tuple[WatchOptions, ...]:
        """The options of every watch so far."""
        with self._changed:
            return tuple(self._asked_watches)

    def script_list(self, *answers: Page[T] | ApiError) -> FakeListWatch[T]:
        """Append answers to lists: pages, or errors to raise."""
        with self._changed:
            self._pages.extend(answers)
            self._changed.notify_all()
        return self

    def script_watch(self, *answers: FakeWatch[T] | ApiError) -> FakeListWatch[T]:
        """Append answers to watches: streams, or errors to raise on connecting."""
        with self._changed:
            self._watches.extend(answers)
            self._changed.notify_all()
        return self

    def open_watch(self) -> FakeWatch[T]:
        """Append a watch and return it."""
        watch: FakeWatch[T] = FakeWatch()
        self.script_watch(watch)
        return watch

    def list(self, options: ListOptions, stop: StopToken) -> Page[T]:
        """Return or raise the next scripted page."""
        answer = self._take(self._asked_lists, options, self._pages, stop)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    @contextmanager
    def watch(self, options: WatchOptions, stop: StopToken) -> Iterator[FakeWatch[T]]:
        """Open or raise the next scripted watch; it is stopped with the token, and at the end."""
        answer = self._take(self._asked_watches, options, self._watches, stop)
        if isinstance(answer, ApiError):
            raise answer
        forget = stop.on_set(answer.stop)
        try:
            yield answer
        finally:
            forget()
            if not stop.is_set():
                answer.stop()

    def _take(
        self, asked: MutableSequence[Options], options: Options, answers: deque[Answer], stop: StopToken
    ) -> Answer:
        with self._changed:
            asked.append(options)
            self._changed.notify_all()
        forget = stop.on_set(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: bool(answers) or stop.is_set())
                if stop.is_set():
                    raise Stopped(f"stopped while asking for {self._name}")
                return answers.popleft()
        finally:
            forget()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def await_lists(self, count: int) -> None:
        """Block, in real time, until `count` lists were asked for; raise TimeoutError after 30 s."""
        self._await(lambda: len(self._asked_lists) >= count, f"{count} lists")

    def await_watches(self, count: int) -> None:
        """Block, in real time, until `count` watches were asked for; raise TimeoutError after 30 s."""
        self._await(lambda: len(self._asked_watches) >= count, f"{count} watches")

    def _await(self, predicate: Callable[[], bool], what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(predicate, _REAL_LIMIT_SECONDS):
                raise TimeoutError(f"{self._name} was not asked for {what} within {_REAL_LIMIT_SECONDS} s")
