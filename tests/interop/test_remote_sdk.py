"""Agents on the official SDKs as remote agents of ours (C2–C9).

Python and JavaScript, polled and streamed, go through the same tests. What the agents do
is written down in `agent_1_3.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_client import importing, looking_up, probing
from a2a_client.models import (
    CallState,
    CredentialKind,
    Delivery,
    RemoteAgent,
    RemoteCall,
)
from agent_runs import lifecycle
from agent_runs.handlers import ModelAnswer
from agent_runs.models import RunState
from egress.policy import origin_of
from tests import processes
from tests.a2a_client.delegating import Delegating, delegating_to
from tests.interop.sdk import Agent, state_of
from tests.relay import Relay

if TYPE_CHECKING:
    from tests.interop.sdk import SDK

pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(180),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("delegates"),
]

DONE = ModelAnswer(text="done")


@pytest.fixture(params=list(Delivery))
def delivery(request: pytest.FixtureRequest) -> Delivery:
    chosen: Delivery = request.param
    return chosen


def _imported(agents: Agent, name: str = "open", **values: Any) -> RemoteAgent:
    """Registered by its card, enabled, and each step of it without an approval."""
    secret = values.pop("secret", "")
    agent = RemoteAgent(
        identifier=name, name=name, card_url=agents.card_url(name), **values
    )
    agent.is_enabled, agent.requires_approval = True, False
    agent.save()
    if secret:
        agent.enter_secret(secret)
        agent.save()
    importing.store(agent, importing.preview(agent))
    agents.requests()
    return agent


def _step(agents: Agent, task: str, **values: Any) -> Delegating:
    return delegating_to(_imported(agents, **values), task)


def _followed(step: Delegating) -> Any:
    """How the next segment ended, once what was handed over needs it."""
    ended = step.go()
    if getattr(ended, "target", None) != RunState.WAITING_FOR_REMOTE:
        return ended
    _poll_until_it_wakes(step)
    return step.go()


def _poll_until_it_wakes(step: Delegating) -> None:
    def is_awake() -> bool:
        step.poll()
        return step.run.state != RunState.WAITING_FOR_REMOTE

    processes.wait_until(is_awake, what="the end at the agent")


def _methods(agents: Agent) -> list[str]:
    return [asked["method"] for asked in agents.requests()]


def _sent_once(agents: Agent) -> bool:
    sent = [method for method in _methods(agents) if method.startswith("Send")]
    return len(sent) == 1


# --- How a task ends ------------------------------------------------------------------


def test_what_the_task_made_is_the_result(agents: Agent, delivery: Delivery) -> None:
    """C6, C8."""
    step = _step(agents, "complete Paris", delivery=delivery)

    ended = _followed(step)

    assert ended == DONE
    assert step.call.state == CallState.COMPLETED
    assert step.result[0] == "success"
    assert "\nParis\n" in step.result[1]
    assert _sent_once(agents)


def test_pieces_of_an_artifact_are_put_together(
    agents: Agent, delivery: Delivery
) -> None:
    """B114."""
    step = _step(agents, "pieces Pa ri s", delivery=delivery)

    ended = _followed(step)

    assert ended == DONE
    assert step.call.result == "Paris"


@pytest.mark.parametrize(
    ("task", "code", "sentence"),
    [
        ("fail No map.", "failed", "The agent failed at the task."),
        ("reject Not mine.", "rejected", "The agent rejected the task."),
        ("sign-in", "auth_required", "The agent asks for a sign-in"),
    ],
    ids=["failed", "rejected", "auth_required"],
)
def test_a_task_that_does_not_complete_is_an_error(
    agents: Agent, delivery: Delivery, task: str, code: str, sentence: str
) -> None:
    """C8."""
    step = _step(agents, task, delivery=delivery)

    ended = _followed(step)

    assert ended == DONE
    assert (step.call.state, step.call.code) == (CallState.FAILED, code)
    assert step.result[0] == "failed"
    assert sentence in step.result[1]
    assert task.partition(" ")[2] in step.result[1]


def test_a_message_instead_of_a_task_is_the_result(
    agents: Agent, delivery: Delivery
) -> None:
    """C6."""
    step = _step(agents, "message Paris, of course.", delivery=delivery)

    ended = step.go()

    assert ended == DONE
    assert step.call.state == CallState.COMPLETED
    assert step.call.result == "Paris, of course."
    assert step.call.remote_task_id == ""


# --- A question -----------------------------------------------------------------------


def test_a_question_travels_through_and_its_answer_back(
    agents: Agent, delivery: Delivery
) -> None:
    """C8, B112."""
    step = _step(agents, "ask Which year?", delivery=delivery)

    waits = _followed(step)
    step.answer("1999")
    ended = _followed(step)

    assert waits.target == RunState.WAITING_FOR_INPUT
    assert waits.waiting.question.text == "Which year?"
    assert ended == DONE
    assert step.call.result == "You said: 1999"
    first, second = (
        asked["params"]["message"]
        for asked in agents.requests()
        if asked["method"].startswith("Send")
    )
    assert second["taskId"] == step.call.remote_task_id
    assert second["contextId"] == first["contextId"] == step.call.context_id


# --- A long task ----------------------------------------------------------------------


def test_a_long_task_is_polled(agents: Agent) -> None:
    """C6."""
    step = _step(agents, "wait")

    waits = step.go()
    step.poll()
    still = step.run.state
    agents.go_on()
    _poll_until_it_wakes(step)
    ended = step.go()

    assert waits.target == still == RunState.WAITING_FOR_REMOTE
    assert ended == DONE
    assert step.call.result == "It went on."
    assert _sent_once(agents)


def test_a_cut_stream_is_continued_by_polling(agents: Agent) -> None:
    """C6, B106."""
    agent = _imported(agents, delivery=Delivery.STREAM)
    with Relay("127.0.0.1", agents.port, cut_after=b"waiting") as relay:
        url = agent.interface_url.replace(str(agents.port), str(relay.port))
        RemoteAgent.objects.update(interface_url=url, confirmed_origin=origin_of(url))
        agent.refresh_from_db()
        step = delegating_to(agent, "wait")

        waits = step.go()
        step.poll()
        still = step.run.state
        agents.go_on()
        _poll_until_it_wakes(step)
        ended = step.go()

    assert waits.target == still == RunState.WAITING_FOR_REMOTE
    assert ended == DONE
    assert step.call.result == "It went on."
    methods = _methods(agents)
    assert methods[0] == "SendStreamingMessage"
    assert set(methods[1:]) == {"GetTask"}


@pytest.mark.parametrize("task", ["wait", "ask Which year?"], ids=["works", "asks"])
def test_canceling_the_run_cancels_the_agents_task(
    agents: Agent, python: SDK, task: str
) -> None:
    """C9."""
    step = _step(agents, task)
    # The one waits for the agent, the other one for a person.
    waits = step.go() if task == "wait" else _followed(step)

    lifecycle.cancel(step.run.pk)
    step.sweep()
    step.sweep()

    assert waits.target in {RunState.WAITING_FOR_REMOTE, RunState.WAITING_FOR_INPUT}
    assert step.call.state == CallState.CANCELED
    assert _methods(agents).count("CancelTask") == 1
    python.connect("witness", agents.base_url(), "")
    found = python.call("get_task", {"id": step.call.remote_task_id}, name="witness")
    assert state_of(found) == "CANCELED"


# --- What can be asked besides --------------------------------------------------------


def test_an_unknown_outcome_is_found_by_its_context(agents: Agent) -> None:
    """C7: the context's id is ours."""
    step = _step(agents, "complete Paris")
    _followed(step)
    task_id = step.call.remote_task_id
    RemoteCall.objects.update(state=CallState.UNKNOWN, remote_task_id="")

    told = looking_up.look_up(step.call)

    assert told.startswith(f"At the agent, task «{task_id}» is completed")
    assert _methods(agents).count("ListTasks") == 1


