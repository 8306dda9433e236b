"""The form of the log (lifecycle.md 11)."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from mpi_operator.logging import configure_logging


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    configuration = structlog.get_config()
    yield
    structlog.configure(**configuration)
    root.handlers[:] = handlers
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_JSON_unless_somebody_watches() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    structlog.get_logger().info("something happened", key="a/b")
    line = json.loads(stream.getvalue())
    assert (line["event"], line["key"], line["level"]) == ("something happened", "a/b", "info")
    assert line["timestamp"].endswith("Z")


def test_a_terminal_gets_columns() -> None:
    stream = Terminal()
    configure_logging(stream)
    structlog.get_logger().info("something happened")
    assert "something happened" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_the_form_may_be_chosen() -> None:
    stream = Terminal()
    configure_logging(stream, log_format="json")
    structlog.get_logger().info("x")
    assert json.loads(stream.getvalue())["event"] == "x"


@pytest.mark.parametrize(("level", "expected"), [("debug", 3), ("info", 2), ("warning", 1), ("error", 0)])
def test_lower_levels_are_left_out(level: str, expected: int) -> None:
    stream = io.StringIO()
    configure_logging(stream, level=level)  # type: ignore[arg-type]
    log = structlog.get_logger()
    log.debug("a")
    log.info("b")
    log.warning("c")
    assert len(stream.getvalue().splitlines()) == expected


def test_a_traceback_stays_in_its_line() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    try:
        int("broken")
    except ValueError:
        structlog.get_logger().exception("it failed")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError: invalid literal" in json.loads(line)["exception"]


def test_warnings_of_other_packages_are_logged_alike() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    logging.getLogger("urllib3").warning("pool is full")
    logging.getLogger("urllib3").info("not this")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "pool is full"
