"""`contextrender.wrap(client)`: an openai or anthropic client whose requests carry what is rendered.

    client = contextrender.wrap(OpenAI(), budget=6000)

Everything that the SDK sends goes through, streams and helpers too: the request's body is changed on its way out.
"""

import asyncio
import copy
import inspect
import json
from collections.abc import Callable
from typing import Any

from contextrender.adapters.context import Context, or_as_it_is
from contextrender.adapters.conversations import Conversations
from contextrender.client import Client
from contextrender.errors import InputError
from contextrender.proxy.routes import LISTS, TURNS
from contextrender.transcripts.wire import wire_format


def wrap[C](client: C, server: Client | None = None, **options: Any) -> C:
    """A copy of an openai or anthropic client, sync or async, whose requests are rendered first.

    options: as of `Session` (policy, budget, embedder, model). server: where the sessions are kept; None keeps them in
    this process. Conversations are told apart by their first message. Whatever fails, the request goes out as it is.
    Raises InputError for what is no such client, or options that a session refuses.
    """
    inner = getattr(client, "_client", None)
    if not (hasattr(client, "copy") and hasattr(inner, "send")):
        raise InputError(
            f"a {type(client).__name__} can't be wrapped", "client", "a client of the openai or anthropic SDK"
        )
    bodies = _Bodies(Conversations(_maker(server, options)))
    wrapped: C = client.copy(http_client=_rendering(inner, bodies))
    return wrapped


def _rendering(inner: Any, bodies: "_Bodies") -> Any:
    """An HTTP client, of whichever httpx the SDK uses, that sends what is rendered over the connections of another."""
    http = copy.copy(inner)
    http.shared_with = inner  # which closes its connections when nobody holds it

    def send(request: Any, **kwargs: Any) -> Any:
        return inner.send(bodies.rewritten(request), **kwargs)

    async def send_async(request: Any, **kwargs: Any) -> Any:
        return await inner.send(await asyncio.to_thread(bodies.rewritten, request), **kwargs)

    http.send = send_async if inspect.iscoroutinefunction(inner.send) else send
    return http


def _maker(server: Client | None, options: dict[str, Any]) -> Callable[[str], Context]:
    if server is not None:
        return lambda wire: Context(client=server, wire=wire, **options)
    from contextrender.session import Session

    Session(**options)  # fails here and not at the first request
    return lambda wire: Context(session=Session(**options, wire=wire))


class _Bodies:
    """The bodies of a client's requests as they are to be sent; a conversation's name is its wire format."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    def content(self, request: Any) -> bytes | None:
        """The body to send instead of this request's; None leaves it."""
        path = request.url.path.rstrip("/")
        wire = next((wire for end, wire in TURNS.items() if path.endswith(end)), "")
        if request.method != "POST" or not wire:
            return None
        body = json.loads(request.content)
        messages = body.get(LISTS[wire])
        if not isinstance(messages, list) or wire_format(wire).reason_not_to_edit(body):
            return None
        sent = self._conversations.of(wire, messages).rewritten(messages)
        if sent == messages:
            return None
        return json.dumps(body | {LISTS[wire]: sent}, ensure_ascii=False).encode()

    def rewritten(self, request: Any) -> Any:
        """The request to send."""
        content = or_as_it_is(lambda: self.content(request), None)
        if content is None:
            return request
        headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
        return type(request)(
            request.method, request.url, headers=headers, content=content, extensions=request.extensions
        )
