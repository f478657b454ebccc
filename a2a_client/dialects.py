"""How an interface of a remote agent is spoken: a request out, a judgement back. Pure.

`DIALECTS` is the one table of what is spoken here; a row is a binding and a version, as
a record of an agent has them. What is the same for all of them, such as the credential,
the time-out and who dials, is none of a dialect's business.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from a2a_client import replies
from a2a_protocol import jsonrpc_client, proto_json
from a2a_protocol.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_client.replies import HttpAnswer, Judgement
    from a2a_protocol.types import WireModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The interface that a request is for, and the extensions in use there, by URI.

    `tenant` is "" where it has none.
    """

    url: str
    tenant: str = ""
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as HTTP carries it; `method` is the protocol's name of it.

    `id` is a new one for every request; `headers` are those of the dialect alone.
    """

    id: str
    method: str
    verb: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class Dialect(Protocol):
    def write(
        self, to: Destination, method: str, params: WireModel, *, streaming: bool
    ) -> Request: ...

    def judge(self, request: Request, answer: HttpAnswer) -> Judgement:
        """What a whole answer means."""

    def judge_event(self, request: Request, data: bytes) -> Judgement:
        """What one event of a stream means."""


class JSONRPC:
    """Specification 9. The tenant is a member of the parameters."""

    def __init__(self, version: str) -> None:
        self._version = version

    def write(
        self, to: Destination, method: str, params: WireModel, *, streaming: bool
    ) -> Request:
        request_id = str(uuid.uuid4())
        named = params.model_copy(update={"tenant": to.tenant})
        content = jsonrpc_client.request_bytes(
            request_id, method, proto_json.write_text(named)
        )
        headers = {
            "A2A-Version": self._version,
            "Content-Type": "application/json",
            "Accept": _accepted(streaming=streaming),
        }
        if to.extensions:
            headers["A2A-Extensions"] = ", ".join(to.extensions)
        return Request(
            id=request_id,
            method=method,
            verb="POST",
            url=to.url,
            headers=MappingProxyType(headers),
            content=content,
        )

    def judge(self, request: Request, answer: HttpAnswer) -> Judgement:
        return replies.judge(answer, request_id=request.id, method=request.method)

    def judge_event(self, request: Request, data: bytes) -> Judgement:
        try:
            reply = jsonrpc_client.read_reply(data, request.id)
        except RemoteError as error:
            return replies.unreadable_event(error.message, method=request.method)
        if reply.error is not None:
            return replies.of_error(reply.error, method=request.method)
        return replies.Accepted(result=reply.result)


def _accepted(*, streaming: bool) -> str:
    # Errors, and answers of agents that do not stream after all, are plain JSON (B107).
    return "text/event-stream, application/json" if streaming else "application/json"


DIALECTS: Final[Mapping[tuple[str, str], Dialect]] = MappingProxyType(
    {
        ("JSONRPC", "1.0"): JSONRPC("1.0"),
    }
)
