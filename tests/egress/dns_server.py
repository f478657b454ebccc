"""A name server on loopback, which answers over UDP what a test tells it to."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

# The answer's lines as a zone file has them, or a code; None: no answer at all.
Reply: TypeAlias = "Sequence[str] | dns.rcode.Rcode | None"


class NameServer(asyncio.DatagramProtocol):
    """`asked` are the names and types of all questions, of which there are two a name."""

    def __init__(self, replies: Mapping[str, Reply]) -> None:
        self._replies = replies
        self.asked: list[str] = []
        self.address = ""
        self.both_asked = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        kind = question.to_text().split()[-1]
        self.asked.append(f"{question.name} {kind}")
        if len(self.asked) == 2:
            self.both_asked.set()
        reply = self._replies.get(kind, dns.rcode.Rcode.NXDOMAIN)
        if reply is None:
            return
        message = dns.message.make_response(query)
        message.flags |= dns.flags.RA
        if isinstance(reply, dns.rcode.Rcode):
            message.set_rcode(reply)
        else:
            message.answer = [dns.rrset.from_text(*line.split()) for line in reply]
        self._transport.sendto(message.to_wire(), sender)


@asynccontextmanager
async def serving(**replies: Reply) -> AsyncIterator[NameServer]:
    """Replies by record type, whatever name is asked for."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(replies), ("127.0.0.1", 0)
    )
    server.address = "127.0.0.1:{}".format(transport.get_extra_info("sockname")[1])
    try:
        yield server
    finally:
        transport.close()
