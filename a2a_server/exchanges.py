"""One request and its answer: what the steps in between know of each other.

The entry makes an exchange, the steps fill it, and its one log line says how it ended
(S91). It never holds a token, a text or an answer.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_protocol.errors import ERROR_TABLE
from a2a_server import addressing
from a2a_server.operations.calls import CallFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    from a2a_protocol.errors import ProtocolError
    from a2a_server.addressing import Target
    from a2a_server.asgi_types import Receive, Scope
    from a2a_server.operations.calls import Caller

logger = logging.getLogger(__name__)

OK = "OK"
PEER_GONE = "PEER_GONE"
_REQUEST_ID = re.compile(r"[!-~]{1,128}")
# Methods are named by peers; the log takes only what could be one.
_METHOD = re.compile(r"[A-Za-z/]{1,64}")


@dataclass(slots=True, kw_only=True)
class Exchange:
    """`caller` is None until it is known; `receive` tells when the peer hangs up.

    `admit` is what is left to check before the body may be looked at, in the order of
    S10; it is called in the thread that does the work. `turn_key` is one for all requests
    that present the same token, whether it is one or not.
    """

    scope: Scope
    receive: Receive
    target: Target
    request_id: str
    caller: Caller | None = None
    turn_key: str = ""
    admit: Callable[[], None] = lambda: None
    body: bytes = b""
    is_body_read: bool = False
    method: str = ""
    facts: CallFacts = field(default_factory=CallFacts)
    outcome: str = OK
    started: float = field(default_factory=time.monotonic)

    def note_refusal(self, error: ProtocolError) -> None:
        self.outcome = error.reason or ERROR_TABLE[error.code].reason or error.code.name

    def log(self, status: int | None) -> None:
        """`status` is None where nobody was there to be answered."""
        logger.info(
            "A2A request",
            extra={
                "request_id": self.request_id,
                "client": self.caller.client_name if self.caller else "",
                "method": self.method if _METHOD.fullmatch(self.method) else "",
                "skill": self.facts.skill_id,
                "task": self.facts.task_id,
                "outcome": self.outcome,
                "status": status,
                "duration_ms": round((time.monotonic() - self.started) * 1000, 1),
            },
        )


def read_request_id(scope: Scope) -> str:
    """The peer's X-Request-ID if it is fit to be repeated, else a new one."""
    given = addressing.header(scope, b"x-request-id") or ""
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def of_request(request: HttpRequest) -> Exchange:
    """The exchange that the entry hung on Django's request."""
    exchange = getattr(request, "a2a_exchange", None)
    if not isinstance(exchange, Exchange):
        raise TypeError("The request did not come through the A2A entry.")
    return exchange
