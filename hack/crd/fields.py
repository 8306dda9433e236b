"""What users read about each field of an MPIJob in `kubectl explain`, with its default and its limits (api.md).

The shape stands in the operator's types; the pod template's own fields are described by Kubernetes.
"""

from __future__ import annotations

from typing import Any

from mpi_operator.api import defaults, types

Limits = dict[str, Any]

DESCRIPTIONS = {
    "MPIJob": "An MPIJob runs an MPI program: a launcher that calls mpirun, and workers that mpirun reaches by ssh.",
    "MPIJobSpec": "What is wanted.",
    "RunPolicy": "How the job runs as a whole: suspension, deadline, retries, clean-up, scheduling.",
    "SchedulingPolicy": "Wishes for gang scheduling; without effect unless the operator runs with --gang-scheduling.",
    "ReplicaSpec": "One role of the job.",
    "MPIJobStatus": "What the operator observed; written by the operator alone.",
    "Condition": "One aspect of the job's state. The last one in the list tells the state in short.",
    "ReplicaStatus": "Counts of the pods of one role, as they are now.",
}

_MANAGED_BY_RULE = """\
(has(self.spec) && has(self.spec.runPolicy) && has(self.spec.runPolicy.managedBy) ? self.spec.runPolicy.managedBy : '')
== (has(oldSelf.spec) && has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.managedBy)
? oldSelf.spec.runPolicy.managedBy : '')
|| ((!has(oldSelf.spec) || !has(oldSelf.spec.runPolicy) || !has(oldSelf.spec.runPolicy.managedBy)
|| oldSelf.spec.runPolicy.managedBy == '')
&& ((has(oldSelf.spec) && has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend)
&& oldSelf.spec.runPolicy.suspend)
|| !has(oldSelf.status) || !has(oldSelf.status.conditions) || size(oldSelf.status.conditions) == 0))""".replace(
    "\n", " "
)


def _field(description: str, **limits: Any) -> Limits:  # noqa: ANN401 - limits are JSON of any kind
    return {"description": description, **limits}


