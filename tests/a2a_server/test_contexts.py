from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from a2a_server import contexts, documents
from a2a_server.models import Client, Profile, Task
from agent_runs import engine
from agent_runs.contents import (
    DataPart,
    Output,
    Result,
    TextPart,
    Turn,
    load_input,
    text_output,
)
from agent_runs.models import AgentRun
from agent_runs.models.llm import ProviderKind
from agent_runs.models.run import EventKind
from tests import factories
from tests.a2a_server.calling import claim, complete, make_message, send
from tests.agent_runs import openai_server

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("worker"),
]


@pytest.fixture
def remembering(profile: Profile) -> Profile:
    Profile.objects.update(remember_context=True)
    return Profile.objects.get()


@pytest.fixture
def partner(remembering: Profile) -> Client:
    return factories.make_client("partner", profiles=[remembering])


def talk(
    client: Client,
    text: str,
    answer: Result | str,
    *,
    context: str = "c",
    **members: Any,
) -> None:
    """One completed task of the client's only skill."""
    result = (
        Result(outputs=(text_output(answer),)) if isinstance(answer, str) else answer
    )
    complete(claim(send(client, text, contextId=context, **members)), result=result)


def remembered(client: Client, context: str | None = "c") -> tuple[Turn, ...]:
    """What the run of the next message is given."""
    task = send(client, "next", **({"contextId": context} if context else {}))
    run = AgentRun.objects.get(task__id=task["id"])
    return load_input(run.request).earlier


def user(text: str) -> Turn:
    return Turn(text=text)


def agent(text: str) -> Turn:
    return Turn(text=text, is_from_agent=True)


def test_gives_what_was_said_before_the_oldest_first(partner: Client) -> None:
    """S49."""
    talk(partner, "one", "first")
    talk(partner, "two", "second")

    assert remembered(partner) == (
        user("one"),
        agent("first"),
        user("two"),
        agent("second"),
    )


def test_a_skill_remembers_nothing_unless_told(partner: Client) -> None:
    """S49: the default."""
    talk(partner, "one", "first")
    Profile.objects.update(remember_context=False)

    assert not Profile().remember_context
    assert remembered(partner) == ()


def test_a_message_without_a_context_begins_a_new_one(partner: Client) -> None:
    """S49."""
    talk(partner, "one", "first")

    assert remembered(partner, context=None) == ()


def test_a_context_that_the_server_made_can_be_used_again(partner: Client) -> None:
    """S49."""
    task = send(partner, "one")
    complete(claim(task), result=Result(outputs=(text_output("first"),)))

    assert remembered(partner, task["contextId"]) == (user("one"), agent("first"))


@pytest.mark.parametrize("context", ["C", "c ", "c2", "cc"])
def test_another_context_is_another_conversation(partner: Client, context: str) -> None:
    """S49."""
    talk(partner, "one", "first")

    assert remembered(partner, context) == ()


def test_the_same_text_of_another_client_is_another_context(
    partner: Client, remembering: Profile
) -> None:
    """S49: of the same skill, and even of the same technical user."""
    rival = factories.make_client(
        "rival", profiles=[remembering], technical_user=partner.technical_user
    )
    talk(rival, "secret", "of the rival")

    assert remembered(partner) == ()
    assert len(remembered(rival)) == 2


def test_another_skill_of_the_client_is_another_conversation(
    partner: Client, remembering: Profile
) -> None:
    """S49: «with this skill»."""
    talk(partner, "one", "first")
    other = factories.make_profile(
        "other", handler=remembering.handler, configuration=None, remember_context=True
    )
    partner.grants.update(profile=other)

    assert remembered(partner) == ()


@pytest.mark.parametrize(
    "state",
    ["submitted", "working", "input_required", "failed", "canceled", "rejected"],
)
def test_only_completed_tasks_count(partner: Client, state: str) -> None:
    """S49: what did not come to a result is half a conversation."""
    talk(partner, "one", "first")
    Task.objects.update(state=state)

    assert remembered(partner) == ()


def test_questions_and_answers_belong_to_it(partner: Client) -> None:
    """S49, S63: in the order of the history."""
    talk(partner, "one", "first")
    task = Task.objects.get()
    name = documents.TaskName(task_id=task.pk, context_id="c")
    asked = documents.agent_sentence("Which?", name=name, message_id="q")
    history = documents.with_message(task.history, asked)
    data = make_message(parts=[{"data": {"colour": "grün"}}])
    task.history = f"{history[:-1]},\n{json.dumps(data)}]"
    task.save()

    assert remembered(partner) == (
        user("one"),
        agent("Which?"),
        user('{"colour": "grün"}'),
        agent("first"),
    )


def test_a_result_is_one_turn(partner: Client) -> None:
    """S49: its artifacts, by their data where they have no text, and the note."""
    table = Output(parts=(DataPart(data=[1]),))
    both = Output(parts=(TextPart(text="a"), DataPart(data={}), TextPart(text="b")))
    talk(partner, "one", Result(outputs=(both, table), note="done"))

    assert remembered(partner) == (user("one"), agent("a\nb\n\n[1]\n\ndone"))


