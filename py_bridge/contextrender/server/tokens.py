"""Tokens of the server: long random texts, of which only a hash is stored; each acts for one owner."""

import hashlib
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jac_cloud.core.archetype import NodeAnchor, Root
from jac_cloud.jaseci.datasources.collection import Collection
from jac_cloud.jaseci.models import User
from passlib.hash import pbkdf2_sha512
from pydantic import EmailStr, TypeAdapter, ValidationError
from pymongo.errors import DuplicateKeyError

from contextrender.errors import InputError, NotFoundError
from contextrender.settings import TOKEN_FILE

PREFIX = "cr_"
TOKENS = "contextrender_token"
LOCAL_EMAIL = "local@contextrender.invalid"
"""The user of the person whose machine this is; nobody can log in as it, for nobody knows its password."""
LOCAL_NAME = "local"
_DAY = 86_400
NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token. `until` is a time in seconds since 1970, None for one without an end."""

    name: str
    email: str
    owner: str
    made: float
    until: float | None

    @property
    def over(self) -> bool:
        """Its time has passed."""
        return self.until is not None and self.until < time.time()


def make_token(name: str, email: str = LOCAL_EMAIL, days: int | None = None) -> str:
    """A new token of this user, who is made when there is none yet; returns its text, which can't be had again.

    Raises InputError for a name that is taken or unfit, or for what is no e-mail address.
    """
    if not name.isprintable() or not 0 < len(name) <= NAME_CHARS:
        raise InputError(f"{name[:NAME_CHARS]!r} is no name", "name", f"1 to {NAME_CHARS} printable characters")
    text = PREFIX + secrets.token_urlsafe(32)
    until = time.time() + days * _DAY if days else None
    row = {"_id": _hash(text), "name": name, "email": email, "owner": owner_of(email), "made": time.time()}
    try:
        _rows().insert_one({**row, "until": until})
    except DuplicateKeyError:
        raise InputError(f"there is a token {name!r} already", "name", "another name, or revoke that one") from None
    return text


def find_token(text: str) -> Token | None:
    """The token of this text, if there is one and its time isn't over."""
    row = _rows().find_one({"_id": _hash(text)}) if text.startswith(PREFIX) else None
    token = _token(row) if row else None
    return token if token and not token.over else None


def tokens() -> list[Token]:
    """All tokens, by name."""
    return [_token(row) for row in _rows().find({}).sort("name", 1)]


def revoke_token(name: str) -> None:
    """Make a token worthless. Raises NotFoundError for an unknown name."""
    if not _rows().delete_one({"name": name}).deleted_count:
        raise NotFoundError(f"no token {name[:NAME_CHARS]!r}")


def local_token(data: Path) -> str:
    """The token of the local user, which stands in a file (0600) of the data folder; made where it is missing."""
    from contextrender.server.platform import private_text

    path = data / TOKEN_FILE

    def made() -> str:
        _rows().delete_one({"name": LOCAL_NAME})
        return make_token(LOCAL_NAME)

    text = private_text(path, made)
    if find_token(text) is None:  # another store's, or revoked
        path.unlink(missing_ok=True)
        text = private_text(path, made)
    return text


def owner_of(email: str) -> str:
    """The id of this user's root; a user without a password is made when there is none yet. Raises InputError."""
    if email != LOCAL_EMAIL:
        try:
            TypeAdapter(EmailStr).validate_python(email)
        except ValidationError:
            raise InputError(f"{email[:100]!r} is no e-mail address", "user", "name@example.com") from None
    user = User.Collection.find_by_email(email)
    if user is not None:
        return str(user.root_id)
    root = Root().__jac__
    password = pbkdf2_sha512.hash(secrets.token_urlsafe(32)).encode()  # which nobody knows
    made = {"email": email, "password": password, "root_id": root.id, "is_activated": True, "is_admin": False}
    try:
        with Collection.get_session() as session, session.start_transaction():
            NodeAnchor.Collection.insert_one(root.serialize(), session)
            User.Collection.insert_one(made, session=session)
    except DuplicateKeyError:  # another process was quicker
        return owner_of(email)
    return str(root.id)


def _rows() -> Any:
    return Collection.get_collection(TOKENS)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: dict[str, Any]) -> Token:
    return Token(row["name"], row["email"], row["owner"], row["made"], row["until"])
