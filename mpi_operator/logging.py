"""The process's log: structured lines on stderr, as JSON for machines or coloured columns for people."""

from __future__ import annotations

import logging
from typing import Literal, TextIO

import structlog
from structlog.typing import Processor

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure_logging(
    stream: TextIO,
    *,
    log_format: Literal["", "json", "console"] = "",
    level: Literal["debug", "info", "warning", "error"] = "info",
) -> None:
    """Send every structlog line of this process from `level` on to `stream`; JSON unless that is a terminal.

    The standard library's loggers, which urllib3 and others use, are sent there too, from warnings on.
    """
    is_console = log_format == "console" or (log_format == "" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    rendering: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
        if is_console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, _LEVELS[level]))
