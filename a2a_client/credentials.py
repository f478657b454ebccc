"""What a request says to be let in by a remote agent (C3).

A credential is opened for one request and put into its headers. One that is configured
but cannot be used refuses the request, which would otherwise leave without a name. It is
written into no log and into no sentence.
"""

from __future__ import annotations

import base64
import logging
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from asgiref.sync import sync_to_async

from a2a_client import header_fields, tokens
from a2a_client.models import CredentialKind
from agent_runs.encryption import EncryptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_client.audit import Audit
    from a2a_client.models import RemoteAgent

logger = logging.getLogger(__name__)

AUTHORIZATION: Final = "Authorization"

_BEARER: Final = "Bearer "
_BASIC: Final = "Basic "
# What is shorter stands in bodies by chance.
_SHORTEST_HIDDEN: Final = 8
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_ENTER_AGAIN: Final = "An administrator has to enter it again."
_MISSING: Final = "The credential of the agent is missing. " + _ENTER_AGAIN
_CLOSED: Final = "The credential of the agent does not open. " + _ENTER_AGAIN
_NO_NAME: Final = (
    "The credential of the agent names no header that can be sent. An administrator has "
    "to correct the name."
)
_NO_VALUE: Final = (
    "The credential of the agent holds what no header can carry: a line break, a space "
    "at an end, or a letter outside ASCII. " + _ENTER_AGAIN
)
_NO_PAIR: Final = (
    "The user name of the agent's credential holds a colon, or one of its parts a "
    "control character. An administrator has to correct it."
)


class CredentialUnreadable(Exception):  # noqa: N818 -- an answer, not a failure
    """Nothing may be sent with it, and nothing without it; the sentence says why."""

    code: Final = "credential"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


async def headers(agent: RemoteAgent, *, audit: Audit) -> dict[str, str]:
    """The headers that carry the agent's credential; none where it needs none.

    Raises `CredentialUnreadable` for a credential that is missing, does not open or
    cannot be written into a header, and `tokens.TokenNotGiven` where a token had to be
    asked for.
    """
    if not agent.needs_secret:
        return {}
    secret = await sync_to_async(_secret)(agent)
    if agent.credential_kind == CredentialKind.OAUTH2:
        secret = await tokens.token(agent, secret, audit=audit)
    written = _WRITERS[agent.credential_kind](agent.credential_name, secret)
    logger.info("credential sent", extra=audit.facts(agent))
    return written


def refused(agent: RemoteAgent, sent: Mapping[str, str]) -> None:
    """The agent answered 401 to these headers: the next request asks for a new token.

    Raises what the ORM raises.
    """
    if agent.credential_kind == CredentialKind.OAUTH2:
        tokens.forget(agent, sent[AUTHORIZATION].removeprefix(_BEARER))


def without(body: bytes, sent: Mapping[str, str]) -> bytes:
    """A body that quotes the credential, which some error pages do, quotes it no more.

    Neither as it was sent, nor a password by itself, nor as writers of JSON escape it.
    """
    for value in sent.values():
        for secret in _told_by(value):
            if len(secret) >= _SHORTEST_HIDDEN:
                body = re.sub(_quoted(secret), b"(credential)", body)
    return body


def _told_by(value: str) -> tuple[str, ...]:
    """What a header's value tells of the credential, the longest first."""
    if not value.startswith(_BASIC):
        return (value.removeprefix(_BEARER),)
    pair = value.removeprefix(_BASIC)
    return pair, base64.b64decode(pair).decode().partition(":")[2]


def _quoted(secret: str) -> bytes:
    return b"".join(map(_quoted_letter, secret))


def _quoted_letter(letter: str) -> bytes:
    raw = re.escape(letter.encode())
    if letter.isascii() and letter.isalnum():
        return raw
    # PHP writes «\/», .NET «\u002B», and most one of them for what is not ASCII.
    return rb"(?:\\?%b|(?i:\\u%04x))" % (raw, ord(letter))


def _secret(agent: RemoteAgent) -> str:
    try:
        secret = agent.credential_secret
    except EncryptionError:
        raise CredentialUnreadable(_CLOSED) from None
    if not secret:
        raise CredentialUnreadable(_MISSING)
    return str(secret)


def _bearer(_: str, token: str) -> dict[str, str]:
    return {AUTHORIZATION: _BEARER + _sendable(token)}


def _api_key(name: str, key: str) -> dict[str, str]:
    if not header_fields.is_name(name) or header_fields.is_taken(name):
        raise CredentialUnreadable(_NO_NAME)
    return {name: _sendable(key)}


def _basic(user: str, password: str) -> dict[str, str]:
    """RFC 7617, section 2."""
    if ":" in user or _CONTROL.search(user + password):
        raise CredentialUnreadable(_NO_PAIR)
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {AUTHORIZATION: _BASIC + _sendable(pair)}


def _sendable(value: str) -> str:
    if not header_fields.is_value(value):
        raise CredentialUnreadable(_NO_VALUE)
    return value


# By kind: what is made of the credential's name and of the secret or token.
_WRITERS: Final[Mapping[str, Callable[[str, str], dict[str, str]]]] = MappingProxyType(
    {
        CredentialKind.BEARER: _bearer,
        CredentialKind.API_KEY: _api_key,
        CredentialKind.BASIC: _basic,
        CredentialKind.OAUTH2: _bearer,
    }
)
