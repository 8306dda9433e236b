"""The elector: takes a Lease, keeps it, and gives it back once the work has ended (informers.md 1.9.5-1.9.8)."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import TypeVar

import msgspec
import structlog

from clockwork import Clock, StopToken
from informers.api import Api
from informers.errors import ApiError, Stopped
from mpi_operator.events import EventRecorder, ObjectReference
from mpi_operator.leader_election.attempt import Attempt, Memory, Moment, Reply, Request, Verdict, attempt
from mpi_operator.leader_election.client import LeaseClient
from mpi_operator.leader_election.config import JITTER_FACTOR, Callbacks, Options
from mpi_operator.leader_election.leadership import Leadership
from mpi_operator.leader_election.lease import LEASES, Lease
from mpi_operator.leader_election.metrics import Metrics, NoMetrics
from mpi_operator.leader_election.notifier import Notifier
from mpi_operator.leader_election.outcome import End, Outcome
from mpi_operator.leader_election.release import Release, release
from mpi_operator.leader_election.vacancy import Vacancy
from mpi_operator.leader_election.validity import Validity

EVENT_REASON = "LeaderElection"

T = TypeVar("T")

_log = structlog.get_logger(__name__)
_NO_METRICS = NoMetrics()


class Elector:
    """Elects one leader among the processes that share a Lease.

    Promises: two electors never say `is_leader()` at one instant while the Lease is not deleted or edited by others
    and their clocks' rates differ by less than lease_duration / renew_deadline; once False within a term,
    `is_leader()` stays False; the Lease is given back only after all work has ended. Not promised: that a write sent
    while leading arrives while leading. For that there are resourceVersions, fixed names and `epoch`.

    `api` must be the elector's own, so that no burst of other requests delays a renewal. `run()` is called once, by
    one thread; everything else is safe from any thread.
    """

    def __init__(
        self,
        api: Api,
        options: Options,
        callbacks: Callbacks,
        events: EventRecorder,
        *,
        clock: Clock,
        random: Random,
        metrics: Metrics = _NO_METRICS,
    ) -> None:
        self._options = options
        self._callbacks = callbacks
        self._events = events
        self._clock = clock
        self._random = random
        self._metrics = metrics
        self._client = LeaseClient(api, options)
        self._validity = Validity(clock)
        self._notifier = Notifier(callbacks.on_new_leader)
        self._memory = Memory()
        self._known_leader = ""
        self._has_run = False
        self._log = _log.bind(lease=f"{options.namespace}/{options.name}", identity=options.identity)

    def is_leader(self) -> bool:
        """Return whether this process may act now. Ask before each side effect; it is only a comparison."""
        return self._validity.is_leader()

    @property
    def epoch(self) -> int:
        """The Lease's transitions in the present or last term, for fencing; -1 before the first term."""
        return self._validity.epoch

    @property
    def must_stop_by(self) -> float | None:
        """The boottime at which acting ends unless the Lease is renewed; None when not in a term."""
        term = self._validity.term
        return None if term is None else term.must_stop_by

    @property
    def valid_until(self) -> float | None:
        """The boottime until which nobody else can have taken over; None when not in a term."""
        term = self._validity.term
        return None if term is None else term.valid_until

    def last_renew_age_seconds(self) -> float | None:
        """Return the seconds since the last successful renewal was sent, None when not in a term."""
        return self._validity.last_renew_age_seconds()

    def run(self, stop: StopToken) -> Outcome:
        """Acquire the Lease, lead, and return how that ended; with `stop` set it ends in order.

        What `stop_workers` or `on_stopped` raise comes out of it, without the Lease having been given back.
        """
        if self._has_run:
            raise RuntimeError("an Elector runs once; make a new one after all workers have ended")
        self._has_run = True
        try:
            if self._acquire(stop):
                return self._lead(stop)
            return Outcome(end=End.STOPPED, reason=stop.reason or "")
        finally:
            self._validity.end()
            try:
                self._notifier.close()
            finally:
                self._callbacks.on_stopped()

    def _acquire(self, stop: StopToken) -> bool:
        vacancy = Vacancy(self._client, self._options, stop, self._clock, self._random)
        try:
            while not stop.is_set():
                result = self._attempt(stop)
                if result.verdict is Verdict.HELD:
                    return True
                vacancy.wait(self._options.retry_period_seconds * (1 + JITTER_FACTOR * self._random.random()))
        except Stopped:
            pass
        finally:
            vacancy.close()
        return False

    def _lead(self, stop: StopToken) -> Outcome:
        self._announce("became leader")
        self._metrics.set_leader(self._options.name, is_leader=True)
        leadership = Leadership(self._callbacks.on_started, self._validity, self._clock)
        forget = stop.on_set(lambda: leadership.finish(End.STOPPED, stop.reason or ""))
        try:
            leadership.start()
            self._renew(leadership)
        finally:
            # Without an end so far, renewing itself broke: the work must stop all the same.
            leadership.finish(End.FAILED, "renewing the Lease failed unexpectedly")
            forget()
            self._metrics.set_leader(self._options.name, is_leader=False)
            self._log.info("stopping the work of the leader", reason=leadership.token.reason)
            workers_ended = self._stop_workers(leadership)
        end = leadership.end or End.FAILED
        may_release = workers_ended and end is not End.LOST and self._validity.seconds_valid() > 0
        self._validity.end()
        is_released = may_release and self._release()
        self._announce("stopped leading")
        return Outcome(
            end=end,
            reason=leadership.token.reason or "",
            has_led=True,
            workers_ended=workers_ended,
            is_released=is_released,
            error=leadership.error,
        )

    def _renew(self, leadership: Leadership) -> None:
        while not leadership.token.wait(self._options.retry_period_seconds):
            try:
                result = self._attempt(leadership.token)
            except Stopped:
                return
            if result.verdict is Verdict.LOST:
                leadership.finish(End.LOST, result.reason)

    def _stop_workers(self, leadership: Leadership) -> bool:
        try:
            have_stopped = self._callbacks.stop_workers(self._validity.seconds_valid())
        finally:
            has_returned = leadership.join(self._validity.seconds_valid())
        if not (have_stopped and has_returned):
            self._log.error("workers still run at the end of the term; the Lease is left to expire, exit the process")
            return False
        return True

    def _release(self) -> bool:
        """Give the Lease back, with a token of its own: the one that ended the term would cut the requests off."""
        token = StopToken(clock=self._clock)
        deadline = self._clock.boottime() + self._options.renew_deadline_seconds
        while (remaining := deadline - self._clock.boottime()) > 0:
            try:
                result = self._drive(release(self._options.identity), token, deadline)
            except TimeoutError:
                break
            if result is not Release.FAILED:
                self._log.info("finished with the Lease", release=result.value)
                return result is Release.DONE
            token.wait(min(self._options.retry_period_seconds, remaining))
        self._log.warning("the Lease could not be given back; it will expire, which delays the next leader")
        return False

    def _attempt(self, stop: StopToken) -> Attempt:
        """Make one attempt, take over what it learnt, and return it; raises Stopped."""
        result = self._drive(attempt(self._memory, self._options, self._now()), stop)
        is_renewal = self._memory.term is not None
        if result.verdict is Verdict.HELD and not self._hold(result.memory):
            forgetful = msgspec.structs.replace(result.memory, term=None)
            result = Attempt(Verdict.LOST, forgetful, "the renewal was noticed only after the renew deadline")
        if result.verdict is Verdict.LOST:
            self._validity.revoke()
        if result.verdict is Verdict.HELD and is_renewal and result.is_slow_path:
            self._metrics.count_slow_renewal(self._options.name)
        self._memory = result.memory
        self._notice_leader()
        if result.verdict in (Verdict.FAILED, Verdict.LOST):
            log = self._log.warning if result.error or result.verdict is Verdict.LOST else self._log.debug
            log("the Lease was not " + ("renewed" if is_renewal else "acquired"), reason=result.reason)
        return result

    def _hold(self, memory: Memory) -> bool:
        term = memory.term
        assert term is not None  # noqa: S101 - a held lease has a term; told to the type checker
        if self._memory.term is not None:
            return self._validity.extend(term)
        self._validity.begin(term)
        return True

    def _drive(self, steps: Generator[Request, Reply, T], stop: StopToken, deadline: float | None = None) -> T:
        """Send what `steps` ask for, until they return; raises Stopped, and TimeoutError when `deadline` has come."""
        request = next(steps)
        while True:
            sent_at = self._clock.boottime()
            timeout = self._options.request_timeout_seconds
            if deadline is not None:
                timeout = min(timeout, deadline - sent_at)
                if timeout <= 0:
                    raise TimeoutError
            result: Lease | ApiError
            try:
                result = self._client.send(request, timeout=timeout, stop=stop)
            except Stopped:
                raise
            except ApiError as error:
                result = error
            try:
                request = steps.send(Reply(sent_at, self._now(), result))
            except StopIteration as end:
                returned: T = end.value
                return returned

    def _now(self) -> Moment:
        return Moment(boottime=self._clock.boottime(), wall=self._clock.wall())

    def _notice_leader(self) -> None:
        lease = self._memory.lease
        if lease is None:
            return
        self._metrics.set_transitions(self._options.name, lease.spec.transitions)
        holder = lease.spec.holder
        if holder and holder != self._known_leader:
            self._known_leader = holder
            if holder != self._options.identity:
                self._log.info("a new leader was elected", leader=holder)
            self._notifier.tell(holder)

    def _announce(self, what: str) -> None:
        self._log.info(what, epoch=self.epoch)
        lease = self._memory.lease
        reference = ObjectReference(
            api_version=LEASES.api_version,
            kind=LEASES.kind,
            namespace=self._options.namespace,
            name=self._options.name,
            uid="" if lease is None else lease.uid,
            resource_version="" if lease is None else lease.resource_version,
        )
        self._events.event(reference, "Normal", EVENT_REASON, f"{self._options.identity} {what}")
