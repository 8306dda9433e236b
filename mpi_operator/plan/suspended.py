"""Jobs that are to be stopped, or to stay so (lifecycle.md 4)."""

from __future__ import annotations

from mpi_operator.children.config_map.build import build_config_map
from mpi_operator.children.config_map.plan import plan_config_map
from mpi_operator.children.launcher import plan as launcher
from mpi_operator.children.service.plan import plan_service
from mpi_operator.children.ssh_secret.plan import plan_ssh_secret
from mpi_operator.children.workers import plan as workers
from mpi_operator.plan.compose import build_violation_events, compose
from mpi_operator.plan.facts import Facts
from mpi_operator.plan.gang import plan_gang_removal
from mpi_operator.plan.names_wait import build_foreign_events, look_again_for_names
from mpi_operator.plan.outcome import Plan, Step
from mpi_operator.plan.status import status_of_suspended


def plan_suspended(facts: Facts) -> Plan:
    """Suspend the launcher's Job, then delete every worker, then the gang; keep what outlives that, then say so."""
    removal, gang_removal = workers.plan_removal(facts.workers), plan_gang_removal(facts)
    if facts.violations:
        steps: tuple[Step, ...] = (launcher.plan_suspension(facts.launcher), removal, gang_removal)
    else:
        job_actions = launcher.plan_job(
            facts.job, facts.launcher, is_suspended=True, is_held=facts.job.spec.waits_for_workers
        )
        may_create = facts.launcher.job is None and facts.may_create_pods
        steps = (
            job_actions if facts.launcher.job is not None else (),
            removal,
            gang_removal,
            _kept(facts),
            job_actions if may_create else (),
        )
    status = status_of_suspended(facts)
    return compose(
        facts,
        status,
        steps=steps,
        events=(*build_violation_events(facts), *build_foreign_events(facts, status)),
        look_again=look_again_for_names(facts, status),
    )


def _kept(facts: Facts) -> Step:
    job, snapshot = facts.job, facts.snapshot
    running = [worker.ordinal for worker in facts.workers.running]
    hosts = build_config_map(job, running=running, cluster_domain=facts.settings.cluster_domain)
    return (
        *plan_service(job, snapshot.service),
        *plan_config_map(job, snapshot.config_map, hosts, restarts=""),
        *plan_ssh_secret(job, snapshot.secret),
    )
