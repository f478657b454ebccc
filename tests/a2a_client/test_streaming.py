"""Delivery by stream (C6, B106, B107, B114)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import delegation, ledger, messages
from a2a_client.models import CallState, Cancellation, RemoteCall
from agent_runs import clock
from agent_runs.handlers import ModelAnswer
from agent_runs.models import RunState
from tests.a2a_client import agents, cards, scripts
from tests.a2a_client.delegating import ASKING, DONE, WORKING, delegating
from tests.a2a_client.peer import Gate
from tests.agent_runs import locking
from tests.processes import wait_until

if TYPE_CHECKING:
    from tests.a2a_client.delegating import Delegating
    from tests.a2a_client.peer import Exchange, Peer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client_role"),
]

METHOD = "SendStreamingMessage"


def streaming(peer: Peer, **values: Any) -> Delegating:
    card = json.dumps(cards.card(peer.url))
    return delegating(peer, card=card, delivery="stream", **values)


def chunk(text: str, *, id_: str = "a", append: bool = True) -> dict[str, Any]:
    told = {"taskId": "R1", "contextId": "K1", "append": append}
    return {"artifactUpdate": told | {"artifact": agents.artifact(text, id_=id_)}}


def status(state: str, **members: Any) -> dict[str, Any]:
    told = agents.task(state, **members)
    update = {"taskId": "R1", "contextId": "K1", "status": told["status"]}
    return {"statusUpdate": update}


def test_a_stream_is_followed_to_its_end(peer: Peer) -> None:
    """C6, B114: chunks are put together, a snapshot replaces them."""
    snapshot = agents.task("WORKING", artifacts=[agents.artifact("Hello, world!")])
    peer.on(
        METHOD,
        scripts.events(
            {"task": WORKING},
            chunk("Hello, ", append=False),
            chunk("world"),
            chunk("!"),
            {"task": snapshot},
            status("COMPLETED"),
        ),
    )
    step = streaming(peer)

    ended = step.go()

    assert ended == ModelAnswer(text="done")
    assert step.call.state == CallState.COMPLETED
    assert step.call.result == "Hello, world!"
    assert [r.method for r in peer.received] == [METHOD]


def test_a_stream_may_end_badly(peer: Peer) -> None:
    """C8."""
    peer.on(METHOD, scripts.events({"task": WORKING}, status("FAILED", say="No.")))
    step = streaming(peer)

    step.go()

    assert (step.call.state, step.call.code) == (CallState.FAILED, "failed")
    assert step.result[0] == "failed"
    assert "The agent said: No." in step.result[1]


def test_a_stream_may_ask(peer: Peer) -> None:
    """C8: the answer's stream is followed in its turn."""
    peer.on(METHOD, scripts.events({"task": ASKING}), scripts.events({"task": DONE}))
    step = streaming(peer)

    waits = step.go()
    step.answer("1999")
    ended = step.go()

    assert waits.waiting.question.text == "Which year?"
    assert ended == ModelAnswer(text="done")
    answer = peer.of(METHOD)[1].params["message"]
    assert (answer["taskId"], answer["contextId"]) == ("R1", "K1")


def test_a_message_ends_a_stream(peer: Peer) -> None:
    """C6."""
    peer.on(METHOD, scripts.events({"message": agents.message("Paris")}))
    step = streaming(peer)

    step.go()

    assert "\nParis\n" in step.result[1]


