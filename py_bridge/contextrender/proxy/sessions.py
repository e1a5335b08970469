"""What the proxy needs of the place where sessions are kept (server.sessions.Sessions is one)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from contextrender.server.stored import Synced
from contextrender.transcripts.format import Usage
from contextrender.transcripts.identity import Begun


class Sessions(Protocol):
    """Sessions by owner. All methods block, and may be called from any thread; they raise ContextRenderErrors."""

    def open_session(self, owner: str, *, key: str, wire: str, model: str | None) -> str:
        """The id of the owner's session with this key; made where there is none yet."""

    def sync(self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], known: Begun) -> Synced:
        """Render the conversation that begins as `known` says and goes on with `messages`; the head ends there.

        Raises DivergedError where no branch begins so.
        """

    def extend(self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], known: Begun) -> Begun:
        """Have `messages` behind `known`, without a render; a branch that goes on like this is left as it is.

        Raises DivergedError where no branch begins so.
        """

    def record_usage(self, owner: str, sid: str, snapshot_id: str, model: str, usage: Usage) -> None:
        """Keep what the provider counted in the call that sent this render."""
