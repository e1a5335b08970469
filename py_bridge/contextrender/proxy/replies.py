"""Errors of our own, in the shape that the client's SDK expects."""

import json

_KINDS = {
    400: "invalid_request_error",
    404: "not_found_error",
    413: "request_too_large",
    502: "api_error",
    504: "timeout_error",
}


def error_body(wire: str, status: int, message: str) -> bytes:
    """A JSON body: Anthropic's for its Messages API, OpenAI's for all else."""
    kind = _KINDS.get(status, "api_error")
    text = f"ContextRender: {message}"
    if wire == "messages":
        return json.dumps({"type": "error", "error": {"type": kind, "message": text}}).encode()
    return json.dumps({"error": {"message": text, "type": kind, "param": None, "code": None}}).encode()
