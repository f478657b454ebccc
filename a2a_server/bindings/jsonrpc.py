"""The JSON-RPC binding: bytes in, one operation call, bytes out (S10–S15).

Everything that depends on what a peer sends is done in a thread, so that nobody else
waits for it; a usual request makes one hop there and back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from django.http import HttpResponse

from a2a_protocol import jsonrpc, versions
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_protocol.methods import METHODS
from a2a_protocol.request_id import NULL_ID
from a2a_server import addressing
from a2a_server.bindings import performing
from a2a_server.bodies import PeerGoneError
from a2a_server.errors import Reason, refuse
from a2a_server.operations.calls import Call
from a2a_server.operations.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_protocol.jsonrpc import Request, RequestId
    from a2a_protocol.methods import Capability
    from a2a_server.asgi_types import Scope
    from a2a_server.exchanges import Exchange
    from a2a_server.operations.calls import Operation, Reply, Wait

# What a method is refused with while its capability is off (specification 3.3.4).
_CAPABILITY_OFF: Final[Mapping[Capability, Reason]] = MappingProxyType(
    {
        "streaming": Reason.UNSUPPORTED_OPERATION,
        "push_notifications": Reason.PUSH_NOTIFICATION_NOT_SUPPORTED,
        "extended_agent_card": Reason.UNSUPPORTED_OPERATION,
    }
)
_VERSION = "A2A-Version"
# Of what is read on the event loop, for its id alone: about a millisecond.
_ID_BYTES = 16 * 1024
_OLD_STYLE_NAME = "There is no such method; method names of 1.0 look like SendMessage."


@dataclass(slots=True, kw_only=True)
class _Answering:
    """What became known of a request while it was served."""

    exchange: Exchange
    request_id: RequestId | None = None
    extensions: frozenset[str] = frozenset()


async def answer(exchange: Exchange) -> HttpResponse:
    """Answer a request. Raise PeerGoneError and nothing else."""
    answering = _Answering(exchange=exchange)
    try:
        reply = await performing.perform(exchange, partial(_serve, answering))
    except PeerGoneError:
        raise
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
        return refusal(exchange, error, _id_of(answering, error))
    response = _json_response(
        jsonrpc.result_bytes(answering.request_id or NULL_ID, reply.result_json)
    )
    if PROFILE_EXTENSION_URI in answering.extensions:
        response["A2A-Extensions"] = PROFILE_EXTENSION_URI
    return response


def _id_of(answering: _Answering, error: BaseException) -> RequestId | None:
    """What a refusal answers to; also of a small request that nobody came to look at."""
    body = answering.exchange.body
    is_refused = isinstance(error, ProtocolError)
    if answering.request_id or is_refused or len(body) > _ID_BYTES:
        return answering.request_id
    try:
        return jsonrpc.parse_request(body).id
    except ProtocolError as unreadable:
        return unreadable.request_id


def _serve(answering: _Answering) -> Reply | Wait:
    """From bytes to the operation's outcome, in one thread."""
    exchange = answering.exchange
    exchange.admit()
    request = jsonrpc.parse_request(exchange.body)
    answering.request_id, exchange.method = request.id, request.method
    _negotiate_version(exchange.scope)
    operation = _find_operation(request.method)
    answering.extensions = _read_extensions(exchange.scope)
    return operation(_call(answering, request))


def refusal(
    exchange: Exchange, error: BaseException, request_id: RequestId | None = None
) -> HttpResponse:
    """The response to a request that ended with an error, expected or not."""
    told = performing.protocol_error(error, exchange)
    exchange.note_refusal(told)
    response = _json_response(jsonrpc.error_bytes(request_id, told))
    response.status_code = told.http_status or 200
    if told.retry_after is not None:
        response["Retry-After"] = str(told.retry_after)
    if response.status_code == 401:
        response["WWW-Authenticate"] = _challenge(exchange.scope)
    return response


def _challenge(scope: Scope) -> str:
    challenge = 'Bearer realm="a2a"'
    if addressing.header(scope, b"authorization") is None:
        return challenge
    return f'{challenge}, error="invalid_token"'


def _json_response(body: bytes) -> HttpResponse:
    return HttpResponse(
        body,
        content_type="application/json",
        headers={"Cache-Control": "no-store", "Content-Length": str(len(body))},
    )


def _call(answering: _Answering, request: Request) -> Call:
    exchange = answering.exchange
    if exchange.caller is None:
        raise TypeError("Nobody was authenticated for this request.")
    return Call(
        caller=exchange.caller,
        method=request.method,
        params=jsonrpc.params_object(request),
        request_id=exchange.request_id,
        base_url=exchange.target.base_url.text,
        extensions=answering.extensions,
        facts=exchange.facts,
    )


def _negotiate_version(scope: Scope) -> None:
    query = parse_qs(
        scope.get("query_string", b"").decode("latin-1"),
        keep_blank_values=True,
        max_num_fields=None,
    )
    in_query = ",".join(query[_VERSION]) if _VERSION in query else None
    versions.negotiate(addressing.header(scope, b"a2a-version"), in_query)


def _find_operation(name: str) -> Operation:
    method = METHODS.get(name)
    if method is None:
        raise ProtocolError(
            code=ErrorCode.METHOD_NOT_FOUND,
            message=_OLD_STYLE_NAME if "/" in name else None,
        )
    operation = OPERATIONS.get(name)
    if operation is None and method.capability:
        raise refuse(_CAPABILITY_OFF[method.capability])
    if operation is None:
        raise ProtocolError(code=ErrorCode.METHOD_NOT_FOUND)
    return operation


def _read_extensions(scope: Scope) -> frozenset[str]:
    named = addressing.header(scope, b"a2a-extensions") or ""
    return frozenset(uri.strip() for uri in named.split(",") if uri.strip())
