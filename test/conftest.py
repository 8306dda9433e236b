"""What all tests share: the choice of cluster, and the check that no test leaves a thread behind."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, as deselected, the tests that start a local cluster where another kind of cluster was chosen."""
    if config.stash[_CHOICE].kind == "local":
        return
    left_out = [item for item in items if item.get_closest_marker("own_local_cluster")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Access:
    """The cluster that was chosen, running; it is left running for the next time."""
    return open_cluster(pytestconfig.stash[_CHOICE])


def _open_sockets() -> set[str]:
    links = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this listing itself
            links.add(str(path.readlink()))
    return {link for link in links if link.startswith("socket:")}


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fail the session when a thread or a socket outlives its owner (informers.md 0.3)."""
    threads, sockets = set(threading.enumerate()), _open_sockets()
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in threads and thread.is_alive()]
    assert not left, f"threads left behind: {left}"
    gc.collect()
    assert not _open_sockets() - sockets, f"sockets left behind: {_open_sockets() - sockets}"
