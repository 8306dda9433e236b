"""Threads that have an owner, who joins them (informers.md 0.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from clockwork.clock import Clock, SystemClock


class OwnedThread:
    """A non-daemon thread whose failure is never lost.

    What the target raises is kept in `error` and handed to `on_error`, in the dying thread, so that a critical thread
    can stop its process. The owner calls `join()`.
    """

    def __init__(
        self, name: str, target: Callable[[], None], *, on_error: Callable[[BaseException], None] | None = None
    ) -> None:
        self.error: BaseException | None = None
        self._target = target
        self._on_error = on_error
        self._thread = threading.Thread(target=self._run, name=name, daemon=False)

    @property
    def name(self) -> str:
        """The thread's name, as logs and dumps show it."""
        return self._thread.name

    def start(self) -> OwnedThread:
        """Start the thread and return this object; a second start raises RuntimeError."""
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as error:  # noqa: BLE001 - kept for the owner, whatever it is
            self.error = error
            if self._on_error is not None:
                self._on_error(error)

    def is_alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread.is_alive()

    def is_current(self) -> bool:
        """Return whether the caller is this thread."""
        return threading.current_thread() is self._thread

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread to end, at most `timeout` real seconds; return whether it has. Never raises its error."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()


def join_all(threads: Iterable[OwnedThread], timeout: float, *, clock: Clock | None = None) -> list[str]:
    """Join all `threads` within `timeout` seconds together; return the names of those still alive."""
    clock = clock or SystemClock()
    deadline = clock.monotonic() + timeout
    return [thread.name for thread in threads if not thread.join(max(0.0, deadline - clock.monotonic()))]
