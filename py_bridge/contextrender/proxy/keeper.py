"""From a request to what is sent in its place, and from an answer to what is kept of it. Blocks: for worker threads."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from contextrender.errors import DivergedError, InputError
from contextrender.proxy.body import Body, BodyError, Known, read_body
from contextrender.proxy.headers import owner_of
from contextrender.proxy.recognition import recognise
from contextrender.proxy.routes import LISTS
from contextrender.proxy.sessions import Sessions
from contextrender.proxy.splice import splice, spliced_body
from contextrender.proxy.transcript import Transcript, read_transcript
from contextrender.server.stored import Synced
from contextrender.transcripts.format import Reply, WireFormat, WireMessage
from contextrender.transcripts.identity import Begun, next_digest
from contextrender.transcripts.wire import wire_format

_BEGINNINGS = 32
"""Beginnings that are remembered of one session."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What has to be known of a request when its answer comes. `sid` is "" while nothing names the conversation.

    owner: whose session it is; scope: what a conversation's name is unique in: the wire format, and who sends.
    """

    form: WireFormat
    transcript: Transcript
    owner: str
    scope: str
    model: str
    sid: str = ""
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to send. `reason` says in a word why it is not what was rendered, "" where it is.

    full_tokens, sent_tokens: of the history, as the budget counts them; 0 where nothing was rendered.
    """

    content: bytes
    reason: str = ""
    ticket: Ticket | None = None
    full_tokens: int = 0
    sent_tokens: int = 0


class Keeper:
    """Keeps the conversations of all who use the proxy, in `sessions`; each provider key has its own.

    owner: of the sessions of requests that come without one.
    """

    def __init__(self, sessions: Sessions, owner: str = "") -> None:
        self._sessions, self._owner = sessions, owner
        self._known = Known()
        self._begun: OrderedDict[str, list[Begun]] = OrderedDict()
        self._replies: OrderedDict[str, tuple[Begun, Begun]] = OrderedDict()
        """Session -> the conversation without and with its latest recorded reply."""
        self._rewriting: OrderedDict[str, None] = OrderedDict()
        """Sessions whose client sends replies back in other words."""
        self._lock = threading.Lock()

    # --- requests ----------------------------------------------------------------------------------------------------

    def prepare(
        self, wire: str, raw: bytes, headers: Mapping[str, str], path_key: str = "", owner: str = ""
    ) -> Prepared:
        """What to send in place of a request. Raises whatever the sessions raise."""
        form = wire_format(wire)
        try:
            body = read_body(raw, LISTS[wire], self._known)
        except BodyError:
            return Prepared(raw, "unreadable")
        if not body.elements:
            return Prepared(raw, "no history")
        seen = recognise(headers, body.fields, path_key)
        if seen.aside:
            return Prepared(raw, "aside")
        if form.reason_not_to_edit({**body.fields, LISTS[wire]: body.elements.values}):
            return Prepared(raw, "history elsewhere")
        try:
            transcript = read_transcript(form, body)
        except InputError:
            return Prepared(raw, "not understood")
        if not transcript.prints:
            return Prepared(raw, "no history")
        model = body.fields.get("model")
        name = seen.key or (f"opening:{transcript.key}" if transcript.key else "")
        scope, told = f"{wire}:{owner_of(headers)}", model if isinstance(model, str) else ""
        ticket = Ticket(form, transcript, owner or self._owner, scope, told)
        return self._rendered(raw, body, ticket, name) if name else Prepared(raw, "opening", ticket)

    def _open(self, ticket: Ticket, name: str) -> str:
        key = blake2b(f"{ticket.scope}:{name}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._sessions.open_session(ticket.owner, key=key, wire=ticket.form.name, model=ticket.model or None)

    def _rendered(self, raw: bytes, body: Body, ticket: Ticket, name: str) -> Prepared:
        sid, transcript = self._open(ticket, name), ticket.transcript
        synced = self._sync(ticket.owner, sid, transcript)
        rendered = synced.rendered
        ticket = replace(ticket, sid=sid, snapshot=rendered.snapshot_id)
        spliced = splice(ticket.form, transcript, rendered.messages)
        if spliced.original:
            return Prepared(raw, "whole", ticket, synced.full_tokens, synced.full_tokens)
        transient = 0
        while transient < len(transcript.transient) and transcript.transient[-1 - transient] == len(
            transcript.elements
        ) - 1 - transient:
            transient += 1
        content = spliced_body(ticket.form, body, spliced, transient)
        return Prepared(content, "", ticket, synced.full_tokens, rendered.tokens)

    def _sync(self, owner: str, sid: str, transcript: Transcript) -> Synced:
        """Render, sending only what the session does not have."""
        with self._lock:
            begun = [known for known in self._begun.get(sid, ()) if transcript.begins_with(known)]
            asked, answered = self._replies.get(sid, (transcript.whole, transcript.whole))
            if transcript.whole > asked and transcript.begins_with(asked) and not transcript.begins_with(answered):
                _remember(self._rewriting, sid, None)
        known = max(begun, default=Begun())
        try:
            synced = self._sessions.sync(owner, sid, transcript.behind(known.events), known)
        except DivergedError:
            synced = self._sessions.sync(owner, sid, transcript.behind(0), Begun())
        self._note(sid, synced.known)
        return synced

    def _note(self, sid: str, known: Begun) -> None:
        with self._lock:
            held = [other for other in self._begun.get(sid, ()) if other != known][1 - _BEGINNINGS :]
            _remember(self._begun, sid, [*held, known])

    # --- answers -----------------------------------------------------------------------------------------------------

    def record(self, ticket: Ticket, reply: Reply, heard: bool = True) -> None:
        """Keep what the model said and what the provider counted. Raises whatever the sessions raise.

        heard: the client got all of it, and will send it back; of a session whose client sends it back in other words
        it is not kept here.
        """
        sid, transcript = ticket.sid, ticket.transcript
        says = [event for event in reply.events if event.role == "assistant" and (event.text or event.calls)]
        if says and not sid:
            sid = self._open(ticket, f"opening:{next_digest(transcript.whole.digest, reply.events[0].fingerprint)}")
        if says and not (heard and sid in self._rewriting):
            self._extend(ticket.owner, sid, transcript, reply.messages)
        if reply.usage and ticket.snapshot:
            self._sessions.record_usage(ticket.owner, sid, ticket.snapshot, reply.model or ticket.model, reply.usage)

    def _extend(self, owner: str, sid: str, transcript: Transcript, messages: list[WireMessage]) -> None:
        try:
            known = self._sessions.extend(owner, sid, messages, transcript.whole)
        except DivergedError:
            known = self._sessions.extend(owner, sid, [*transcript.behind(0), *messages], Begun())
        self._note(sid, known)
        with self._lock:
            _remember(self._replies, sid, (transcript.whole, known))


def _remember[T](held: OrderedDict[str, T], sid: str, value: T, most: int = 4096) -> None:
    held[sid] = value
    held.move_to_end(sid)
    while len(held) > most:
        held.popitem(last=False)
