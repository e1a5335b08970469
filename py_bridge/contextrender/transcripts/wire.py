"""The wire formats by name."""

from contextrender.errors import InputError
from contextrender.transcripts.chat import ChatFormat
from contextrender.transcripts.format import Part, Reply, StreamReader, Unit, Usage, WireFormat, WireMessage, part_of
from contextrender.transcripts.messages import MessagesFormat
from contextrender.transcripts.responses import ResponsesFormat

__all__ = [
    "FORMATS",
    "Part",
    "Reply",
    "StreamReader",
    "Unit",
    "Usage",
    "WireFormat",
    "WireMessage",
    "part_of",
    "wire_format",
]

FORMATS: tuple[WireFormat, ...] = (ChatFormat(), ResponsesFormat(), MessagesFormat())
"""OpenAI Chat Completions, OpenAI Responses, Anthropic Messages."""

_BY_NAME = {known.name: known for known in FORMATS}


def wire_format(name: str) -> WireFormat:
    """The format called "chat", "responses" or "messages". Raises InputError for another name."""
    found = _BY_NAME.get(name)
    if found is None:
        raise InputError(f"unknown wire format {name!r}", "wire", ", ".join(_BY_NAME))
    return found
