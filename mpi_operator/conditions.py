"""The algebra of a job's conditions: which exclude each other, which comes last, when their times move.

The list keeps the condition that tells the state last, because `kubectl get` shows its reason (api.md): a condition
that changes moves to the end, and a terminal one stays there. Times are whole seconds. Everything here is pure: a new
list comes back, equal to the old one when nothing changed (B221-B245).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mpi_operator.api.metadata import whole_seconds
from mpi_operator.api.types import Condition

Conditions = tuple[Condition, ...]

CREATED = "Created"
RUNNING = "Running"
RESTARTING = "Restarting"
SUSPENDED = "Suspended"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TYPES = (CREATED, RUNNING, RESTARTING, SUCCEEDED, SUSPENDED, FAILED)
TERMINAL_TYPES = (SUCCEEDED, FAILED)

EXCLUSIVE: Mapping[str, tuple[str, ...]] = {
    CREATED: (),
    RUNNING: (RESTARTING, SUSPENDED),
    RESTARTING: (RUNNING, SUSPENDED),
    SUSPENDED: (RUNNING, RESTARTING),
    SUCCEEDED: (RUNNING, RESTARTING, SUSPENDED, FAILED),
    FAILED: (RUNNING, RESTARTING, SUSPENDED, SUCCEEDED),
}
"""The conditions that may not be True beside the one that is (B242, lifecycle.md 6)."""


def find_condition(conditions: Conditions, condition_type: str) -> Condition | None:
    """Return the condition of that type, if it is there."""
    return next((condition for condition in conditions if condition.type == condition_type), None)


def is_condition_true(conditions: Conditions, condition_type: str) -> bool:
    """Whether the condition of that type is there and True."""
    condition = find_condition(conditions, condition_type)
    return condition is not None and condition.is_true


def terminal_condition(conditions: Conditions) -> Condition | None:
    """Return the condition that says how the job ended, if it did."""
    return next((condition for condition in conditions if condition.is_true and condition.type in TERMINAL_TYPES), None)


def set_condition(
    conditions: Conditions, condition_type: str, *, status: bool, reason: str, message: str, now: datetime
) -> Conditions:
    """Return the conditions with that one set (B241).

    With the same status and reason only the message is refreshed, in place; with the same status the transition time
    stays; else it becomes `now`. A condition that becomes True makes those False that it excludes, in place and for
    its own reason. A finished job's conditions never change.
    """
    if terminal_condition(conditions) is not None:
        return conditions
    now = whole_seconds(now)
    word = "True" if status else "False"
    if status:
        conditions = _withdraw_excluded(conditions, condition_type, reason=reason, message=message, now=now)
    current = find_condition(conditions, condition_type)
    if current is not None and (current.status, current.reason) == (word, reason):
        return _refresh(conditions, current, message, now)
    since = current.last_transition_time if current is not None and current.status == word else None
    updated = Condition(
        type=condition_type,
        status=word,
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=since or now,
    )
    return (*(condition for condition in conditions if condition is not current), updated)


def finish(
    conditions: Conditions,
    condition_type: str,
    *,
    reason: str,
    message: str,
    never_running: Condition,
    completion_time: datetime,
    now: datetime,
) -> Conditions:
    """Return the conditions with the terminal one added, last (B232-B236).

    Conditions that it excludes become False in place at `completion_time`, keeping reason and message; Running's times
    are never later than that. A job that never had a Running condition gets `never_running`, with that time, before the
    terminal one. A finished job's conditions never change: it finishes exactly once.
    """
    if terminal_condition(conditions) is not None:
        return conditions
    completion_time = whole_seconds(completion_time)
    excluded = EXCLUSIVE[condition_type]
    kept = [
        _end(condition, completion_time) if condition.type in excluded else condition
        for condition in conditions
        if condition.type != condition_type
    ]
    if find_condition(conditions, RUNNING) is None:
        times = {"last_update_time": completion_time, "last_transition_time": completion_time}
        kept.append(msgspec.structs.replace(never_running, **times))
    now = whole_seconds(now)
    terminal = Condition(
        type=condition_type,
        status="True",
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=now,
    )
    return (*kept, terminal)


def _withdraw_excluded(
    conditions: Conditions, condition_type: str, *, reason: str, message: str, now: datetime
) -> Conditions:
    return tuple(
        msgspec.structs.replace(
            condition, status="False", reason=reason, message=message, last_update_time=now, last_transition_time=now
        )
        if condition.is_true and condition.type in EXCLUSIVE[condition_type]
        else condition
        for condition in conditions
    )


def _refresh(conditions: Conditions, current: Condition, message: str, now: datetime) -> Conditions:
    if current.message == message:
        return conditions
    refreshed = msgspec.structs.replace(current, message=message, last_update_time=now)
    return tuple(refreshed if condition is current else condition for condition in conditions)


def _end(condition: Condition, completion_time: datetime) -> Condition:
    """Make a condition that a terminal one excludes False, or, False already, put its times before the end."""
    if condition.is_true:
        return msgspec.structs.replace(
            condition, status="False", last_update_time=completion_time, last_transition_time=completion_time
        )
    return msgspec.structs.replace(
        condition,
        last_update_time=_not_after(condition.last_update_time, completion_time),
        last_transition_time=_not_after(condition.last_transition_time, completion_time),
    )


def _not_after(time: datetime | None, limit: datetime) -> datetime | None:
    return None if time is None else min(time, limit)
