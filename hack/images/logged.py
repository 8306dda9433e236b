"""Runs a program whose output goes to a log file, saying now and then that it still runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from hack.cluster.errors import ClusterError

Echo = Callable[[str], None]

PROGRESS_SECONDS = 15.0
_TAIL_LINES = 20


def _tail(log: Path, lines: int) -> list[str]:
    return [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-lines:]


def run_logged(
    command: Sequence[str], *, log: Path, doing: str, echo: Echo = print, progress_seconds: float = PROGRESS_SECONDS
) -> None:
    """Run `command`, appending its output to `log`.

    Echoes the log's last line every `progress_seconds`. Raises ClusterError, which says what was being done, with the
    log's last lines when the command fails. When interrupted, the program has ended before this function is left.
    """
    with (
        log.open("ab") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process,
    ):
        try:
            _wait(process, log, doing, echo, progress_seconds)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        tail = "\n".join(_tail(log, _TAIL_LINES))
        raise ClusterError(f"{doing} failed: {command[0]} exited with {process.returncode}; the end of {log}:\n{tail}")


def _wait(process: subprocess.Popen[bytes], log: Path, doing: str, echo: Echo, progress_seconds: float) -> None:
    while True:
        try:
            process.wait(progress_seconds)
        except subprocess.TimeoutExpired:
            echo(f"  {doing}: {' '.join(_tail(log, 1))[:120]}")
        else:
            return
