"""What agents do in the wild, and where a step ends then (C4, C7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_client.models import CallState, RemoteCall
from agent_runs.handlers import ModelAnswer
from agent_runs.tools.progress import Done
from tests.a2a_client import agents, scripts
from tests.a2a_client.delegating import (
    DONE,
    delegating,
    sends,
)
from tests.a2a_client.peer import Peer

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from tests.a2a_client.peer import Script as Answer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]


# --- What agents do in the wild -------------------------------------------------------

NOT_ACCEPTED: dict[str, tuple[Answer, str]] = {
    "redirect": (scripts.redirect("https://other.example/rpc"), "http_307"),
    "bad request": (scripts.http(400), "http_400"),
    "unauthorized": (scripts.http(401), "http_401"),
    "no such path": (scripts.html(404), "http_404"),
    "too many": (scripts.http(429), "http_429"),
    "HTTP 500 with an error to read": (scripts.error(-32602, status=500), "rpc-32602"),
    "not JSON": (scripts.error(-32700, id=None), "rpc-32700"),
    "no such method": (scripts.error(-32601), "rpc-32601"),
    "first code of the protocol": (scripts.error(-32001), "rpc-32001"),
    "last code of the protocol": (scripts.error(-32009), "rpc-32009"),
    "internal, 429": (scripts.error(-32603, status=429), "rpc-32603"),
    "internal, 503": (scripts.error(-32603, status=503), "rpc-32603"),
}
UNKNOWN: dict[str, tuple[Answer, str]] = {
    "page of HTML": (scripts.html(), "unreadable"),
    "wrong id": (sends(DONE, id="another"), "unreadable"),
    "no result": (scripts.result({}), "unreadable"),
    "task without a name": (sends(agents.task("WORKING", id="")), "unreadable"),
    "name too long": (sends(agents.task("WORKING", id="x" * 501)), "no_task_id"),
    "request time-out": (scripts.http(408), "http_408"),
    "HTTP 500": (scripts.http(500), "http_500"),
    "HTTP 500 with a page": (scripts.html(500), "http_500"),
    "HTTP 503, try later": (scripts.unavailable(), "http_503"),
    "internal error": (scripts.error(-32603), "rpc-32603"),
    "code of its own": (scripts.error(-32050), "rpc-32050"),
    "code of its own, 500": (scripts.error(-32099, status=500), "rpc-32099"),
    "gzip bomb": (scripts.gzip_bomb(), "body_too_large"),
    "damaged gzip": (scripts.gzipped(b"{}" * 900, damaged=True), "encoding"),
    "endless": (scripts.endless, "body_too_large"),
    "drip": (scripts.drip, "deadline"),
    "dripping head": (scripts.dripping_head, "deadline"),
    "silence": (scripts.silence, "deadline"),
    "reset": (scripts.reset, "broken_off"),
    "hang up": (scripts.hang_up, "broken_off"),
    "truncated": (scripts.half(), "broken_off"),
}


@pytest.mark.parametrize("answer", list(NOT_ACCEPTED))
def test_what_was_not_accepted_is_an_error_and_may_be_tried_again(
    peer: Peer, answer: str
) -> None:
    """C7: by the model, which makes another call of it."""
    script, code = NOT_ACCEPTED[answer]
    peer.on("SendMessage", script, sends(DONE))
    step = delegating(peer)
    step.script.steps.insert(1, step.script.steps[0])

    step.go()

    first, second = RemoteCall.objects.order_by("created_at")
    assert (first.state, first.code) == (CallState.NOT_ACCEPTED, code)
    assert second.state == CallState.COMPLETED
    ((outcome, content),) = step.script.results(1)
    assert outcome == "failed"
    assert first.sentence in content
    assert peer.count("SendMessage") == 2


@pytest.mark.parametrize("answer", list(UNKNOWN))
def test_an_unknown_outcome_is_told_and_never_sent_again(
    peer: Peer, answer: str
) -> None:
    """C7: not by a later segment, a poll or a sweep either."""
    script, code = UNKNOWN[answer]
    peer.on("SendMessage", script)
    step = delegating(peer, timeout_seconds=1)

    said = step.delegate()
    step.sweep()
    ended = step.go()
    step.sweep()

    assert (step.call.state, step.call.code) == (CallState.UNKNOWN, code)
    assert step.call.sentence
    assert isinstance(said, Done)
    assert said.is_error
    assert ended == ModelAnswer(text="done")
    outcome, content = step.result
    assert outcome == "failed"
    assert step.call.sentence in content
    assert "know" in content
    assert peer.count("SendMessage") == len(peer.received) == 1


def test_a_refused_connection_was_not_accepted(loopback: None) -> None:
    """C7: nothing left this host."""
    with Peer() as gone:
        step = delegating(gone)

    step.go()

    assert (step.call.state, step.call.code) == (
        CallState.NOT_ACCEPTED,
        "connect_failed",
    )
    assert step.result[0] == "failed"


def test_what_the_guard_refuses_never_leaves(
    peer: Peer, settings: SettingsWrapper
) -> None:
    """C3, C7, E4."""
    settings.A2A_EGRESS_ALLOW_LOOPBACK = False
    step = delegating(peer)

    step.go()

    assert step.call.state == CallState.NOT_ACCEPTED
    assert step.result[0] == "failed"
    assert peer.connections == 0


@pytest.mark.parametrize("state", ["PONDERING", "UNSPECIFIED", None])
def test_an_unknown_state_is_never_completed(peer: Peer, state: str | None) -> None:
    """C4: the task goes on."""
    peer.on("SendMessage", sends(agents.task(state, say="Done!")))
    peer.on("GetTask", scripts.result(agents.task(state)), scripts.result(DONE))
    step = delegating(peer)

    step.go()
    step.poll()
    before = step.call.state
    step.poll()
    step.go()

    assert before == CallState.WORKING
    assert "Paris" in step.result[1]


def test_unknown_parts_and_members_are_passed_over(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    """C4: and so is a missing time."""
    parts = [{"hologram": "?"}, {"text": "Paris", "mood": 3}]
    told = {"artifactId": "a", "parts": parts, "more": {}}
    peer.on("SendMessage", sends(agents.task(artifacts=[told], colour="red"), extra=1))
    step = delegating(peer)

    with caplog.at_level("INFO"):
        step.go()

    assert step.call.state == CallState.COMPLETED
    assert "\nParis\n" in step.result[1]
    assert "agent's answer read in part" in caplog.messages


def test_text_that_no_database_stores_ends_nothing(peer: Peer) -> None:
    """C4: half a surrogate pair and U+0000 are valid JSON."""
    told = agents.artifact("Par\ud83dis\x00")
    peer.on("SendMessage", sends(agents.task(artifacts=[told], contextId="K\x00")))
    step = delegating(peer)

    step.go()

    assert step.call.state in {CallState.COMPLETED, CallState.UNKNOWN}
    assert RemoteCall.objects.filter(ended_at__isnull=False).exists()
