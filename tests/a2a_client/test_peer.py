"""The peer itself, since many tests believe what it counts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.a2a_client import scripts
from tests.a2a_client.peer import Gate, Peer


def ask(peer: Peer, method: str = "GetTask") -> httpx2.Response:
    request = {"jsonrpc": "2.0", "id": "1", "method": method, "params": {"id": "R1"}}
    return httpx2.post(peer.url, json=request, trust_env=False)


def test_scripts_are_used_in_turn_and_the_last_one_for_ever(peer: Peer) -> None:
    peer.on("GetTask", scripts.result({"n": 1}), scripts.result({"n": 2}))

    answers = [ask(peer).json()["result"]["n"] for _ in range(3)]

    assert answers == [1, 2, 2]
    assert peer.count("GetTask") == 3


def test_requests_are_kept(peer: Peer) -> None:
    ask(peer, "Unknown")

    (received,) = peer.of("Unknown")
    assert received.params == {"id": "R1"}
    assert received.headers["host"] == f"127.0.0.1:{peer.port}"


def test_an_unknown_method_and_an_unknown_path_are_told_so(peer: Peer) -> None:
    assert ask(peer).json()["error"]["code"] == -32601
    assert httpx2.get(f"{peer.origin}/x", trust_env=False).status_code == 404
    assert peer.count("GET /x") == 1


def test_a_card_is_served(peer: Peer) -> None:
    peer.serve_card({"name": "Weather"})

    assert httpx2.get(peer.card_url, trust_env=False).json() == {"name": "Weather"}


def test_a_reset_is_one(peer: Peer) -> None:
    peer.on("GetTask", scripts.reset)

    with pytest.raises(httpx2.ReadError):
        ask(peer)


def test_a_bomb_is_small_on_the_wire(peer: Peer) -> None:
    peer.on("GetTask", scripts.gzip_bomb(megabytes=4))

    with httpx2.stream(
        "POST",
        peer.url,
        content=json.dumps({"id": "1", "method": "GetTask"}),
        trust_env=False,
    ) as answer:
        assert len(b"".join(answer.iter_raw())) < 100_000


def test_a_gate_holds_an_answer_back(peer: Peer) -> None:
    gate = Gate(scripts.result({"n": 1}))
    peer.on("GetTask", gate)

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask, peer)
        peer.wait_for("GetTask")
        assert not answer.done()
        gate.open()

        assert answer.result().json()["result"] == {"n": 1}
