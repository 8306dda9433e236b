"""What a decision consists of."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from mpi_operator.actions import Action
from mpi_operator.api.types import MPIJobStatus

EventType = Literal["Normal", "Warning"]
Counter = Literal["created", "successful", "failed"]
StatusWrite = Literal["none", "first", "last"]
Step: TypeAlias = tuple[Action, ...]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event on the MPIJob. With `once`, it is emitted at most once per process for that key and the job's uid."""

    type: EventType
    reason: str
    message: str
    once: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that should follow from one Snapshot, for the shell to carry out in this order.

    1. `status_write` first: write `status`; if that fails, nothing else of the plan is done.
    2. `steps`, one after the other. The actions of a step do not depend on each other: they may run in parallel, and
       each is tried whatever becomes of the others. After a step with a failure no further step is taken.
    3. `status_write` last: write `status`, unless an action failed. If the failures are refusals for good,
       `plan_after_refusal` says what to write instead; any other failure is retried as a whole.
    4. `transitions` and `counters`: only after the status write of this plan has succeeded. A `once` key among them
       is remembered too.
    5. `events`: without a status write, each at most once per process by its `once` key, which is remembered then.
    6. `look_again_seconds`: plan again after that time, even if nothing happens; None means that an event will come.

    `status` is the whole next status; it equals the stored one exactly when `status_write` is none.
    """

    status: MPIJobStatus
    status_write: StatusWrite = "none"
    steps: tuple[Step, ...] = ()
    transitions: tuple[Event, ...] = ()
    counters: tuple[Counter, ...] = ()
    events: tuple[Event, ...] = ()
    look_again_seconds: float | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions, in order."""
        return tuple(action for step in self.steps for action in step)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An action that the server refused for good: Invalid, Forbidden (quota, policy, RBAC), or an unknown kind.

    `action` is the single refused one: for a batch of workers the pod's Create. `message` is the server's.
    """

    action: Action
    message: str
