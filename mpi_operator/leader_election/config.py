"""What an elector is told: whom it is, which Lease, how often and how long (informers.md 1.9.2, B288-B290)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from uuid import UUID

import msgspec

from clockwork import StopToken

JITTER_FACTOR = 1.2
_SHORTEST_LEASE_SECONDS = 1.0
_SHORTEST_REQUEST_TIMEOUT_SECONDS = 1.0


def build_identity(hostname: str, unique: UUID) -> str:
    """Return `<hostname>_<uuid>` (B290).

    The pod's name alone will not do: two processes may share a pod, and a restarted container keeps its name.
    """
    return f"{hostname}_{unique}"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """One elector's options; durations are in seconds. An invalid combination raises ValueError naming every fault.

    Required is `lease_duration > renew_deadline > 1.2 x retry_period > 0`, the lease being whole seconds because the
    Lease object holds an integer.
    """

    namespace: str
    identity: str
    name: str = "mpi-operator"
    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    def __post_init__(self) -> None:
        """Refuse what cannot elect safely."""
        faults = list(_faults(self))
        if faults:
            raise ValueError(f"leader election on Lease {self.namespace}/{self.name}: " + "; ".join(faults))

    @property
    def request_timeout_seconds(self) -> float:
        """How long one request may take: half the renew deadline, so that a second one has its chance."""
        return max(_SHORTEST_REQUEST_TIMEOUT_SECONDS, self.renew_deadline_seconds / 2)


def _faults(options: Options) -> Iterator[str]:
    for field in ("namespace", "name", "identity"):
        if not getattr(options, field):
            yield f"{field} is empty; expected a non-empty text, set it"
    lease, renew, retry = (
        options.lease_duration_seconds,
        options.renew_deadline_seconds,
        options.retry_period_seconds,
    )
    for field, seconds in (("lease duration", lease), ("renew deadline", renew), ("retry period", retry)):
        if not (math.isfinite(seconds) and seconds > 0):
            yield f"{field} is {seconds} s; expected more than 0, raise it"
    if not (lease >= _SHORTEST_LEASE_SECONDS and float(lease).is_integer()):
        yield f"lease duration is {lease} s; expected whole seconds, at least 1, round it up"
    if not lease > renew:
        yield f"lease duration {lease} s is not above the renew deadline {renew} s; raise the one or lower the other"
    if not renew > JITTER_FACTOR * retry:
        yield (
            f"renew deadline {renew} s is not above {JITTER_FACTOR} x the retry period {retry} s; "
            "raise the one or lower the other"
        )


def _ignore(_: str) -> None:
    """Do nothing with the name of a new leader."""


class Callbacks(msgspec.Struct, frozen=True, kw_only=True):
    """What an elector calls. None of them runs while a lock is held. Anything not callable raises TypeError.

    - `on_started(token)` runs in a thread of its own once per term. It may block until the token is set or return
      once its workers run. Raising ends the term as a failure.
    - `stop_workers(timeout_seconds)` runs in `run()`'s thread at the end of a term, after the token was set: it stops
      the queues, joins the workers within that time, and says whether *all* of them have ended.
    - `on_stopped()` runs in `run()`'s thread at its very end, always, even if it never led.
    - `on_new_leader(identity)` runs in a thread of its own, in order, when the holder is seen to change.
    """

    on_started: Callable[[StopToken], None]
    stop_workers: Callable[[float], bool]
    on_stopped: Callable[[], None]
    on_new_leader: Callable[[str], None] = _ignore

    def __post_init__(self) -> None:
        """Refuse a missing callback before any thread exists."""
        for field in self.__struct_fields__:
            if not callable(getattr(self, field)):
                raise TypeError(f"leader election: {field} is {getattr(self, field)!r}; expected a function, pass one")
