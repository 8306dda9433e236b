"""How an election ended, as a value that a process maps to its exit code (informers.md 1.9.7, B292)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class End(StrEnum):
    """Why an election ended.

    STOPPED: it was asked to stop. LOST: leadership was lost. FAILED: the work raised instead of running.
    """

    STOPPED = "stopped"
    LOST = "lost"
    FAILED = "failed"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of `Elector.run()`.

    Only when `workers_ended` may the process elect itself again; else it must exit, whatever still runs in it.
    `error` is what `on_started` raised.
    """

    end: End
    reason: str
    has_led: bool = False
    workers_ended: bool = True
    is_released: bool = False
    error: BaseException | None = None
