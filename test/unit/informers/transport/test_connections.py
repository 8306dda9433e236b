import socket
from collections.abc import Iterator

import pytest

from informers.testing import FakeApiServer
from informers.transport import ServerConfiguration, TransportOptions
from informers.transport.connections import (
    Interrupted,
    InterruptibleConnection,
    Interruption,
    build_pools,
    build_socket_options,
)
from test.builders.items import PODS


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer(PODS) as server:
        yield server


@pytest.fixture
def connection(server: FakeApiServer) -> Iterator[InterruptibleConnection]:
    connection = InterruptibleConnection("127.0.0.1", int(server.url.rpartition(":")[2]))
    yield connection
    connection.close()


def get(connection: InterruptibleConnection, interruption: Interruption) -> int:
    with interruption.installed():
        connection.request("GET", "/version")
    return connection.getresponse().status


def test_an_interruption_leaves_alone_what_works_for_another(
    server: FakeApiServer, connection: InterruptibleConnection
) -> None:
    first, second = Interruption(), Interruption()
    get(connection, first)
    with second.installed():
        connection.request("GET", "/version")
    first.interrupt()
    assert connection.getresponse().status == 200
    assert server.accepted_connections == 1


def test_a_connection_that_was_shut_while_idle_connects_anew(
    server: FakeApiServer, connection: InterruptibleConnection
) -> None:
    first = Interruption()
    get(connection, first)
    first.interrupt()
    assert get(connection, Interruption()) == 200
    assert server.accepted_connections == 2


def test_an_interrupted_request_sends_nothing(server: FakeApiServer, connection: InterruptibleConnection) -> None:
    interruption = Interruption()
    interruption.interrupt()
    with pytest.raises(Interrupted):
        get(connection, interruption)
    assert server.requests == ()


def test_1_1_4_the_kernel_looks_for_dead_peers(server: FakeApiServer) -> None:
    options = TransportOptions(keepalive_idle=11, keepalive_interval=7, keepalive_count=2)
    with build_pools(ServerConfiguration(url=server.url), None, options) as pools:
        connected = pools.connection_from_url(server.url)._get_conn()
        assert isinstance(connected, InterruptibleConnection)
        connected.connect()
        found = {
            name: connected.sock.getsockopt(level, getattr(socket, name))
            for level, name in (
                (socket.SOL_SOCKET, "SO_KEEPALIVE"),
                (socket.IPPROTO_TCP, "TCP_NODELAY"),
                (socket.IPPROTO_TCP, "TCP_KEEPIDLE"),
                (socket.IPPROTO_TCP, "TCP_KEEPINTVL"),
                (socket.IPPROTO_TCP, "TCP_KEEPCNT"),
                (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT"),
            )
        }
        connected.close()
    assert found == {
        "SO_KEEPALIVE": 1,
        "TCP_NODELAY": 1,
        "TCP_KEEPIDLE": 11,
        "TCP_KEEPINTVL": 7,
        "TCP_KEEPCNT": 2,
        "TCP_USER_TIMEOUT": 25_000,
    }


def test_1_1_4_by_default_a_dead_peer_is_found_within_45_seconds() -> None:
    assert (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 45_000) in build_socket_options(TransportOptions())
