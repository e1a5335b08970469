"""Every error ContextRender raises on purpose.

ContextRenderError
  InputError          bad input: says what was wrong, where, and what is accepted
  NotFoundError       an id that names nothing here (or nothing of this owner)
    DivergedError     no branch of the session begins as the caller says: send the whole conversation
  AccessError         a token is missing, wrong or over
  UnavailableError    something optional is not installed, or a service did not answer
"""


class ContextRenderError(Exception):
    """Base of every deliberate error; its text is meant for a person."""


class InputError(ContextRenderError, ValueError):
    """Bad input. `where` is a path such as `messages[3].tool_calls[0]`; `accepted` says what would do."""

    def __init__(self, what: str, where: str = "", accepted: str = "") -> None:
        self.what, self.where, self.accepted = what, where, accepted
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text} (accepted: {accepted})" if accepted else text)


class NotFoundError(ContextRenderError, LookupError):
    """The id names nothing that the caller may see."""


class DivergedError(NotFoundError):
    """No branch of the session begins as the caller says; with the whole conversation the call would succeed."""


class AccessError(ContextRenderError):
    """The server doesn't know the caller: the token is missing, wrong or over."""


class UnavailableError(ContextRenderError, RuntimeError):
    """An optional part is missing or a service failed; the text says what to install or to check."""
