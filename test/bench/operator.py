"""What the operator costs when nothing happens, how long a hand-over takes, and what a storm of pod updates delays.

`python -m test.bench.operator [idle] [hand-over] [storm]` runs it as a process beside a bare control plane and prints
a table. Nothing else should be busy.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from hack.cluster.control_plane import ControlPlane, Options
from mpi_operator.shell.resources import PODS
from test.builders.jobs import a_raw_job
from test.integration.conftest import ACCOUNT, GROUPS, LOCK_NAMESPACE, apply_overlay
from test.integration.operator_process import FILLED, LEADING, OperatorProcess
from test.integration.server import Server

IDLE_SECONDS = 60.0
SETTLE_SECONDS = 3.0
HAND_OVERS = 7
STORM_JOBS, STORM_WORKERS, STORM_ROUNDS = 10, 100, 3


class Row(msgspec.Struct, frozen=True):
    """One line of the table."""

    what: str
    value: str


class Bench:
    """A control plane with the shipped rights, and the operators on it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._kubeconfig = plane.user_kubeconfig(ACCOUNT, GROUPS)

    @contextlib.contextmanager
    def operator(self) -> Iterator[OperatorProcess]:
        """Run one more operator; its log is not shown."""
        operator = OperatorProcess(f"--lock-namespace={LOCK_NAMESPACE}", kubeconfig=self._kubeconfig)
        try:
            yield operator
        finally:
            with contextlib.redirect_stdout(io.StringIO()):
                operator.__exit__()

    def requests(self) -> Counter[str]:
        """Count the operator's requests so far, by verb and resource; a watch counts when it ends."""
        events = (event for event in self.plane.audit_events())
        return Counter(f"{event['verb']} {event.get('objectRef', {}).get('resource', '?')}" for event in events)


def resident_mebibytes(pid: int) -> float:
    """Return a process's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def measure_idle(bench: Bench) -> Iterator[Row]:
    """The memory of an operator without jobs, and its requests in a minute."""
    with bench.operator() as operator:
        operator.await_log(LEADING)
        time.sleep(SETTLE_SECONDS)
        before = bench.requests()
        time.sleep(IDLE_SECONDS)
        yield Row("resident memory, idle", f"{resident_mebibytes(operator.pid):.1f} MiB")
        found = bench.requests() - before
        yield Row(f"requests in {IDLE_SECONDS:.0f} s, idle", ", ".join(f"{n} {what}" for what, n in found.items()))


def measure_hand_over(bench: Bench) -> Iterator[Row]:
    """From SIGTERM to the leader, which has just created a job, until the standby's workers run."""
    seconds = []
    with Server(bench.plane.kubeconfig, "hand-over") as server, contextlib.ExitStack() as stack:
        leader = stack.enter_context(bench.operator())
        leader.await_log(LEADING)
        for number in range(HAND_OVERS):
            standby = stack.enter_context(bench.operator())
            standby.await_log(FILLED)
            server.submit(a_raw_job(name=f"job-{number}"))
            server.until(PODS, lambda pods, name=f"job-{number}-worker-0": name in pods, "a pod")  # type: ignore[misc]
            started = time.monotonic()
            leader.signal(signal.SIGTERM)
            standby.await_log(LEADING)
            seconds.append(time.monotonic() - started)
            if leader.wait() != 0:
                raise RuntimeError("the leader did not stop cleanly")
            leader = standby
    yield Row(
        f"SIGTERM to the next leader's workers running, {HAND_OVERS} times",
        f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s",
    )


def measure_storm(bench: Bench) -> Iterator[Row]:
    """How long a new job waits for its first pod, alone and amid thousands of updates of other jobs' pods."""
    with Server(bench.plane.kubeconfig, "storm") as server, bench.operator() as operator:
        operator.await_log(LEADING)
        names = [f"job-{number}" for number in range(STORM_JOBS)]
        for name in names:
            server.submit(a_raw_job(name=name, workers=STORM_WORKERS))
        pods = [f"{name}-worker-{ordinal}" for name in names for ordinal in range(STORM_WORKERS)]
        server.until(PODS, lambda found: len(found) >= len(pods), "all pods")
        yield Row("first pod of a new job, alone", f"{_first_pod_seconds(server, 'alone'):.2f} s")

        def update(number: int) -> None:
            server.patch(PODS, pods[number % len(pods)], {"metadata": {"labels": {"round": str(number)}}})

        updates = len(pods) * STORM_ROUNDS
        with ThreadPoolExecutor(4) as pool:
            storm = [pool.submit(update, number) for number in range(updates)]
            storm[updates // 2].result()
            waited = _first_pod_seconds(server, "amid")
            for each in storm:
                each.result()
        yield Row(f"the same amid {updates} pod updates", f"{waited:.2f} s")


def _first_pod_seconds(server: Server, name: str) -> float:
    started = time.monotonic()
    server.submit(a_raw_job(name=name))
    server.until(PODS, lambda pods: f"{name}-worker-0" in pods, "the first pod")
    return time.monotonic() - started


MEASURES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "idle": measure_idle,
    "hand-over": measure_hand_over,
    "storm": measure_storm,
}


def main() -> None:
    """Run the named measures, or all, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="measure")
    wanted = parser.parse_args().measures or list(MEASURES)
    if unknown := set(wanted) - set(MEASURES):
        parser.error(f"no such measure: {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    for name in wanted:
        with ControlPlane(Options(audited_users=(ACCOUNT,))) as plane:
            apply_overlay(plane, "standalone")
            for row in MEASURES[name](Bench(plane)):
                print(f"{row.what:60} {row.value}", flush=True)


if __name__ == "__main__":
    main()
