"""Jobs that are to run (lifecycle.md 3, 4, 5, 9)."""

from __future__ import annotations

from mpi_operator import conditions, reasons
from mpi_operator.actions import Action, Patch
from mpi_operator.api.observed import FAILED
from mpi_operator.children.config_map.build import build_config_map, hosts_version
from mpi_operator.children.config_map.plan import plan_config_map
from mpi_operator.children.container_failure import describe_failure
from mpi_operator.children.launcher import plan as launcher
from mpi_operator.children.launcher.classify import DEFAULT_BACKOFF_LIMIT
from mpi_operator.children.service.plan import plan_service
from mpi_operator.children.ssh_secret.plan import plan_ssh_secret
from mpi_operator.children.workers import plan as workers
from mpi_operator.children.workers.classify import Worker
from mpi_operator.children.workers.replacement import (
    Disruption,
    LauncherProgress,
    Replacements,
    classify_disruption,
    plan_replacements,
)
from mpi_operator.children.workers.restarts import format_restarts, read_restarts
from mpi_operator.plan.compose import build_violation_events, compose
from mpi_operator.plan.deadline import deadline_seconds_left, explain_deadline
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.failure import Failure
from mpi_operator.plan.finish import plan_failure
from mpi_operator.plan.gang import build_gang_events, plan_gang, replaces_gang
from mpi_operator.plan.names_wait import build_foreign_events, look_again_for_names
from mpi_operator.plan.outcome import Event, Plan, Step
from mpi_operator.plan.scheduling import look_again_for_scheduling
from mpi_operator.plan.status import status_of_active, status_of_resuming

_HAS_RUN = frozenset({reasons.WORKERS_NOT_RUNNING.name, reasons.RESTARTING.name})


def plan_active(facts: Facts) -> Plan:
    """Keep the children as they should be, unless the job has failed in a way that only the operator sees."""
    replacements = _replacements(facts)
    deadline = deadline_seconds_left(facts)
    if deadline is not None and deadline <= 0:
        return plan_failure(facts, explain_deadline(facts))
    if replacements.exhausted is not None:
        return plan_failure(facts, _explain_workers(replacements.exhausted, replacements))
    status = status_of_active(facts)
    return compose(
        facts,
        status,
        steps=_steps(facts, replacements),
        events=(
            *build_violation_events(facts),
            *build_foreign_events(facts, status),
            *_replacement_events(replacements),
            *build_gang_events(facts),
        ),
        look_again=(
            deadline,
            replacements.look_again_seconds,
            *look_again_for_names(facts, status),
            *look_again_for_scheduling(facts),
        ),
    )


def plan_resuming(facts: Facts) -> Plan:
    """Say that the job runs again, and nothing else, before anything is done for it: others act on the status."""
    status = status_of_resuming(facts)
    return compose(
        facts,
        status,
        write="first",
        steps=_steps(facts, Replacements(restarts=read_restarts(facts.snapshot.config_map))),
        look_again=look_again_for_names(facts, status),
    )


def _replacements(facts: Facts) -> Replacements:
    limit = facts.job.spec.run_policy.backoff_limit
    return plan_replacements(
        facts.workers,
        read_restarts(facts.snapshot.config_map),
        _launcher_progress(facts),
        limit=DEFAULT_BACKOFF_LIMIT if limit is None else limit,
        now=facts.now,
    )


def _launcher_progress(facts: Facts) -> LauncherProgress:
    found = facts.launcher
    is_missing = found.job is None and facts.job.status.replica_statuses.launcher is not None
    attempt = found.last_attempt
    has_failed = attempt is not None or (found.job is not None and found.job.status.failed > 0)
    is_followed = is_missing or (found.is_started and found.will_be_retried)
    return LauncherProgress(
        is_held=facts.is_held,
        is_followed=is_followed,
        is_down=is_followed and (is_missing or has_failed) and not found.is_running,
        attempt_ended_at=None if attempt is None else attempt.ended_at,
    )


