"""Opens sockets, to judged addresses only (E5).

The pool above asks for a host by its name. The name is resolved here, once for each
socket; every address is judged; and the socket goes to one of exactly those. The name
stays what TLS is asked for and what the certificate is checked against.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpcore2

from egress import addresses, policy
from egress.errors import Reason, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from egress.addresses import Address
    from egress.policy import Policy
    from egress.resolver import Resolver

# DNS may take this part of the time to connect; TCP and TLS need the rest.
_DNS_SHARE = 0.6
# Of OpenSSL (x509_vfy.h): the certificate is for another name, or another address.
_MISMATCHES = (62, 64)
_EXPIRED = 10


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """`connect_seconds` are for DNS, TCP and TLS together."""

    def __init__(
        self, *, policy: Policy, resolver: Resolver, connect_seconds: float
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._connect_seconds = connect_seconds
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        seconds = timeout or self._connect_seconds
        deadline = _now() + seconds
        found = await self._addresses(host, seconds * _DNS_SHARE)
        policy.judge_addresses(self._policy, found, host=host, port=port)
        for tried, address in enumerate(found):
            # Each may take an equal part of what is left.
            share = max(deadline - _now(), 0) / (len(found) - tried)
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return _GuardedStream(
                    await self._backend.connect_tcp(str(address), port, share),
                    host=host,
                    deadline=deadline,
                )
        raise Unreachable(
            Reason.CONNECT_FAILED,
            f"«{host}» took no connection on port {port}. Check that it is running and "
            "can be reached from here.",
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise NotImplementedError("no URL leads to a socket of this host")

    async def _addresses(self, host: str, seconds: float) -> Sequence[Address]:
        literal = addresses.literal(host)
        if literal:
            return (literal,)
        return await self._resolver.resolve(host, seconds=seconds)


class _GuardedStream(httpcore2.AsyncNetworkStream):
    """A connection before TLS; says in our words what goes wrong there."""

    def __init__(
        self, stream: httpcore2.AsyncNetworkStream, *, host: str, deadline: float
    ) -> None:
        self._stream = stream
        self._host = host
        self._deadline = deadline

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        left = max(self._deadline - _now(), 0)
        try:
            return await self._stream.start_tls(ssl_context, self._host, left)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            raise _tls_failure(self._host, error.__cause__) from error
        except BaseException:
            # A pool drops what was cancelled here without closing it.
            await self._stream.aclose()
            raise

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _tls_failure(host: str, cause: BaseException | None) -> Unreachable:
    if not isinstance(cause, ssl.SSLCertVerificationError):
        return Unreachable(
            Reason.TLS,
            f"No encrypted connection to «{host}» could be agreed. Check that it speaks "
            "https there, with TLS 1.2 or newer.",
        )
    fault = "by nobody whom this installation trusts"
    if cause.verify_code in _MISMATCHES:
        fault = "for another name"
    if cause.verify_code == _EXPIRED:
        fault = "for a time that is over"
    return Unreachable(
        Reason.CERTIFICATE,
        f"The certificate of «{host}» was issued {fault}. Its operator has to renew or "
        "correct it; a private authority is trusted where an operator names it.",
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
