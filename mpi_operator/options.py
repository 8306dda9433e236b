"""What the operator is told on its command line and by its environment (B269-B287, lifecycle.md 11).

The table `FLAGS` is the one place where a flag's name, default and meaning stand: parsing, `--help` and the
documentation's table come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from mpi_operator.children.pod_group.choice import RESERVED
from mpi_operator.go_flags import (
    Flag,
    FlagError,
    Value,
    parse_boolean,
    parse_flags,
    parse_integer,
    parse_number,
    parse_seconds,
    parse_text,
)

DEFAULT_LOCK_NAMESPACE = "mpi-operator"
DEBUG_VERBOSITY = 4
_HIGHEST_PORT = 65535


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """One process's options; the defaults are those of an empty command line in an empty environment.

    Times are in seconds. `kube_api_qps` 0 means no limit on this side; a port of 0 means that nothing is served.
    `ignored` names the klog flags that were given and mean nothing here.
    """

    master: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    threadiness: int = 8
    monitoring_port: int = 0
    health_port: int = 8080
    bind_address: str = ""
    gang_scheduling: str = ""
    lock_namespace: str = DEFAULT_LOCK_NAMESPACE
    kube_api_qps: float = 0.0
    kube_api_burst: int = 0
    controller_queue_rate_limit: float = 10.0
    controller_queue_burst: int = 100
    cluster_domain: str = ""
    leader_elect_lease_duration_seconds: float = 15.0
    leader_elect_renew_deadline_seconds: float = 10.0
    leader_elect_retry_period_seconds: float = 2.0
    startup_timeout_seconds: float = 300.0
    ttl_target: Literal["launcher", "mpijob"] = "launcher"
    log_format: Literal["", "json", "console"] = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    is_version_wanted: bool = False
    ignored: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One flag of our own: the field it sets, how it is read, what it means, and the environment's variable for it."""

    name: str
    field: str
    parse: Callable[[str], Value]
    placeholder: str
    meaning: str
    environment: str = ""
    is_boolean: bool = False


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text

    return parse


def _port(text: str) -> int:
    port = parse_integer(text)
    if not 0 <= port <= _HIGHEST_PORT:
        raise ValueError(f"expected a port from 1 to {_HIGHEST_PORT}, or 0 to serve nothing")
    return port


def _positive_integer(text: str) -> int:
    number = parse_integer(text)
    if number < 1:
        raise ValueError("expected a whole number of at least 1")
    return number


def _positive_number(text: str) -> float:
    number = parse_number(text)
    if number <= 0:
        raise ValueError("expected a number above 0")
    return number


