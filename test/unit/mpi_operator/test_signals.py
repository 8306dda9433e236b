"""Signals arrive as bytes (informers.md 3.6 rows 32 and 33)."""

from __future__ import annotations

import os
import signal

from mpi_operator.signals import WAKE, Wakeups


def test_B285_a_signal_wakes_the_main_thread_with_its_number() -> None:
    with Wakeups() as wakeups:
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
            assert wakeups.wait() == number


def test_others_can_wake_the_main_thread_any_number_of_times() -> None:
    with Wakeups() as wakeups:
        for _ in range(100_000):
            wakeups.wake()
        assert wakeups.wait() == WAKE


def test_handlers_are_as_they_were_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Wakeups():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
