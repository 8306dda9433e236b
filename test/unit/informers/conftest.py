"""Keeps the log of each test for its asserts, and off the terminal."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[Any]]:
    """Return the structured log entries so far."""
    with capture_logs() as entries:
        yield entries
