"""What is read to make a Snapshot, and what is not (lifecycle.md 2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from informers.errors import DecodeError
from mpi_operator.api.types import MPIJob
from mpi_operator.plan.snapshot import Snapshot
from mpi_operator.shell.observe import Holder, decode_secret
from mpi_operator.shell.resources import CONFIG_MAPS, JOBS, PODS, SECRETS, SERVICES
from test.builders.shell import KEY, Shell


@pytest.fixture
def shell() -> Iterator[Shell]:
    with Shell() as shell:
        yield shell


def cached_job(shell: Shell) -> MPIJob:
    job = shell.caches.mpi_jobs.get(KEY)
    assert job is not None
    return job


def observe(shell: Shell, *holders: Holder) -> tuple[Snapshot, list[str]]:
    """The snapshot, and the paths that were read for it."""
    before = len(shell.server.requests)
    snapshot = shell.observer.observe(cached_job(shell), holders)
    return snapshot, [request.path.rpartition("/namespaces/default/")[2] for request in shell.server.requests[before:]]


def test_a_new_job_is_observed_from_the_caches_alone(shell: Shell) -> None:
    shell.submit()
    snapshot, reads = observe(shell)
    assert reads == []
    assert (snapshot.service, snapshot.config_map, snapshot.secret, snapshot.launcher_job) == (None, None, None, None)


def test_all_children_come_from_the_caches_but_the_Secret(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    shell.clock.step(100)
    snapshot, reads = observe(shell)
    assert reads == ["secrets/pi-ssh"]
    assert snapshot.secret is not None
    assert snapshot.secret.is_usable
    assert {pod.metadata.name for pod in snapshot.pods} == {"pi-worker-0", "pi-worker-1"}
    assert None not in (snapshot.service, snapshot.config_map, snapshot.launcher_job)


@pytest.mark.parametrize(
    ("resource", "name", "field"),
    [(SERVICES, "pi", "service"), (CONFIG_MAPS, "pi-config", "config_map"), (JOBS, "pi-launcher", "launcher_job")],
    ids=["B084 a Service", "B084 a ConfigMap", "B084 a launcher Job"],
)
def test_a_child_that_is_in_no_cache_is_read_by_name(shell: Shell, resource: object, name: str, field: str) -> None:
    shell.submit()
    shell.settle()
    found = shell.server.find(resource, "default", name)  # type: ignore[arg-type]
    assert found is not None
    shell.server.put(resource, {**found, "metadata": {**found["metadata"], "labels": {}}})  # type: ignore[arg-type]
    shell.refresh()
    snapshot, reads = observe(shell)
    assert reads == [f"{found['kind'].lower()}s/{name}"]
    assert getattr(snapshot, field).metadata.uid == found["metadata"]["uid"]


def test_a_child_that_is_nowhere_is_missing(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    shell.server.remove(SERVICES, "default", "pi")
    shell.refresh()
    snapshot, reads = observe(shell)
    assert reads == ["services/pi"]
    assert snapshot.service is None


def test_a_usable_Secret_is_remembered_and_an_unusable_one_is_not(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    assert observe(shell)[1] == []
    secret = shell.server.find(SECRETS, "default", "pi-ssh")
    assert secret is not None
    shell.server.put(SECRETS, {**secret, "data": {}})
    shell.clock.step(100)
    for _ in range(2):
        snapshot, reads = observe(shell)
        assert reads == ["secrets/pi-ssh"]
        assert snapshot.secret is not None
        assert not snapshot.secret.is_usable


def test_the_Secret_of_somebody_else_is_not_remembered_as_ours(shell: Shell) -> None:
    shell.submit()
    shell.settle()
    secret = shell.server.find(SECRETS, "default", "pi-ssh")
    assert secret is not None
    shell.server.put(SECRETS, {**secret, "metadata": {**secret["metadata"], "ownerReferences": []}})
    shell.restart()
    observe(shell)
    assert shell.memory.secrets.get(cached_job(shell).metadata.uid) is None


def test_holders_of_names_are_read_live(shell: Shell) -> None:
    shell.submit()
    shell.server.put(PODS, {"metadata": {"name": "pi-worker-0", "namespace": "default"}})
    shell.server.put(SERVICES, {"metadata": {"name": "pi", "namespace": "default"}})
    snapshot, reads = observe(
        shell,
        Holder(kind="Pod", name="pi-worker-0"),
        Holder(kind="Service", name="pi"),
        Holder(kind="Job", name="gone"),
    )
    assert sorted(reads) == ["jobs/gone", "pods/pi-worker-0", "services/pi"]
    assert [pod.metadata.uid for pod in snapshot.pods] == ["uid-pi-worker-0"]
    assert snapshot.service is not None
    assert snapshot.launcher_job is None


def test_what_was_announced_is_part_of_the_snapshot(shell: Shell) -> None:
    uid = shell.submit()["metadata"]["uid"]
    assert shell.memory.announced.announce(uid, "key")
    assert not shell.memory.announced.announce(uid, "key")
    assert observe(shell)[0].announced == {"key"}


def test_a_malformed_Secret_says_nothing_of_its_content() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_secret(b'{"metadata":{"name":"x"},"data":{"ssh-privatekey":["hidden"]}}', action="look")
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