def _positive_seconds(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds <= 0:
        raise ValueError("expected a duration above 0")
    return seconds


def _gang_scheduler(text: str) -> str:
    for reserved in RESERVED:
        if text != reserved and text.lower() == reserved:
            raise ValueError(f"differs from {reserved} only by case; write that, or another scheduler's name")
    return text


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="master",
        field="master",
        parse=parse_text,
        placeholder="URL",
        meaning="URL of the API server; goes before the one in the kubeconfig.",
    ),
    Setting(
        name="kubeConfig",
        field="kubeconfig",
        parse=parse_text,
        placeholder="PATH",
        meaning="Path of a kubeconfig. Without it and $KUBECONFIG the pod's own service account is used.",
        environment="KUBECONFIG",
    ),
    Setting(
        name="namespace",
        field="namespace",
        parse=parse_text,
        placeholder="NAME",
        meaning="The one namespace whose MPIJobs are run; empty for all.",
        environment="KUBEFLOW_NAMESPACE",
    ),
    Setting(
        name="threadiness",
        field="threadiness",
        parse=_positive_integer,
        placeholder="N",
        meaning="How many MPIJobs are worked on at the same time.",
    ),
    Setting(
        name="version",
        field="is_version_wanted",
        parse=parse_boolean,
        placeholder="true|false",
        meaning="Print the version and exit.",
        is_boolean=True,
    ),
    Setting(
        name="monitoring-port",
        field="monitoring_port",
        parse=_port,
        placeholder="PORT",
        meaning="Port of /metrics; 0 serves none.",
    ),
    Setting(
        name="health-port",
        field="health_port",
        parse=_port,
        placeholder="PORT",
        meaning="Port of /healthz and /readyz; 0 serves none.",
    ),
    Setting(
        name="bind-address",
        field="bind_address",
        parse=parse_text,
        placeholder="ADDRESS",
        meaning="Address that both ports are bound to; empty for all.",
    ),
    Setting(
        name="gang-scheduling",
        field="gang_scheduling",
        parse=_gang_scheduler,
        placeholder="NAME",
        meaning="Gang scheduler: volcano, kubernetes (native), or scheduler-plugins' scheduler name; empty for none.",
    ),
    Setting(
        name="lock-namespace",
        field="lock_namespace",
        parse=parse_text,
        placeholder="NAME",
        meaning="Namespace of the Lease of the leader election.",
        environment="POD_NAMESPACE",
    ),
    Setting(
        name="kube-api-qps",
        field="kube_api_qps",
        parse=parse_number,
        placeholder="N",
        meaning="Requests per second to the API server; 0 leaves limiting to the server.",
    ),
    Setting(
        name="kube-api-burst",
        field="kube_api_burst",
        parse=parse_integer,
        placeholder="N",
        meaning="Requests that may exceed --kube-api-qps at once; 0 for twice the rate.",
    ),
    Setting(
        name="controller-queue-rate-limit",
        field="controller_queue_rate_limit",
        parse=_positive_number,
        placeholder="N",
        meaning="Retries of failed syncs per second, over all MPIJobs.",
    ),
    Setting(
        name="controller-queue-burst",
        field="controller_queue_burst",
        parse=_positive_integer,
        placeholder="N",
        meaning="Retries that may exceed --controller-queue-rate-limit at once.",
    ),
    Setting(
        name="cluster-domain",
        field="cluster_domain",
        parse=parse_text,
        placeholder="DOMAIN",
        meaning="DNS domain of the cluster, appended to the hosts' names, such as cluster.local.",
    ),
    Setting(
        name="leader-elect-lease-duration",
        field="leader_elect_lease_duration_seconds",
        parse=_positive_seconds,
        placeholder="DURATION",
        meaning="How long others wait for a leader that went silent.",
    ),
    Setting(
        name="leader-elect-renew-deadline",
        field="leader_elect_renew_deadline_seconds",
        parse=_positive_seconds,
        placeholder="DURATION",
        meaning="How long a leader that cannot renew goes on.",
    ),
    Setting(
        name="leader-elect-retry-period",
        field="leader_elect_retry_period_seconds",
        parse=_positive_seconds,
        placeholder="DURATION",
        meaning="How often the Lease is tried or renewed.",
    ),
    Setting(
        name="startup-timeout",
        field="startup_timeout_seconds",
        parse=_positive_seconds,
        placeholder="DURATION",
        meaning="How long the caches may take to be filled before the process gives up with exit code 1.",
    ),
    Setting(
        name="ttl-target",
        field="ttl_target",
        parse=_one_of("launcher", "mpijob"),
        placeholder="launcher|mpijob",
        meaning="What ttlSecondsAfterFinished deletes: the launcher Job and remaining workers, or the MPIJob itself.",
    ),
    Setting(
        name="log-format",
        field="log_format",
        parse=_one_of("json", "console"),
        placeholder="json|console",
        meaning="Form of the log; console on a terminal and json elsewhere unless given.",
    ),
    Setting(
        name="log-level",
        field="log_level",
        parse=_one_of("debug", "info", "warning", "error"),
        placeholder="LEVEL",
        meaning="Least level that is logged: debug, info, warning or error.",
    ),
)

_KLOG_BOOLEANS = (
    "add_dir_header",
    "alsologtostderr",
    "legacy_stderr_threshold_behavior",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
)
_KLOG_TEXTS = ("log_backtrace_at", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "v", "vmodule")
_ALWAYS_SO = frozenset({"alsologtostderr", "logtostderr"})
"""klog flags that ask for what happens anyway when they are true: the log goes to stderr."""


