"""The operator as a process of its own, as users run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from clockwork import OwnedThread

LIMIT_SECONDS = 30.0
LEADING = "leading; the workers run"
FILLED = "the caches are filled"


class OperatorProcess:
    """A running operator; its log is read as it comes. A context manager, which stops it and shows its log."""

    def __init__(self, *arguments: str, kubeconfig: Path | None = None, **environment: str) -> None:
        inherited = {key: value for key, value in os.environ.items() if key not in {"KUBECONFIG", "POD_NAMESPACE"}}
        flags = [] if kubeconfig is None else [f"--kubeConfig={kubeconfig}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mpi_operator", "--health-port=0", *flags, *arguments],
            env={**inherited, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._is_over = False
        self._reader = OwnedThread("operator log", self._read).start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        sys.stdout.write(self.log)
        if self._process.stderr is not None:
            self._process.stderr.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        with self._changed:
            return "".join(self._lines)

    def records(self) -> list[dict[str, Any]]:
        """The log's lines that are JSON."""
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    def await_log(self, text: str) -> None:
        """Wait until a line contains the text."""
        with self._changed:
            seen = self._changed.wait_for(
                lambda: self._is_over or any(text in line for line in self._lines), LIMIT_SECONDS
            )
        assert seen, f"not logged within {LIMIT_SECONDS} s: {text}\n{self.log[-4000:]}"
        assert text in self.log, f"the operator ended without logging {text}\n{self.log[-4000:]}"

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        return self._process.wait(LIMIT_SECONDS)

    def stop(self) -> int:
        """Stop it as the kubelet does, and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()
