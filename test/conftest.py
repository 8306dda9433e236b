"""What all tests share: the choice of cluster, and the check that no test leaves a thread behind."""

import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from hack.cluster.access import Access, open_cluster
from hack.cluster.choice import KINDS, Choice, choose, reason_against_kind

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

_CHOICE = pytest.StashKey[Choice]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cluster", choices=KINDS, help="which cluster e2e tests run on; see docs/development.md")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CHOICE] = choose(config.getoption("--cluster"), os.environ, reason_against_kind)


def pytest_report_header(config: pytest.Config) -> str:
    return str(config.stash[_CHOICE])


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Access:
    """The cluster that was chosen, running; it is left running for the next time."""
    return open_cluster(pytestconfig.stash[_CHOICE])


@pytest.fixture(scope="session", autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fail the session when a thread of ours outlives its owner."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not left, f"threads left behind: {[thread.name for thread in left]}"
