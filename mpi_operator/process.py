"""The process: command line in, exit code out (lifecycle.md 11, B284-B286).

0 after a clean stop, 1 after a failure to start, 2 for flags that cannot be used, 3 when leadership was lost.
"""

from __future__ import annotations

import faulthandler
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from random import Random

import structlog
from prometheus_client import disable_created_metrics

from clockwork import OwnedThread, SystemClock
from informers.transport.configuration import ConfigurationError
from mpi_operator.assembly import EXIT_FAILED, PARALLEL_WRITES, Environment, Operator
from mpi_operator.connections import Connections, open_connections
from mpi_operator.go_flags import FlagError, HelpRequested
from mpi_operator.health import build_health_pages
from mpi_operator.http_server import HttpServer, PortUnavailable
from mpi_operator.logging import configure_logging
from mpi_operator.metrics import Metrics, build_metrics_pages
from mpi_operator.options import Options, build_usage, parse_options
from mpi_operator.plan.after_refusal import plan_after_refusal
from mpi_operator.plan.plan import plan
from mpi_operator.plan.settings import Settings
from mpi_operator.shell.reconcile import Planner
from mpi_operator.signals import WAKE, Wakeups
from mpi_operator.version import build_version_text, read_version

EXIT_DONE = 0
EXIT_BAD_FLAGS = 2

_log = structlog.get_logger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the operator until it is told to stop, and return the exit code. To be called in the main thread."""
    try:
        options = parse_options(sys.argv[1:] if arguments is None else arguments, os.environ)
    except HelpRequested:
        sys.stdout.write(build_usage())
        return EXIT_DONE
    except FlagError as error:
        sys.stderr.write(f"mpi-operator: {error}\n")
        return EXIT_BAD_FLAGS
    if options.is_version_wanted:
        sys.stdout.write(build_version_text(read_version(os.environ)))
        return EXIT_DONE
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    configure_logging(sys.stderr, log_format=options.log_format, level=options.log_level)
    try:
        return run(options, os.environ)
    except (ConfigurationError, PortUnavailable) as error:
        _log.critical("the operator cannot start", error=str(error))
        return EXIT_FAILED


def run(options: Options, environment: Mapping[str, str]) -> int:
    """Run one operator and return the exit code; raise ConfigurationError or PortUnavailable when it cannot start."""
    _announce(options, environment)
    clock = SystemClock()
    # The time of each counter's birth would double the number of series, and tells nothing here.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the package leaves it untyped
    metrics = Metrics()
    with (
        open_connections(
            options,
            environment,
            clock,
            parallel_writes=PARALLEL_WRITES,
            on_throttled=metrics.throttled_seconds.inc,
        ) as connections,
        Wakeups() as wakeups,
    ):
        operator = Operator(
            options,
            _build_planner(options),
            _build_environment(clock, connections),
            metrics,
        )
        threading.excepthook = _log_thread_exception
        servers = _serve(options, operator, metrics)
        try:
            exit_code = _run_until_ended(operator, wakeups)
        finally:
            for server in servers:
                server.close()
    return _end(exit_code)


def _announce(options: Options, environment: Mapping[str, str]) -> None:
    version = read_version(environment)
    _log.info(
        "starting the MPI Operator",
        version=version.version,
        revision=version.revision,
        namespace=options.namespace or "all",
        gang_scheduling=options.gang_scheduling or "none",
    )
    if options.ignored:
        _log.warning("these flags are accepted and mean nothing here", flags=options.ignored)


def _build_planner(options: Options) -> Planner:
    settings = Settings(
        cluster_domain=options.cluster_domain,
        ttl_target=options.ttl_target,
        gang_scheduling=options.gang_scheduling,
    )
    return Planner(plan=plan, plan_after_refusal=plan_after_refusal, settings=settings)


def _build_environment(clock: SystemClock, connections: Connections) -> Environment:
    return Environment(
        clock=clock,
        random=Random(secrets.randbits(128)),  # noqa: S311 - spreads load, keeps no secret
        hostname=socket.gethostname(),
        api=connections.api,
        election_api=connections.election_api,
    )


def _serve(options: Options, operator: Operator, metrics: Metrics) -> list[HttpServer]:
    """Bind the ports that are wanted; raise PortUnavailable, with nothing left bound."""
    health = build_health_pages(leader_election=operator.liveness, readiness=operator.readiness)
    wanted = (
        ("health", options.health_port, health),
        ("metrics", options.monitoring_port, build_metrics_pages(metrics.registry)),
    )
    servers: list[HttpServer] = []
    try:
        for name, port, pages in wanted:
            if port:
                servers.append(HttpServer(name, pages, bind_address=options.bind_address, port=port))
    except PortUnavailable:
        for server in servers:
            server.close()
        raise
    return servers


def _run_until_ended(operator: Operator, wakeups: Wakeups) -> int:
    """Run the operator until it has ended, by a signal or by itself; a second signal ends the process at once (B285).

    The main thread does nothing but wait for signals (informers.md 3.6 row 32).
    """
    ended: list[int] = []

    def join() -> None:
        try:
            ended.append(operator.join())
        finally:
            wakeups.wake()

    operator.start()
    joiner = OwnedThread("join", join).start()
    is_told = False
    while not ended and joiner.is_alive():
        received = wakeups.wait()
        if received == WAKE:
            joiner.join()
        elif is_told:
            _log.warning("ending at once, without giving the Lease back", signal=signal.Signals(received).name)
            sys.stderr.flush()
            os._exit(EXIT_FAILED)
        else:
            is_told = True
            _log.info("stopping", signal=signal.Signals(received).name)
            operator.stop(f"signal {signal.Signals(received).name}")
    if joiner.error is not None:
        raise joiner.error
    return ended[0]


def _log_thread_exception(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else "a thread"
    _log.critical("a thread died of an exception that nobody handled", thread=name, exc_info=arguments.exc_value)


def _end(exit_code: int) -> int:
    """Return the exit code, or end the process here and now if a thread would keep it from ending."""
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    _log.info("stopped", exit_code=exit_code, threads_left=left)
    if left:
        sys.stderr.flush()
        os._exit(exit_code)
    return exit_code
