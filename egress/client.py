"""Makes requests through the guard (E5, E6, E7).

One client is one pool of connections of one group, on one event loop. It follows no
redirect, repeats nothing, keeps no cookies and reads no proxy from the environment: below
it is a pool that knows nothing of these.
"""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpcore2

from egress import policy as policies
from egress import requests, tls
from egress.decoding import Decoder
from egress.limits import Limits
from egress.operation import Operation
from egress.resolver import DNSResolver
from egress.transport import GuardedBackend

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

    from egress.policy import Policy
    from egress.resolver import Resolver

__all__ = ["Answer", "Client", "Limits", "StreamedAnswer", "open_client"]

_KEEP_ALIVE_SECONDS = 15
_MAX_CONNECTIONS = 100
_MAX_KEPT_CONNECTIONS = 10
_HEADER_LINE_EXTRA = len(": \r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Names of headers are lower case; several of one name are joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StreamedAnswer:
    """An answer whose body has not been read yet; `chunks` or `read`, and once."""

    def __init__(
        self,
        response: httpcore2.Response,
        raw: AsyncIterator[bytes],
        operation: Operation,
    ) -> None:
        """Raises `BadAnswer` for a head that breaks a bound, or an unknown encoding."""
        _judge_head(response, operation)
        self.status = response.status
        self.headers: Mapping[str, str] = _headers(response)
        self._operation = operation
        self._raw = raw
        self._decoder = Decoder(
            self.headers.get("content-encoding", ""),
            host=operation.host,
            body_bytes=operation.limits.body_bytes,
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        """The decoded body as it arrives, at most `Limits.body_bytes` of it.

        Raises `Interrupted`, `TimedOut` and `BadAnswer`.
        """
        while True:
            async with self._operation.step():
                raw = await anext(self._raw, None)
            if raw is None:
                break
            for piece in self._decoder.feed(raw):
                yield piece
        self._decoder.finish()

    async def read(self) -> bytes:
        """The whole body; raises as `chunks` does."""
        return b"".join([piece async for piece in self.chunks()])


class Client:
    """Every request is judged by the policy that the client was opened with."""

    def __init__(
        self, policy: Policy, pool: httpcore2.AsyncConnectionPool, limits: Limits
    ) -> None:
        self._policy = policy
        self._pool = pool
        self._limits = limits

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: Limits | None = None,
    ) -> Answer:
        """Send it once and read the answer, whatever its status.

        Raises `EgressError`, which says what went wrong and whether anything has left.
        """
        async with self.stream(
            method, url, headers=headers, content=content, limits=limits
        ) as answer:
            body = await answer.read()
        return Answer(status=answer.status, headers=answer.headers, body=body)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: Limits | None = None,
    ) -> AsyncIterator[StreamedAnswer]:
        """As `request`, with the body left to be read while the context is open."""
        target = policies.judge_url(self._policy, url)
        operation = Operation(target.host, limits or self._limits)
        request = requests.build(
            operation, target, method=method, headers=headers or {}, content=content
        )
        async with operation.step():
            response = await self._pool.handle_async_request(request)
        async with aclosing(response), aclosing(response.aiter_stream()) as raw:
            yield StreamedAnswer(response, raw, operation)


@asynccontextmanager
async def open_client(
    policy: Policy,
    *,
    limits: Limits | None = None,
    resolver: Resolver | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> AsyncIterator[Client]:
    """A client of this policy's group, until the context ends.

    Without a resolver the system's name servers are asked; without an SSL context the
    system's authorities are believed.
    """
    chosen = limits or Limits()
    backend = GuardedBackend(
        policy=policy,
        resolver=resolver or DNSResolver(),
        connect_seconds=chosen.connect_seconds,
    )
    async with httpcore2.AsyncConnectionPool(
        ssl_context=ssl_context or tls.context(),
        max_connections=_MAX_CONNECTIONS,
        max_keepalive_connections=_MAX_KEPT_CONNECTIONS,
        keepalive_expiry=_KEEP_ALIVE_SECONDS,
        http2=False,
        retries=0,
        network_backend=backend,
    ) as pool:
        yield Client(policy, pool, chosen)


def _judge_head(response: httpcore2.Response, operation: Operation) -> None:
    size = sum(
        len(name) + len(value) + _HEADER_LINE_EXTRA for name, value in response.headers
    )
    if size > operation.limits.header_bytes:
        raise operation.headers_too_large()


def _headers(response: httpcore2.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
