"""Reading a request's body within a bound and a deadline (S41, S10).

Django reads a whole body, to disk where it is large, before a view runs. Here the bound
stands in front: what is over it costs neither memory nor disk, whatever its
Content-Length says.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from a2a_server import addressing
from a2a_server.errors import Reason, refuse

if TYPE_CHECKING:
    from a2a_protocol.errors import ProtocolError
    from a2a_server.asgi_types import Message, Receive, Scope

BODY_SECONDS = 30.0
# What a server reads ahead in any case.
SMALL_BYTES = 64 * 1024
# An answer that comes before the body is only read by a peer that may go on sending.
DISCARDED_BYTES = 64 * 1024
DISCARD_SECONDS = 2.0

_MEDIA_TYPES = {"application/json", "application/a2a+json"}
_UTF_8 = {"utf-8", "utf8"}


class PeerGoneError(Exception):
    """The peer hung up; there is nobody to answer."""


def refuse_media_type(scope: Scope) -> None:
    """Raise CONTENT_TYPE_NOT_SUPPORTED for what is not plain JSON in UTF-8."""
    encoding = addressing.header(scope, b"content-encoding") or "identity"
    if encoding.strip().lower() != "identity":
        raise _media_type_refusal("Send the body without a Content-Encoding.")
    content_type = addressing.header(scope, b"content-type") or ""
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = {
        value.strip().strip('"')
        for name, _, value in (parameter.partition("=") for parameter in parameters)
        if name.strip() == "charset"
    }
    if media_type not in _MEDIA_TYPES or not charsets <= _UTF_8:
        raise _media_type_refusal(
            "The body has to be JSON in UTF-8. Send the header Content-Type: "
            "application/json."
        )


def _media_type_refusal(message: str) -> ProtocolError:
    return refuse(Reason.CONTENT_TYPE_NOT_SUPPORTED, message=message, http_status=415)


def refuse_length(scope: Scope, limit: int) -> None:
    """Raise REQUEST_TOO_LARGE for a body that says it is over the limit."""
    length = addressing.header(scope, b"content-length") or ""
    # Longer numbers than any size: the conversion of digits takes time of its own.
    if length.isdecimal() and (len(length) > 18 or int(length) > limit):
        raise refuse(Reason.REQUEST_TOO_LARGE)


def refuse_size(body: bytes | bytearray, limit: int) -> None:
    """Raise REQUEST_TOO_LARGE for what is over the limit in fact."""
    if len(body) > limit:
        raise refuse(Reason.REQUEST_TOO_LARGE)


def is_announced(scope: Scope) -> bool:
    """Whether the request has a body at all."""
    length = addressing.header(scope, b"content-length") or "0"
    return length.strip("0") != "" or bool(
        addressing.header(scope, b"transfer-encoding")
    )


def arrived(scope: Scope, receive: Receive) -> Message | None:
    """What `receive` would give at once of a small body: the server holds it already.

    None where nothing is there yet. Nobody waits here, and nothing is asked of the peer.
    `receive` must not have taken anything before it waits for the first time; no server
    does.
    """
    length = addressing.header(scope, b"content-length") or ""
    is_small = length.isdecimal() and len(length) < 6 and int(length) <= SMALL_BYTES
    # With Expect the server would tell the peer to go on.
    if not is_small or addressing.header(scope, b"expect") is not None:
        return None
    waiting: Any = receive()
    try:
        waiting.send(None)
    except StopIteration as given:
        message: Message = given.value
        return message
    # It waits for the peer, and has taken nothing.
    waiting.close()
    return None


def is_whole(message: Message) -> bool:
    """Whether a message is all of a request's body."""
    is_body = message["type"] == "http.request"
    return is_body and not message.get("more_body", False)


async def read(
    receive: Receive,
    limit: int,
    *,
    first: Message | None = None,
    seconds: float = BODY_SECONDS,
) -> bytes:
    """The body, of which `first` has been received.

    Raise REQUEST_TOO_LARGE, REQUEST_TIMEOUT or PeerGoneError.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, limit, first)
    except TimeoutError:
        raise refuse(Reason.REQUEST_TIMEOUT) from None


async def _read(receive: Receive, limit: int, first: Message | None) -> bytes:
    body = bytearray()
    message = first or await receive()
    while True:
        if message["type"] == "http.disconnect":
            raise PeerGoneError
        body += message.get("body", b"")
        refuse_size(body, limit)
        if not message.get("more_body", False):
            return bytes(body)
        message = await receive()


async def discard(receive: Receive, *, seconds: float = DISCARD_SECONDS) -> None:
    """Throw away what is left of a body, but no more than a little and not for long."""
    left = DISCARDED_BYTES
    try:
        async with asyncio.timeout(seconds):
            while left > 0:
                message = await receive()
                if not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return
