from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from mpi_operator.leader_election.config import Callbacks, Options, build_identity
from test.builders.lease_server import options


def test_B288_B289_the_defaults_are_the_documented_ones() -> None:
    defaults = Options(namespace="ns", identity="me")
    assert defaults.name == "mpi-operator"
    assert defaults.lease_duration_seconds == 15
    assert defaults.renew_deadline_seconds == 10
    assert defaults.retry_period_seconds == 2


def test_B290_the_identity_is_host_and_uuid() -> None:
    unique = UUID("12345678-1234-5678-1234-567812345678")
    assert build_identity("host-0", unique) == "host-0_12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        pytest.param({"renew_deadline_seconds": 15}, "lease duration 15.0 s is not above", id="E12 renew equals lease"),
        pytest.param({"renew_deadline_seconds": 16}, "lease duration 15.0 s is not above", id="E12 renew above lease"),
        pytest.param({"renew_deadline_seconds": 2.4}, "is not above 1.2 x", id="E12 renew equals 1.2 times retry"),
        pytest.param({"retry_period_seconds": 9}, "is not above 1.2 x", id="E12 renew below 1.2 times retry"),
        pytest.param({"lease_duration_seconds": 0}, "lease duration is 0 s", id="E12 a zero lease"),
        pytest.param({"renew_deadline_seconds": 0}, "renew deadline is 0 s", id="E12 a zero renew deadline"),
        pytest.param({"retry_period_seconds": 0}, "retry period is 0 s", id="E12 a zero retry period"),
        pytest.param({"retry_period_seconds": -1}, "retry period is -1 s", id="E12 a negative retry period"),
        pytest.param({"renew_deadline_seconds": float("nan")}, "renew deadline is nan s", id="E12 not a number"),
        pytest.param({"lease_duration_seconds": float("inf")}, "lease duration is inf s", id="E12 an endless lease"),
        pytest.param(
            {"lease_duration_seconds": 0.9, "renew_deadline_seconds": 0.6, "retry_period_seconds": 0.1},
            "expected whole seconds, at least 1",
            id="E12 a lease below one second",
        ),
        pytest.param({"lease_duration_seconds": 15.5}, "expected whole seconds", id="E12 a lease in half seconds"),
        pytest.param({"identity": ""}, "identity is empty", id="E12 an empty identity"),
        pytest.param({"name": ""}, "name is empty", id="E12 an empty name"),
        pytest.param({"namespace": ""}, "namespace is empty", id="E12 an empty namespace"),
    ],
)
def test_E12_options_that_cannot_elect_safely_are_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        options(**changes)


def test_E12_every_fault_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"identity is empty.*retry period is 0 s"):
        options(identity="", retry_period_seconds=0)


@pytest.mark.parametrize("missing", ["on_started", "stop_workers", "on_stopped", "on_new_leader"])
def test_E12_a_missing_callback_is_refused(missing: str) -> None:
    functions: dict[str, Any] = {
        "on_started": lambda _: None,
        "stop_workers": lambda _: True,
        "on_stopped": lambda: None,
    }
    with pytest.raises(TypeError, match=f"{missing} is None; expected a function"):
        Callbacks(**{**functions, missing: None})


@pytest.mark.parametrize(("renew_deadline", "timeout"), [(10, 5), (5, 2.5), (1.5, 1)])
def test_a_request_may_take_half_the_renew_deadline_but_a_second_at_least(
    renew_deadline: float, timeout: float
) -> None:
    chosen = options(renew_deadline_seconds=renew_deadline, retry_period_seconds=1)
    assert chosen.request_timeout_seconds == timeout
