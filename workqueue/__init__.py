"""A rate-limited work queue of keys, and the worker loop that empties it.

The package stands alone: it needs clockwork, structlog and prometheus_client, and knows nothing of Kubernetes.
"""

from workqueue.limiters import (
    BucketLimiter,
    ExponentialLimiter,
    FastSlowLimiter,
    Limiter,
    MaxOfLimiter,
    MaxWaitLimiter,
    default_limiter,
)
from workqueue.metrics import QueueCollector
from workqueue.order import FirstInFirstOut, ReadyOrder
from workqueue.priority import INITIAL_PRIORITY, PriorityOrder
from workqueue.queue import Queue, Recorder, Statistics
from workqueue.worker import Attempt, Done, Reconcile, RequeueAfter, Result, TerminalError, WorkerPool

__all__ = [
    "INITIAL_PRIORITY",
    "Attempt",
    "BucketLimiter",
    "Done",
    "ExponentialLimiter",
    "FastSlowLimiter",
    "FirstInFirstOut",
    "Limiter",
    "MaxOfLimiter",
    "MaxWaitLimiter",
    "PriorityOrder",
    "Queue",
    "QueueCollector",
    "ReadyOrder",
    "Reconcile",
    "Recorder",
    "RequeueAfter",
    "Result",
    "Statistics",
    "TerminalError",
    "WorkerPool",
    "default_limiter",
]
