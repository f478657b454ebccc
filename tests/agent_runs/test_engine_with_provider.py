"""Whole segments through the real provider code and a local OpenAI-compatible server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_runs import engine
from agent_runs.contents import load_result, text_output
from agent_runs.models import AgentRun, EndReason, RunState
from agent_runs.models.llm import ProviderKind
from tests import factories
from tests.agent_runs import openai_server
from tests.agent_runs.openai_server import Answer, OpenAIServer, refusal, stream

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server.running() as server:
        yield server


def _executed(server: OpenAIServer, answer: Answer, **provider: Any) -> AgentRun:
    server.answer = answer
    values = {"kind": ProviderKind.OPENAI_COMPATIBLE, "base_url": server.base_url}
    configuration = factories.make_configuration(
        provider=factories.make_provider(**values | provider), system_prompt="be brief"
    )
    run = factories.make_run(configuration=configuration, text="hello")

    assert engine.execute(run.id)

    run.refresh_from_db()
    return run


def test_a_streamed_answer_completes_the_run(server: OpenAIServer) -> None:
    run = _executed(server, stream("hel", "lo"))

    assert run.state == RunState.COMPLETED
    assert load_result(run.result).outputs == (text_output("hello"),)
    [asked] = server.asked
    assert [message["content"] for message in asked.body["messages"]] == [
        "be brief",
        "hello",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        refusal(429, headers={"Retry-After": "40"}),
        refusal(500),
        refusal(503),
        stream("half an ans", breaks=True, ends=False),
        stream("half an ans", ends=False),
    ],
    ids=["429", "500", "503", "stream breaks", "stream ends too early"],
)
def test_a_passing_failure_is_tried_again_later(
    server: OpenAIServer, answer: Answer
) -> None:
    """R10: and half an answer is none."""
    run = _executed(server, answer)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert (run.result, run.checkpoint) == (None, None)
    assert len(server.asked) == 1


def test_a_silent_provider_is_tried_again_later(server: OpenAIServer) -> None:
    run = _executed(server, Answer(hangs=True), timeout_seconds=1)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, EndReason.PROVIDER_FAILED),
        (403, EndReason.PROVIDER_FAILED),
        (404, EndReason.PROVIDER_FAILED),
        (400, EndReason.PROVIDER_FAILED),
    ],
)
def test_an_answer_not_worth_repeating_fails_the_run(
    server: OpenAIServer, status: int, reason: EndReason
) -> None:
    """R4, R10."""
    run = _executed(server, refusal(status))

    assert (run.state, run.end_reason) == (RunState.FAILED, reason)


def test_a_redirect_is_not_followed(server: OpenAIServer) -> None:
    """P1."""
    target = f"{server.base_url}/elsewhere"
    run = _executed(server, Answer(status=307, headers={"Location": target}))

    assert run.state == RunState.FAILED
    assert len(server.asked) == 1
