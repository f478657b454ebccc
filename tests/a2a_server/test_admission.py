from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from a2a_protocol.errors import ProtocolError
from a2a_server import skills
from a2a_server.models import (
    Client,
    ClientProfile,
    Profile,
    Task,
    TaskEvent,
    TaskMessage,
    WaitingSlot,
)
from a2a_server.models.task import TERMINAL_STATES
from a2a_server.operations.table import OPERATIONS
from agent_runs import lifecycle
from agent_runs.models import AgentRun
from tests import factories
from tests.a2a_server.calling import (
    claim,
    complete,
    make_call,
    make_message,
    make_params,
    result_of,
    send,
)
from tests.a2a_server.racing import assert_counters_are_right, together

if TYPE_CHECKING:
    from collections.abc import Callable

# Real commits, since threads have to see each other's.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("worker"),
]

THREADS = 50


def send_and_get_id(client: Client, message_id: str) -> Callable[[], str]:
    message = make_message(messageId=message_id)
    params = make_params(message)
    return lambda: str(result_of(client, "SendMessage", params)["task"]["id"])


@pytest.mark.parametrize("task_limit", [10, 1])
def test_of_identical_messages_one_is_stored_and_answers_all(
    partner: Client, task_limit: int
) -> None:
    """S47: the index decides, and even at the limit nobody is refused."""
    Client.objects.update(task_limit=task_limit)

    ids = together([send_and_get_id(partner, "same")] * THREADS)

    assert ids == [str(Task.objects.get().pk)] * THREADS
    for model in (AgentRun, TaskMessage, TaskEvent):
        assert model.objects.count() == 1
    assert_counters_are_right()


@pytest.mark.parametrize("gone", ["technical user", "profile"])
def test_what_was_deleted_while_the_message_came_is_not_available(
    partner: Client, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S31, S47: a conflict that is no repeat; nothing is stored."""
    call = make_call(partner, "SendMessage", make_params(immediate=False))
    if gone == "technical user":
        caller = replace(call.caller, technical_user_id=10**9)
        call = replace(call, caller=caller)
    else:
        choose = skills.choose

        def choose_and_lose(*choice: Any) -> Profile:
            profile = choose(*choice)
            ClientProfile.objects.all().delete()
            Profile.objects.filter(pk=profile.pk).delete()
            return profile

        monkeypatch.setattr(skills, "choose", choose_and_lose)

    with pytest.raises(ProtocolError) as caught:
        OPERATIONS["SendMessage"](call)

    assert caught.value.reason == "PROFILE_UNAVAILABLE"
    for model in (Task, TaskMessage, AgentRun, WaitingSlot):
        assert not model.objects.exists()


def test_a_client_never_has_more_than_its_limit(partner: Client) -> None:
    """S48: exact although all count at the same moment."""
    outcomes = together([send_and_get_id(partner, f"m-{n}") for n in range(THREADS)])

    assert outcomes.count("CLIENT_TASK_LIMIT_REACHED") == THREADS - 10
    assert Task.objects.count() == AgentRun.objects.count() == 10
    assert TaskMessage.objects.count() == TaskEvent.objects.count() == 10
    assert_counters_are_right()


def test_a_skill_never_has_more_than_its_quota(profile: Profile) -> None:
    """S48: of five clients together."""
    Profile.objects.update(active_task_quota=10)
    clients = [factories.make_client(profiles=[profile]) for _ in range(5)]

    outcomes = together(
        [send_and_get_id(clients[n % 5], f"m-{n}") for n in range(THREADS)]
    )

    assert outcomes.count("PROFILE_QUOTA_REACHED") == THREADS - 10
    assert Task.objects.count() == 10
    assert_counters_are_right()


def test_of_many_cancels_one_wins(partner: Client) -> None:
    """S66, B041: one event, one move of the counters."""
    task = send(partner)

    def cancel() -> str:
        canceled = result_of(partner, "CancelTask", {"id": task["id"]})
        return str(canceled["status"]["state"])

    outcomes = Counter(together([cancel] * 10))

    assert outcomes == {"TASK_STATE_CANCELED": 1, "TASK_NOT_CANCELABLE": 9}
    assert TaskEvent.objects.count() == 2
    assert_counters_are_right()


def test_moves_in_all_directions_do_not_deadlock(partner: Client) -> None:
    """S65: sends, claims, ends and cancels of one client at the same time."""
    Client.objects.update(task_limit=100)
    tasks = [send(partner) for _ in range(30)]
    leases = [claim(task) for task in tasks[:20]]

    def end(number: int) -> str:
        complete(leases[number])
        return "completed"

    def begin(number: int) -> str:
        claim(tasks[20 + number])
        return "claimed"

    def cancel(number: int) -> str:
        lifecycle.cancel(leases[10 + number].run_id)
        return "canceled"

    moves: list[Callable[[], str]] = []
    for number in range(10):
        moves += [
            lambda n=number: end(n),
            lambda n=number: begin(n),
            lambda n=number: cancel(n),
            send_and_get_id(partner, f"new-{number}"),
        ]

    together(moves)

    ended = Task.objects.filter(state__in=TERMINAL_STATES)
    assert (Task.objects.count(), ended.count()) == (40, 20)
    assert_counters_are_right()
