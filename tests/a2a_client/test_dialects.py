from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_client import interfaces
from a2a_client.dialects import DIALECTS, Destination, Request
from a2a_client.replies import Accepted, HttpAnswer, NotAccepted, Unknown
from a2a_protocol import types

RPC = DIALECTS["JSONRPC", "1.0"]
TO = Destination(url="https://agent.example/rpc?x=1", tenant="acme")
GET = types.GetTaskRequest(id="R1", tenant="other")


def written(*, streaming: bool = False, to: Destination = TO) -> Request:
    return RPC.write(to, "GetTask", GET, streaming=streaming)


def reply(request: Request, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request.id} | members).encode()


def test_a_request_of_json_rpc() -> None:
    request = written()

    assert (request.verb, request.url) == ("POST", "https://agent.example/rpc?x=1")
    assert json.loads(request.content) == {
        "jsonrpc": "2.0",
        "id": request.id,
        "method": "GetTask",
        "params": {"tenant": "acme", "id": "R1"},
    }
    assert request.headers == {
        "A2A-Version": "1.0",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }


def test_an_interface_without_a_tenant_is_sent_none() -> None:
    request = written(to=Destination(url=TO.url))

    assert json.loads(request.content)["params"] == {"id": "R1"}


def test_a_request_shows_no_contents() -> None:
    assert "R1" not in repr(written())


def test_extensions_are_named() -> None:
    request = written(to=Destination(url=TO.url, extensions=("urn:a", "urn:b")))

    assert request.headers["A2A-Extensions"] == "urn:a, urn:b"


def test_every_request_has_an_id_of_its_own() -> None:
    assert written().id != written().id


def test_an_answer_is_judged_by_the_id_of_its_request() -> None:
    request = written()

    def judged(body: bytes) -> object:
        return RPC.judge(request, HttpAnswer(status=200, headers={}, body=body))

    assert judged(reply(request, result={"x": 1})) == Accepted(result={"x": 1})
    assert isinstance(judged(reply(written(), result={})), Unknown)


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"result": {}}, Accepted),
        ({"error": {"code": -32001}}, NotAccepted),
        ({"error": {"code": -32603}}, Unknown),
        ({"result": {}, "id": "other"}, Unknown),
    ],
)
def test_an_event_is_judged_as_a_reply(members: dict[str, Any], kind: type) -> None:
    request = written(streaming=True)

    assert isinstance(RPC.judge_event(request, reply(request, **members)), kind)


def test_what_cards_are_searched_for_is_spoken() -> None:
    spoken = {
        (binding, version) for version, all_ in interfaces.SPOKEN for binding in all_
    }

    assert set(DIALECTS) == spoken
