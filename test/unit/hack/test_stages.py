import sys

import pytest

from hack.stages import Outcome, Stage, build_stages, build_summary, run_stage, runner_summary


def test_the_kind_of_cluster_reaches_only_the_stage_that_needs_one() -> None:
    with_option = [stage.name for stage in build_stages("local") if "--cluster=local" in stage.command]
    assert with_option == ["e2e"]
    assert not [stage for stage in build_stages(None) if "--cluster" in " ".join(stage.command)]


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        pytest.param("== 3 passed in 0.1s ==\n", "3 passed in 0.1s", id="all passed"),
        pytest.param("= 1 failed, 2 passed in 1s =\nnoise\n", "1 failed, 2 passed in 1s", id="some failed"),
        pytest.param("Success: no issues found\n", "", id="no test runner"),
    ],
)
def test_the_last_line_of_the_test_runner_is_kept(output: str, summary: str) -> None:
    assert runner_summary(output) == summary


def test_a_stage_shows_its_output_and_keeps_its_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = run_stage(Stage("sample", (sys.executable, "-c", "print('== 1 passed in 0s =='); raise SystemExit(3)")))
    assert (outcome.code, outcome.summary) == (3, "1 passed in 0s")
    assert "1 passed" in capfd.readouterr().out


def test_the_summary_ends_with_how_many_stages_passed_and_failed() -> None:
    lines = build_summary([Outcome("lint", 0, 2.0), Outcome("unit", 1, 30.0, "1 failed")]).splitlines()
    assert lines[-1] == "stages: 1 passed, 1 failed"
    assert lines[2].split() == ["lint", "ok", "2", "s"]
    assert lines[3].split() == ["unit", "FAILED", "(1)", "30", "s", "1", "failed"]
