"""Bounds the bodies of requests that are none of A2A, in front of Django.

Django's handler reads a whole body, to disk where it is large, before it looks at the
address, so that anybody could fill the disk. Here a body is read into memory, up to what
Django itself would hold there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

from a2a_protocol.errors import ProtocolError
from a2a_server import bodies

if TYPE_CHECKING:
    from a2a_server.asgi_types import Application, Message, Receive, Scope, Send


class BoundedUploads:
    def __init__(
        self, application: Application, *, seconds: float = bodies.BODY_SECONDS
    ) -> None:
        self._application = application
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not bodies.is_announced(scope):
            await self._application(scope, receive, send)
            return
        limit = settings.FILE_UPLOAD_MAX_MEMORY_SIZE
        try:
            bodies.refuse_length(scope, limit)
            body = await bodies.read(receive, limit, seconds=self._seconds)
        except bodies.PeerGoneError:
            return
        except ProtocolError as error:
            await _refuse(error, receive, send)
        else:
            await self._application(scope, _with_body(body, receive), send)


def _with_body(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def _refuse(error: ProtocolError, receive: Receive, send: Send) -> None:
    text = f"{error.message}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
    ]
    status = error.http_status
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text, "more_body": True})
    # Closing while the peer still sends could lose it the answer.
    await bodies.discard(receive)
    await send({"type": "http.response.body"})
