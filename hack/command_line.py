"""How the project's commands end: an exit code, and one message that a person can act on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hack.cluster.errors import ClusterError

INTERRUPTED = 130


@contextmanager
def _heeding_interruptions() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt: a shell that starts us in the background has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    before_term = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, before_term)


def run_command(command: Callable[[], None], *, interrupted: str) -> int:
    """Run `command` and return the exit code: 0, 1 when it failed in a way it explains, 130 when interrupted.

    `interrupted` is said of what an interruption leaves. To be called in the main thread.
    """
    try:
        with _heeding_interruptions():
            command()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted; {interrupted}", file=sys.stderr)
        return INTERRUPTED
    return 0
