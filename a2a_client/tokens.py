"""Access tokens by OAuth 2 client credentials (RFC 6749 section 4.4).

A token is asked for through the guard, kept encrypted on the agent's row until shortly
before it ends, and dropped when the agent refuses it. Processes share it by the row;
within one, whoever comes while it is being asked for waits for that answer.

The client proves itself by HTTP Basic, which every server has to understand (section
2.3.1). Nothing that the endpoint wrote is shown but the error codes of section 5.2: it
may quote what it was sent.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit
from weakref import WeakKeyDictionary, WeakValueDictionary

from asgiref.sync import sync_to_async

from a2a_client import guard
from a2a_client.models import RemoteAgent
from agent_runs import clock, outbound
from agent_runs.encryption import EncryptionError, field_of
from egress.client import Limits
from egress.errors import EgressError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from a2a_client.audit import Audit
    from egress.client import Answer

logger = logging.getLogger(__name__)

# Where the endpoint does not say how long (section 5.1 only recommends it).
ASSUMED_SECONDS: Final = 300
LONGEST_SECONDS: Final = 24 * 3600
# It may not end between being looked up and being checked.
MARGIN_SECONDS: Final = 60

_LARGEST_ANSWER: Final = 64 * 1024
# RFC 6750 section 2.1, and what a header carries besides.
_TOKEN: Final = re.compile(r"[!-~]{1,8000}")
# Section 5.2.
_ERRORS: Final = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
)
# A token that was got with other values of these is not the agent's any more.
_MADE_WITH: Final = (
    "credential_kind",
    "credential_name",
    "card_url",
    "token_url",
    "scopes",
)

# A lock belongs to an event loop, and is forgotten when nobody waits for it.
_OfAgents = WeakValueDictionary[Any, asyncio.Lock]
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, _OfAgents] = WeakKeyDictionary()


class TokenNotGiven(Exception):  # noqa: N818 -- an answer, not a failure
    """The sentence is for the model and the client; it names the endpoint's host."""

    code: Final = "token"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Granted:
    token: str = field(repr=False)
    seconds: int


async def token(agent: RemoteAgent, secret: str, *, audit: Audit) -> str:
    """The kept one, or a new one. Raises `TokenNotGiven`."""
    async with _turn(agent.pk):
        if kept := await sync_to_async(_kept)(agent):
            return kept
        asked_at = await sync_to_async(clock.database_now)()
        granted = _read(agent, await _ask(agent, secret, audit))
        await sync_to_async(_keep)(agent, granted, asked_at)
        return granted.token


def forget(agent: RemoteAgent, refused: str) -> None:
    """Drop the kept token if it still is the one that the agent refused."""
    sealed = _row(agent).values_list("access_token", flat=True).first()
    if sealed and _opened(agent, sealed) == refused:
        _row(agent).filter(access_token=sealed).update(
            access_token=None, access_token_expires_at=None
        )


@contextlib.asynccontextmanager
async def _turn(key: Any) -> AsyncIterator[None]:
    of_agents = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    lock = of_agents.get(key)
    if lock is None:
        lock = of_agents[key] = asyncio.Lock()
    async with lock:
        yield


# --- The row --------------------------------------------------------------------------


def _row(agent: RemoteAgent) -> Any:
    made_with = {name: getattr(agent, name) for name in _MADE_WITH}
    return RemoteAgent.objects.filter(pk=agent.pk, **made_with)


def _kept(agent: RemoteAgent) -> str | None:
    alive = _row(agent).filter(access_token_expires_at__gt=clock.database_now())
    sealed = alive.values_list("access_token", flat=True).first()
    return _opened(agent, sealed) if sealed else None


def _opened(agent: RemoteAgent, sealed: str) -> str | None:
    try:
        return field_of(RemoteAgent, "access_token").unseal(agent.pk, sealed)
    except EncryptionError:
        return None


def _keep(agent: RemoteAgent, granted: _Granted, asked_at: datetime) -> None:
    # A short life is not eaten up by the margin.
    seconds = granted.seconds - min(MARGIN_SECONDS, granted.seconds // 2)
    sealed = field_of(RemoteAgent, "access_token").seal(agent.pk, granted.token)
    _row(agent).update(
        access_token=sealed,
        access_token_expires_at=asked_at + timedelta(seconds=seconds),
    )


# --- The endpoint ---------------------------------------------------------------------


async def _ask(agent: RemoteAgent, secret: str, audit: Audit) -> Answer:
    limits = Limits(total_seconds=agent.timeout_seconds, body_bytes=_LARGEST_ANSWER)
    form = {"grant_type": "client_credentials"}
    if agent.scopes:
        form["scope"] = agent.scopes
    logger.info("client secret sent", extra=audit.facts(agent) | {"host": _host(agent)})
    try:
        async with outbound.open_client(guard.GROUP, limits=limits) as client:
            return await client.request(
                "POST",
                agent.token_url,
                headers=_headers(agent.credential_name, secret),
                content=urlencode(form).encode(),
            )
    except EgressError as error:
        raise TokenNotGiven(
            f"The agent needs a token, and none was given. {error.sentence}"
        ) from error


def _headers(client_id: str, secret: str) -> dict[str, str]:
    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


def _read(agent: RemoteAgent, answer: Answer) -> _Granted:
    body = _object(answer.body)
    if not 200 <= answer.status < 300:
        raise _refused(agent, answer.status, body.get("error"))
    found = body.get("access_token")
    if not isinstance(found, str) or not _TOKEN.fullmatch(found):
        raise _unusable(agent, "nothing that can be sent as one")
    kind = body.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise _unusable(agent, "one of a kind that is not known here")
    return _Granted(token=found, seconds=_seconds(body.get("expires_in")))


def _object(body: bytes) -> dict[str, Any]:
    try:
        # NaN and Infinity are no JSON: what they stand for was not told.
        found = json.loads(body, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(found: object) -> int:
    # Some servers write the number as a text.
    if isinstance(found, str) and found.isascii() and found.isdigit():
        found = int(found[:9])
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return ASSUMED_SECONDS
    return int(min(max(found, 0), LONGEST_SECONDS))


def _refused(agent: RemoteAgent, status: int, error: object) -> TokenNotGiven:
    named = f", {error}" if isinstance(error, str) and error in _ERRORS else ""
    return TokenNotGiven(
        f"The agent needs a token, and «{_host(agent)}» gave none (HTTP {status}{named}). "
        "An administrator has to check the client id, the secret and the scopes."
    )


def _unusable(agent: RemoteAgent, what: str) -> TokenNotGiven:
    return TokenNotGiven(
        f"The agent needs a token, and «{_host(agent)}» answered with {what}. An "
        "administrator has to check the token URL."
    )


def _host(agent: RemoteAgent) -> str:
    return urlsplit(agent.token_url).hostname or ""
