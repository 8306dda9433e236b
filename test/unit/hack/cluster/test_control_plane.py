import json

import pytest

from hack.cluster.control_plane import build_audit_policy, free_ports


@pytest.mark.parametrize(
    ("users", "rules"),
    [
        pytest.param(None, [{"level": "Metadata"}], id="everybody is audited"),
        pytest.param((), [{"level": "None"}], id="nobody is audited"),
        pytest.param(("bob",), [{"level": "Metadata", "users": ["bob"]}, {"level": "None"}], id="one user is audited"),
    ],
)
def test_the_audit_policy_names_whom_it_follows(users: tuple[str, ...] | None, rules: list[dict[str, object]]) -> None:
    assert json.loads(build_audit_policy(users))["rules"] == rules


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
