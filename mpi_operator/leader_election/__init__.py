"""Leader election on a Lease that counts elapsed time only, and gives the Lease back after the work has ended."""

from mpi_operator.leader_election.config import Callbacks, Options, build_identity
from mpi_operator.leader_election.elector import Elector
from mpi_operator.leader_election.health import Health
from mpi_operator.leader_election.metrics import Metrics
from mpi_operator.leader_election.outcome import End, Outcome

__all__ = ["Callbacks", "Elector", "End", "Health", "Metrics", "Options", "Outcome", "build_identity"]
