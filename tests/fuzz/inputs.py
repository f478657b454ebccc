"""One input of the fuzz: a request as bytes, and how they arrive.

An input is made from a seed and its number alone, so that any of them can be made again
without those before it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from tests.asgi_peer import make_scope

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from a2a_server.asgi_types import Message

Headers = tuple[tuple[bytes, bytes], ...]

HOST = "gateway.example"
ENDPOINT = "/a2a"
CARD = "/.well-known/agent-card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the prepared records are called, so that an input can name them.

    `tokens` open, `dead_tokens` do not. `tasks` are those of the first token's client
    that nothing has happened to yet; others take their place from time to time.
    """

    tokens: Sequence[str]
    dead_tokens: Sequence[str]
    foreign_tasks: Sequence[str]
    skills: Sequence[str]
    tasks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """`cuts` are where the body is cut in pieces. A body that `stalls` never ends;
    after one that `breaks` the peer is gone.
    """

    label: str
    method: str = "POST"
    path: str = ENDPOINT
    query: bytes = b""
    scheme: str = "https"
    headers: Headers = ()
    body: bytes = b""
    cuts: tuple[int, ...] = ()
    stalls: bool = False
    breaks: bool = False
    address: str = "192.0.2.7"

    def header(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name]

    @property
    def scope(self) -> dict[str, Any]:
        scope = make_scope(
            self.path,
            method=self.method,
            scheme=self.scheme,
            query=self.query,
            client=(self.address, 50000),
        )
        return scope | {"headers": [(k.lower(), v) for k, v in self.headers]}

    @property
    def pieces(self) -> list[bytes]:
        places = [0, *sorted(min(cut, len(self.body)) for cut in self.cuts)]
        ends = [*places[1:], len(self.body)]
        return [self.body[start:end] for start, end in zip(places, ends, strict=True)]


@dataclass(slots=True)
class Sender:
    """The peer's side of an ASGI connection."""

    input: Input
    sent: list[Message] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    _pieces: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pieces = self.input.pieces

    async def receive(self) -> Message:
        if self._pieces:
            piece = self._pieces.pop(0)
            more = bool(self._pieces) or self.input.stalls or self.input.breaks
            return {"type": "http.request", "body": piece, "more_body": more}
        if not self.input.breaks:
            await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)


# --- Real requests --------------------------------------------------------------------

# How often each is chosen.
METHODS = {
    "SendMessage": 34,
    "GetTask": 24,
    "ListTasks": 10,
    "CancelTask": 10,
    "SendStreamingMessage": 3,
    "SubscribeToTask": 2,
    "GetExtendedAgentCard": 2,
    "CreateTaskPushNotificationConfig": 2,
    "GetTaskPushNotificationConfig": 2,
    "ListTaskPushNotificationConfigs": 1,
    "DeleteTaskPushNotificationConfig": 1,
    "message/send": 2,
}

_PARTS: list[dict[str, Any]] = [
    {"text": "Count these words, please."},
    {
        "text": "Größe, 大きさ, \N{GRINNING FACE}",
        "mediaType": "text/plain; charset=utf-8",
    },
    {"data": {"rows": [[1, 2.5, None], [True, "x", {}]]}},
    {"data": None, "metadata": {"a": {"b": []}}},
    {"raw": "+/8=", "filename": "two.bin", "mediaType": "application/octet-stream"},
    {"url": "https://files.example/one", "mediaType": "text/plain"},
]


def chance(rng: random.Random, one_in: int) -> bool:
    return rng.randrange(one_in) == 0


def pick(rng: random.Random, weights: dict[str, int]) -> str:
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def message(rng: random.Random, names: Names) -> dict[str, Any]:
    """Mostly a new message; sometimes a repeat, or one to a task."""
    parts = [rng.choice(_PARTS[:4])] if rng.random() < 0.8 else rng.sample(_PARTS, 3)
    made: dict[str, Any] = {
        "messageId": f"m-{rng.getrandbits(64 if rng.random() < 0.7 else 4)}",
        "role": "ROLE_USER",
        "parts": parts,
    }
    if chance(rng, 4):
        made["contextId"] = f"context {rng.randrange(9)}"
    if chance(rng, 6):
        made["taskId"] = task_id(rng, names)
    if chance(rng, 6):
        made |= {"metadata": {"x": 1}, "extensions": [], "referenceTaskIds": ["t"]}
    return made


def task_id(rng: random.Random, names: Names) -> str:
    own = rng.random() < 0.8
    return rng.choice(names.tasks if own else [*names.foreign_tasks, "no-such-task"])


def send_params(rng: random.Random, names: Names) -> dict[str, Any]:
    params: dict[str, Any] = {
        "message": message(rng, names),
        "configuration": {"returnImmediately": not chance(rng, 12)},
    }
    if chance(rng, 2):
        params["metadata"] = {PROFILE_EXTENSION_URI: rng.choice(names.skills)}
    if chance(rng, 8):
        params["configuration"] |= {
            "historyLength": rng.randrange(3),
            "acceptedOutputModes": ["text/plain", "*/*"],
        }
    if chance(rng, 30):
        push = {"url": "https://hook.example/", "token": "t"}
        params["configuration"]["taskPushNotificationConfig"] = push
    return params


def params_of(rng: random.Random, method: str, names: Names) -> dict[str, Any]:
    if method in {"SendMessage", "SendStreamingMessage", "message/send"}:
        return send_params(rng, names)
    if method == "ListTasks":
        choices = {
            "pageSize": rng.choice([1, 2, 5, "3", 10]),
            "contextId": f"context {rng.randrange(9)}",
            "status": rng.choice(["TASK_STATE_WORKING", 3, "UNRECOGNIZED"]),
            "statusTimestampAfter": "2026-01-02T03:04:05.123456789+02:00",
            "historyLength": rng.randrange(3),
            "includeArtifacts": True,
            "pageToken": "",
        }
        chosen = rng.sample(sorted(choices), rng.randrange(len(choices)))
        return {"pageSize": 3} | {name: choices[name] for name in chosen}
    params: dict[str, Any] = {"id": task_id(rng, names)}
    if chance(rng, 3):
        params["historyLength"] = rng.randrange(3)
    return params


def envelope(rng: random.Random, names: Names) -> dict[str, Any]:
    method = pick(rng, METHODS)
    id_ = rng.choice([rng.randrange(10**6), f"request-{rng.getrandbits(32)}"])
    params = params_of(rng, method, names)
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def dump(value: object, *, ascii_only: bool = False) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_only)
    return text.encode("utf-8", "surrogatepass")


def real_headers(token: str, host: str = HOST) -> Headers:
    return (
        (b"host", host.encode()),
        (b"content-type", b"application/json"),
        (b"a2a-version", b"1.0"),
        (b"authorization", f"Bearer {token}".encode()),
    )


def real_input(rng: random.Random, names: Names, label: str = "real") -> Input:
    """A request that a client may well send, or one for the card."""
    if chance(rng, 25):
        path = rng.choice([CARD, ENDPOINT + CARD])
        return Input(
            label=label,
            method=rng.choice(["GET", "HEAD"]),
            path=path,
            headers=((b"host", HOST.encode()),),
        )
    body = dump(envelope(rng, names), ascii_only=chance(rng, 2))
    token = names.tokens[0] if rng.random() < 0.5 else rng.choice(names.tokens)
    headers = real_headers(token)
    if chance(rng, 2):
        headers = (*headers, (b"content-length", str(len(body)).encode()))
    return Input(
        label=label, path=ENDPOINT + "/" * chance(rng, 5), headers=headers, body=body
    )
