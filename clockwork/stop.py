"""The token that ends every unbounded wait (informers.md 0.2)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from clockwork.clock import Clock, SystemClock

_SYSTEM_CLOCK = SystemClock()


class StopToken:
    """Set once, never cleared; safe from any thread, but not from a signal handler (its lock is not re-entrant).

    A child is set with its parent; setting a child leaves the parent alone. `close()` detaches a child that is no
    longer needed from a long-lived parent.
    """

    def __init__(self, *, clock: Clock = _SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._condition = threading.Condition(threading.Lock())
        self._reason: str | None = None
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._detach: Callable[[], None] | None = None

    def set(self, reason: str) -> None:
        """Set the token; the first reason stays. Callbacks run in this thread, in order, before it returns.

        A callback that raises does not stop the others; what they raised comes out as one ExceptionGroup.
        """
        with self._condition:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._condition.notify_all()
        errors: list[Exception] = []
        for callback in callbacks:
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - gathered and raised below
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"callbacks of a stop token set because of {reason!r} failed", errors)

    def is_set(self) -> bool:
        """Return whether the token has been set."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why the token was set, or None."""
        return self._reason

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the token is set, or for `timeout` seconds of its clock; return whether it is set."""
        with self._condition:
            deadline = None if timeout is None else self._clock.monotonic() + timeout
            while self._reason is None:
                remaining = None if deadline is None else deadline - self._clock.monotonic()
                if remaining is not None and remaining <= 0:
                    return False
                self._clock.wait(self._condition, remaining)
            return True

    def on_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once when the token is set, at once if it is; return a function that forgets it.

        Callbacks must be short and must not block: they shut sockets and wake conditions.
        """
        with self._condition:
            if self._reason is None:
                number = next(self._numbers)
                self._callbacks[number] = callback
                return lambda: self._forget(number)
        callback()
        return lambda: None

    def _forget(self, number: int) -> None:
        with self._condition:
            self._callbacks.pop(number, None)

    def child(self) -> StopToken:
        """Return a token that is set with this one, for the same reason."""
        token = StopToken(clock=self._clock)
        token._detach = self.on_set(lambda: token.set(self._reason or "stopped"))
        return token

    def close(self) -> None:
        """Detach from the parent, which then no longer keeps this token alive."""
        if self._detach is not None:
            self._detach()
            self._detach = None
