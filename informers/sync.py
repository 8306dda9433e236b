"""Starting informers in order, and waiting until they and their handlers are up to date (informers.md 1.2.7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from clockwork import Clock, StopToken
from informers.errors import Stopped

DEFAULT_PARALLELISM = 3


class Syncing(Protocol):
    """An informer, as far as waiting for it goes."""

    @property
    def name(self) -> str:
        """What is listed."""
        ...

    def start(self) -> None:
        """Begin to list."""
        ...

    def has_settled(self) -> bool:
        """Return whether the first list has succeeded or failed."""
        ...

    def waiting_for(self) -> str | None:
        """Say what is still missing, with the latest error, or None when the informer and its handlers are synced."""
        ...

    def on_progress(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback`, without locks, whenever the answers above may have changed; return what ends that."""
        ...


class SyncTimeoutError(Exception):
    """Some informers are not synced in time; `waiting` says for each of them, by name, what is missing."""

    def __init__(self, timeout_seconds: float, waiting: dict[str, str]) -> None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in waiting.items())
        super().__init__(f"{len(waiting)} informers not synced within {timeout_seconds:g} s: {reasons}")
        self.waiting = waiting


def wait_for_sync(informers: Sequence[Syncing], *, timeout_seconds: float, clock: Clock, stop: StopToken) -> None:
    """Wait until every handler of every informer has handled every initial object.

    Raises SyncTimeoutError after `timeout_seconds`, naming each informer still waiting and its latest error, and
    Stopped when `stop` is set first. The informers go on in either case.
    """
    deadline = clock.monotonic() + timeout_seconds
    with _progress(informers, stop) as condition, condition:
        while waiting := {each.name: reason for each in informers if (reason := each.waiting_for()) is not None}:
            if stop.is_set():
                raise Stopped(f"stopped while waiting for {', '.join(waiting)}: {stop.reason}")
            remaining = deadline - clock.monotonic()
            if remaining <= 0:
                raise SyncTimeoutError(timeout_seconds, waiting)
            clock.wait(condition, remaining)


def start_informers(informers: Sequence[Syncing], *, stop: StopToken, parallelism: int = DEFAULT_PARALLELISM) -> None:
    """Start informers in the order given, with at most `parallelism` first lists under way at once.

    Returns when the last has been started, or early when `stop` is set. An informer whose first list fails makes way
    for the next, and goes on trying.
    """
    with _progress(informers, stop) as condition:
        for position, informer in enumerate(informers):
            with condition:
                while sum(not each.has_settled() for each in informers[:position]) >= parallelism and not stop.is_set():
                    condition.wait()
            if stop.is_set():
                return
            informer.start()


@contextmanager
def _progress(informers: Sequence[Syncing], stop: StopToken) -> Iterator[threading.Condition]:
    """Provide a condition that is notified whenever an informer makes progress or the token is set."""
    condition = threading.Condition(threading.Lock())

    def wake() -> None:
        with condition:
            condition.notify_all()

    forgets = [informer.on_progress(wake) for informer in informers]
    forgets.append(stop.on_set(wake))
    try:
        yield condition
    finally:
        for forget in forgets:
            forget()
