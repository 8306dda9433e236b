"""A handler's registration with an informer, and when it is due for a resync (informers.md 1.6.3, 1.6.4)."""

from __future__ import annotations

from typing import Generic

from informers.handlers import Delivery, InitialEnd
from informers.metadata import Object
from informers.notifications import Notification

MINIMUM_RESYNC_SECONDS = 1.0


class Registration(Generic[Object]):
    """What `Informer.add_handler` returns, to ask whether the handler is synced and to remove it.

    `resync_seconds` 0 means that the handler gets no resync. The resync state is touched under the cache's lock only.
    """

    def __init__(self, delivery: Delivery[Object], *, resync_seconds: float, now: float) -> None:
        self.delivery = delivery
        self.resync_seconds = resync_seconds
        self.is_due = resync_seconds > 0
        self._next_resync = now + resync_seconds

    @property
    def name(self) -> str:
        """The handler's name."""
        return self.delivery.name

    def is_synced(self) -> bool:
        """Return whether the handler has returned from a call for every object that existed when it was added.

        Nor is it before the informer has its first list.
        """
        return self.delivery.is_synced()

    def append(
        self,
        notifications: tuple[Notification[Object] | InitialEnd, ...],
        changes: tuple[Notification[Object] | InitialEnd, ...],
    ) -> None:
        """Queue all notifications, or only the real `changes` among them when no resync is due."""
        wanted = notifications if self.is_due else changes
        if wanted:
            self.delivery.append(wanted)

    def begin_resyncs(self, now: float) -> None:
        """Count the resync period from `now`."""
        self._next_resync = now + self.resync_seconds

    def check_resync(self, now: float) -> bool:
        """Decide whether the handler is due at `now`, and until the next check."""
        self.is_due = self.resync_seconds > 0 and now >= self._next_resync
        if self.is_due:
            self._next_resync = now + self.resync_seconds
        return self.is_due