@pytest.mark.parametrize("cut", [True, False], ids=["reset", "closed"])
def test_a_cut_stream_is_polled_on(peer: Peer, cut: bool) -> None:
    """B106: half a text is no result."""
    half = scripts.events({"task": WORKING}, chunk("Par", append=False), cut=cut)
    peer.on(METHOD, half)
    peer.on("GetTask", scripts.result(WORKING), scripts.result(DONE))
    step = streaming(peer)

    waits = step.go()
    step.poll()
    step.poll()
    ended = step.go()

    assert waits.target == RunState.WAITING_FOR_REMOTE
    assert ended == ModelAnswer(text="done")
    assert step.call.result == "Paris"
    assert peer.count(METHOD) == 1
    assert peer.count("SendMessage") == 0


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (scripts.events(), CallState.UNKNOWN),
        (scripts.events(cut=True), CallState.UNKNOWN),
        (scripts.reset, CallState.UNKNOWN),
        (scripts.silence, CallState.UNKNOWN),
        (scripts.html(), CallState.UNKNOWN),
        (scripts.http(500), CallState.UNKNOWN),
        (scripts.error(-32603), CallState.UNKNOWN),
        (scripts.error(-32004), CallState.NOT_ACCEPTED),
        (scripts.redirect("https://other.example"), CallState.NOT_ACCEPTED),
        (scripts.http(401), CallState.NOT_ACCEPTED),
    ],
    ids=[
        "closed",
        "cut",
        "reset",
        "silence",
        "page",
        "HTTP 500",
        "internal",
        "unsupported",
        "redirect",
        "unauthorized",
    ],
)
def test_what_ended_before_any_event_is_judged_as_an_answer(
    peer: Peer, answer: Any, state: str
) -> None:
    """C7, B106: and it is not sent again."""
    peer.on(METHOD, answer)
    step = streaming(peer, timeout_seconds=1)

    step.go()
    step.sweep()

    assert step.call.state == state
    assert step.result[0] == "failed"
    assert peer.count(METHOD) == 1


@pytest.mark.parametrize("told", [DONE, WORKING], ids=["done", "working"])
def test_an_agent_may_answer_without_a_stream(peer: Peer, told: dict[str, Any]) -> None:
    """B107: the result counts as the only event."""
    peer.on(METHOD, scripts.result({"task": told}))
    peer.on("GetTask", scripts.result(DONE))
    step = streaming(peer)

    ended = step.go()
    if told is WORKING:
        step.poll()
        ended = step.go()

    assert ended == ModelAnswer(text="done")
    assert "Paris" in step.result[1]


def test_the_end_counts_though_the_agent_does_not_close(peer: Peer) -> None:
    """B106 e."""
    peer.on(METHOD, scripts.open_stream({"task": WORKING}, status("COMPLETED")))
    step = streaming(peer)

    ended = step.go()

    assert ended == ModelAnswer(text="done")
    peer.wait_for_hang_up()


def test_a_stream_that_outlasts_the_deadline_is_left(peer: Peer) -> None:
    """C6: the next poll finds that it is over."""
    peer.on(METHOD, scripts.open_stream({"task": WORKING}))
    step = streaming(peer)
    call = ledger.begin(step.agent, text="x")
    call.deadline_at = clock.database_now()

    async_to_sync(delegation.send)(call, messages.new_task(call, "x"))

    assert step.call.state == CallState.WORKING
    peer.wait_for_hang_up()


def test_the_task_has_a_name_as_soon_as_it_was_told(peer: Peer) -> None:
    """R12: whoever finds the row after a crash goes on by polling."""
    end = Gate(scripts.nothing)

    async def begins(exchange: Exchange) -> None:
        await scripts.events({"task": WORKING})(exchange)
        await end(exchange)

    def is_named() -> bool:
        return RemoteCall.objects.exclude(remote_task_id="").exists()

    peer.on(METHOD, begins)
    step = streaming(peer)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(locking.with_own_connection, step.delegate)
        wait_until(is_named, what="the row that names the task")
        named = step.call
        end.open()
        first.result()

    assert (named.state, named.remote_task_id) == (CallState.WORKING, "R1")
    assert named.due_at is not None


def test_too_much_is_an_error_and_canceled(peer: Peer) -> None:
    """E7: the agent may go on for ever."""
    big = "x" * (1024 * 1024)
    chunks = [chunk(big, id_=str(number)) for number in range(3)]
    peer.on(METHOD, scripts.events({"task": WORKING}, *chunks))
    step = streaming(peer)

    step.go()

    assert (step.call.state, step.call.code) == (CallState.FAILED, "too_much")
    assert step.call.cancellation == Cancellation.WANTED
    assert step.result[0] == "failed"


def test_an_agent_that_offers_no_stream_is_polled(peer: Peer) -> None:
    """C6."""
    peer.on("SendMessage", scripts.result({"task": DONE}))
    step = delegating(peer, delivery="stream")

    step.go()

    assert "Paris" in step.result[1]
    assert peer.count(METHOD) == 0
