"""docs/operations.md says what is true."""

from __future__ import annotations

import re
from pathlib import Path

from mpi_operator.metrics import Metrics
from mpi_operator.options import SETTINGS, build_default_text

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()


def test_the_table_of_flags_is_that_of_the_operator() -> None:
    wanted = [
        (
            f"`--{setting.name}`",
            f"`{build_default_text(setting)}`" if build_default_text(setting) else "",
            f"`{setting.environment}`" if setting.environment else "",
            setting.meaning,
        )
        for setting in SETTINGS
    ]
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| `--")]
    assert [(row[0], row[1].strip(), row[2].strip(), row[-1]) for row in rows] == wanted


def test_every_series_of_the_operator_is_described() -> None:
    families = {family.name for family in Metrics().registry.collect() if family.name.startswith("mpi_operator_")}
    described = set(re.findall(r"mpi_operator_\w+", PAGE))
    assert {name for name in families if not {name, f"{name}_total"} & described} == set()
