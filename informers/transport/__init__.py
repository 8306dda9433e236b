"""The only place that knows urllib3 and the kubernetes package: `Transport` implements `informers.api.Api`."""

from informers.transport.configuration import ConfigurationError, ServerConfiguration, load_configuration
from informers.transport.options import TransportOptions
from informers.transport.transport import Transport

__all__ = ["ConfigurationError", "ServerConfiguration", "Transport", "TransportOptions", "load_configuration"]
