"""How a transport behaves, whatever server it talks to."""

from __future__ import annotations

import msgspec


class TransportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times are in seconds.

    connect_timeout: for making a connection, TLS included.
    request_timeout: for the wait for each part of an answer, and for the whole of it, where a request names no timeout.
    idle_timeout: for the silence of a watch that names none.
    pool_size: connections kept for reuse. Each watch occupies one: workers + watches + 4 is a good size. More are made
      when needed, and closed after use.
    keepalive_idle, keepalive_interval, keepalive_count: TCP probes begin after that silence, so far apart, so many; a
      dead peer is found within idle + interval x count, whether or not something is being sent.
    qps, burst: the limit on this side, for all but watches; 0 for none, and the default: the server has its own, and
      says when to come again. `burst` 0 means twice the rate, at least 1.
    accept_gzip: ask for compressed answers, except of watches. Worth it only where the network is slow.
    user_agent: how the server's audit log and metrics name this client.
    """

    connect_timeout: float = 5.0
    request_timeout: float = 30.0
    idle_timeout: float = 150.0
    pool_size: int = 16
    keepalive_idle: int = 15
    keepalive_interval: int = 10
    keepalive_count: int = 3
    qps: float = 0.0
    burst: int = 0
    accept_gzip: bool = False
    user_agent: str = "informers"
