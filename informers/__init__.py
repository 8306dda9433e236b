"""List/watch informers for Kubernetes objects, in the manner of client-go.

docs/informers.md says what is promised and what is not.
"""

from informers.backoff import Backoff, BackoffOptions
from informers.handlers import Handler
from informers.index import IndexFunction
from informers.informer import Informer
from informers.metadata import KubernetesObject, build_key, key_of, split_key
from informers.metrics import HandlerReadings, InformerReadings
from informers.mutation_detector import MutatedObjectsError, MutationDetector
from informers.notifications import Deleted
from informers.overlay import Overlay
from informers.reflector import Reflector, ReflectorOptions
from informers.registration import Registration
from informers.resource import Resource
from informers.store import Store
from informers.sync import SyncTimeoutError, start_informers, wait_for_sync

__all__ = [
    "Backoff",
    "BackoffOptions",
    "Deleted",
    "Handler",
    "HandlerReadings",
    "IndexFunction",
    "Informer",
    "InformerReadings",
    "KubernetesObject",
    "MutatedObjectsError",
    "MutationDetector",
    "Overlay",
    "Reflector",
    "ReflectorOptions",
    "Registration",
    "Resource",
    "Store",
    "SyncTimeoutError",
    "build_key",
    "key_of",
    "split_key",
    "start_informers",
    "wait_for_sync",
]
