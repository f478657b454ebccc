"""An agent on the official Python SDK, in its own environment, for the tests beside.

Its first word on stdout is {"port": …}. A task says what is to become of it:

    complete TEXT    it completes with TEXT          ask QUESTION  it asks, and completes
    pieces A B …     likewise, piece by piece                      with what it was told
    fail WHY         it fails                        sign-in       it wants an authorization
    reject WHY       it is rejected                  message TEXT  no task, only a message
    wait             it works until it is told to go on, or is canceled

There are three agents, each with a card of its own: /open takes everybody, /bearer and
/key want a secret, and who has none gets a 401. One JSON object a line in, one a line out:

    {"do": "go_on"}      → {"result": null}        what waits completes
    {"do": "requests"}   → {"result": [{"method": …, "params": {…}}]}   since the last time
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    SecurityRequirement,
    SecurityScheme,
    StringList,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    SimpleUser,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.events import EventQueue
    from starlette.requests import HTTPConnection
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

SECRET = "s3cret"
SCHEMES = {
    "open": None,
    "bearer": SecurityScheme(
        http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer")
    ),
    "key": SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(name="X-Key", location="header")
    ),
}
HEADERS = {
    "bearer": ("authorization", f"Bearer {SECRET}"),
    "key": ("x-key", SECRET),
}


class Scripted(AgentExecutor):
    def __init__(self) -> None:
        self._going_on = asyncio.Event()

    def go_on(self) -> None:
        """Whatever waits now; what comes later waits again."""
        self._going_on.set()
        self._going_on = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        word, _, text = context.get_user_input().partition(" ")
        if word == "message":
            await event_queue.enqueue_event(_message(context, text))
            return
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is not None:
            await updater.start_work()
            told = context.get_user_input()
            await updater.add_artifact([Part(text=f"You said: {told}")])
            await updater.complete()
            return
        await event_queue.enqueue_event(_task(context))
        await updater.start_work()
        await getattr(self, f"_{word.replace('-', '_')}")(updater, text)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()

    async def _complete(self, updater: TaskUpdater, text: str) -> None:
        await updater.add_artifact([Part(text=text)])
        await updater.complete()

    async def _pieces(self, updater: TaskUpdater, text: str) -> None:
        for number, piece in enumerate(text.split(" ")):
            await updater.add_artifact(
                [Part(text=piece)], artifact_id="pieces", append=number > 0
            )
        await updater.complete()

    async def _fail(self, updater: TaskUpdater, text: str) -> None:
        await updater.failed(_said(updater, text))

    async def _reject(self, updater: TaskUpdater, text: str) -> None:
        await updater.reject(_said(updater, text))

    async def _ask(self, updater: TaskUpdater, text: str) -> None:
        await updater.requires_input(_said(updater, text))

    async def _sign_in(self, updater: TaskUpdater, text: str) -> None:
        await updater.requires_auth(_said(updater, text))

    async def _wait(self, updater: TaskUpdater, text: str) -> None:
        await updater.start_work(_said(updater, "waiting"))
        await self._going_on.wait()
        await self._complete(updater, "It went on.")


def _task(context: RequestContext) -> Task:
    return Task(
        id=context.task_id,
        context_id=context.context_id,
        status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
        history=[context.message],
    )


def _message(context: RequestContext, text: str) -> Message:
    return Message(
        message_id=f"to-{context.message.message_id}",
        context_id=context.context_id,
        role="ROLE_AGENT",
        parts=[Part(text=text)],
    )


def _said(updater: TaskUpdater, text: str) -> Message | None:
    return updater.new_agent_message([Part(text=text)]) if text else None


class Secrets(AuthenticationBackend):
    """The SDK keeps each user's tasks apart; who a user is, is the application's work."""

    async def authenticate(
        self, conn: HTTPConnection
    ) -> tuple[AuthCredentials, SimpleUser] | None:
        agent, _, rest = conn.url.path.lstrip("/").partition("/")
        if rest != "rpc" or agent not in HEADERS:
            return None
        name, value = HEADERS[agent]
        if conn.headers.get(name) != value:
            raise AuthenticationError("Who are you?")
        return AuthCredentials(), SimpleUser(agent)


def _refuse(conn: HTTPConnection, error: Exception) -> PlainTextResponse:
    return PlainTextResponse(str(error), 401, {"WWW-Authenticate": "Bearer"})


class Recorder:
    """Keeps what was asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._requests: list[dict[str, Any]] = []

    def taken(self) -> list[dict[str, Any]]:
        taken, self._requests = self._requests, []
        return taken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def recorded() -> Any:
            event = await receive()
            body.extend(event.get("body", b""))
            if body and not event.get("more_body"):
                asked = json.loads(body)
                body.clear()
                self._requests.append(
                    {"method": asked["method"], "params": asked["params"]}
                )
            return event

        await self._app(scope, recorded, send)


def _card(name: str, origin: str) -> AgentCard:
    card = AgentCard(
        name=f"Scripted, {name}",
        description="Does what the task says.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="any", name="Any", description="Any task.", tags=["x"])],
        supported_interfaces=[
            AgentInterface(
                url=f"{origin}/{name}/rpc",
                protocol_binding="JSONRPC",
                protocol_version="1.0",
            )
        ],
    )
    if scheme := SCHEMES[name]:
        card.security_schemes[name].CopyFrom(scheme)
        card.security_requirements.append(
            SecurityRequirement(schemes={name: StringList()})
        )
    return card


def _routes(name: str, origin: str, executor: AgentExecutor) -> list[Route]:
    card = _card(name, origin)
    handler = DefaultRequestHandler(
        agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card
    )
    well_known = f"/{name}/.well-known/agent-card.json"
    return create_jsonrpc_routes(handler, f"/{name}/rpc") + create_agent_card_routes(
        card, card_url=well_known
    )


async def _obey(orders: dict[str, Callable[[], Any]]) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        _tell({"result": orders[json.loads(line)["do"]]()})


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    executor = Scripted()
    origin = f"http://127.0.0.1:{port}"
    routes = [route for name in SCHEMES for route in _routes(name, origin, executor)]
    secrets = Middleware(AuthenticationMiddleware, backend=Secrets(), on_error=_refuse)
    recorder = Recorder(Starlette(routes=routes, middleware=[secrets]))
    config = uvicorn.Config(
        recorder, lifespan="off", log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listening]))
    # It listens already: whoever connects now is served a little later.
    _tell({"port": port})
    await _obey({"go_on": executor.go_on, "requests": recorder.taken})
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
