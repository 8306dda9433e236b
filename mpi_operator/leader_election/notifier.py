"""Telling somebody about each new leader, in order, without making the elector wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import structlog

from clockwork import OwnedThread

_log = structlog.get_logger(__name__)


class Notifier:
    """Calls `callback` with each identity told, in order, in a thread that exists from the first one to `close()`.

    Safe from any thread. A callback that raises is logged, and the next one is made all the same.
    """

    def __init__(self, callback: Callable[[str], None]) -> None:
        self._callback = callback
        self._changed = threading.Condition(threading.Lock())
        self._identities: deque[str] = deque()
        self._is_closed = False
        self._thread: OwnedThread | None = None

    def tell(self, identity: str) -> None:
        """Have the callback called with `identity`; return at once."""
        with self._changed:
            self._identities.append(identity)
            self._changed.notify()
            if self._thread is None:
                self._thread = OwnedThread("leader-election-notifier", self._run).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._identities and not self._is_closed:
                    self._changed.wait()
                if not self._identities:
                    return
                identity = self._identities.popleft()
            try:
                self._callback(identity)
            except Exception:  # noqa: BLE001 - whatever a callback raises, the next one is due
                _log.exception("on_new_leader failed; the election goes on", leader=identity)

    def close(self) -> None:
        """Wait until everything told has been passed on, and end the thread. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
