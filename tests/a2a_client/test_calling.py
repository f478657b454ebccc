from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync

from a2a_client import calling, ledger, polling
from a2a_client.models import CallState, RemoteAgent, RemoteCall
from agent_runs import clock
from agent_runs.questions import BadAnswer
from tests import factories
from tests.a2a_client import agents, cards, scripts
from tests.a2a_client.peer import Gate
from tests.agent_runs import locking
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_django.fixtures import SettingsWrapper

    from agent_runs.questions import Question
    from tests.a2a_client.peer import Exchange, Peer, Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(peer: Peer) -> RemoteAgent:
    return factories.make_remote_agent(peer.url, identifier="desk")


def task(state: str, **members: Any) -> Script:
    """What SendMessage is answered with."""
    return scripts.result({"task": agents.task(state, **members)})


def got(state: str, **members: Any) -> Script:
    """What GetTask is answered with."""
    return scripts.result(agents.task(state, **members))


# --- One message ----------------------------------------------------------------------


@pytest.mark.usefixtures("desk")
def test_gives_the_agents_answer(peer: Peer) -> None:
    """C10."""
    peer.on("SendMessage", task("COMPLETED", artifacts=[agents.artifact("Done.")]))

    result = calling.call("desk", "Do it.")

    assert (result.state, result.text) == (CallState.COMPLETED, "Done.")
    assert (result.task_id, result.context_id) == ("R1", "K1")
    (sent,) = peer.of("SendMessage")
    assert sent.params["message"]["parts"] == [{"text": "Do it."}]
    assert sent.params["configuration"]["returnImmediately"] is True


@pytest.mark.usefixtures("desk")
def test_a_message_is_an_answer_too(peer: Peer) -> None:
    """C6."""
    peer.on("SendMessage", scripts.result({"message": agents.message("Hello.")}))

    result = calling.call("desk", "Do it.")

    assert (result.state, result.text, result.task_id) == ("completed", "Hello.", "")


@pytest.mark.usefixtures("desk")
def test_a_call_is_a_row_without_a_run(peer: Peer) -> None:
    """C10, C5: committed before anything leaves."""
    peer.on("SendMessage", task("COMPLETED"))

    result = calling.call("desk", "Do it.")

    row = RemoteCall.objects.get()
    assert (row.pk, row.run_id, row.state) == (result.call_id, None, "completed")
    assert row.request == "Do it."


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("answer", "state"),
    [
        pytest.param(scripts.http(404), "not_accepted", id="refused"),
        pytest.param(scripts.reset, "unknown", id="reset"),
        pytest.param(scripts.html(), "unknown", id="html"),
        pytest.param(task("FAILED", say="No ink."), "failed", id="failed"),
        pytest.param(task("AUTH_REQUIRED"), "failed", id="auth"),
    ],
)
def test_raises_nothing_for_what_an_agent_does(
    peer: Peer, answer: Script, state: str
) -> None:
    """C7, C8: and sends nothing again."""
    peer.on("SendMessage", answer)

    result = calling.call("desk", "Do it.")

    assert result.state == state
    assert result.sentence
    assert peer.count("SendMessage") == 1


@pytest.mark.usefixtures("desk")
def test_goes_on_with_a_context(peer: Peer) -> None:
    peer.on("SendMessage", task("COMPLETED"))

    calling.call("desk", "And then?", context_id="K1")

    assert peer.of("SendMessage")[0].params["message"]["contextId"] == "K1"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("desk")
def test_whoever_is_interrupted_leaves_nothing_behind_that_waits(peer: Peer) -> None:
    """C10: else the process would not end."""
    peer.on("SendMessage", scripts.drip)

    def interrupt() -> None:
        peer.wait_for("SendMessage")
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as threads:
        interrupting = threads.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            calling.call("desk", "Do it.")
        interrupting.result()

    peer.wait_for_hang_up(seconds=10)
    assert RemoteCall.objects.get().state == CallState.SENDING


# --- An agent that streams ------------------------------------------------------------


def streaming(peer: Peer) -> RemoteAgent:
    card = json.dumps(cards.card(peer.url))
    return factories.make_remote_agent(
        peer.url, identifier="desk", card=card, delivery="stream"
    )


def test_a_stream_is_followed_where_somebody_has_the_time(peer: Peer) -> None:
    streaming(peer)
    peer.on("SendStreamingMessage", scripts.events({"task": agents.task()}))

    assert calling.call("desk", "Do it.").state == CallState.COMPLETED


