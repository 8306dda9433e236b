"""The operator on a real cluster, and namespaces for tests."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hack.cluster.access import Access
from hack.deploy import deploy_operator, describe_operator
from test.e2e.jobs import IMPLEMENTATIONS
from test.e2e.namespace import Namespace

_numbers = itertools.count()


@pytest.fixture(scope="session")
def operator(cluster: Access) -> Access:
    """The operator of this tree as its Deployment, and the test images where the nodes find them."""
    cluster.load_images(tuple(IMPLEMENTATIONS))
    deploy_operator(cluster)
    return cluster


@contextmanager
def _a_namespace(operator: Access, session: pytest.Session) -> Iterator[Namespace]:
    """Yield a new namespace; what is in it is shown when a test fails meanwhile, and deleted at the end."""
    name = f"e2e-{os.getpid()}-{next(_numbers)}"
    operator.kubectl("create", "namespace", name)
    space = Namespace(operator, name)
    failed = session.testsfailed
    yield space
    if session.testsfailed > failed:
        print(space.describe())
        print(describe_operator(operator))
    operator.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def namespace(operator: Access, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace for one test."""
    with _a_namespace(operator, request.session) as space:
        yield space


@pytest.fixture(scope="module")
def shared_namespace(operator: Access, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace for the tests of one file, whose jobs run at the same time."""
    with _a_namespace(operator, request.session) as space:
        yield space


@pytest.fixture
def operator_arguments(operator: Access) -> Iterator[Callable[..., None]]:
    """A function that gives the deployed operator more arguments, until the end of the test."""
    yield lambda *arguments: deploy_operator(operator, arguments=arguments)
    deploy_operator(operator)
