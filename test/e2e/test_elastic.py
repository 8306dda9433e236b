"""An elastic launcher sees workers come and go within two seconds (images.md, A3.8, lifecycle.md 9)."""

import re

import pytest

from clockwork import SystemClock
from test.e2e.jobs import ENTRY_POINT, a_job, example, shell, worker_names
from test.e2e.namespace import Namespace
from test.e2e.status import rank_hosts

CLOCK = SystemClock()
BOUND_SECONDS = 2.0

# Prints "SECONDS hosts HOST ..." whenever the list changes, and runs pi on the new one; ends with four hosts.
FOLLOW_HOSTS = f"""
seen=
until [ "$(echo "$seen" | wc -w)" = 4 ]; do
  hosts=$(echo $(/etc/mpi/discover_hosts.sh))
  if [ "$hosts" != "$seen" ]; then
    seen=$hosts
    count=$(echo "$hosts" | wc -w)
    echo "$(date +%s.%N) hosts $hosts"
    [ "$count" = 0 ] || {ENTRY_POINT} mpirun -n "$count" --hostfile /etc/mpi/hostfile /home/mpiuser/pi --samples 1000
  fi
  sleep 0.02
done
"""


def seen_at(log: str, hosts: list[str], after: float) -> float | None:
    """Return the first time after `after` at which the launcher saw exactly these hosts, if it did."""
    for seconds, line in re.findall(r"^([0-9.]+) hosts (.*)$", log, re.MULTILINE):
        if float(seconds) >= after and [host.split(".")[0] for host in line.split()] == hosts:
            return float(seconds)
    return None


def scale(namespace: Namespace, name: str, replicas: int) -> float:
    """Scale the workers as users do, and return when that was asked for."""
    asked = CLOCK.wall().timestamp()
    namespace.kubectl("scale", f"mpijob/{name}", f"--replicas={replicas}")
    return asked


def await_seen(namespace: Namespace, name: str, count: int, asked: float) -> float:
    """Wait until the launcher has seen `count` workers and run a program on them; return when it saw them."""
    hosts = worker_names(name, count)

    def is_seen() -> bool:
        log = namespace.log_so_far(name)
        return seen_at(log, hosts, asked) is not None and rank_hosts(log.rsplit(" hosts ", 1)[-1]) == hosts

    namespace.await_that(f"the launcher sees {hosts} and runs pi on them", is_seen)
    seen = seen_at(namespace.launcher_log(name), hosts, asked)
    assert seen is not None
    return seen


def when_running(namespace: Namespace, pod: str) -> float:
    """Wait until the pod runs, and return when that was found."""

    def is_running() -> bool:
        return any(
            each["metadata"]["name"] == pod and each["status"]["phase"] == "Running" for each in namespace.items("pods")
        )

    namespace.await_that(f"pod {pod} runs", is_running)
    return CLOCK.wall().timestamp()


@pytest.mark.slow
def test_A3_8_the_launcher_sees_workers_come_and_go_within_two_seconds(namespace: Namespace) -> None:
    name = namespace.apply(a_job(workers=2, launcher=shell(FOLLOW_HOSTS), run_policy={"backoffLimit": 0}))
    await_seen(namespace, name, 2, 0.0)
    for replicas in (3, 1, 2):
        growing = len(namespace.pods(name)) < replicas
        asked = scale(namespace, name, replicas)
        changed = when_running(namespace, worker_names(name, replicas)[-1]) if growing else asked
        seen = await_seen(namespace, name, replicas, asked)
        assert seen - changed <= BOUND_SECONDS, f"{seen - changed:.2f} s\n{namespace.launcher_log(name)}"
    scale(namespace, name, 4)
    job = namespace.await_condition(name, "Succeeded")
    assert rank_hosts(namespace.launcher_log(name)) == worker_names(name, 4)
    assert job["status"]["replicaStatuses"]["Launcher"] == {"succeeded": 1}


def test_the_example_shows_a_new_worker(namespace: Namespace) -> None:
    name = namespace.apply(example("elastic/discover-hosts.yaml"))
    namespace.await_condition(name, "Running")
    scale(namespace, name, 2)
    both = [f" {worker}." for worker in worker_names(name, 2)]
    namespace.await_that(
        "the launcher prints both workers in one line",
        lambda: any(all(each in line for each in both) for line in namespace.log_so_far(name).splitlines()),
    )
