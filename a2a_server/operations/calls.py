"""What a binding hands to an operation, and what it may get back.

An operation is a plain function `(Call) -> Reply | Wait`. It runs in a thread that may
use the ORM, refuses by raising `a2a_protocol.errors.ProtocolError`, and knows neither
HTTP nor the binding it was called through.

`Wait` says «answer later». The binding waits on its event loop without a thread and
without a connection, then calls `finish` in a thread again. It gives the slot back
whatever happens, also when the peer has gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from a2a_protocol.json_text import JSONValue
    from a2a_server.limits import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The authenticated client, as the one query of `auth` read it."""

    client_id: int
    client_name: str
    technical_user_id: int
    workspace_id: int | None
    task_limit: int


@dataclass(slots=True, kw_only=True)
class CallFacts:
    """What the log line says of a call besides its outcome (S91).

    An operation fills it as soon as it knows, so that a refusal is logged with it too.
    """

    skill_id: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`params` holds no bad text and no number beyond a double; the rest is unchecked.

    `request_id` is the X-Request-ID, not the JSON-RPC id. `base_url` is the configured
    URL that was addressed, without a trailing slash. `extensions` are the URIs that the
    client named in A2A-Extensions.
    """

    caller: Caller
    method: str
    params: dict[str, JSONValue]
    request_id: str
    base_url: str
    extensions: frozenset[str] = frozenset()
    facts: CallFacts = field(default_factory=CallFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`result_json` is the JSON text of the method's response message."""

    result_json: str


class Finish(Protocol):
    def __call__(self, *, is_last: bool) -> Reply | None:
        """Read the task and answer; None while it is not settled yet.

        With `is_last` the deadline has passed: it answers or raises
        BLOCKING_DEADLINE_EXCEEDED and never returns None.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """`seconds` is how long this call may wait from now on."""

    task_id: UUID
    slot: Slot | None
    seconds: float
    finish: Finish


if TYPE_CHECKING:
    Operation = Callable[[Call], Reply | Wait]