@pytest.mark.parametrize("timeout", [0, 0.1])
def test_nobody_waits_longer_than_they_said(peer: Peer, timeout: float) -> None:
    """A stream would end when the agent wants."""
    streaming(peer)
    peer.on("SendMessage", task("WORKING"))
    peer.on("GetTask", got("WORKING"))

    result = calling.call("desk", "Do it.", timeout=timeout)

    assert result.state == CallState.WORKING
    assert peer.count("SendMessage") == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_followed_is_left_alone_by_the_sweep(peer: Peer) -> None:
    """Some agents know the tasks of their streams nowhere else."""
    streaming(peer)
    end = Gate(scripts.nothing)

    async def begins(exchange: Exchange) -> None:
        await scripts.events({"task": agents.task("WORKING")})(exchange)
        await end(exchange)

    def is_named() -> bool:
        return RemoteCall.objects.exclude(remote_task_id="").exists()

    peer.on("SendStreamingMessage", begins)
    peer.on("GetTask", got("COMPLETED"))
    call = functools.partial(calling.call, "desk", "Do it.")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(locking.with_own_connection, call)
        wait_until(is_named, what="the row that names the task")
        polling.poll()
        due_at = RemoteCall.objects.get().due_at
        end.open()
        waiting.result()

    assert due_at
    assert due_at > clock.database_now() + polling.LEFT_ALONE / 2


# --- Refused --------------------------------------------------------------------------


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"identifier": "nobody"}, "no remote agent «nobody»"),
        ({"text": " \n"}, "no text"),
        ({"text": "x" * 50_001}, "longer than 50000"),
        ({"skill": "weather"}, "no skill «weather». It has none."),
        ({"text": "a\x00b"}, "text holds"),
        ({"text": "\udcff"}, "text holds"),
        ({"context_id": "c" * 501}, "longer than any"),
        ({"context_id": "\udcff"}, "context's id holds"),
        ({"identifier": "\udcff"}, "no remote agent «\ufffd»"),
    ],
    ids=[
        "agent",
        "blank",
        "long",
        "skill",
        "nul",
        "half",
        "long-id",
        "half-id",
        "bytes",
    ],
)
def test_refuses_what_cannot_be_sent(
    peer: Peer, arguments: dict[str, str], told: str
) -> None:
    with pytest.raises(calling.CallRefused, match=told):
        calling.call(**{"identifier": "desk", "text": "Do it."} | arguments)

    assert peer.connections == 0
    assert not RemoteCall.objects.exists()


def test_refuses_with_the_role_off(
    peer: Peer, desk: RemoteAgent, settings: SettingsWrapper
) -> None:
    """C1."""
    settings.A2A_CLIENT_ENABLED = False

    with pytest.raises(calling.CallRefused, match="A2A_CLIENT_ENABLED"):
        calling.call("desk", "Do it.")


def test_refuses_an_agent_that_is_off(desk: RemoteAgent) -> None:
    """C1."""
    RemoteAgent.objects.update(is_enabled=False)

    with pytest.raises(calling.CallRefused, match="not enabled"):
        calling.call("desk", "Do it.")


def test_refuses_more_than_the_agents_limit(desk: RemoteAgent) -> None:
    """C1."""
    RemoteAgent.objects.update(max_active_calls=1)
    ledger.begin(desk, text="Something else.")

    with pytest.raises(calling.CallRefused, match=r"at once \(1\)"):
        calling.call("desk", "Do it.")


@pytest.mark.parametrize("skill", ["", "weather"])
def test_asks_for_allowed_skills_only(peer: Peer, skill: str) -> None:
    """C1."""
    factories.make_remote_agent(peer.url, identifier="desk", allowed_skills=["news"])

    with pytest.raises(calling.CallRefused, match="«news» only"):
        calling.call("desk", "Do it.", skill=skill)


def test_says_which_skills_there_are(peer: Peer) -> None:
    """C1."""
    card = json.dumps(cards.card(peer.url))
    factories.make_remote_agent(peer.url, identifier="desk", card=card)

    with pytest.raises(calling.CallRefused, match=r"«weather». It has «news»\."):
        calling.call("desk", "Do it.", skill="weather")


def test_names_the_skill(peer: Peer) -> None:
    card = json.dumps(cards.card(peer.url))
    factories.make_remote_agent(peer.url, identifier="desk", card=card)
    peer.on("SendMessage", task("COMPLETED"))

    calling.call("desk", "Do it.", skill="news")

    assert "news" in peer.of("SendMessage")[0].params["metadata"].values()


# --- Waiting --------------------------------------------------------------------------


@pytest.mark.usefixtures("desk")
def test_waits_until_the_task_is_over(peer: Peer) -> None:
    """C6, C10."""
    peer.on("SendMessage", task("WORKING"))
    done = got("COMPLETED", artifacts=[agents.artifact("Done.")])
    peer.on("GetTask", done)
    told: list[str] = []

    result = calling.call("desk", "Do it.", on_progress=told.append)

    assert (result.state, result.text) == ("completed", "Done.")
    assert peer.count("GetTask") == 1
    assert told == ["Sending to 127.0.0.1.", "The agent works on task R1."]


@pytest.mark.usefixtures("desk")
def test_the_sweep_leaves_a_call_alone_that_somebody_waits_for(peer: Peer) -> None:
    """C10: also one that code on an event loop waits for."""
    look = Gate(got("COMPLETED"))
    peer.on("SendMessage", task("WORKING"))
    peer.on("GetTask", look)

    async def held() -> RemoteCall:
        waiting = asyncio.create_task(calling.acall("desk", "Do it."))
        await asyncio.to_thread(peer.wait_for, "GetTask")
        call = await RemoteCall.objects.aget()
        look.open()
        await waiting
        return call

    due_at = async_to_sync(held)().due_at

    assert due_at
    assert due_at > clock.database_now() + polling.LEFT_ALONE / 2