def test_a_probe_reaches_the_agent_and_leaves_no_task(agents: Agent) -> None:
    agent = _imported(agents)

    probed = probing.probe(agent)

    assert probed.is_good, probed.sentence
    assert _methods(agents) == ["GetTask"]


# --- Who we are -----------------------------------------------------------------------

CREDENTIALS = [
    pytest.param("bearer", {"credential_kind": CredentialKind.BEARER}, id="bearer"),
    pytest.param(
        "key",
        {"credential_kind": CredentialKind.API_KEY, "credential_name": "X-Key"},
        id="key",
    ),
]


@pytest.mark.parametrize(("name", "credential"), CREDENTIALS)
def test_every_request_carries_the_credential(
    agents: Agent, delivery: Delivery, name: str, credential: dict[str, Any]
) -> None:
    """C3: the agent knows a task only for who began it."""
    step = _step(
        agents,
        "complete Paris",
        name=name,
        secret=Agent.SECRET,
        delivery=delivery,
        **credential,
    )

    ended = _followed(step)

    assert ended == DONE
    assert step.call.state == CallState.COMPLETED


@pytest.mark.parametrize(("name", "credential"), CREDENTIALS)
def test_a_wrong_credential_is_not_accepted(
    agents: Agent, delivery: Delivery, name: str, credential: dict[str, Any]
) -> None:
    """C7."""
    step = _step(
        agents,
        "complete Paris",
        name=name,
        secret="another",
        delivery=delivery,
        **credential,
    )

    step.go()

    assert (step.call.state, step.call.code) == (CallState.NOT_ACCEPTED, "http_401")
    assert step.result[0] == "failed"
