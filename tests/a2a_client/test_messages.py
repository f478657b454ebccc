"""The requests that are sent, as they stand on the wire (C5, C6, C8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from a2a_client import messages
from a2a_client.models import RemoteAgent, RemoteCall
from a2a_protocol import proto_json
from a2a_protocol.cards import PROFILE_EXTENSION_URI
from agent_runs.questions import Answer

if TYPE_CHECKING:
    from a2a_protocol.types import WireModel


def call(**values: Any) -> RemoteCall:
    agent = RemoteAgent(interface_tenant=values.pop("tenant", ""))
    named = {"message_id": "M1", "context_id": "K1", "remote_task_id": "R1"}
    return RemoteCall(agent=agent, **named | values)


def wire(request: WireModel) -> Any:
    return json.loads(proto_json.write_text(request))


def test_a_new_task_has_our_context_and_no_task() -> None:
    """C5, C6, B112."""
    assert wire(messages.new_task(call(), "Find it.")) == {
        "message": {
            "messageId": "M1",
            "contextId": "K1",
            "role": "ROLE_USER",
            "parts": [{"text": "Find it."}],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain", "text/markdown", "application/json"],
            "historyLength": 0,
            "returnImmediately": True,
        },
    }


def test_a_skill_is_named_for_those_who_look() -> None:
    """C5: by our extension's name, and by one that others may know."""
    sent = wire(messages.new_task(call(skill="news"), "Find it."))

    assert sent["metadata"] == {PROFILE_EXTENSION_URI: "news", "skillId": "news"}


def test_an_answer_names_the_task_and_its_context() -> None:
    """C8, B112."""
    sent = wire(messages.answer(call(), Answer(value="1999")))

    assert sent["message"]["taskId"] == "R1"
    assert sent["message"]["contextId"] == "K1"
    assert sent["message"]["parts"] == [{"text": "1999"}]
    assert "metadata" not in sent["message"]


def test_an_answer_leaves_out_a_context_that_was_not_kept() -> None:
    """B112."""
    sent = wire(messages.answer(call(context_id=""), Answer(value="1999")))

    assert "contextId" not in sent["message"]


def test_an_answer_names_the_question_where_the_agent_named_it() -> None:
    """S71."""
    sent = wire(messages.answer(call(remote_question_id="Q"), Answer(value="1999")))

    told = {PROFILE_EXTENSION_URI: {"questionId": "Q"}}
    assert sent["message"]["metadata"] == told


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("1999", {"text": "1999"}),
        (1999, {"text": "1999"}),
        (True, {"text": "true"}),
        ({"year": 1999}, {"data": {"year": 1999}}),
    ],
)
def test_a_single_value_is_text_and_an_object_data(value: Any, part: Any) -> None:
    """C8."""
    assert wire(messages.answer(call(), Answer(value=value)))["message"]["parts"] == [
        part
    ]


def test_a_task_is_asked_for_without_its_history() -> None:
    """B111."""
    assert wire(messages.task_state(call())) == {"id": "R1", "historyLength": 0}


def test_a_cancellation_names_the_task() -> None:
    """C9."""
    assert wire(messages.cancellation(call())) == {"id": "R1"}


def test_a_context_is_listed_by_its_id() -> None:
    """C7."""
    assert wire(messages.tasks_of_context(call()))["contextId"] == "K1"


@pytest.mark.parametrize(
    "make",
    [
        lambda of: messages.new_task(of, "x"),
        lambda of: messages.answer(of, Answer(value="x")),
        messages.task_state,
        messages.cancellation,
        messages.tasks_of_context,
    ],
    ids=["new task", "answer", "state", "cancellation", "list"],
)
def test_every_request_names_the_tenant(make: Any) -> None:
    """C1: of the chosen interface."""
    assert wire(make(call(tenant="north")))["tenant"] == "north"
    assert "tenant" not in wire(make(call()))
