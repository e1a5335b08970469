"""The server's log: one JSON object a line on standard error, with a request id and never what was sent or answered."""

import json
import logging
import sys
import time
import traceback
from typing import Any

FIELDS = ("request_id", "method", "path", "status", "ms")


class JsonLines(logging.Formatter):
    """Writes a record's text, the request's fields, and where an error came from; never an error's text."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"], line["at"] = type(record.exc_info[1]).__name__, frames(record.exc_info[1])
        return json.dumps(line)


def set_up(level: str) -> None:
    """Log from here on, ours from `level` on and others' from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("contextrender").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # a provider's cut stream is no error of ours


def frames(error: BaseException) -> str:
    """Where an error came from, without its text, which may quote a payload."""
    found = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in reversed(found))
