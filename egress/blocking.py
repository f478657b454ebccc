"""The same requests for callers that have no event loop of their own.

A blocking client cannot hold a deadline: a byte now and then keeps it for ever. So a loop
is run for the one request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from egress.client import Answer, open_client

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from egress.limits import Limits
    from egress.policy import Policy
    from egress.resolver import Resolver


def request(
    policy: Policy,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    limits: Limits | None = None,
    resolver: Resolver | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> Answer:
    """Open a client, send one request, close it; raises `EgressError`.

    Works in any thread that has no running event loop. Raises `RuntimeError` where this
    thread has one: it would stand still meanwhile.
    """

    async def send() -> Answer:
        async with open_client(
            policy, limits=limits, resolver=resolver, ssl_context=ssl_context
        ) as client:
            return await client.request(method, url, headers=headers, content=content)

    _require_no_loop()
    return asyncio.run(send())


def _require_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "An event loop runs in this thread: await egress.client there, or call this in "
        "another thread."
    )
