"""What the proxy is told when it starts."""

from dataclasses import dataclass, field

import httpx

from contextrender.errors import InputError

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"


def checked_url(url: str, where: str) -> str:
    """A base URL without its last slash. Raises InputError naming the setting."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise InputError(f"{url!r} is no base URL", where, "http:// or https://, a host, and perhaps a path")
    return url.rstrip("/")


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The provider of each wire format, each the base URL that one would give to a client of that kind.

    OpenAI's clients put `/chat/completions` behind it, Anthropic's `/v1/messages`; a host alone means `/v1` for both.
    """

    chat: str = OPENAI
    responses: str = OPENAI
    messages: str = ANTHROPIC

    @staticmethod
    def of(upstream: str = "", responses: str = "", anthropic: str = "") -> "Upstreams":
        """One URL serves all formats for which no other is given; without any, the two providers themselves.

        Raises InputError for what is no base URL.
        """
        base = checked_url(upstream, "upstream") if upstream else ""
        return Upstreams(
            chat=base or OPENAI,
            responses=checked_url(responses, "upstream_responses") if responses else base or OPENAI,
            messages=checked_url(anthropic, "upstream_anthropic") if anthropic else base or ANTHROPIC,
        )

    def url(self, wire: str, rest: str, query: bytes = b"") -> str:
        """The URL for a path behind `/v1`, such as `/chat/completions`."""
        base = {"chat": self.chat, "responses": self.responses, "messages": self.messages}[wire]
        if wire == "messages":
            base = base.removesuffix("/v1") + "/v1"
        elif base.count("/") == 2:  # a host alone
            base += "/v1"
        return base + rest + (f"?{query.decode('latin-1')}" if query else "")


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """How the proxy works. Times in seconds, sizes in bytes."""

    upstreams: Upstreams = field(default_factory=Upstreams)
    render_seconds: float = 0.25
    """A render that takes longer is not waited for: the original bytes go."""
    connect_seconds: float = 10.0
    read_seconds: float = 600.0
    """The longest silence of a provider."""
    max_body: int = 64 * 1024 * 1024
