"""Every name, label, annotation, environment variable, key and path that the operator writes or reads, once.

These are API: users' manifests, images, dashboards and other controllers rely on them (B075-B115, interop.md 1).
"""

from __future__ import annotations

import re

OPERATOR_NAME = "mpi-operator"

LABEL_APP = "app"
LABEL_OPERATOR_NAME = "training.kubeflow.org/operator-name"
LABEL_JOB_NAME = "training.kubeflow.org/job-name"
LABEL_JOB_ROLE = "training.kubeflow.org/job-role"
LABEL_REPLICA_INDEX = "training.kubeflow.org/replica-index"
OPERATOR_SELECTOR = f"{LABEL_OPERATOR_NAME}={OPERATOR_NAME}"
"""The label selector of every informer of children (lifecycle.md 2)."""

ROLE_LAUNCHER = "launcher"
ROLE_WORKER = "worker"

ANNOTATION_TTL_TARGET = "kubeflow.org/ttl-target"
ANNOTATION_WORKER_RESTARTS = "kubeflow.org/worker-restarts"
ANNOTATION_TEMPLATE_HASH = "kubeflow.org/template-hash"
ANNOTATION_HOSTS_VERSION = "kubeflow.org/hosts-version"
ANNOTATION_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"

JOB_CONTROLLER_LABELS = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
"""Labels that the Job controller puts on a Job's pod template; never removed, never changed (lifecycle.md 4)."""

SSH_AUTH_VOLUME = "ssh-auth"
CONFIG_VOLUME = "mpi-job-config"
RESERVED_VOLUMES = (SSH_AUTH_VOLUME, CONFIG_VOLUME)

SSH_PRIVATE_KEY = "ssh-privatekey"
SSH_PUBLIC_KEY = "ssh-publickey"
SSH_SECRET_TYPE = "kubernetes.io/ssh-auth"  # noqa: S105 - the type of the Secret, not a secret
SSH_PRIVATE_KEY_FILE = "id_rsa"
SSH_PUBLIC_KEY_FILE = "id_rsa.pub"
SSH_AUTHORIZED_KEYS_FILE = "authorized_keys"

HOSTFILE = "hostfile"
DISCOVER_HOSTS = "discover_hosts.sh"
CONFIG_MOUNT_PATH = "/etc/mpi"
HOSTFILE_PATH = f"{CONFIG_MOUNT_PATH}/{HOSTFILE}"

ENV_JOB_ROLE = "K_MPI_JOB_ROLE"

DEFAULT_CLUSTER_DOMAIN = "cluster.local"


def worker_name(job_name: str, ordinal: int) -> str:
    """Return the name and hostname of a worker's pod (B075)."""
    return f"{job_name}-worker-{ordinal}"


def launcher_name(job_name: str) -> str:
    """Return the name of the launcher's Job and the hostname of its pods (B076)."""
    return f"{job_name}-launcher"


def service_name(job_name: str) -> str:
    """Return the name of the headless Service, which is also the pods' subdomain (B077)."""
    return job_name


def config_map_name(job_name: str) -> str:
    """Return the name of the ConfigMap with the hostfile and discover_hosts.sh (B077)."""
    return f"{job_name}-config"


def ssh_secret_name(job_name: str) -> str:
    """Return the name of the Secret with the job's ssh keys (B077)."""
    return f"{job_name}-ssh"


def pod_group_name(job_name: str) -> str:
    """Return the name of the gang scheduler's PodGroup (B077)."""
    return job_name


def worker_ordinal(job_name: str, pod_name: str) -> int | None:
    """Return the ordinal that a worker's pod name says, or None if it is no worker name of this job.

    Labels are never asked: with runLauncherAsWorker they are shifted by one (A1.1).
    """
    prefix = worker_name(job_name, 0)[:-1]
    digits = pod_name.removeprefix(prefix) if pod_name.startswith(prefix) else ""
    return int(digits) if _ORDINAL.fullmatch(digits) else None


_ORDINAL = re.compile(r"0|[1-9][0-9]{0,8}")


def replica_index(ordinal: int, *, is_launcher_worker: bool) -> str:
    """Return a worker's index label: shifted by one where the launcher is replica 0 (B079-B081, K7)."""
    return str(ordinal + 1 if is_launcher_worker else ordinal)


def child_labels(job_name: str) -> dict[str, str]:
    """Return the labels that every child of the job carries, beside those of its role (B084)."""
    return {LABEL_OPERATOR_NAME: OPERATOR_NAME, LABEL_JOB_NAME: job_name}


def pod_labels(job_name: str, role: str) -> dict[str, str]:
    """Return the labels of a pod in that role, without its index (B078)."""
    return {**child_labels(job_name), LABEL_JOB_ROLE: role}


def host_name(pod_hostname: str, *, job_name: str, namespace: str, cluster_domain: str) -> str:
    """Return the full DNS name of a pod behind the job's Service: it ends in `svc` without a cluster domain (B092)."""
    host = f"{pod_hostname}.{service_name(job_name)}.{namespace}.svc"
    return f"{host}.{cluster_domain}" if cluster_domain else host
