"""Who holds a name (lifecycle.md 2)."""

from __future__ import annotations

import msgspec
import pytest

from mpi_operator.api.metadata import ObjectMeta
from mpi_operator.children.ownership import Holder, classify_holder
from test.builders.children import a_service
from test.builders.jobs import a_job
from test.builders.pods import NOW

OURS = a_service().metadata
GOING = msgspec.structs.replace(OURS, deletion_timestamp=NOW)


def _owned_by(**owner: object) -> ObjectMeta:
    return a_service(owner=owner).metadata


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param(None, Holder.NOBODY, id="nobody"),
        pytest.param(OURS, Holder.OURS, id="our uid as controller makes it ours"),
        pytest.param(msgspec.structs.replace(OURS, labels={}), Holder.OURS, id="A1.3 whatever its labels"),
        pytest.param(GOING, Holder.LEAVING, id="ours and terminating is on its way out"),
        pytest.param(_owned_by(uid="old"), Holder.LEAVING, id="A4.12 so is what a job of the same name left"),
        pytest.param(_owned_by(uid="old", apiVersion="kubeflow.org/v1"), Holder.LEAVING, id="of any version"),
        pytest.param(_owned_by(uid="x", name="other"), Holder.FOREIGN, id="a job of another name is foreign"),
        pytest.param(_owned_by(uid="x", kind="Job"), Holder.FOREIGN, id="another kind is foreign"),
        pytest.param(_owned_by(uid="x", apiVersion="example.com/v1"), Holder.FOREIGN, id="another group is foreign"),
        pytest.param(_owned_by(controller=False), Holder.FOREIGN, id="an owner that is no controller does not count"),
        pytest.param(a_service(owned=False).metadata, Holder.FOREIGN, id="an object of nobody is foreign"),
        pytest.param(a_service(owned=False, terminating=True).metadata, Holder.FOREIGN, id="even if it is terminating"),
    ],
)
def test_holder(metadata: ObjectMeta | None, expected: Holder) -> None:
    assert classify_holder(metadata, a_job()) is expected
