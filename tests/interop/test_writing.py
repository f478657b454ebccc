"""A skill that asks, proposes and writes, as users of the official SDKs see it.

Everything is real but the model, which is a local server that says what is written here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.agent_runs import openai_server
from tests.drill.stand import Stand, stand
from tests.interop.sdk import note_of, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.agent_runs.openai_server import Answer
    from tests.interop.sdk import SDK

pytestmark = [pytest.mark.interop, pytest.mark.services, pytest.mark.timeout(180)]

TURNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask_choice", {"question": "For which section?", "options": ["News", "Art"]}),
    (
        "draft_record",
        {
            "model": "newsroom.article",
            "values": {"title": "Rain", "section": 1, "text": "It rains."},
        },
    ),
)
CLIENT = {
    "workspace": "Newsroom",
    "permissions": ["newsroom.add_article", "newsroom.view_section"],
}
# As the inbox does it, by somebody who may.
DECIDE = """
from django.contrib.auth.models import User
from agent_runs import deciding
person = User.objects.filter(is_superuser=True).first()
person = person or User.objects.create_superuser("editor")
deciding.decide({run_id!r}, {approval_id!r}, approve={approve}, user=person)
"""


def _model(body: dict[str, Any]) -> Answer:
    number = sum(message["role"] == "tool" for message in body["messages"])
    if number == len(TURNS):
        return openai_server.stream("That is all.")
    name, arguments = TURNS[number]
    return openai_server.tool_call(
        name, json.dumps(arguments), call_id=f"call-{number}"
    )


@pytest.fixture(scope="module")
def drill(
    tmp_path_factory: pytest.TempPathFactory, postgresql: str, redis_url: str
) -> Iterator[Stand]:
    with (
        openai_server.running() as server,
        stand(
            tmp_path_factory.mktemp("writing"),
            database=postgresql,
            redis_url=redis_url,
            EXTRA_APPS="a2a_project.newsroom tests.drill",
            AGENT_RUNS_READABLE_MODELS="newsroom.section:name",
            AGENT_RUNS_WRITABLE_MODELS="newsroom.article:title,section,text",
        ) as made,
    ):
        server.answer = _model
        made.site.manage("migrate", "--verbosity=0")
        skill = {
            "handler": "llm.text",
            "model_url": server.base_url,
            "tools": [name for name, _ in TURNS],
        }
        made.make_records({"reporter": skill}, {"desk": CLIENT})
        made.site.rows("INSERT INTO newsroom_section (name) VALUES ('News')")
        made.site.start_web()
        made.start_all_workers(concurrency=2)
        yield made


@pytest.fixture
def desk(drill: Stand, language: str, request: pytest.FixtureRequest) -> SDK:
    made: SDK = request.getfixturevalue(language)
    address = drill.site.base_url if language == "python" else drill.site.origin
    made.connect("desk", address, drill.tokens["desk"])
    return made


def _call(desk: SDK, method: str, **request: Any) -> dict[str, Any]:
    task: dict[str, Any] = desk.call(method, request, name="desk")
    return task


def _proposed(desk: SDK, drill: Stand) -> str:
    """A task whose question is answered, and whose draft waits for a person."""
    where = {"skill": "reporter", "name": "desk"}
    asked = desk.send("Write about the rain.", **where)["task"]
    assert state_of(asked) == "INPUT_REQUIRED"
    assert note_of(asked) == "For which section?\nOne of: «News», «Art»."
    task_id: str = asked["id"]
    desk.send("News", taskId=task_id, immediate=True, **where)
    processes.wait_until(
        lambda: drill.run_of(task_id, "state") == ("waiting_for_approval",),
        what="a proposal",
    )
    return task_id


def _decide(drill: Stand, task_id: str, *, approve: bool) -> None:
    run_id, approval_id = drill.run_of(task_id, "id", "waiting_id")
    code = DECIDE.format(run_id=str(run_id), approval_id=approval_id, approve=approve)
    drill.site.manage("shell", "--no-imports", "-c", code)


def _ended(desk: SDK, task_id: str) -> dict[str, Any]:
    seen: list[dict[str, Any]] = []

    def has_ended() -> bool:
        seen.append(_call(desk, "get_task", id=task_id))
        return state_of(seen[-1]) not in {"SUBMITTED", "WORKING"}

    processes.wait_until(has_ended, what="the task's end")
    return seen[-1]


def _writes(task: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    """What the artifact says in words, and what it lists."""
    (made,) = [one for one in task["artifacts"] if one.get("name") == "writes"]
    words, listed = made["parts"]
    return words["text"], listed["data"]["writes"]


def test_a_proposed_draft_is_work_under_way_and_then_a_write(
    desk: SDK, drill: Stand
) -> None:
    """S60, S62, T11, T17: the client is told what was written, in words and as data."""
    task_id = _proposed(desk, drill)
    meanwhile = _call(desk, "get_task", id=task_id)
    _decide(drill, task_id, approve=True)

    task = _ended(desk, task_id)

    words, (write,) = _writes(task)
    assert (state_of(meanwhile), state_of(task)) == ("WORKING", "COMPLETED")
    ((draft_id,),) = drill.site.rows(
        "SELECT id FROM agent_runs_draft WHERE run_id = %s",
        drill.run_of(task_id, "id")[0],
    )
    assert write == {
        "kind": "create",
        "model": "newsroom.article",
        "objectId": "",
        "draftId": str(draft_id),
        "workspace": "Newsroom",
        "tool": "draft_record",
    }
    assert str(draft_id) in words
    (answer,) = [one for one in task["artifacts"] if one.get("name") != "writes"]
    assert answer["parts"] == [{"text": "That is all."}]


def test_a_denied_draft_is_no_write(desk: SDK, drill: Stand) -> None:
    """S62, T14: the task completes, and says that nothing was written."""
    task_id = _proposed(desk, drill)
    _decide(drill, task_id, approve=False)

    task = _ended(desk, task_id)

    assert state_of(task) == "COMPLETED"
    assert _writes(task) == ("Nothing was written.", [])


def test_a_canceled_proposal_says_that_nothing_was_written(
    desk: SDK, drill: Stand
) -> None:
    """S62, S66."""
    task_id = _proposed(desk, drill)

    canceled = _call(desk, "cancel_task", id=task_id)

    assert state_of(canceled) == "CANCELED"
    assert _writes(canceled) == ("Nothing was written.", [])
