import json
from pathlib import Path

import yaml

from hack.cluster.scheduler_plugins import CRD, SCHEDULER_NAME, build_configuration


def test_one_profile_keeps_gangs_together_in_the_queue() -> None:
    configuration = json.loads(build_configuration(Path("/admin.kubeconfig")))
    (profile,) = configuration["profiles"]
    assert profile["schedulerName"] == SCHEDULER_NAME
    assert profile["plugins"]["queueSort"] == {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    assert configuration["clientConnection"]["kubeconfig"] == "/admin.kubeconfig"
    assert configuration["leaderElection"] == {"leaderElect": False}


def test_its_pod_groups_are_those_that_the_operator_writes() -> None:
    crd = yaml.safe_load(CRD.read_text())
    assert crd["metadata"]["name"] == "podgroups.scheduling.x-k8s.io"
    assert [version["name"] for version in crd["spec"]["versions"]] == ["v1alpha1"]