@pytest.mark.usefixtures("desk")
def test_leaves_the_task_to_the_sweep_when_the_time_is_over(peer: Peer) -> None:
    """C10."""
    peer.on("SendMessage", task("WORKING"))
    peer.on("GetTask", got("COMPLETED", artifacts=[agents.artifact("Done.")]))

    result = calling.call("desk", "Do it.", timeout=0)
    polling.poll()

    assert (result.state, result.task_id) == ("working", "R1")
    row = RemoteCall.objects.get()
    assert (row.state, row.result) == ("completed", "Done.")


@pytest.mark.usefixtures("desk")
def test_goes_on_waiting_for_a_task(peer: Peer) -> None:
    peer.on("SendMessage", task("WORKING"))
    peer.on("GetTask", got("COMPLETED"))
    calling.call("desk", "Do it.", timeout=0)

    result = calling.go_on("desk", "R1")

    assert result.state == "completed"
    assert peer.count("SendMessage") == 1


@pytest.mark.usefixtures("desk")
def test_a_call_that_the_sweep_ended_is_over(peer: Peer) -> None:
    peer.on("SendMessage", task("WORKING"))
    peer.on("GetTask", got("COMPLETED", artifacts=[agents.artifact("Done.")]))
    calling.call("desk", "Do it.", timeout=0)
    polling.poll()

    result = calling.go_on("desk", "R1")

    assert (result.state, result.text, peer.count("GetTask")) == (
        "completed",
        "Done.",
        1,
    )


# --- Questions ------------------------------------------------------------------------


@pytest.mark.usefixtures("desk")
def test_a_question_stays_open_where_nobody_answers(peer: Peer) -> None:
    """C8, C10."""
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which section?"))

    result = calling.call("desk", "Do it.")

    assert result.state == CallState.ASKING
    assert result.question
    assert result.question.text == "Which section?"


@pytest.mark.usefixtures("desk")
def test_answers_with_the_same_task_and_context(peer: Peer) -> None:
    """C8, B112."""
    asks = task("INPUT_REQUIRED", say="Which section?")
    peer.on("SendMessage", asks, task("COMPLETED", artifacts=[agents.artifact("Ok.")]))
    asked: list[Question] = []

    def answer(question: Question) -> str:
        # It may use the ORM.
        assert RemoteCall.objects.count() == 1
        asked.append(question)
        return "Science"

    result = calling.call("desk", "Do it.", answer=answer)

    first, second = (one.params["message"] for one in peer.of("SendMessage"))
    assert (result.state, result.text, len(asked)) == ("completed", "Ok.", 1)
    assert (second["taskId"], second["contextId"]) == ("R1", "K1")
    assert second["parts"] == [{"text": "Science"}]
    assert first["messageId"] != second["messageId"]


@pytest.mark.usefixtures("desk")
def test_an_answer_may_be_declined(peer: Peer) -> None:
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which section?"))

    result = calling.call("desk", "Do it.", answer=lambda question: None)

    assert (result.state, peer.count("SendMessage")) == ("asking", 1)


@pytest.mark.usefixtures("desk")
def test_answers_later(peer: Peer) -> None:
    """C10."""
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which?"), task("COMPLETED"))
    calling.call("desk", "Do it.")

    result = calling.go_on("desk", "R1", "Science")

    assert result.state == "completed"


@pytest.mark.usefixtures("desk")
def test_a_bad_answer_leaves_the_question_open(peer: Peer) -> None:
    peer.on("SendMessage", task("INPUT_REQUIRED", say="Which?"))
    calling.call("desk", "Do it.")

    with pytest.raises(BadAnswer):
        calling.go_on("desk", "R1", "x" * 10_001)

    assert RemoteCall.objects.get().state == "asking"


@pytest.mark.usefixtures("desk")
def test_refuses_an_answer_that_nobody_waits_for(peer: Peer) -> None:
    peer.on("SendMessage", task("COMPLETED"))
    calling.call("desk", "Do it.")

    with pytest.raises(calling.CallRefused, match="waits for no answer: «Completed»"):
        calling.go_on("desk", "R1", "Science")


@pytest.mark.parametrize("task_id", ["R1", ""])
def test_goes_on_with_no_task_of_a_run(desk: RemoteAgent, task_id: str) -> None:
    """Its run answers it."""
    call = ledger.begin(desk, text="x", run=factories.make_run(), call_id="1")
    RemoteCall.objects.filter(pk=call.pk).update(remote_task_id="R1")

    with pytest.raises(calling.CallRefused, match="was given no task"):
        calling.go_on("desk", task_id)


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("state", "told"),
    [("COMPLETED", "Nine."), ("INPUT_REQUIRED", "Task R1 asks: Nine.")],
)
def test_the_guides_example_works(peer: Peer, state: str, told: str) -> None:
    """C10."""
    guide = Path(__file__).parents[2] / "docs" / "remote-agents.md"
    (code,) = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 -- our own document
    peer.on("SendMessage", task(state, say="Nine."))

    assert names["science"]() == told
