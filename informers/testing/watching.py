"""An open watch on the fake API server: which lines it sends, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from clockwork import Clock, StopToken
from informers.testing import faults
from informers.testing.history import Change, History, JsonObject
from informers.testing.http import Connection
from informers.testing.rejection import Rejection, build_invalid
from informers.testing.routing import Route
from informers.testing.verbs import build_predicate

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class ScriptedFault(msgspec.Struct, frozen=True):
    """A fault for one watch, due once that many events have been sent."""

    fault: faults.StreamFault | faults.StreamMode
    after_events: int


class Watch:
    """One watch, run by its connection's thread; `inject()` and `end()` may come from any."""

    def __init__(
        self,
        history: History,
        clock: Clock,
        stop: StopToken,
        route: Route,
        query: Mapping[str, str],
        *,
        bookmark_interval_seconds: float,
        scripted: tuple[ScriptedFault, ...] = (),
    ) -> None:
        self.route = route
        self._history = history
        self._clock = clock
        self._stop = stop
        self._is_selected = build_predicate(route, query)
        self._wants_initial_events = query.get("sendInitialEvents") == "true"
        self._sends_bookmarks = query.get("allowWatchBookmarks") == "true"
        self._resource_version = query.get("resourceVersion", "")
        self._timeout_seconds = float(query.get("timeoutSeconds") or 1800)
        self._bookmark_interval_seconds = bookmark_interval_seconds
        self._modes = [each.fault for each in scripted if isinstance(each.fault, faults.StreamMode)]
        self._drip = next((mode for mode in self._modes if isinstance(mode, faults.Drip)), None)
        self._scripted = [each for each in scripted if not isinstance(each.fault, faults.StreamMode)]
        # With the version at which each was injected: what was written before comes before it.
        self._injected: deque[tuple[int, faults.StreamFault]] = deque()
        self._sent_events = 0
        self._check(query)
        # Read here, before anybody can see that the watch is open: whatever is written after that is a change.
        self._began_at, self._initial = history.read(route.resource)

    def _check(self, query: Mapping[str, str]) -> None:
        if self._wants_initial_events and query.get("resourceVersionMatch") != "NotOlderThan":
            raise build_invalid("resourceVersionMatch: Forbidden: sendInitialEvents requires NotOlderThan")
        if self._wants_initial_events and not self._sends_bookmarks:
            raise build_invalid("allowWatchBookmarks: Forbidden: sendInitialEvents requires bookmarks")
        if not self._resource_version.isdecimal() and self._resource_version:
            raise build_invalid(f"resourceVersion: Invalid value: {self._resource_version!r}")
        if self._wants_initial_events and self._resource_version:
            self._history.check_reached(int(self._resource_version))

    def inject(self, fault: faults.StreamFault) -> None:
        """Make the fault happen now, after what was written before."""
        with self._history.changed:
            self._injected.append((self._history.version, fault))
            self._history.changed.notify_all()

    def run(self, connection: Connection) -> bool:
        """Send the watch until it ends; return whether the connection can take another request."""
        connection.start_stream()
        try:
            self._send_changes(connection, self._send_initial(connection))
        except Rejection as rejection:
            self._send_event(connection, "ERROR", rejection.status())
        except _EndOfStream as end:
            return end.is_orderly
        connection.end_stream()
        return True

    def _send_initial(self, connection: Connection) -> int:
        """Send what comes before the changes; return the version from which on they are sent."""
        from_the_start = self._resource_version in ("", "0")
        if not self._wants_initial_events and not from_the_start:
            version = int(self._resource_version)
            self._history.check_watchable(version)
            return version
        for item in self._initial.values():
            if self._is_selected(item):
                self._apply_scripted(connection)
                self._send_event(connection, "ADDED", item)
        if self._wants_initial_events:
            self._apply_scripted(connection)
            self._send_initial_bookmark(connection, self._began_at)
        return self._began_at

    def _send_initial_bookmark(self, connection: Connection, version: int) -> None:
        if faults.WithholdInitialBookmark() in self._modes:
            return
        value = "false" if faults.FalseInitialBookmark() in self._modes else "true"
        self._send_bookmark(connection, version, value)

    def _send_changes(self, connection: Connection, cursor: int) -> None:
        deadline = self._clock.monotonic() + self._timeout_seconds
        next_bookmark = self._clock.monotonic() + self._bookmark_interval_seconds
        while not self._stop.is_set():
            self._apply_scripted(connection)
            self._apply_injected(connection, cursor)
            cursor, changes = self._await_changes(cursor, min(deadline, next_bookmark))
            for change in changes:
                self._send_change(connection, change)
                self._apply_scripted(connection)
            now = self._clock.monotonic()
            if now >= deadline:
                return
            if now >= next_bookmark:
                next_bookmark = now + self._bookmark_interval_seconds
                if self._sends_bookmarks:
                    self._send_bookmark(connection, cursor, None)

    def _await_changes(self, cursor: int, until: float) -> tuple[int, tuple[Change, ...]]:
        with self._history.changed:
            while True:
                changes = self._history.changes_after(self.route.resource, cursor)
                remaining = until - self._clock.monotonic()
                if changes or self._injected or remaining <= 0 or self._stop.is_set():
                    return max(cursor, self._history.version), changes
                self._clock.wait(self._history.changed, remaining)

    def _send_change(self, connection: Connection, change: Change) -> None:
        was = change.old is not None and self._is_selected(change.old)
        is_now = change.new is not None and self._is_selected(change.new)
        if change.new is not None and is_now:
            self._send_event(connection, "MODIFIED" if was else "ADDED", change.new)
        elif change.old is not None and was:
            # An object that leaves the selection is shown as it last was in it, at the version of its leaving.
            metadata = {**change.old["metadata"], "resourceVersion": str(change.version)}
            self._send_event(connection, "DELETED", {**change.old, "metadata": metadata})

    def _apply_scripted(self, connection: Connection) -> None:
        due = [each for each in self._scripted if each.after_events <= self._sent_events]
        for each in due:
            self._scripted.remove(each)
            self._apply(connection, each.fault)

    def _apply_injected(self, connection: Connection, cursor: int) -> None:
        while True:
            with self._history.changed:
                if not self._injected or self._injected[0][0] > cursor:
                    return
                _, fault = self._injected.popleft()
            self._apply(connection, fault)

    def _apply(self, connection: Connection, fault: faults.StreamFault | faults.StreamMode) -> None:
        match fault:
            case faults.CloseStream():
                connection.end_stream()
                raise _EndOfStream(is_orderly=True)
            case faults.DropStream():
                raise _EndOfStream(is_orderly=False)
            case faults.ResetStream():
                connection.reset()
                raise _EndOfStream(is_orderly=False)
            case faults.SilenceStream():
                self._stop.wait()
                raise _EndOfStream(is_orderly=False)
            case faults.SendRaw():
                self._send(connection, fault.data)
            case faults.SendError():
                raise Rejection(fault.code, fault.reason, fault.message, causes=fault.causes)
            case faults.SendBookmark():
                self._send_bookmark(connection, self._history.version, fault.initial_events_end)

    def _send_bookmark(self, connection: Connection, version: int, initial_events_end: str | None) -> None:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_events_end is not None:
            metadata["annotations"] = {_INITIAL_EVENTS_END: initial_events_end}
        resource = self.route.resource
        self._send_event(
            connection,
            "BOOKMARK",
            {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
        )

    def _send_event(self, connection: Connection, kind: str, item: JsonObject) -> None:
        self._send(connection, msgspec.json.encode({"type": kind, "object": item}) + b"\n")
        if kind not in ("BOOKMARK", "ERROR"):
            self._sent_events += 1

    def _send(self, connection: Connection, data: bytes) -> None:
        if self._drip is None:
            connection.send_chunk(data)
            return
        for start in range(0, len(data), self._drip.chunk_bytes):
            connection.send_chunk(data[start : start + self._drip.chunk_bytes])
            if self._drip.pause_seconds:
                self._stop.wait(self._drip.pause_seconds)


class _EndOfStream(Exception):
    def __init__(self, *, is_orderly: bool) -> None:
        super().__init__()
        self.is_orderly = is_orderly
