from __future__ import annotations

from typing import Any

from clockwork import OwnedThread, StopToken
from examples.controller.controller import CONFIG_MAPS, run
from informers.testing import FakeApiServer


def a_config_map(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "team", "labels": {"greet": "yes"}}, **fields}


def greeting(server: FakeApiServer, name: str) -> str | None:
    found = server.find(CONFIG_MAPS, "team", name)
    return found.get("data", {}).get("greeting") if found else None


def test_the_example_greets_what_is_there_what_comes_and_what_is_spoilt() -> None:
    stop = StopToken()
    with FakeApiServer(CONFIG_MAPS) as server, server.transport() as api:
        server.put(CONFIG_MAPS, a_config_map("early"))
        server.put(CONFIG_MAPS, {"metadata": {"name": "unlabelled", "namespace": "team"}})
        controller = OwnedThread("controller", lambda: run(api, stop)).start()
        server.await_requests(1, "patch")
        server.put(CONFIG_MAPS, a_config_map("late"))
        server.await_requests(2, "patch")
        server.put(CONFIG_MAPS, a_config_map("early", data={"greeting": "Go away"}))
        server.await_requests(3, "patch")
        stop.set("the test is over")
        assert controller.join(20)
        assert controller.error is None
        assert [greeting(server, name) for name in ("early", "late")] == ["Hello, early", "Hello, late"]
        assert greeting(server, "unlabelled") is None
