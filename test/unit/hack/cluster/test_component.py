from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.component import Component, is_healthy, kill_process, log_tail
from hack.cluster.errors import ClusterError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "program.log"


@pytest.fixture
def program(log: Path) -> Iterator[Component]:
    component = Component("program", ["sh", "-c", "echo started; exec cat /dev/zero >/dev/null"], log)
    yield component
    component.stop()


def test_a_program_that_ends_while_starting_is_reported_with_its_log(log: Path) -> None:
    component = Component("etcd", ["sh", "-c", "echo port 2379 is in use; exit 4"], log)
    with pytest.raises(ClusterError, match=r"etcd ended with code 4 while it was starting(?s:.*)port 2379 is in use"):
        component.await_ready(lambda: False, 10)


def test_a_program_that_never_gets_ready_is_reported_with_its_log(program: Component) -> None:
    with pytest.raises(ClusterError, match=r"program was not ready after 0 s(?s:.*)program.log"):
        program.await_ready(lambda: False, 0.2)


def test_a_stopped_program_is_gone_and_stopping_again_is_nothing(program: Component) -> None:
    program.await_ready(lambda: "started" in log_tail(program.log), 10)
    program.stop()
    assert program.exit_code() is not None
    program.stop()


def test_a_process_that_is_gone_can_be_killed_again(program: Component) -> None:
    program.stop()
    kill_process(program.pid)


def test_a_log_that_is_not_there_reads_as_empty(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "none") == "  (empty)"


def test_nobody_listening_is_not_healthy() -> None:
    assert not is_healthy("127.0.0.1", 1, "/readyz")
