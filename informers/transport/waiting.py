"""Waits that end with whichever stop token is set first."""

from __future__ import annotations

import threading

from clockwork import Clock, StopToken


def wait_unless_stopped(seconds: float, clock: Clock, *stops: StopToken) -> bool:
    """Wait for `seconds` of `clock`, or until one of `stops` is set; return whether one is."""
    condition = threading.Condition(threading.Lock())

    def wake() -> None:
        with condition:
            condition.notify_all()

    forget = [stop.on_set(wake) for stop in stops]
    try:
        deadline = clock.monotonic() + seconds
        with condition:
            while not any(stop.is_set() for stop in stops):
                remaining = deadline - clock.monotonic()
                if remaining <= 0:
                    return False
                clock.wait(condition, remaining)
            return True
    finally:
        for each in forget:
            each()
