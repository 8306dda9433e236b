"""The environment that makes each MPI implementation find its hosts (B149-B154, A1.20, images.md)."""

from __future__ import annotations

from mpi_operator import names
from mpi_operator.api import types
from mpi_operator.api.pod_template import Container
from mpi_operator.api.types import MPIJobSpec

_SSH_ARGUMENTS = "-o ConnectionAttempts=10"
_NVIDIA_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")


def build_environment(spec: MPIJobSpec, main: Container) -> list[tuple[str, str]]:
    """Return names and values to append to the launcher's main container, in order.

    A launcher that runs no rank and asks for no GPU must not be given every GPU of its node, as the NVIDIA runtime
    does where the variables are absent: they are blanked.
    """
    environment = [(names.ENV_JOB_ROLE, names.ROLE_LAUNCHER), *_IMPLEMENTATIONS[spec.mpi_implementation](spec)]
    if not spec.is_launcher_worker and not _asks_for_gpu(main):
        environment += [(name, "") for name in _NVIDIA_VARIABLES]
    return environment


def _open_mpi(spec: MPIJobSpec) -> list[tuple[str, str]]:
    """Open MPI 4 reads the ORTE names, Open MPI 5 only the PRRTE ones; without its own it runs every rank here."""
    slots = _slots(spec)
    return [
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        ("OMPI_MCA_orte_default_hostfile", names.HOSTFILE_PATH),
        ("OMPI_MCA_plm_rsh_args", _SSH_ARGUMENTS),
        ("OMPI_MCA_orte_set_default_slots", slots),
        ("PRTE_MCA_prte_default_hostfile", names.HOSTFILE_PATH),
        ("PRTE_MCA_plm_ssh_args", _SSH_ARGUMENTS),
        ("PRTE_MCA_prte_set_default_slots", slots),
    ]


def _intel(spec: MPIJobSpec) -> list[tuple[str, str]]:
    return [
        ("I_MPI_HYDRA_HOST_FILE", names.HOSTFILE_PATH),
        ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGUMENTS),
        ("I_MPI_PERHOST", _slots(spec)),
    ]


def _mpich(_spec: MPIJobSpec) -> list[tuple[str, str]]:
    return [
        ("HYDRA_HOST_FILE", names.HOSTFILE_PATH),
        ("HYDRA_LAUNCH_EXTRA_ARGS", _SSH_ARGUMENTS),
        ("HYDRA_LAUNCHER_EXTRA_ARGS", _SSH_ARGUMENTS),  # the name that MPICH 4 and newer read
    ]


_IMPLEMENTATIONS = {types.OPEN_MPI: _open_mpi, types.INTEL: _intel, types.MPICH: _mpich}


def _slots(spec: MPIJobSpec) -> str:
    return str(1 if spec.slots_per_worker is None else spec.slots_per_worker)


def _asks_for_gpu(main: Container) -> bool:
    """Whether the container asks for an extended resource that is a GPU, or for a device by a resource claim."""
    resources = main.resources
    if resources is None:
        return False
    asked = {*(resources.limits or ()), *(resources.requests or ())}
    return bool(resources.claims) or any(name.startswith("nvidia.com/") or "gpu" in name.lower() for name in asked)
