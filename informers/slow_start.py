"""Many similar calls in batches that double, so that a refusal is met by few of them (informers.md 1.11.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
R = TypeVar("R")


class Success(msgspec.Struct, Generic[T, R], frozen=True):
    """A call that returned, and what."""

    item: T
    result: R


class Failure(msgspec.Struct, Generic[T], frozen=True):
    """A call that raised, and what."""

    item: T
    error: Exception


class SlowStart(msgspec.Struct, Generic[T, R], frozen=True):
    """How a slow start went; each item stands in exactly one of the three, in the order given."""

    successes: tuple[Success[T, R], ...]
    failures: tuple[Failure[T], ...]
    not_attempted: tuple[T, ...]


def start_slowly(
    items: Sequence[T],
    call: Callable[[T], R],
    *,
    executor: Executor,
    is_refusal: Callable[[R], bool] = lambda _: False,
    largest_batch: int = 500,
) -> SlowStart[T, R]:
    """Call `call` with each item in batches of 1, 2, 4, 8 … up to `largest_batch`, and wait for each batch.

    The calls of a batch run in parallel in `executor`, which bounds how many do so and belongs to the caller; this
    must not itself run in that executor. No batch is begun after one in which a call raised or returned a result that
    `is_refusal`. An Exception of `call` is reported, not raised; anything else is raised.
    """
    ended: list[Success[T, R] | Failure[T]] = []
    size = 1
    while len(ended) < len(items):
        batch = items[len(ended) : len(ended) + min(size, largest_batch)]
        outcomes = list(executor.map(lambda item: _attempt(item, call), batch))
        ended += outcomes
        if any(isinstance(outcome, Failure) or is_refusal(outcome.result) for outcome in outcomes):
            break
        size *= 2
    return SlowStart(
        successes=tuple(outcome for outcome in ended if isinstance(outcome, Success)),
        failures=tuple(outcome for outcome in ended if isinstance(outcome, Failure)),
        not_attempted=tuple(items[len(ended) :]),
    )


def _attempt(item: T, call: Callable[[T], R]) -> Success[T, R] | Failure[T]:
    try:
        return Success(item, call(item))
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
        return Failure(item, error)
