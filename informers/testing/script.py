"""Which scripted fault falls to which request."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from informers.testing import faults
from informers.testing.rejection import Rejection
from informers.testing.routing import Route
from informers.testing.verbs import read_continue_token
from informers.testing.watching import ScriptedFault


class _Entry:
    def __init__(self, fault: faults.Fault, rule: faults.Rule, times: int, skip: int, after_events: int) -> None:
        self.fault = fault
        self.rule = rule
        self.times = times
        self.skip = skip
        self.after_events = after_events

    def is_due(self, route: Route | None, page: int) -> bool:
        """Count a request that matches; return whether the fault falls to it."""
        if self.times <= 0 or not _is_match(self.rule, route, page):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Script:
    """The faults still to come, in order. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []

    def add(self, fault: faults.Fault, rule: faults.Rule, *, times: int, skip: int, after_events: int) -> None:
        """Append a fault."""
        with self._lock:
            self._entries.append(_Entry(fault, rule, times, skip, after_events))

    def take_request_fault(self, route: Route | None, page: int) -> faults.RequestFault | None:
        """Return the first fault that takes the place of this request's answer."""
        with self._lock:
            for entry in self._entries:
                if isinstance(entry.fault, faults.RequestFault) and entry.is_due(route, page):
                    return entry.fault
        return None

    def take_stream_faults(self, route: Route) -> tuple[ScriptedFault, ...]:
        """Return all faults for a watch that opens."""
        with self._lock:
            return tuple(
                ScriptedFault(entry.fault, entry.after_events)
                for entry in self._entries
                if isinstance(entry.fault, faults.StreamFault | faults.StreamMode) and entry.is_due(route, 0)
            )

    @staticmethod
    def page_of(query: Mapping[str, str]) -> int:
        """Return which page of a list the query asks for, counted from 1."""
        try:
            return read_continue_token(query["continue"]).page if query.get("continue") else 1
        except Rejection:
            return 1


def _is_match(rule: faults.Rule, route: Route | None, page: int) -> bool:
    if route is None:
        return rule == faults.Rule()
    return (
        rule.verb in ("", route.verb)
        and rule.resource in (None, route.resource)
        and rule.name in ("", route.name)
        and rule.page in (0, page)
        and rule.subresource in (None, route.subresource)
    )
