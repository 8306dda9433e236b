import os
import signal
from collections.abc import Callable

import pytest

from hack.cluster.errors import ClusterError
from hack.command_line import run_command


def fail() -> None:
    raise ClusterError("no disk; free some space")


def be_sent(number: signal.Signals) -> Callable[[], None]:
    def command() -> None:
        os.kill(os.getpid(), number)
        signal.pause()

    return command


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        pytest.param(lambda: None, 0, "", id="a command that succeeds says nothing more"),
        pytest.param(fail, 1, "error: no disk; free some space\n", id="a failure says what it is and what to do"),
        pytest.param(be_sent(signal.SIGINT), 130, "interrupted; all is well\n", id="Ctrl-C says what is left"),
        pytest.param(be_sent(signal.SIGTERM), 130, "interrupted; all is well\n", id="so does a polite end"),
    ],
)
def test_how_a_command_ends(
    capsys: pytest.CaptureFixture[str], command: Callable[[], None], code: int, said: str
) -> None:
    assert run_command(command, interrupted="all is well") == code
    assert capsys.readouterr().err == said


def test_an_interruption_is_heeded_where_the_shell_had_it_ignored_and_the_handlers_come_back() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run_command(be_sent(signal.SIGINT), interrupted="") == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