def test_a_plain_message_counts_as_the_result(partner: Client) -> None:
    """S62."""
    talk(partner, "one", Result(message=(TextPart(text="hello"),)))

    assert remembered(partner) == (user("one"), agent("hello"))


def test_a_task_without_a_result_is_the_question_alone(partner: Client) -> None:
    talk(partner, "one", Result())

    assert remembered(partner) == (user("one"),)


# --- Bounds ---------------------------------------------------------------------------


def test_gives_twenty_messages_at_most_and_those_are_the_newest(
    partner: Client,
) -> None:
    """S49."""
    for number in range(12):
        talk(partner, f"q{number}", f"a{number}")

    turns = remembered(partner)

    assert len(turns) == 20
    assert (turns[0], turns[-1]) == (user("q2"), agent("a11"))


def test_never_begins_with_an_answer(partner: Client) -> None:
    """S49: some models take no such conversation."""
    talk(partner, "lost", "a", messageId="m")
    task = Task.objects.get()
    name = documents.TaskName(task_id=task.pk, context_id="c")
    for number in range(20):
        asked = documents.agent_sentence(f"{number}", name=name, message_id="q")
        task.history = documents.with_message(task.history, asked)
    task.save()
    talk(partner, "kept", "b")

    assert remembered(partner) == (user("kept"), agent("b"))


@pytest.mark.parametrize("letter", ["a", "ä", "😀"])
def test_a_long_message_is_cut(partner: Client, letter: str) -> None:
    """S49: by bytes, and never inside a character."""
    talk(partner, letter * 10_000, "short")

    question, answer = remembered(partner)

    assert len(question.text.encode()) <= contexts.LONGEST_BYTES
    assert question.text.strip(letter) == " […]"
    assert answer == agent("short")


def test_what_fits_exactly_is_not_cut(partner: Client) -> None:
    text = "a" * contexts.LONGEST_BYTES
    talk(partner, text, "short")

    assert remembered(partner)[0] == user(text)


def test_long_messages_are_fewer(partner: Client) -> None:
    """S49: 64 KiB together."""
    for number in range(5):
        talk(partner, f"{number}" * 9_000, f"{number}" * 9_000)

    turns = remembered(partner)

    assert sum(len(turn.text.encode()) for turn in turns) <= contexts.MOST_BYTES
    assert [turn.text[0] for turn in turns] == list("11223344")


def test_of_tasks_side_by_side_the_earlier_one_stands_first(partner: Client) -> None:
    first = send(partner, "one", contextId="c")
    second = send(partner, "two", contextId="c")
    complete(claim(second), result=Result(outputs=(text_output("second"),)))
    complete(claim(first), result=Result(outputs=(text_output("first"),)))
    Task.objects.filter(pk=first["id"]).update(
        created_at=Task.objects.get(pk=second["id"]).created_at - timedelta(seconds=1)
    )

    assert [turn.text for turn in remembered(partner)][::2] == ["one", "two"]


def test_remembering_takes_one_query_and_one_event(
    partner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """S49: one to read, one for the timeline, whatever is remembered."""
    send(partner, contextId="c")
    for number in range(3):
        talk(partner, f"q{number}", "a")

    with django_assert_num_queries(12 + 2 + 2):
        send(partner, contextId="c")


# --- What becomes of it ---------------------------------------------------------------


def test_the_timeline_counts_and_does_not_repeat_it(partner: Client) -> None:
    """R15: nothing of the contents."""
    talk(partner, "one", "first")
    remembered(partner)

    run = AgentRun.objects.latest("created_at")
    request, context = run.events.order_by("sequence")
    assert (request.kind, context.kind) == (EventKind.REQUEST, EventKind.CONTEXT)
    assert context.facts == {"earlier_messages": 2, "text_length": 8}
    assert context.content is None
    assert run.events_written == 2


def test_what_follows_is_numbered_after_it(partner: Client) -> None:
    talk(partner, "one", "first")
    talk(partner, "two", "second")

    run = AgentRun.objects.latest("created_at")
    numbers = run.events.order_by("sequence").values_list("sequence", flat=True)
    assert list(numbers) == [1, 2, 3]


def test_the_model_is_told(db: None) -> None:
    """S49: through the code of a real provider."""
    with openai_server.running() as server:
        provider = factories.make_provider(
            kind=ProviderKind.OPENAI_COMPATIBLE, base_url=server.base_url
        )
        configuration = factories.make_configuration(
            provider=provider, system_prompt="be brief"
        )
        profile = factories.make_profile(
            configuration=configuration, remember_context=True
        )
        client = factories.make_client(profiles=[profile])
        for text, answer in [("one", "first"), ("two", "second")]:
            server.answer = openai_server.stream(answer)
            task = send(client, text, contextId="c")
            assert engine.execute(Task.objects.get(pk=task["id"]).run_id)

    told = [(m["role"], m["content"]) for m in server.asked[-1].body["messages"]]
    assert told == [
        ("system", "be brief"),
        ("user", "one"),
        ("assistant", "first"),
        ("user", "two"),
    ]
