"""Recording Kubernetes Events: counted, combined and limited before they are written, never in anyone's way."""

from mpi_operator.events.correlation import Correlation
from mpi_operator.events.event import EventType, Source
from mpi_operator.events.recorder import Counts, EventRecorder, Recorder
from mpi_operator.events.reference import ObjectReference
from mpi_operator.events.series import Series

__all__ = ["Correlation", "Counts", "EventRecorder", "EventType", "ObjectReference", "Recorder", "Series", "Source"]
