"""Probes over real HTTP (B296-B300)."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from mpi_operator.health import Check, build_health_pages
from mpi_operator.http_server import HttpServer, Page, PortUnavailable


@contextmanager
def serving(pages: Mapping[str, Callable[[Mapping[str, str]], Page]]) -> Iterator[HttpServer]:
    server = HttpServer("test", pages, bind_address="127.0.0.1", port=0)
    try:
        yield server
    finally:
        server.close()


def get(server: HttpServer, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def ask(path: str, *, leader_election: Check = lambda: None, **readiness: Check) -> tuple[int, str]:
    with serving(build_health_pages(leader_election=leader_election, readiness=readiness)) as server:
        return get(server, path)


@pytest.mark.parametrize("path", ["/healthz", "/healthz/leaderElection", "/healthz?verbose"])
def test_B296_a_live_process_says_ok(path: str) -> None:
    assert ask(path) == (200, "ok")


@pytest.mark.parametrize("path", ["/healthz", "/healthz/leaderElection"])
def test_B297_a_leader_that_cannot_renew_is_not_healthy(path: str) -> None:
    assert ask(path, leader_election=lambda: "not renewed") == (500, "[-]leaderElection: not renewed\n")


def test_B300_ready_means_that_every_check_passes() -> None:
    assert ask("/readyz", caches=lambda: None, crd=lambda: None) == (200, "[+]caches ok\n[+]crd ok\n")


def test_B300_what_is_not_ready_is_named_in_one_line() -> None:
    assert ask("/readyz", caches=lambda: "pods:\n  refused", crd=lambda: None) == (
        503,
        "[-]caches: pods: refused\n[+]crd ok\n",
    )


def test_an_unknown_path_is_not_found() -> None:
    assert ask("/debug")[0] == 404


def test_a_HEAD_request_gets_no_body() -> None:
    with serving({"/x": lambda _: Page(b"text")}) as server:
        assert get(server, "/x", "HEAD") == (200, "")


def test_B299_a_port_in_use_is_told_with_its_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            PortUnavailable, match=rf"cannot serve health on 127\.0\.0\.1, port {port}: .*free the port"
        ):
            HttpServer("health", {}, bind_address="127.0.0.1", port=port)


def test_all_addresses_are_served_unless_one_is_named() -> None:
    server = HttpServer("test", {"/x": lambda _: Page(b"here")}, bind_address="", port=0)
    try:
        assert get(server, "/x") == (200, "here")
    finally:
        server.close()


def test_closing_does_not_wait_for_a_silent_client() -> None:
    server = HttpServer("test", {}, bind_address="127.0.0.1", port=0)
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        get(server, "/")  # by now the silent connection, which came first, has been accepted
        server.close()
        assert silent.recv(1) == b""


def test_a_page_that_fails_does_not_end_the_server() -> None:
    def fail(_: Mapping[str, str]) -> Page:
        raise RuntimeError("a bug")

    with serving({"/bad": fail, "/good": lambda _: Page(b"good")}) as server:
        with pytest.raises(http.client.RemoteDisconnected):
            get(server, "/bad")
        assert get(server, "/good") == (200, "good")
