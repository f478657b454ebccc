"""Who calls: tokens, and the one answer to everything that is not a valid one.

    a2a_<12 characters that find the client>_<43 characters of 256 random bits>

The record keeps the prefix and a hash of the whole (S20, S21). A fast hash is enough:
nobody guesses 256 bits, whoever has the hash.

A missing, malformed, unknown, expired or disabled token gets the same refusal (S22); why
stands in the log alone. A valid token is never limited, whatever failed from its address
(S23). The database away is not a failure of the caller and is not counted (S92).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import string
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from a2a_server import addressing, failures
from a2a_server.errors import Reason, refuse
from a2a_server.models import Client
from a2a_server.operations.calls import Caller
from agent_runs.clock import database_now
from agent_runs.statements import Select, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from a2a_protocol.errors import ProtocolError
    from a2a_server.addressing import IPAddress

logger = logging.getLogger(__name__)

USE_INTERVAL = timedelta(minutes=1)

_PREFIX_LENGTH = 12
_PREFIX_ALPHABET = string.ascii_lowercase + string.digits
_SECRET_BYTES = 32
_TOKEN = re.compile(rb"a2a_([a-z0-9]{12})_[A-Za-z0-9_-]{43}")
_AUTHORIZATION = re.compile(rb"bearer +([^ ]+)", re.IGNORECASE)
_ATTEMPTS = 5
# What an unknown prefix is compared with, so that it costs what a known one costs.
_NO_HASH = "0" * 64


class _RejectedError(Exception):
    """Why a caller is not let in, in words for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PresentedToken:
    """What an Authorization header held, without the secret."""

    prefix: str
    digest: str

    def opens(self, stored_hash: str) -> bool:
        return hmac.compare_digest(self.digest.encode(), stored_hash.encode())


def _read_token(token: bytes) -> _PresentedToken | None:
    found = _TOKEN.fullmatch(token)
    if not found:
        return None
    return _PresentedToken(prefix=found[1].decode(), digest=_digest(token))


def presented_digest(headers: Sequence[bytes]) -> str:
    """The hash of the token in a request's Authorization header, true or not; or ""."""
    token = _presented(headers)
    return token.digest if token else ""


def authenticate(headers: Sequence[bytes], address: IPAddress | None) -> Caller:
    """Find the client behind a request's Authorization headers.

    Raise UNAUTHENTICATED, or AUTH_RATE_LIMITED where too much failed from there.
    """
    try:
        row = _find_client(headers)
    except _RejectedError as rejection:
        raise _refusal(str(rejection), address) from None
    _note_use(row, address)
    return Caller(
        client_id=row.id,
        client_name=row.name,
        technical_user_id=row.technical_user_id,
        workspace_id=row.workspace_id,
        task_limit=row.task_limit,
    )


def _refusal(reason: str, address: IPAddress | None) -> ProtocolError:
    key = addressing.counting_key(address)
    seconds = failures.count_failure(key)
    logger.warning(
        "Authentication failed", extra={"address": str(address), "reason": reason}
    )
    if seconds is None:
        return refuse(Reason.UNAUTHENTICATED)
    return refuse(Reason.AUTH_RATE_LIMITED, retry_after=seconds)


def _presented(headers: Sequence[bytes]) -> _PresentedToken | None:
    if len(headers) != 1:
        return None
    found = _AUTHORIZATION.fullmatch(headers[0].strip(b" "))
    return _read_token(found[1]) if found else None


def _find_client(headers: Sequence[bytes]) -> _Row:
    if not headers:
        raise _RejectedError("no Authorization header")
    token = _presented(headers)
    if token is None:
        raise _RejectedError("malformed Authorization header")
    row = _read_row(token.prefix)
    if not token.opens(row.token_hash if row else _NO_HASH) or row is None:
        raise _RejectedError("unknown token")
    if problem := _problem(row):
        raise _RejectedError(problem)
    return row


