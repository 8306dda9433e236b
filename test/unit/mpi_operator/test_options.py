"""The command line and the environment (B269-B287)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mpi_operator.go_flags import FlagError, HelpRequested
from mpi_operator.options import SETTINGS, Options, build_default_text, build_usage, parse_options


def parse(*arguments: str, **environment: str) -> Options:
    return parse_options(arguments, environment)


def changed(**fields: Any) -> Options:
    return msgspec.structs.replace(Options(), **fields)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], Options(), id="B273 B275 B277 B278 B279 an empty command line gives the documented defaults"),
        pytest.param(["--master=https://x"], changed(master="https://x"), id="B269 the API server may be named"),
        pytest.param(["--kubeConfig=/k"], changed(kubeconfig="/k"), id="B270 kubeConfig has a capital C"),
        pytest.param(["--namespace", "a"], changed(namespace="a"), id="B272 one namespace may be chosen"),
        pytest.param(["-threadiness", "7"], changed(threadiness=7), id="B273 B282 a value may follow a single dash"),
        pytest.param(["--threadiness=0x10"], changed(threadiness=16), id="B282 integers may be hexadecimal, as in Go"),
        pytest.param(["--monitoring-port=9090"], changed(monitoring_port=9090), id="B275 metrics are served on demand"),
        pytest.param(["--gang-scheduling=volcano"], changed(gang_scheduling="volcano"), id="B276 volcano is known"),
        pytest.param(
            ["--gang-scheduling=my-scheduler"], changed(gang_scheduling="my-scheduler"), id="B276 any name is taken"
        ),
        pytest.param(["--kube-api-qps=5.5"], changed(kube_api_qps=5.5), id="B278 a limit of requests may be set"),
        pytest.param(
            ["--cluster-domain=k.local"], changed(cluster_domain="k.local"), id="B280 a DNS domain may be set"
        ),
        pytest.param(["-v=2"], Options(), id="B281 a klog verbosity below debug changes nothing"),
        pytest.param(["-v", "4"], changed(log_level="debug"), id="B281 a high klog verbosity means debug"),
        pytest.param(["-v=5", "--log-level=error"], changed(log_level="error"), id="B281 a named level goes before -v"),
        pytest.param(["-alsologtostderr"], Options(), id="B281 B326 the flag of existing Deployments needs no warning"),
        pytest.param(
            ["--alsologtostderr=false", "--stderrthreshold=INFO", "-legacy_stderr_threshold_behavior=false"],
            changed(ignored=("alsologtostderr", "legacy_stderr_threshold_behavior", "stderrthreshold")),
            id="B281 klog flags without meaning here are named, once",
        ),
        pytest.param(["-version"], changed(is_version_wanted=True), id="B274 B282 a boolean needs no value"),
        pytest.param(["--version=F"], Options(), id="B282 booleans are spelt as in Go"),
        pytest.param(["--health-port=0"], changed(health_port=0), id="B296 the probes' port may be switched off"),
        pytest.param(
            [
                "--leader-elect-lease-duration=1m",
                "--leader-elect-renew-deadline=40s",
                "--leader-elect-retry-period=500ms",
            ],
            changed(
                leader_elect_lease_duration_seconds=60.0,
                leader_elect_renew_deadline_seconds=40.0,
                leader_elect_retry_period_seconds=0.5,
            ),
            id="B289 the election's times are Go durations",
        ),
        pytest.param(["--threadiness=3", "--threadiness=4"], changed(threadiness=4), id="B282 the last setting wins"),
        pytest.param(["--threadiness=4", "--"], changed(threadiness=4), id="B282 two dashes end the flags"),
    ],
)
def test_flags(arguments: list[str], expected: Options) -> None:
    assert parse(*arguments) == expected


@pytest.mark.parametrize(
    ("environment", "arguments", "field", "expected"),
    [
        pytest.param({"KUBECONFIG": "/e"}, [], "kubeconfig", "/e", id="B271 the environment names a kubeconfig"),
        pytest.param({"KUBECONFIG": ""}, [], "kubeconfig", "", id="B271 an empty variable names none"),
        pytest.param({"KUBECONFIG": "/e"}, ["--kubeConfig=/f"], "kubeconfig", "/f", id="B271 an explicit flag wins"),
        pytest.param({"KUBECONFIG": "/e"}, ["--kubeConfig="], "kubeconfig", "", id="B271 even an empty flag wins"),
        pytest.param({"KUBEFLOW_NAMESPACE": "n"}, [], "namespace", "n", id="B272 the environment names a namespace"),
        pytest.param({"POD_NAMESPACE": "p"}, [], "lock_namespace", "p", id="B277 the Lease is in the pod's namespace"),
        pytest.param({}, [], "lock_namespace", "mpi-operator", id="B277 or in mpi-operator"),
        pytest.param({"POD_NAMESPACE": "p"}, ["--lock-namespace=q"], "lock_namespace", "q", id="B277 or where told"),
    ],
)
def test_environment(environment: dict[str, str], arguments: list[str], field: str, expected: str) -> None:
    assert getattr(parse(*arguments, **environment), field) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--colour=red"], "flag provided but not defined: -colour; --help lists the flags", id="B282 unknown"
        ),
        pytest.param(
            ["--threadiness"], "flag needs an argument: -threadiness; write --threadiness=N", id="B282 without value"
        ),
        pytest.param(
            ["--threadiness=many"],
            'invalid value "many" for flag -threadiness: expected a whole number',
            id="B282 not a number",
        ),
        pytest.param(["--threadiness=0"], "at least 1", id="B273 no worker at all"),
        pytest.param(["--version=maybe"], "expected true or false", id="B282 not a boolean"),
        pytest.param(["---x"], "bad flag syntax: ---x; write --name=value", id="B282 three dashes"),
        pytest.param(["--=x"], "bad flag syntax: --=x; write --name=value", id="B282 no name"),
        pytest.param(
            ["-alsologtostderr", "true", "--threadiness=3"], 'unexpected argument "true"', id="B282 a stray value"
        ),
        pytest.param(["--", "x"], 'unexpected argument "x"', id="B282 something after two dashes"),
        pytest.param(["--monitoring-port=70000"], "expected a port from 1 to 65535", id="B275 not a port"),
        pytest.param(
            ["--monitoring-port=8080"], "--monitoring-port and --health-port are both 8080", id="B296 one port twice"
        ),
        pytest.param(["--gang-scheduling=Volcano"], "differs from volcano only by case", id="B189 a misspelt volcano"),
        pytest.param(["--gang-scheduling=Kubernetes"], "differs from kubernetes only by case", id="G1 kubernetes too"),
        pytest.param(["--startup-timeout=5"], "expected a duration such as 15s", id="a duration without unit"),
        pytest.param(
            ["--leader-elect-lease-duration=10s"], "expected more than", id="B289 a lease not above its deadline"
        ),
        pytest.param(["--leader-elect-lease-duration=15500ms"], "whole seconds", id="B289 a lease in parts of seconds"),
        pytest.param(["--leader-elect-retry-period=9s"], "1.2 times", id="B289 too few tries before the deadline"),
        pytest.param(["--ttl-target=pods"], "expected one of launcher, mpijob", id="an unknown TTL target"),
        pytest.param(["--lock-namespace="], "--lock-namespace is empty", id="B277 no place for the Lease"),
        pytest.param(["--kube-api-qps=nan"], "expected a finite number", id="B278 no number"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError) as caught:
        parse(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("flag", ["-h", "-help", "--help"])
def test_B287_help_is_asked_for(flag: str) -> None:
    with pytest.raises(HelpRequested):
        parse("--threadiness=3", flag)


def test_every_setting_has_a_field_and_stands_in_the_usage() -> None:
    usage = build_usage()
    fields = set(Options.__struct_fields__) - {"ignored"}
    assert {setting.field for setting in SETTINGS} == fields
    for setting in SETTINGS:
        assert f"--{setting.name}={setting.placeholder}" in usage
        assert setting.meaning in usage
        if build_default_text(setting):
            assert f"default {build_default_text(setting)}" in usage


def test_a_default_reads_back_as_itself() -> None:
    for setting in SETTINGS:
        text = build_default_text(setting)
        if text:
            assert setting.parse(text) == getattr(Options(), setting.field)
