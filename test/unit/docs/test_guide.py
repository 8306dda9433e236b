"""The guide tells of every field, condition, file and variable that users meet, and only of what there is."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from mpi_operator import conditions, names
from mpi_operator.api.defaults import apply_defaults
from mpi_operator.api.types import MPI_IMPLEMENTATIONS, MPIJobSpec, RunPolicy, SchedulingPolicy
from mpi_operator.api.validation import validate
from mpi_operator.children.launcher.build import build_pod_template
from test.builders.jobs import a_job, decode_job

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "guide.md").read_text()


@pytest.mark.parametrize("struct", [MPIJobSpec, RunPolicy, SchedulingPolicy])
def test_every_field_is_told_of(struct: type[msgspec.Struct]) -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(struct)]
    assert [name for name in fields if not re.search(rf"\b{name}\b", GUIDE)] == []


@pytest.mark.parametrize("implementation", MPI_IMPLEMENTATIONS)
def test_every_variable_of_the_launcher_is_told_of(implementation: str) -> None:
    [container] = build_pod_template(a_job(mpiImplementation=implementation))["spec"]["containers"]
    variables = [variable["name"] for variable in container["env"]]
    assert [name for name in variables if name not in GUIDE and name != "NVIDIA_DRIVER_CAPABILITIES"] == []


def test_every_condition_and_reserved_name_is_told_of() -> None:
    wanted = (*conditions.TYPES, *names.RESERVED_VOLUMES, names.ANNOTATION_TTL_TARGET, names.CONFIG_MOUNT_PATH)
    assert [name for name in wanted if name not in GUIDE] == []


def test_b001_b007_defaults_that_surprise_are_documented() -> None:
    assert "`cleanPodPolicy: None` is the default" in GUIDE
    assert "`restartPolicy` OnFailure" in GUIDE


def test_the_examples_it_names_are_there() -> None:
    paths = re.findall(r"examples/v2beta1/[\w/.-]+?\.yaml", GUIDE)
    assert paths
    for path in paths:
        job = decode_job(yaml.safe_load((DOCS.parent / path).read_text()))
        assert validate(apply_defaults(job)) == ()
