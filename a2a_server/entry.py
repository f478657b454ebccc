"""The thin ASGI entry for A2A requests, in front of Django's own handler.

It decides what can be decided before a body is read (S10): address and method, then
authentication, then media type and size. What passes becomes a Django request that
resolves to a ninja view, without middleware and without thread hops of its own; what is
not addressed to a base URL goes to the application behind (S4).

Whatever happens, the answer to an A2A request is JSON, and one line of the log says how
it ended.
"""

from __future__ import annotations

import asyncio
import io
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.handlers.asgi import ASGIHandler
from django.urls import set_urlconf

from a2a_protocol.errors import ErrorCode, ProtocolError
from a2a_server import addressing, auth, bodies, conf, exchanges, executor
from a2a_server.bindings import jsonrpc
from a2a_server.exchanges import Exchange

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from a2a_server.addressing import Target
    from a2a_server.asgi_types import Application, Message, Receive, Scope, Send

_URLCONF = "a2a_server.urls"


class Entry(ASGIHandler):
    def __init__(self, elsewhere: Application) -> None:
        super().__init__()
        self._elsewhere = elsewhere

    def load_middleware(self, is_async: bool = False) -> None:
        """None of it: a middleware that knows no async costs a thread hop a request."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []

    def make_view_atomic(self, view: Any) -> Any:
        # Operations have transactions of their own, whatever ATOMIC_REQUESTS says.
        return view

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = _find_target(scope)
        if target is None:
            await self._elsewhere(scope, receive, send)
            return
        exchange = Exchange(
            scope=scope,
            receive=receive,
            target=target,
            request_id=exchanges.read_request_id(scope),
        )
        status = None
        try:
            response = await self._answer(exchange)
            status = response.status_code
            await self._send(exchange, response, send)
        except bodies.PeerGoneError:
            exchange.outcome = exchanges.PEER_GONE
        finally:
            exchange.log(status)

    async def _answer(self, exchange: Exchange) -> HttpResponseBase:
        try:
            if exchange.scope["method"] not in exchange.target.allowed_methods:
                return _method_refusal(exchange)
            if exchange.target.kind == "endpoint":
                await _take_body(exchange)
            return await self._call_view(exchange)
        except bodies.PeerGoneError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return jsonrpc.refusal(exchange, error)

    async def _call_view(self, exchange: Exchange) -> HttpResponseBase:
        try:
            request = self._make_request(exchange)
            # Django's own step below the middleware; its type stubs leave it out.
            return await self._get_response_async(request)  # type: ignore[attr-defined, no-any-return]
        finally:
            set_urlconf(None)

    def _make_request(self, exchange: Exchange) -> HttpRequest:
        # The path below the base URL; the query is read from the exchange's scope.
        scope = {
            **exchange.scope,
            "path": exchange.target.path,
            "root_path": "",
            "query_string": b"",
        }
        # The body stays with the exchange: it may not be looked at yet.
        request: HttpRequest = self.request_class(scope, io.BytesIO())
        request.urlconf = _URLCONF
        request.a2a_exchange = exchange  # type: ignore[attr-defined]
        return request

    async def _send(
        self, exchange: Exchange, response: HttpResponseBase, send: Send
    ) -> None:
        response["X-Content-Type-Options"] = "nosniff"
        response["X-Request-ID"] = exchange.request_id
        if exchange.is_body_read or not bodies.is_announced(exchange.scope):
            await self.send_response(response, send)
            return
        response["Connection"] = "close"

        async def send_and_discard(message: Message) -> None:
            # Closing while the peer still sends resets the connection, and the answer
            # could be lost with it.
            if message["type"] == "http.response.start" or message.get("more_body"):
                await send(message)
                return
            await send({**message, "more_body": True})
            await bodies.discard(exchange.receive)
            await send({"type": "http.response.body"})

        await self.send_response(response, send_and_discard)


def _find_target(scope: Scope) -> Target | None:
    if scope["type"] != "http" or not conf.is_server_enabled():
        return None
    return addressing.find_target(scope)


async def _take_body(exchange: Exchange) -> None:
    """Read the body, once the caller is known from the headers alone (S10).

    A body that the server holds already costs nothing and nobody waits for it: who sent
    it is then asked in the thread that does the work, which saves every usual request one
    hop to a thread and back.
    """
    limit = conf.max_request_bytes()
    exchange.turn_key = auth.presented_digest(_authorization(exchange.scope))
    first = bodies.arrived(exchange.scope, exchange.receive)
    if first is not None and bodies.is_whole(first):
        exchange.body, exchange.is_body_read = first.get("body", b""), True
        exchange.admit = partial(_admit_arrived, exchange, limit)
        return
    await executor.run(_authenticate, exchange)
    _refuse_head(exchange, limit)
    exchange.body = await bodies.read(exchange.receive, limit, first=first)
    exchange.is_body_read = True


def _admit_arrived(exchange: Exchange, limit: int) -> None:
    _authenticate(exchange)
    _refuse_head(exchange, limit)
    bodies.refuse_size(exchange.body, limit)


def _authenticate(exchange: Exchange) -> None:
    scope = exchange.scope
    exchange.caller = auth.authenticate(
        _authorization(scope), addressing.client_address(scope)
    )


def _refuse_head(exchange: Exchange, limit: int) -> None:
    bodies.refuse_media_type(exchange.scope)
    bodies.refuse_length(exchange.scope, limit)


def _authorization(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == b"authorization"]


def _method_refusal(exchange: Exchange) -> HttpResponseBase:
    error = ProtocolError(
        code=ErrorCode.INVALID_REQUEST,
        message="This address does not take this HTTP method.",
        http_status=405,
    )
    response = jsonrpc.refusal(exchange, error)
    response["Allow"] = ", ".join(exchange.target.allowed_methods)
    return response
