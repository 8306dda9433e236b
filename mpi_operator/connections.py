"""The two connections of a process: one for its work, one for the leader election alone (B286, informers.md 1.12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from clockwork import Clock
from informers.api import Api
from informers.transport.configuration import load_configuration
from informers.transport.options import TransportOptions
from informers.transport.transport import Transport
from mpi_operator import names
from mpi_operator.options import Options
from mpi_operator.version import read_version

_WATCHES = 8
_SPARE = 4
_ELECTION_POOL_SIZE = 4


class Connections(msgspec.Struct, frozen=True, kw_only=True):
    """The connection for informers and syncs, and the one that nobody but the election waits for."""

    api: Api
    election_api: Api


@contextmanager
def open_connections(
    options: Options,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    parallel_writes: int,
    on_throttled: Callable[[float], None],
) -> Iterator[Connections]:
    """Find the server and open both connections for a block.

    `on_throttled` is told the seconds that a request waited for --kube-api-qps. Raises
    `informers.transport.configuration.ConfigurationError` when there is no server to be found.
    """
    configuration = load_configuration(
        kubeconfig=options.kubeconfig, master=options.master, environ=environment, clock=clock
    )
    agent = f"{names.OPERATOR_NAME}/{read_version(environment).version}"
    work = TransportOptions(
        pool_size=options.threadiness + parallel_writes + _WATCHES + _SPARE,
        qps=max(0.0, options.kube_api_qps),
        burst=max(0, options.kube_api_burst),
        user_agent=agent,
    )
    election = TransportOptions(pool_size=_ELECTION_POOL_SIZE, user_agent=f"{agent}/leader-election")
    with (
        Transport(configuration, work, clock=clock, on_throttled=on_throttled) as api,
        Transport(configuration, election, clock=clock) as election_api,
    ):
        yield Connections(api=api, election_api=election_api)
