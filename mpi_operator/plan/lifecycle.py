"""The phases of an MPIJob's life, as a table: the first rule that applies says the phase (lifecycle.md 1)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from mpi_operator import conditions
from mpi_operator.plan.facts import Facts


class Phase(Enum):
    """Where a job is; the value says what is done there."""

    ELSEWHERE = "another controller runs it: nothing is touched"
    DELETING = "it is going: garbage collection takes its children"
    FINISHED = "its result is recorded: only clean-up and TTL are left"
    FINISHING = "its launcher has finished: the result is recorded, then clean-up follows"
    REFUSED = "it was never accepted and is not valid: it is told so"
    SUSPENDED = "it is to be stopped, or to stay so: no launcher pod, no workers"
    FROZEN = "it runs, and was edited into an invalid one: it is only observed"
    RESUMING = "it is to run again: the status says so first"
    ACTIVE = "it is to run: its children are kept as they should be"


class Rule(msgspec.Struct, frozen=True):
    """A phase and when a job is in it, provided that no earlier rule applies."""

    phase: Phase
    applies: Callable[[Facts], bool]


def _is_finished(facts: Facts) -> bool:
    return conditions.terminal_condition(facts.conditions) is not None


def _is_finishing(facts: Facts) -> bool:
    return facts.launcher.finished is not None or facts.launcher.succeeded_without_job is not None


def _is_suspended(facts: Facts) -> bool:
    return conditions.is_condition_true(facts.conditions, conditions.SUSPENDED)


RULES: tuple[Rule, ...] = (
    Rule(Phase.ELSEWHERE, lambda facts: facts.job.spec.is_managed_elsewhere),
    Rule(Phase.DELETING, lambda facts: facts.job.metadata.is_terminating),
    Rule(Phase.FINISHED, _is_finished),
    Rule(Phase.FINISHING, _is_finishing),
    Rule(Phase.REFUSED, lambda facts: bool(facts.violations) and not facts.is_live),
    Rule(Phase.SUSPENDED, lambda facts: facts.job.spec.is_suspended),
    Rule(Phase.SUSPENDED, lambda facts: bool(facts.violations) and _is_suspended(facts)),
    Rule(Phase.FROZEN, lambda facts: bool(facts.violations)),
    Rule(Phase.RESUMING, _is_suspended),
    Rule(Phase.ACTIVE, lambda _: True),
)


def phase_of(facts: Facts) -> Phase:
    """Return the phase; the last rule always applies."""
    return next(rule.phase for rule in RULES if rule.applies(facts))
