"""Drives the official Python SDK, in its own environment, for the tests beside.

One JSON object a line in, one a line out. Requests and results are the protocol's JSON as
the SDK's own types read and write it, so what comes out is what a user of the SDK sees.

    {"do": "resolve", "url": …}                  → {"result": <the card>}
    {"do": "connect", "name": …, "url": …, "token": …, "version": …, "promises": […]}
    {"do": "call", "name": …, "method": …, "request": {…}, "timeout": …}
    → {"result": …} or {"error": {"kind": <class>, "message": …, "data": …}}
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import httpx
from a2a.client import (
    A2ACardResolver,
    AuthInterceptor,
    Client,
    ClientCallContext,
    ClientConfig,
    ClientFactory,
    CredentialService,
)
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

REQUESTS = {
    "send_message": a2a_pb2.SendMessageRequest,
    "get_task": a2a_pb2.GetTaskRequest,
    "list_tasks": a2a_pb2.ListTasksRequest,
    "cancel_task": a2a_pb2.CancelTaskRequest,
    "subscribe": a2a_pb2.SubscribeToTaskRequest,
    "create_task_push_notification_config": a2a_pb2.TaskPushNotificationConfig,
    "get_extended_agent_card": a2a_pb2.GetExtendedAgentCardRequest,
}
_STREAMS = {"send_message", "subscribe"}


class Token(CredentialService):
    """The same for whatever scheme the card names."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def get_credentials(
        self, security_scheme_name: str, context: ClientCallContext | None
    ) -> str:
        return self._text


class Driver:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._clients: dict[str, Client] = {}
        self._headers: dict[str, dict[str, str]] = {}

    async def perform(self, order: dict[str, Any]) -> Any:
        return await getattr(self, f"_{order.pop('do')}")(**order)

    async def _card(self, url: str) -> a2a_pb2.AgentCard:
        return await A2ACardResolver(self._http, url).get_agent_card()

    async def _resolve(self, url: str) -> dict[str, Any]:
        return MessageToDict(await self._card(url))

    async def _connect(
        self,
        name: str,
        url: str,
        token: str,
        version: str = "",
        promises: Sequence[str] = (),
    ) -> None:
        card = await self._card(url)
        self._headers[name] = {"A2A-Version": version} if version else {}
        # As a client would that does not look at the card.
        ParseDict({"capabilities": dict.fromkeys(promises, True)}, card)
        factory = ClientFactory(ClientConfig(httpx_client=self._http))
        self._clients[name] = factory.create(card, [AuthInterceptor(Token(token))])

    async def _call(
        self,
        name: str,
        method: str,
        request: dict[str, Any],
        timeout: float | None = None,
    ) -> Any:
        message = ParseDict(request, REQUESTS[method]())
        function = getattr(self._clients[name], method)
        context = ClientCallContext(
            timeout=timeout, service_parameters=dict(self._headers[name])
        )
        if method in _STREAMS:
            events = function(message, context=context)
            return [MessageToDict(event) async for event in events]
        result = await function(message, context=context)
        return MessageToDict(result) if isinstance(result, Message) else result


async def answer(driver: Driver, line: str) -> dict[str, Any]:
    try:
        return {"result": await driver.perform(json.loads(line))}
    except Exception as error:  # noqa: BLE001 -- whatever the SDK's user would see
        told = {"kind": type(error).__name__, "message": str(error)}
        return {"error": told | {"data": getattr(error, "data", None)}}


async def main() -> None:
    async with httpx.AsyncClient() as http:
        driver = Driver(http)
        while line := await asyncio.to_thread(sys.stdin.readline):
            sys.stdout.write(json.dumps(await answer(driver, line)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
