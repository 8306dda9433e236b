"""Time, stopping and threads: the three things that every long-running component here is given, never takes.

A leaf package: it imports nothing but the standard library.
"""

from clockwork.clock import Clock, SystemClock
from clockwork.fake import FakeClock
from clockwork.stop import StopToken
from clockwork.threads import OwnedThread, join_all

__all__ = ["Clock", "FakeClock", "OwnedThread", "StopToken", "SystemClock", "join_all"]