FIELDS: dict[str, dict[str, Limits]] = {
    "MPIJob": {
        "": {
            "x-kubernetes-validations": [
                {
                    "rule": _MANAGED_BY_RULE,
                    "message": "managedBy is immutable; it can be set later only while the job is suspended, or before"
                    " the operator has taken it up",
                    "fieldPath": ".spec.runPolicy.managedBy",
                }
            ]
        },
        "apiVersion": _field("The version of this schema: kubeflow.org/v2beta1."),
        "kind": _field("MPIJob."),
        "metadata": {},
        "spec": _field("What is wanted."),
        "status": _field("What the operator observed; written by the operator alone."),
    },
    "MPIJobSpec": {
        "slotsPerWorker": _field(
            "How many ranks a worker takes, written to the hostfile. At least 1; the default is 1. May be changed"
            " while the job runs.",
            default=defaults.SLOTS_PER_WORKER,
            minimum=0,
        ),
        "runLauncherAsWorker": _field(
            "Whether ranks run on the launcher too: it comes first in the hostfile and has replica-index 0. The default"
            " is false.",
            default=False,
        ),
        "runPolicy": _field("How the job runs as a whole: suspension, deadline, retries, clean-up, scheduling."),
        "mpiReplicaSpecs": _field(
            "The roles of the job, by name: Launcher, which is required, and Worker, which is required unless"
            " runLauncherAsWorker is set. Other names are reported as invalid.",
            required=True,
        ),
        "sshAuthMountPath": _field(
            "Where the ssh keys are mounted, in launcher and workers. An absolute path outside of /etc/mpi; the default"
            " is /root/.ssh. Images that run as another user need that user's folder, such as /home/mpiuser/.ssh.",
            default=defaults.SSH_AUTH_MOUNT_PATH,
        ),
        "launcherCreationPolicy": _field(
            "When the launcher starts: AtStartup, beside the workers, or WaitForWorkersReady, once every worker is"
            " Ready. The default is AtStartup.",
            default=defaults.LAUNCHER_CREATION_POLICY,
        ),
        "mpiImplementation": _field(
            "Which MPI the image has: OpenMPI (4 or 5), Intel, or MPICH and its derivatives. Decides the environment of"
            " the launcher and the format of the hostfile. The default is OpenMPI.",
            default=defaults.MPI_IMPLEMENTATION,
            enum=sorted(types.MPI_IMPLEMENTATIONS),
        ),
    },
    "RunPolicy": {
        "cleanPodPolicy": _field(
            "Which pods are deleted when the job has finished: None; Running, the workers that still run or wait; All,"
            " every worker and the launcher's pods. The default is None, which leaves the workers running until the job"
            " is deleted or its TTL is over.",
        ),
        "ttlSecondsAfterFinished": _field(
            "Seconds after which the launcher's Job and the workers of a finished job are deleted; with the annotation"
            " kubeflow.org/ttl-target: mpijob the MPIJob itself. Not deleted by default. May be changed later.",
            minimum=0,
        ),
        "activeDeadlineSeconds": _field(
            "Seconds that the job may be active, counted from status.startTime and anew after a resume; then it fails"
            " with reason DeadlineExceeded. Without limit by default. May be changed while the job runs.",
            format="int64",
            minimum=0,
        ),
        "backoffLimit": _field(
            "How often a failed launcher is retried, as batch/v1 Jobs do; 6 by default. May be changed while the job"
            " runs.",
            minimum=0,
        ),
        "schedulingPolicy": _field(
            "Wishes for gang scheduling; without effect unless the operator runs with --gang-scheduling."
        ),
        "suspend": _field(
            "Whether the job is stopped: true deletes its workers and suspends the launcher's Job, false starts or"
            " resumes it. A finished job ignores it. The default is false.",
            default=False,
        ),
        "managedBy": _field(
            "Who runs the job: absent, empty or kubeflow.org/mpi-operator is this operator, which leaves jobs of"
            " kueue.x-k8s.io/multikueue untouched. Immutable once set.",
            maxLength=63,
            **{
                "x-kubernetes-validations": [
                    {
                        "rule": f"self in {['', *types.MANAGERS]}",
                        "message": f"must be empty or one of {', '.join(types.MANAGERS)}",
                    }
                ]
            },
        ),
    },
    "SchedulingPolicy": {
        "minAvailable": _field(
            "How many pods must be schedulable at once. From 1 to workers + 1, which is the default; without the"
            " launcher under WaitForWorkersReady.",
            minimum=0,
        ),
        "queue": _field("Volcano's queue. The default is the queue that Volcano chooses."),
        "minResources": _field("What the gang needs together. The default is the sum of what its pods request."),
        "priorityClass": _field("The gang's PriorityClass. The default is the launcher's, else the workers'."),
        "scheduleTimeoutSeconds": _field(
            "How long scheduler-plugins holds pods that wait for their gang. The default, 0, is the plugin's.",
            minimum=0,
        ),
    },
    "ReplicaSpec": {
        "replicas": _field(
            "How many pods: 1 for the Launcher, at least 1 for Worker; the default is 1. The workers' number may be"
            " changed while the job runs, also by `kubectl scale`.",
            default=defaults.REPLICAS,
            minimum=0,
        ),
        "template": _field(
            "The template of the pods. Its main container is the one that the annotation"
            " kubectl.kubernetes.io/default-container names, else the first; a worker's runs sshd unless it has a"
            " command or args. Of the metadata only labels and annotations reach the pods.",
        ),
        "restartPolicy": _field(
            "What happens to a container that ends: Never or OnFailure. The default is OnFailure for the Launcher and"
            " Never for Worker. A restartPolicy in the template is overridden.",
        ),
    },
    "MPIJobStatus": {
        "conditions": _field(
            "Created, Running, Restarting, Suspended, and once the job has ended Succeeded or Failed, which never"
            " change again. The last one tells the state in short.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
        "replicaStatuses": _field("Counts of the pods, by role: Launcher and Worker."),
        "startTime": _field("When the job was first started, or last resumed."),
        "completionTime": _field("When the job finished; a job that has it has a terminal condition."),
    },
    "Condition": {
        "type": _field("Created, Running, Restarting, Suspended, Succeeded or Failed.", required=True),
        "status": _field(
            "Whether the condition holds: True, False or Unknown.", required=True, enum=["True", "False", "Unknown"]
        ),
        "reason": _field("Why, in one word."),
        "message": _field("Why, for people to read."),
        "lastUpdateTime": _field("When reason, message or status changed last."),
        "lastTransitionTime": _field("When the status changed last."),
    },
    "ReplicaStatus": {
        "active": _field(
            "Pods that run; while the job is suspended, all pods that have not ended, also those that are going."
        ),
        "succeeded": _field("Pods that ended well."),
        "failed": _field("Pods that failed; for the Launcher, those that its Job has counted."),
    },
}

_SELECTOR_REQUIREMENT: Limits = {
    "type": "object",
    "required": ["key", "operator"],
    "properties": {
        "key": {"type": "string"},
        "operator": {"type": "string"},
        "values": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
    },
}

EXTRA_PROPERTIES: dict[str, dict[str, Limits]] = {
    "MPIJobStatus": {
        "lastReconcileTime": _field("Never set; kept for clients that know it.", type="string", format="date-time"),
    },
    "ReplicaStatus": {
        "selector": _field("Never set; kept for clients that know it.", type="string"),
        "labelSelector": _field(
            "Never set; kept for clients that know it.",
            type="object",
            properties={
                "matchExpressions": {
                    "type": "array",
                    "items": _SELECTOR_REQUIREMENT,
                    "x-kubernetes-list-type": "atomic",
                },
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            **{"x-kubernetes-map-type": "atomic"},
        ),
    },
}
"""Fields of the schema that the operator neither reads nor writes (B244)."""
