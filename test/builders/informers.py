"""Objects, sources and clocks for tests of the informers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import msgspec

from clockwork import FakeClock, StopToken
from informers.errors import ApiError, Stopped
from informers.list_watch import ListOptions, Page, Undecodable, WatchEvent, WatchOptions
from informers.notifications import Deleted


class Meta(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class Pod(msgspec.Struct, frozen=True):
    metadata: Meta
    phase: str = ""

    def __str__(self) -> str:
        return f"{self.metadata.name}@{self.metadata.resource_version}"


def a_pod(
    name: str = "a",
    version: int | str = 1,
    *,
    namespace: str = "ns",
    uid: str | None = None,
    phase: str = "",
    labels: dict[str, str] | None = None,
) -> Pod:
    """Return a pod; its uid follows its name unless given."""
    uid = f"uid-{name}" if uid is None else uid
    return Pod(Meta(name, namespace, uid, str(version), labels or {}), phase)


def a_page(*items: Pod, version: int | str = 10, continue_: str = "", bad: tuple[Undecodable, ...] = ()) -> Page[Pod]:
    """Return a page of a list."""
    return Page(items, str(version), continue_, undecodable=bad)


def added(pod: Pod) -> WatchEvent[Pod]:
    return WatchEvent("ADDED", pod, pod.metadata.resource_version)


def modified(pod: Pod) -> WatchEvent[Pod]:
    return WatchEvent("MODIFIED", pod, pod.metadata.resource_version)


def deleted(pod: Pod) -> WatchEvent[Pod]:
    return WatchEvent("DELETED", pod, pod.metadata.resource_version)


def bookmark(version: int | str, *, completes: bool = False) -> WatchEvent[Pod]:
    """Return a bookmark; `completes` says that it ends the initial events of a streaming list."""
    return WatchEvent("BOOKMARK", None, str(version), initial_events_end=completes)


class AutoClock(FakeClock):
    """A FakeClock whose waits in the creating thread pass at once, so that a loop runs through its delays by itself.

    `waits` are the delays of that thread, in seconds. Other threads wait for steps, as ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self.waits: list[float] = []

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        if threading.get_ident() != self._thread or timeout is None:
            return super().wait(condition, timeout)
        self.waits.append(timeout)
        with self._changed:
            self._seconds += timeout
        return False


Step = WatchEvent[Pod] | ApiError | Callable[[], None]


class ScriptedStream:
    """Yields scripted events, raises scripted errors, calls scripted functions, and then is closed by the server."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = deque(steps)
        self.exits = 0

    def __iter__(self) -> Iterator[WatchEvent[Pod]]:
        while self._steps:
            step = self._steps.popleft()
            if isinstance(step, ApiError):
                raise step
            if isinstance(step, WatchEvent):
                yield step
            else:
                step()

    def stop(self) -> None:
        self._steps.clear()


class ScriptedSource:
    """A ListWatch without threads: one script for lists, one for watches; a request past a script's end stops the run.

    A watch is a tuple of steps, or an error raised on connecting. A function in the list script is called for a page.
    """

    name = "pods"

    def __init__(self, stop: StopToken) -> None:
        self.stop = stop
        self.lists: deque[Page[Pod] | ApiError | Callable[[], Page[Pod]]] = deque()
        self.watches: deque[tuple[Step, ...] | ApiError] = deque()
        self.asked_lists: list[ListOptions] = []
        self.asked_watches: list[WatchOptions] = []
        self.streams: list[ScriptedStream] = []

    @property
    def list_versions(self) -> list[str]:
        return [options.resource_version for options in self.asked_lists]

    @property
    def watch_versions(self) -> list[str]:
        return [options.resource_version for options in self.asked_watches]

    def list(self, options: ListOptions, stop: StopToken) -> Page[Pod]:
        self._end_if(not self.lists, stop)
        self.asked_lists.append(options)
        answer = self.lists.popleft()
        if isinstance(answer, ApiError):
            raise answer
        return answer if isinstance(answer, Page) else answer()

    @contextmanager
    def watch(self, options: WatchOptions, stop: StopToken) -> Iterator[ScriptedStream]:
        self._end_if(not self.watches, stop)
        self.asked_watches.append(options)
        answer = self.watches.popleft()
        if isinstance(answer, ApiError):
            raise answer
        stream = ScriptedStream(answer)
        self.streams.append(stream)
        try:
            yield stream
        finally:
            stream.exits += 1

    def _end_if(self, is_over: bool, stop: StopToken) -> None:
        if is_over:
            self.stop.set("the script has ended")
        if stop.is_set():
            raise Stopped("the script has ended")


class Recorder:
    """A handler that writes down what it is told, one short text a call, and then calls `on_call` with it."""

    def __init__(self, on_call: Callable[[str], object] = lambda _: None) -> None:
        self.calls: list[str] = []
        self._on_call = on_call
        self._changed = threading.Condition(threading.Lock())

    def on_add(self, obj: Pod, *, is_initial: bool) -> None:
        self._note(f"{'initial' if is_initial else 'add'} {obj}")

    def on_update(self, old: Pod, new: Pod) -> None:
        self._note(f"update {old} {new}")

    def on_delete(self, deleted: Deleted[Pod]) -> None:
        self._note(f"{'deleted' if deleted.final else 'vanished'} {deleted.last_known}")

    def _note(self, call: str) -> None:
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
        self._on_call(call)

    def await_calls(self, count: int) -> list[str]:
        """Block, in real time, until there were `count` calls, and return all; raise TimeoutError after 10 s."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.calls) >= count, 10):
                raise TimeoutError(f"{len(self.calls)} of {count} calls: {self.calls}")
            return list(self.calls)


class FixedRandom(Random):
    """A Random whose every number is the same."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def random(self) -> float:
        return self._value