def _steps(facts: Facts, replacements: Replacements) -> tuple[Step, ...]:
    """What pods mount and are found by first; then the pods, the launcher's Job before the workers at a resume."""
    job_actions = launcher.plan_job(facts.job, facts.launcher, is_suspended=False, is_held=facts.is_held)
    creation: Step = workers.plan_creation(facts.job, facts.workers, cluster_domain=facts.settings.cluster_domain)
    deletion = (
        *workers.plan_scale_down(facts.workers),
        *workers.plan_deletion(worker.pod for worker in replacements.due),
    )
    gang = plan_gang(facts)
    if not facts.may_create_pods or replaces_gang(gang):
        creation = ()
        job_actions = job_actions if facts.launcher.job is not None else ()
    kept, hosts = _kept(facts, replacements, gang)
    if facts.launcher.job is not None and facts.launcher.job.spec.suspend:
        may_create = facts.launcher.is_at_rest and (facts.is_held or _resumes(job_actions))
        return *kept, job_actions, (*deletion, *(creation if may_create else ()))
    return *kept, (*deletion, *hosts, *creation, *job_actions)


def _resumes(actions: tuple[Action, ...]) -> bool:
    """Whether these actions start a suspended Job, rather than make it ready to be started."""
    return any(isinstance(action, Patch) and action.patch.get("spec", {}).get("suspend") is False for action in actions)


def _kept(facts: Facts, replacements: Replacements, gang: tuple[Step, ...]) -> tuple[tuple[Step, ...], Step]:
    """Return what is done about all but launcher and workers; and what tells a launcher of changed hosts."""
    job, snapshot = facts.job, facts.snapshot
    running = [worker.ordinal for worker in facts.workers.running]
    wanted = build_config_map(job, running=running, cluster_domain=facts.settings.cluster_domain)
    config_map = plan_config_map(job, snapshot.config_map, wanted, restarts=format_restarts(replacements.restarts))
    first_of_gang, *more_of_gang = gang or ((),)
    kept = (
        (
            *plan_service(job, snapshot.service),
            *config_map,
            *plan_ssh_secret(job, snapshot.secret),
            *first_of_gang,
            *workers.plan_adoption(job, facts.workers),
        ),
        *more_of_gang,
    )
    have_changed = any(isinstance(action, Patch) and "data" in action.patch for action in config_map)
    return kept, launcher.plan_hosts_version(
        facts.launcher, hosts_version(wanted["data"]), have_hosts_changed=have_changed and _has_run(facts)
    )


def _has_run(facts: Facts) -> bool:
    """Whether the job was Running once, since it was last suspended."""
    running = conditions.find_condition(facts.conditions, conditions.RUNNING)
    return running is not None and (running.is_true or running.reason in _HAS_RUN)


def _replacement_events(replacements: Replacements) -> tuple[Event, ...]:
    """Return one warning per failed pod that is replaced (lifecycle.md 5); a worker that Succeeded needs none."""
    return tuple(_replacement_event(worker) for worker in replacements.due if worker.pod.status.phase == FAILED)


def _replacement_event(worker: Worker) -> Event:
    pod = worker.pod
    disruption = classify_disruption(pod)
    if disruption is Disruption.EVICTED:
        reason = reasons.WORKER_EVICTED
        message = reason.message(pod=pod.metadata.name, message=_eviction_message(worker))
    else:
        reason = reasons.WORKER_REPLACED
        why = pod.status.reason if disruption is Disruption.LOST else describe_failure(pod)
        message = reason.message(pod=pod.metadata.name, reason=why)
    return Event(type="Warning", reason=reason.name, message=message, once=f"{reason.name}/{pod.metadata.uid}")


def _eviction_message(worker: Worker) -> str:
    told = (worker.pod.condition(kind) for kind in ("DisruptionTarget", "TerminatedByKueue"))
    by_conditions = [condition.message or condition.reason for condition in told if condition is not None]
    return worker.pod.status.message or next(iter(by_conditions), "") or worker.pod.status.reason


def _explain_workers(worker: Worker, replacements: Replacements) -> Failure:
    reason = reasons.WORKERS_FAILED
    restart = replacements.restarts.get(worker.ordinal)
    message = reason.message(
        pod=worker.pod.metadata.name,
        restarts=0 if restart is None else restart.count,
        failure=describe_failure(worker.pod),
    )
    return Failure(reason=reason.name, message=message)
