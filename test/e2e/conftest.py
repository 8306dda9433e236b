"""The operator on a real cluster, and a namespace of its own for each test."""

import itertools
import os
from collections.abc import Iterator

import pytest

from hack.cluster.access import Access
from hack.deploy import deploy_operator, describe_operator
from test.e2e.jobs import Namespace

TEST_IMAGES = ("openmpi", "openmpi5", "mpich", "intel")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def operator(cluster: Access) -> Access:
    """The operator of this tree as its Deployment, and the test images where the nodes find them."""
    cluster.load_images(TEST_IMAGES)
    deploy_operator(cluster)
    return cluster


@pytest.fixture
def namespace(operator: Access, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace for one test; what is in it is shown when the test fails, and deleted at its end."""
    name = f"e2e-{os.getpid()}-{next(_numbers)}"
    operator.kubectl("create", "namespace", name)
    space = Namespace(operator, name)
    failed = request.session.testsfailed
    yield space
    if request.session.testsfailed > failed:
        print(space.describe())
        print(describe_operator(operator))
    operator.kubectl("delete", "namespace", name, "--wait=false")
