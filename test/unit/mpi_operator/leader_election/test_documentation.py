"""The page about leader election tells of the defaults that there are, in code that can run."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from mpi_operator.leader_election import End
from test.builders.lease_server import options

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "leader-election.md").read_text()


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("lease duration", options().lease_duration_seconds),
        ("renew deadline", options().renew_deadline_seconds),
        ("retry period", options().retry_period_seconds),
        ("request timeout", options().request_timeout_seconds),
    ],
)
def test_the_table_of_times_shows_the_defaults(name: str, seconds: float) -> None:
    assert f"| {name} | {seconds:g} s |" in PAGE


def test_every_end_is_told_of() -> None:
    assert [end.name for end in End if f"`{end.name}`" not in PAGE] == []


def test_what_the_example_imports_is_there() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    assert imports
    for node in imports:
        module = importlib.import_module(node.module or "")
        assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
