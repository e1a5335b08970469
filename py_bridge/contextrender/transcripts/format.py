"""What a wire format can do, and the records that cross its boundary."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from contextrender.errors import InputError
from contextrender.events import Call, Event

WireMessage = dict[str, Any]


class Unit(NamedTuple):
    """Wire messages `[.., end)` that were parsed together, and their events: most often one of each.

    Anthropic's user message holds several results; a Responses turn is several items of one event.
    """

    end: int
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Part:
    """One kept event as the Render walker knows it.

    `calls` are the kept calls by their index in the message, `cut` says that others are left out; `prose=False` leaves
    out text and reasoning. A `note` is our own text at the tail (role `user`) or behind the system prompt (`system`).
    """

    role: str
    text: str
    payload: str = ""
    call_id: str = ""
    calls: Mapping[int, Call] = field(default_factory=dict)
    cut: bool = False
    prose: bool = True
    note: bool = False

    @property
    def whole(self) -> bool:
        """Nothing is left out."""
        return self.prose and not self.cut


def part_of(event: Event) -> Part:
    """An event with everything kept."""
    return Part(event.role, event.text, event.payload, event.call_id, dict(enumerate(event.calls)))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the provider says it counted; `uncached + cached + written` is the whole input."""

    uncached: int = 0
    cached: int = 0
    """Read from the prompt cache."""
    written: int = 0
    """Written to the prompt cache, where the provider says so."""
    output: int = 0

    @property
    def input(self) -> int:
        """The whole input."""
        return self.uncached + self.cached + self.written


@dataclass(frozen=True, slots=True)
class Reply:
    """The assistant turn of a response, or of the part of it that arrived.

    `messages` are the wire messages as a client would send them back, `events` their events; `complete` says that
    the response ended properly.
    """

    messages: list[WireMessage]
    events: list[Event]
    usage: Usage | None = None
    stop_reason: str = ""
    model: str = ""
    response_id: str = ""
    complete: bool = True


class StreamReader(ABC):
    """Reads a server-sent-event stream piece by piece; never raises, whatever the bytes."""

    @abstractmethod
    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere."""

    @abstractmethod
    def reply(self) -> Reply | None:
        """What was said so far; None before the first sign of a turn. A call cut in its arguments is left out."""


class WireFormat(ABC):
    """One provider protocol. Stateless."""

    name: str
    path: str
    """Where requests are posted, from the server's root."""

    @abstractmethod
    def units(self, messages: Sequence[Any], start: int = 0) -> Iterable[Unit]:
        """The units of a message list from the wire message `start` on, which must begin a unit.

        Raises InputError naming the place and what is accepted.
        """

    @abstractmethod
    def history_of(self, body: Mapping[str, Any]) -> list[WireMessage]:
        """The whole request's message list; a top-level system prompt comes first as a message of its own kind.

        Raises InputError where the body has no such list.
        """

    @abstractmethod
    def with_history(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A new request with its history replaced by what `build` made of `parse_request`; all else untouched."""

    @abstractmethod
    def build(self, parts: Sequence[Part]) -> list[WireMessage]:
        """Wire messages of the kept parts. With everything kept they equal what was parsed, key order included.

        A message of which only calls would be left, none of them kept, disappears. Reasoning is shown, unaltered,
        only in a message that is shown whole.
        """

    def shortened(self, payload: str, text: str) -> str:
        """The payload of a tool result that shows `text`, a short form, in place of all its content."""
        return ""

    @abstractmethod
    def reply(self, response: Mapping[str, Any]) -> Reply:
        """The assistant turn of a response that was not streamed. Raises InputError for something else."""

    @abstractmethod
    def stream_reader(self) -> StreamReader:
        """A reader of one streamed response."""

    @abstractmethod
    def breaches(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """What the provider's API would refuse in a message list; [] when nothing."""

    def reason_not_to_edit(self, body: Mapping[str, Any]) -> str:
        """Why a request must pass untouched (a part of its history is not in it); "" when it may be rendered."""
        return ""

    def parse(self, messages: Any) -> list[Event]:
        """Events of a bare message list, in order. Raises InputError naming the place and what is accepted."""
        return [event for unit in self.units(self.checked_list(messages)) for event in unit.events]

    def parse_request(self, body: Mapping[str, Any]) -> list[Event]:
        """Events of a whole request; a top-level system prompt comes first as a system event."""
        return self.parse(self.history_of(body))

    def checked_list(self, messages: Any, where: str = "messages") -> Sequence[Any]:
        """`messages` if it is a list. Raises InputError."""
        if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
            raise InputError(f"{where} is of type {type(messages).__name__}", where, f"a list of {self.name} messages")
        return messages
