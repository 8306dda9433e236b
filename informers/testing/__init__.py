"""Fakes for tests of what is built on this library: an API server over real HTTP, and a source of objects by hand."""

from informers.testing import faults
from informers.testing.journal import RecordedRequest
from informers.testing.list_watch import FakeListWatch, FakeWatch
from informers.testing.server import FakeApiServer

__all__ = ["FakeApiServer", "FakeListWatch", "FakeWatch", "RecordedRequest", "faults"]