def _all_flags() -> Mapping[str, Flag]:
    flags = [
        Flag(name=each.name, parse=each.parse, placeholder=each.placeholder, is_boolean=each.is_boolean)
        for each in SETTINGS
    ]
    flags += [
        Flag(name=name, parse=parse_boolean, placeholder="true|false", is_boolean=True) for name in _KLOG_BOOLEANS
    ]
    flags += [
        Flag(name=name, parse=parse_integer if name == "v" else parse_text, placeholder="VALUE") for name in _KLOG_TEXTS
    ]
    return {flag.name: flag for flag in flags}


_FLAGS = _all_flags()


def parse_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Return the options that `arguments` (without the program's name) and `environment` give.

    A flag goes before its environment variable, which counts only when it is not empty (B271). Raises
    `go_flags.FlagError` for what cannot be used, with one line for the user, and `go_flags.HelpRequested`.
    """
    given = parse_flags(arguments, _FLAGS)
    fields: dict[str, Any] = {}
    for setting in SETTINGS:
        if setting.name in given:
            fields[setting.field] = given[setting.name]
        elif environment.get(setting.environment):
            fields[setting.field] = environment[setting.environment]
    verbosity = given.pop("v", 0)
    if isinstance(verbosity, int) and verbosity >= DEBUG_VERBOSITY and "log_level" not in fields:
        fields["log_level"] = "debug"
    own = {setting.name for setting in SETTINGS}
    fields["ignored"] = tuple(
        sorted(name for name, value in given.items() if name not in own and not (name in _ALWAYS_SO and value is True))
    )
    options = Options(**fields)
    _refuse_contradictions(options)
    return options


def _refuse_contradictions(options: Options) -> None:
    if options.monitoring_port and options.monitoring_port == options.health_port:
        raise FlagError(
            f"--monitoring-port and --health-port are both {options.health_port}; expected two ports, change one"
        )
    lease = options.leader_elect_lease_duration_seconds
    renew = options.leader_elect_renew_deadline_seconds
    retry = options.leader_elect_retry_period_seconds
    if not lease > renew:
        raise FlagError(
            f"--leader-elect-lease-duration is {lease:g}s; expected more than --leader-elect-renew-deadline, {renew:g}s"
        )
    if not renew > 1.2 * retry:
        raise FlagError(
            f"--leader-elect-renew-deadline is {renew:g}s; expected more than 1.2 times --leader-elect-retry-period, "
            f"{retry:g}s"
        )
    if lease != int(lease):
        raise FlagError(f"--leader-elect-lease-duration is {lease:g}s; expected whole seconds, round it up")
    if not options.lock_namespace:
        raise FlagError("--lock-namespace is empty; expected the namespace of the Lease, name one")


def build_default_text(setting: Setting) -> str:
    """Return a setting's default as the command line would write it; empty for an empty text."""
    default = getattr(Options(), setting.field)
    if setting.parse is _positive_seconds:
        minutes, seconds = divmod(default, 60)
        return f"{minutes:g}m" if minutes and not seconds else f"{default:g}s"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def build_usage() -> str:
    """Return the text of `--help`."""
    lines = [
        "Usage: mpi-operator [flags]",
        "",
        "Runs MPIJobs of kubeflow.org/v2beta1. One or two dashes mean the same.",
    ]
    for setting in SETTINGS:
        default = build_default_text(setting)
        notes = [f"default {default}"] if default else []
        notes += [f"environment {setting.environment}"] if setting.environment else []
        suffix = f" ({', '.join(notes)})" if notes else ""
        lines += ["", f"  --{setting.name}={setting.placeholder}", f"        {setting.meaning}{suffix}"]
    lines += ["", f"Flags of klog are accepted: {', '.join(sorted((*_KLOG_BOOLEANS, *_KLOG_TEXTS)))}."]
    lines += [f"Of these -v={DEBUG_VERBOSITY} and above mean --log-level=debug; those without meaning here warn once."]
    return "\n".join(lines) + "\n"
