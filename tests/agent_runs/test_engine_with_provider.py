"""Whole segments through the real provider code and a local OpenAI-compatible server."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group

from agent_runs import clock, deciding, engine
from agent_runs.contents import load_result, text_output
from agent_runs.models import AgentRun, EndReason, RunState, ToolSetting
from agent_runs.models.llm import ProviderKind
from agent_runs.questions import choice
from agent_runs.supervisor import supervisor
from agent_runs.tools.contract import ToolCall, Write, Written
from tests import factories
from tests.agent_runs import openai_server
from tests.agent_runs.openai_server import (
    Answer,
    OpenAIServer,
    in_turn,
    refusal,
    stream,
    tool_call,
    tool_calls,
)
from tests.agent_runs.scripted import Toolbox, registered

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server.running() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _supervisor_rests() -> Iterator[None]:
    """Its connection would keep the test database from being dropped."""
    yield
    assert supervisor.idle.wait(5)


@pytest.fixture
def toolbox() -> Iterator[Toolbox]:
    with registered() as box:
        yield box


def _queued(
    server: OpenAIServer,
    *answers: Answer,
    tools: tuple[str, ...] = (),
    max_rounds: int = 5,
    **provider: Any,
) -> AgentRun:
    """A run whose model gives these answers, the last one again and again."""
    server.answer = in_turn(*answers)
    values = {"kind": ProviderKind.OPENAI_COMPATIBLE, "base_url": server.base_url}
    configuration = factories.make_configuration(
        provider=factories.make_provider(**values | provider),
        system_prompt="be brief",
        max_rounds=max_rounds,
    )
    return factories.make_run(
        configuration=configuration, text="hello", tools=list(tools)
    )


def _execute(run: AgentRun) -> AgentRun:
    """One segment, now: also where it would be tried later."""
    AgentRun.objects.filter(id=run.id).update(due_at=clock.database_now())
    assert engine.execute(run.id)
    run.refresh_from_db()
    return run


def _executed(server: OpenAIServer, *answers: Answer, **values: Any) -> AgentRun:
    return _execute(_queued(server, *answers, **values))


def _results(server: OpenAIServer) -> list[str]:
    """What the last request told the model of its calls."""
    messages = server.asked[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def _told(run: AgentRun) -> str:
    assert run.state == RunState.COMPLETED, run.end_reason
    assert run.result
    [output] = load_result(run.result).outputs
    return str(output.parts[0].text)  # type: ignore[union-attr]


def _ended(run: AgentRun) -> tuple[str, str]:
    return run.state, run.end_reason


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
        dataclasses.replace(stream("half an ans", ends=False), resets=True),
    ],
    ids=["429", "500", "503", "stream breaks", "stream ends too early", "reset"],
)
def test_a_passing_failure_is_tried_again_later(
    server: OpenAIServer, answer: Answer
) -> None:
    """R10: and half an answer is none."""
    run = _executed(server, answer)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert (run.result, run.checkpoint) == (None, None)
    assert len(server.asked) == 1
    assert list(run.events.values_list("kind", flat=True)) == ["retry"]


def test_a_provider_that_asks_for_patience_is_given_it(server: OpenAIServer) -> None:
    """R10: Retry-After, where it is longer than the back-off."""
    run = _executed(server, refusal(429, headers={"Retry-After": "400"}))

    event = run.events.get(kind="retry")
    assert run.due_at
    assert run.due_at >= event.created_at + timedelta(seconds=400)
    assert event.facts["delay_seconds"] >= 400
    assert "HTTP 429" in event.facts["cause"]


def test_what_a_provider_says_beside_its_refusal_is_not_kept(
    server: OpenAIServer,
) -> None:
    """R15: it could repeat prompts and keys."""
    run = _executed(server, refusal(500, message="your key sk-secret is odd"))

    assert "sk-secret" not in str([event.facts for event in run.events.all()])


def test_a_provider_that_never_recovers_fails_the_run(server: OpenAIServer) -> None:
    """R10: one request for each try, and no more."""
    run = _queued(server, refusal(500), max_retries=2)

    ended = [_ended(_execute(run)) for _ in range(3)]

    assert ended[-1] == (RunState.FAILED, EndReason.RETRIES_EXHAUSTED)
    assert ended[:2] == [(RunState.QUEUED, "")] * 2
    assert len(server.asked) == 3


def test_a_silent_provider_is_tried_again_later(server: OpenAIServer) -> None:
    run = _executed(server, Answer(hangs=True), timeout_seconds=1)

    assert (run.state, run.requeues) == (RunState.QUEUED, 1)
    assert len(server.asked) == 1


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

    assert _ended(run) == (RunState.FAILED, reason)
    assert len(server.asked) == 1


def test_a_redirect_is_not_followed(server: OpenAIServer) -> None:
    """P1."""
    target = f"{server.base_url}/elsewhere"
    run = _executed(server, Answer(status=307, headers={"Location": target}))

    assert run.state == RunState.FAILED
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "answer", [stream(), stream(""), stream(" ", "\n")], ids=["none", "empty", "blank"]
)
def test_an_empty_answer_fails_the_run(server: OpenAIServer, answer: Answer) -> None:
    """R4: and is not asked for again."""
    run = _executed(server, answer)

    assert _ended(run) == (RunState.FAILED, EndReason.PROVIDER_FAILED)
    assert len(server.asked) == 1


# --- Tools ----------------------------------------------------------------------------


def _call(name: str, arguments: str = "{}", *, call_id: str = "call-1") -> Answer:
    return tool_call(name, arguments, call_id=call_id)


def test_a_tool_is_declared_called_and_its_result_sent_back(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """R7, R8."""
    toolbox.add("look", says="seen")
    answers = _call("look", '{"value": 3}'), stream("done")

    run = _executed(server, *answers, tools=("look",))

    assert (_told(run), toolbox.ran, run.rounds) == ("done", [("look", 3)], 2)
    first, second = server.asked
    [declared] = first.body["tools"]
    assert declared["function"]["name"] == "look"
    assert "value" in declared["function"]["parameters"]["properties"]
    assert second.body["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call-1",
        "content": "seen",
    }


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (_call("look", '{"value": '), "The arguments are not valid JSON."),
        (_call("look", "[1]"), "The arguments do not fit"),
        (_call("look", '{"value": "x"}'), "The arguments do not fit: value"),
        (_call("nothing"), "There is no tool «nothing» here."),
    ],
    ids=["cut JSON", "no object", "wrong type", "unknown tool"],
)
def test_a_call_that_cannot_be_made_is_told_to_the_model(
    server: OpenAIServer, toolbox: Toolbox, call: Answer, told: str
) -> None:
    """R6: the run goes on."""
    toolbox.add("look")

    run = _executed(server, call, stream("sorry"), tools=("look",))

    assert (_told(run), toolbox.ran) == ("sorry", [])
    [result] = _results(server)
    assert f'{{"error":"{told}' in result
    assert len(server.asked) == 2


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_no_arguments_are_an_empty_object(
    server: OpenAIServer, toolbox: Toolbox, arguments: str
) -> None:
    toolbox.add("look")

    run = _executed(server, _call("look", arguments), stream("done"), tools=("look",))

    assert (_told(run), toolbox.ran) == ("done", [("look", 0)])


@pytest.mark.parametrize("ids", [("same", "same"), ("", "")], ids=["same", "empty"])
def test_calls_whose_ids_do_not_tell_them_apart_are_told_apart(
    server: OpenAIServer, toolbox: Toolbox, ids: tuple[str, str]
) -> None:
    """R8: each call runs once, and each result is sent to its own call."""
    toolbox.add("look")
    calls = ("look", '{"value": 1}'), ("look", '{"value": 2}')

    run = _executed(
        server, tool_calls(*calls, ids=ids), stream("done"), tools=("look",)
    )

    assert (_told(run), toolbox.ran) == ("done", [("look", 1), ("look", 2)])
    *_, said, first, second = server.asked[-1].body["messages"]
    sent = [call["id"] for call in said["tool_calls"]]
    assert sent == [first["tool_call_id"], second["tool_call_id"]]
    assert len(set(sent)) == 2
    assert all(sent)


def test_a_model_that_only_ever_calls_tools_is_ended(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """R5: and with tools switched off it was asked for an answer."""
    toolbox.add("look")

    run = _executed(server, _call("look"), tools=("look",), max_rounds=3)

    assert _ended(run) == (RunState.FAILED, EndReason.MAX_ROUNDS)
    assert (len(server.asked), len(toolbox.ran)) == (4, 2)
    assert server.asked[-1].body["tool_choice"] == "none"
    assert server.asked[-1].body["tools"]


def test_an_answer_at_the_round_limit_is_marked(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """R5."""
    toolbox.add("look")
    answers = _call("look"), _call("look"), stream("that is all")

    run = _executed(server, *answers, tools=("look",), max_rounds=2)

    assert (_told(run), run.truncated) == ("that is all", True)
    assert "not run: round limit reached" in _results(server)[-1]


@pytest.mark.parametrize(
    "failure",
    [
        refusal(429),
        refusal(500),
        stream("half", ends=False),
        dataclasses.replace(stream("half", ends=False), resets=True),
    ],
    ids=["429", "500", "cut", "reset"],
)
def test_what_fails_in_a_later_round_goes_on_from_there(
    server: OpenAIServer, toolbox: Toolbox, failure: Answer
) -> None:
    """R8, R10: no call is made twice, and no answer is asked for twice."""
    toolbox.add("look")
    run = _executed(server, _call("look"), failure, stream("done"), tools=("look",))
    assert (run.state, run.requeues) == (RunState.QUEUED, 1)

    _execute(run)

    assert (_told(run), toolbox.ran) == ("done", [("look", 0)])
    assert len(server.asked) == 3


# --- Waiting --------------------------------------------------------------------------


def test_a_model_asks_the_client_and_is_told_the_answer(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """T8: nothing is asked of the provider while the run waits."""
    question = choice("Which colour?", ["red", "blue"], allow_free_text=False)
    toolbox.add_question("ask", question)
    run = _executed(server, _call("ask"), stream("painted"), tools=("ask",))
    assert run.state == RunState.WAITING_FOR_INPUT
    assert not engine.execute(run.id)

    deciding.answer(run.id, "blue", by=deciding.Teller(name="peer"))
    _execute(run)

    assert (_told(run), _results(server)) == ("painted", ["blue"])
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("approve", "result", "written"),
    [
        (True, "made", ["made by a model"]),
        (False, "Denied by the person who was asked.", []),
    ],
    ids=["approved", "denied"],
)
def test_a_proposed_write_waits_for_a_person(
    server: OpenAIServer,
    toolbox: Toolbox,
    approve: bool,
    result: str,
    written: list[str],
) -> None:
    """T11, T12, T14."""
    toolbox.add_writer("write", _make_group, needs_approval=True)
    run = _executed(server, _call("write"), stream("done"), tools=("write",))
    assert (run.state, _groups()) == (RunState.WAITING_FOR_APPROVAL, [])

    person = factories.make_user(is_superuser=True)
    deciding.decide(run.id, run.waiting_id, approve=approve, user=person)
    _execute(run)

    assert (_told(run), _results(server), _groups()) == ("done", [result], written)
    assert len(server.asked) == 2


def test_a_tool_that_is_withdrawn_while_a_run_waits_ends_it(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """S73: before any model call, and nothing was written."""
    toolbox.add_writer("write", _make_group, needs_approval=True)
    run = _executed(server, _call("write"), stream("done"), tools=("write",))
    person = factories.make_user(is_superuser=True)
    deciding.decide(run.id, run.waiting_id, approve=True, user=person)
    ToolSetting.objects.create(name="write", enabled=False)

    _execute(run)

    assert _ended(run) == (RunState.FAILED, EndReason.PRECONDITION_FAILED)
    assert (_groups(), len(server.asked)) == ([], 1)


# --- Writing --------------------------------------------------------------------------


def _make_group(call: ToolCall) -> Written:
    group = Group.objects.create(name="made by a model")
    write = Write(kind="create", model="auth.group", object_id=str(group.pk))
    return Written(content="made", writes=(write,))


def _groups() -> list[str]:
    return list(Group.objects.values_list("name", flat=True))


def test_a_write_is_not_repeated_when_the_provider_fails_after_it(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """R8, R12."""
    toolbox.add_writer("write", _make_group)
    run = _executed(
        server, _call("write"), refusal(503), stream("done"), tools=("write",)
    )
    assert (run.state, run.has_effects) == (RunState.QUEUED, True)

    _execute(run)

    assert (_told(run), _groups()) == ("done", ["made by a model"])
    assert run.events.filter(kind="write").count() == 1


def test_a_refusal_after_a_write_ends_the_run_and_the_write_is_listed(
    server: OpenAIServer, toolbox: Toolbox
) -> None:
    """R4, T17."""
    toolbox.add_writer("write", _make_group)

    run = _executed(server, _call("write"), refusal(401), tools=("write",))

    assert _ended(run) == (RunState.FAILED, EndReason.PROVIDER_FAILED)
    assert _groups() == ["made by a model"]
    assert run.events.get(kind="write").facts["model"] == "auth.group"
