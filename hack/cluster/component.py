"""One running program of a cluster: its log, its readiness, its end."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from hack.cluster.errors import ClusterError

STOP_SECONDS = 10.0
LOG_TAIL_LINES = 25
POLL_SECONDS = 0.05


class Component:
    """A program that was started with its output in a log file; the owner calls `stop()`.

    The program is ended by the kernel when the thread that started it ends, so that nothing outlives a killed test;
    a `detached` one lives on. Not thread-safe.
    """

    _outliving: ClassVar[list[subprocess.Popen[bytes]]] = []
    """The detached ones: kept, so that they can be waited for if they end before this process."""

    def __init__(self, name: str, command: Sequence[str], log: Path, *, detached: bool = False) -> None:
        self.name = name
        self.log = log
        prefix = [] if detached else ["setpriv", "--pdeathsig", "KILL"]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*prefix, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        if detached:
            self._outliving[:] = [process for process in self._outliving if process.poll() is None]
            self._outliving.append(self._process)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        return self._process.poll()

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """End the program: by `signal_number`, then by SIGKILL after 10 s. Does nothing when it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(signal_number)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def failure(self, what: str) -> ClusterError:
        """Return the error that says `what` went wrong with this component, with the end of its log."""
        return ClusterError(f"{self.name} {what}; the end of its log {self.log}:\n{log_tail(self.log)}")

    def await_ready(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Poll until `is_ready()`; raise ClusterError when the program ends first or `seconds` have passed."""

        def state() -> bool:
            code = self.exit_code()
            if code is not None:
                raise self.failure(f"ended with code {code} while it was starting")
            return is_ready()

        await_true(state, seconds, lambda: self.failure(f"was not ready after {seconds:.0f} s"))


def log_tail(log: Path, lines: int = LOG_TAIL_LINES) -> str:
    """Return the last lines of a log file, indented; a note when there is none."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join("  " + line[:400] for line in text.splitlines()[-lines:]) or "  (empty)"


def await_true(is_true: Callable[[], bool], seconds: float, error: Callable[[], Exception]) -> None:
    """Poll `is_true` until it says so; raise `error()` after `seconds`. What `is_true` raises comes out at once."""
    try:
        Retrying(
            retry=retry_if_result(lambda result: not result),
            stop=stop_after_delay(seconds),
            wait=wait_fixed(POLL_SECONDS),
        )(is_true)
    except RetryError:
        raise error() from None


def is_healthy(address: str, port: int, path: str, *, tls: bool = True) -> bool:
    """Return whether an HTTP GET answers 200; certificates are not checked."""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - a readiness probe of our own process
    connection: http.client.HTTPConnection
    if tls:
        connection = http.client.HTTPSConnection(address, port, timeout=2, context=context)
    else:
        connection = http.client.HTTPConnection(address, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def kill_process(pid: int, seconds: float = STOP_SECONDS) -> None:
    """Kill a process that is not our child and wait until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    deadline = time.monotonic() + seconds
    await_true(
        lambda: not Path(f"/proc/{pid}").exists(),
        deadline - time.monotonic(),
        lambda: ClusterError(f"process {pid} did not end within {seconds:.0f} s of SIGKILL"),
    )
