from collections.abc import Mapping

import pytest

from hack.cluster.choice import KINDS, Kind, choose


@pytest.mark.parametrize(
    ("asked", "environment", "against_kind", "kind", "reason"),
    [
        pytest.param(None, {"KUBECONFIG": "/k"}, "", "existing", "KUBECONFIG=/k", id="a kubeconfig that is named wins"),
        pytest.param(None, {}, "", "kind", "Docker engine", id="kind is next where it can run"),
        pytest.param(
            None, {}, "kind is not on PATH", "local", "kind is not on PATH", id="else the local one, saying why"
        ),
        pytest.param(None, {"KUBECONFIG": ""}, "x", "local", "x", id="an empty KUBECONFIG names nothing"),
        pytest.param("local", {"KUBECONFIG": "/k"}, "", "local", "--cluster=local", id="what is asked for beats all"),
        pytest.param(
            "kind", {}, "kind is not on PATH", "kind", "--cluster=kind", id="even what cannot work, to say so"
        ),
    ],
)
def test_the_cluster_taken_and_why(
    asked: Kind | None, environment: Mapping[str, str], against_kind: str, kind: Kind, reason: str
) -> None:
    choice = choose(asked, environment, lambda: against_kind)
    assert choice.kind == kind
    assert reason in str(choice)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_not_looked_for_when_a_cluster_is_named(kind: Kind) -> None:
    def fail() -> str:
        raise AssertionError

    assert choose(kind, {}, fail).kind == kind