class _Row(NamedTuple):
    id: int
    name: str
    token_hash: str
    is_enabled: bool
    technical_user_id: int
    workspace_id: int | None
    task_limit: int
    technical_user__is_active: bool
    technical_user__is_superuser: bool
    has_expired: bool | None


def _problem(row: _Row) -> str | None:
    if not row.is_enabled:
        return "client disabled"
    if row.has_expired:
        return "client expired"
    if not row.technical_user__is_active or row.technical_user__is_superuser:
        return "technical user inactive or superuser"
    return None


def _rows() -> QuerySet[Client, tuple[Any, ...]]:
    has_expired = ExpressionWrapper(
        Q(expires_at__lte=Now()), output_field=BooleanField()
    )
    found = Client.objects.filter(token_prefix=value(Client, "token_prefix"))
    return found.annotate(has_expired=has_expired).values_list(*_Row._fields)


_FIND: Final = Select(_rows)


def _read_row(prefix: str) -> _Row | None:
    row = _FIND.first(token_prefix=prefix)
    return _Row(*row) if row else None


class _Uses:
    """When this process last wrote down that a token was used, by the token's hash."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}

    def is_due(self, token_hash: str) -> bool:
        now = time.monotonic()
        with self._lock:
            last = self._written.get(token_hash, float("-inf"))
            if now - last < USE_INTERVAL.total_seconds():
                return False
            self._written[token_hash] = now
            return True


_uses = _Uses()


def _note_use(row: _Row, address: IPAddress | None) -> None:
    if not _uses.is_due(row.token_hash):
        return
    try:
        now = database_now()
        # The condition holds between processes; the memory above only saves the query.
        due = Client.objects.filter(
            Q(last_used_at=None) | Q(last_used_at__lte=now - USE_INTERVAL), id=row.id
        )
        source = str(address) if address else None
        with _without_waiting(), transaction.atomic():
            _unlocked(due).update(last_used_at=now, last_used_from=source)
    except DatabaseError:
        logger.warning("The last use of a client was not written", exc_info=True)


@contextmanager
def _without_waiting() -> Iterator[None]:
    """On SQLite, whose only lock is the database's: no request waits to be noted."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        (usual,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(usual)}")


def _unlocked(clients: QuerySet[Client]) -> QuerySet[Client]:
    """Without a row that somebody holds, for the same reason."""
    if not connection.features.has_select_for_update_skip_locked:
        return clients
    free = clients.select_for_update(skip_locked=True, no_key=True)
    return Client.objects.filter(pk__in=free.values("pk"))


def issue_token(client: Client, *, now: datetime, by: str) -> str:
    """Give the client a new token; the one it had is dead at once."""
    for _ in range(_ATTEMPTS):
        prefix, token = _make_token()
        if _store(client, prefix, _digest(token.encode()), now):
            logger.info(
                "Token issued",
                extra={"client": client.name, "prefix": prefix, "by": by},
            )
            return token
    raise RuntimeError("No free token prefix was found.")


def revoke_token(client: Client, *, by: str) -> None:
    """Leave the client without a token."""
    prefix = client.token_prefix
    _write(client, prefix=None, digest="", issued_at=None)
    logger.info(
        "Token revoked",
        extra={"client": client.name, "prefix": prefix or "", "by": by},
    )


def _make_token() -> tuple[str, str]:
    prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(_PREFIX_LENGTH))
    return prefix, f"a2a_{prefix}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def _digest(token: bytes) -> str:
    return hashlib.sha256(token).hexdigest()


def _store(client: Client, prefix: str, digest: str, now: datetime) -> bool:
    try:
        with transaction.atomic():
            _write(client, prefix=prefix, digest=digest, issued_at=now)
    except IntegrityError:
        return False
    return True


def _write(
    client: Client, *, prefix: str | None, digest: str, issued_at: datetime | None
) -> None:
    client.token_prefix = prefix
    client.token_hash = digest
    client.token_issued_at = issued_at
    client.save(update_fields=["token_prefix", "token_hash", "token_issued_at"])
