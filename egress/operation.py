"""One operation on the wire: its deadline, and what its failures are called."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpcore2

from egress.errors import BadAnswer, EgressError, Interrupted, Reason, TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from egress.limits import Limits

_HEAD_TOO_LARGE = 431


class Operation:
    """Begins at once; `has_left` is False while no byte of the request may have left."""

    def __init__(self, host: str, limits: Limits) -> None:
        self.host = host
        self.limits = limits
        self.has_left = False
        self._deadline = asyncio.get_running_loop().time() + limits.total_seconds

    async def trace(self, event: str, _: Mapping[str, object]) -> None:
        """Called by the pool: before a connection is there, it speaks of nothing else."""
        if not event.startswith("connection."):
            self.has_left = True

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Wait within the deadline; raises `EgressError` for whatever goes wrong.

        Only waiting is cut short, never what the caller does between two steps.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                yield
        except TimeoutError as error:
            raise self._over_deadline() from error
        except httpcore2.TimeoutException as error:
            raise self._silent() from error
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            ssl.SSLError,
        ) as error:
            raise self._broken(error) from error

    def headers_too_large(self) -> BadAnswer:
        return BadAnswer(
            Reason.HEADERS_TOO_LARGE,
            f"«{self.host}» answered with more than {self.limits.header_bytes} bytes of "
            "headers. Its operator has to send fewer.",
        )

    def _over_deadline(self) -> TimedOut:
        return TimedOut(
            Reason.DEADLINE,
            f"«{self.host}» had not answered in full after "
            f"{self.limits.total_seconds:g} seconds. Try again later, or ask for less.",
            has_left=self.has_left,
        )

    def _silent(self) -> TimedOut:
        return TimedOut(
            Reason.IDLE,
            f"«{self.host}» was silent for {self.limits.idle_seconds:g} seconds. Try "
            "again later.",
            has_left=self.has_left,
        )

    def _broken(self, error: Exception) -> EgressError:
        # The parser's own word for a head that outgrows its buffer.
        told = next(iter(error.args), None)
        if getattr(told, "error_status_hint", 0) == _HEAD_TOO_LARGE:
            return self.headers_too_large()
        return Interrupted(
            Reason.BROKEN_OFF,
            f"«{self.host}» ended the connection before its answer was complete, or did "
            "not answer in HTTP. Look there whether the request arrived.",
            has_left=self.has_left,
        )
