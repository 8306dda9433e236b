"""Two candidates before one server, with everything a network and a clock may do to them.

The candidates run the real decisions. A rule lets time go by, starts an attempt, has the server handle a request,
delivers an answer or loses it; a candidate for which no rule is chosen is paused. Each candidate's clock has a rate of
its own, up to the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clockwork import StopToken
from informers.errors import ApiError, ConnectionLost
from mpi_operator.leader_election.attempt import Attempt, Memory, Moment, Read, Reply, Request, Verdict, attempt
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.lease import Lease
from mpi_operator.leader_election.release import Release, release
from mpi_operator.leader_election.term import is_leading
from test.builders.lease_server import LeaseServer, options

TOLERANCE = 15 / 10
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
SECONDS = st.one_of(st.sampled_from([1.0, 2.0, 5.0, 8.0, 9.9, 10.0, 14.9, 15.0]), st.floats(0, 30))
CANDIDATES = st.sampled_from([0, 1])


class Candidate:
    """One process: its memory, its clock, and the request it has under way."""

    def __init__(self, server: LeaseServer, number: int, rate: float, offset: float) -> None:
        self._server = server
        self._number = number
        self._rate = rate
        self._offset = offset
        self.restart(0)

    def restart(self, incarnation: int) -> None:
        """Start again as another process: nothing is remembered."""
        self.incarnation = incarnation
        self.options = options(identity=f"candidate-{self._number}-{incarnation}")
        self.client = LeaseClient(self._server, self.options)
        self.memory = Memory()
        self.is_done = False
        self.steps: Generator[Request, Reply, Attempt | Release] | None = None
        self.request: Request | None = None
        self.answer: Lease | ApiError | None = None
        self.sent_at = 0.0

    def now(self, true_seconds: float) -> float:
        """Return what its clock shows."""
        return self._offset + true_seconds * self._rate

    def moment(self, true_seconds: float) -> Moment:
        """Return both its clocks; the one on the wall is wrong by its offset."""
        now = self.now(true_seconds)
        return Moment(now, EPOCH + timedelta(seconds=now))

    def is_leader(self, true_seconds: float) -> bool:
        """Return whether it would act."""
        return is_leading(self.memory.term, self.now(true_seconds))

    def begin(self, true_seconds: float) -> None:
        """Start an attempt: its first request is under way."""
        self.steps = attempt(self.memory, self.options, self.moment(true_seconds))
        self._send(next(self.steps), true_seconds)

    def begin_release(self, true_seconds: float) -> None:
        """Stop in order: the work has ended, the Lease is given back."""
        self.memory = Memory()
        self.is_done = True
        self.steps = release(self.options.identity)
        self._send(next(self.steps), true_seconds)

    def _send(self, request: Request, true_seconds: float) -> None:
        self.request = request
        self.answer = None
        self.sent_at = self.now(true_seconds)

    def reach_server(self) -> None:
        """Have the server handle the request under way."""
        assert self.request is not None
        try:
            self.answer = self.client.send(self.request, timeout=5, stop=StopToken())
        except ApiError as error:
            self.answer = error
        self.request = None

    def receive(self, answer: Lease | ApiError, true_seconds: float) -> None:
        """Go on with `answer`."""
        assert self.steps is not None
        self.answer = None
        try:
            self._send(self.steps.send(Reply(self.sent_at, self.moment(true_seconds), answer)), true_seconds)
        except StopIteration as end:
            self.steps = self.request = None
            if isinstance(end.value, Attempt):
                self.memory = end.value.memory
                self.is_done = end.value.verdict is Verdict.LOST


class Election(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.server = LeaseServer()
        self.true_seconds = 0.0
        self.transitions = 0
        self.candidates: list[Candidate] = []
        self.underway: list[tuple[LeaseClient, Request]] = []
        self.holders: dict[int, str] = {}

    def is_any(self, is_so: Callable[[Candidate], bool]) -> bool:
        return any(is_so(candidate) for candidate in self.candidates)

    @initialize(
        rates=st.tuples(st.floats(0.5, 2.0), st.sampled_from([1 / TOLERANCE, 1.0, TOLERANCE])),
        offsets=st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000)),
    )
    def set_clocks(self, rates: tuple[float, float], offsets: tuple[float, float]) -> None:
        # A hair inside the tolerance, for the sake of rounding.
        first, ratio = rates[0], 1 + (rates[1] - 1) * 0.999
        self.candidates = [
            Candidate(self.server, 0, first, offsets[0]),
            Candidate(self.server, 1, first * ratio, offsets[1]),
        ]

    @rule(seconds=SECONDS)
    def let_time_go_by(self, seconds: float) -> None:
        was_leader = [candidate.is_leader(self.true_seconds) for candidate in self.candidates]
        self.true_seconds += seconds
        for before, candidate in zip(was_leader, self.candidates, strict=True):
            # Time alone never makes a leader.
            assert before or not candidate.is_leader(self.true_seconds)

    @rule(number=CANDIDATES)
    def begin(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.steps is None and not candidate.is_done:
            candidate.begin(self.true_seconds)

    @precondition(lambda self: self.is_any(lambda c: c.request is not None))
    @rule(number=CANDIDATES, deliver=st.booleans())
    def reach_server(self, number: int, deliver: bool) -> None:
        candidate = self.candidates[number]
        if candidate.request is not None:
            candidate.reach_server()
            if deliver:
                self.deliver(number)

    @rule(number=CANDIDATES)
    def complete(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.steps is None and not candidate.is_done:
            candidate.begin(self.true_seconds)
        while candidate.request is not None:
            candidate.reach_server()
            self.deliver(number)

    @rule(number=CANDIDATES, seconds=SECONDS)
    def write_slowly_while_the_other_looks(self, number: int, seconds: float) -> None:
        candidate = self.candidates[number]
        if candidate.steps is None and not candidate.is_done:
            candidate.begin(self.true_seconds)
        while candidate.request is not None:
            is_write = not isinstance(candidate.request, Read)
            candidate.reach_server()
            if is_write:
                self.complete(1 - number)
                self.let_time_go_by(seconds)
            self.deliver(number)

    @precondition(lambda self: self.is_any(lambda c: c.answer is not None))
    @rule(number=CANDIDATES)
    def deliver(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.answer is not None:
            self._receive(candidate, candidate.answer)

    @precondition(lambda self: self.is_any(lambda c: c.steps is not None))
    @rule(number=CANDIDATES)
    def give_up_waiting(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.steps is not None:
            if candidate.request is not None:
                self.underway.append((candidate.client, candidate.request))
            self._receive(candidate, ConnectionLost("reset"))

    @precondition(lambda self: self.underway)
    @rule()
    def a_request_that_was_given_up_arrives(self) -> None:
        client, request = self.underway.pop(0)
        with suppress(ApiError):
            client.send(request, timeout=5, stop=StopToken())

    def _receive(self, candidate: Candidate, answer: Lease | ApiError) -> None:
        term, was_leader = candidate.memory.term, candidate.is_leader(self.true_seconds)
        candidate.receive(answer, self.true_seconds)
        if term is not None and candidate.is_leader(self.true_seconds):
            # A term that was over does not come back.
            assert was_leader

    @precondition(lambda self: self.is_any(lambda c: c.steps is None and c.memory.term is not None))
    @rule(number=CANDIDATES)
    def release_in_order(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.steps is None and candidate.memory.term is not None:
            candidate.begin_release(self.true_seconds)

    @precondition(lambda self: self.is_any(lambda c: c.is_done))
    @rule(number=CANDIDATES)
    def restart(self, number: int) -> None:
        candidate = self.candidates[number]
        if candidate.steps is None and candidate.is_done:
            candidate.restart(candidate.incarnation + 1)

    @invariant()
    def never_two_leaders(self) -> None:
        leaders = [c for c in self.candidates if c.is_leader(self.true_seconds)]
        assert len(leaders) < 2, f"two leaders at {self.true_seconds} s"

    @invariant()
    def transitions_never_fall_and_each_epoch_has_one_leader(self) -> None:
        if self.server.lease is None:
            return
        transitions = self.server.spec["leaseTransitions"]
        assert transitions >= self.transitions
        self.transitions = transitions
        for candidate in self.candidates:
            if candidate.is_leader(self.true_seconds):
                assert candidate.memory.term is not None
                leader = self.holders.setdefault(candidate.memory.term.epoch, candidate.options.identity)
                assert leader == candidate.options.identity


TestElection = Election.TestCase
TestElection.settings = settings(
    max_examples=120, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
