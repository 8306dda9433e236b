"""Bare control planes: several at once, requests audited by user, users with their own rights."""

import subprocess
from contextlib import ExitStack
from pathlib import Path

from hack.cluster.control_plane import ControlPlane, Options


def kubectl(plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**plane.env(), "KUBECONFIG": str(kubeconfig or plane.kubeconfig)}
    return subprocess.run(["kubectl", *arguments], env=environment, capture_output=True, text=True, check=False)


def test_several_run_at_once_and_know_nothing_of_each_other() -> None:
    with ExitStack() as stack:
        planes = [stack.enter_context(ControlPlane()) for _ in range(3)]
        assert len({plane.port for plane in planes}) == 3
        assert kubectl(planes[0], "create", "namespace", "mine").returncode == 0
        assert [kubectl(plane, "get", "namespace", "mine").returncode for plane in planes] == [0, 1, 1]
        folders = [plane.directory for plane in planes]
    assert not [folder for folder in folders if folder.exists()]


def test_a_user_has_only_the_rights_it_was_given_and_its_requests_are_audited() -> None:
    with ControlPlane(Options(audited_users=("bob",))) as plane:
        bob = plane.user_kubeconfig("bob", ["people"])
        refused = kubectl(plane, "get", "pods", kubeconfig=bob)
        assert 'User "bob" cannot list resource "pods"' in refused.stderr
        kubectl(plane, "create", "clusterrole", "pod-reader", "--verb=list", "--resource=pods")
        kubectl(plane, "create", "clusterrolebinding", "people", "--clusterrole=pod-reader", "--group=people")
        assert kubectl(plane, "get", "pods", kubeconfig=bob).returncode == 0
        pods = [event for event in plane.audit_events() if event.get("objectRef", {}).get("resource") == "pods"]
        assert {event["user"]["username"] for event in pods} == {"bob"}
        assert [event["responseStatus"]["code"] for event in pods] == [403, 200]


def test_service_accounts_are_wanted_only_when_asked_for() -> None:
    pod = ("run", "x", "--image=none")
    with ControlPlane() as plane:
        assert kubectl(plane, *pod).returncode == 0
    with ControlPlane(Options(service_accounts=True)) as plane:
        assert "serviceaccount" in kubectl(plane, *pod).stderr
