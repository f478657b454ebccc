"""Two installations of this project, one the remote agent of the other (C1–C10, E2).

Each has its own database, web process and sweep. «here» has the client role, and a skill
that hands everything on to «there», which listens on another address of loopback and
knows nothing of roles but the server's. The skill there asks before it answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests import peer as peers
from tests import processes
from tests.drill import scripts
from tests.drill.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.peer import Peer

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

THERE = "127.0.0.2"
CLIENT_ROLE = {
    "A2A_CLIENT_ENABLED": "on",
    "A2A_EGRESS_ALLOW_LOOPBACK": "on",
    "DEBUG": "1",
}
ASKING = {"offline": scripts.DESK, "tools": ["ask_choice"], "may_write": False}
CALL = ("a2a_agent_call", scripts.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    here: Stand
    there: Stand

    def task_there(self) -> str:
        """The state of the newest task."""
        rows = self.there.site.rows(
            "SELECT state FROM a2a_server_task ORDER BY created_at DESC LIMIT 1"
        )
        return str(rows[0][0]) if rows else ""

    def call_here(self, *columns: str) -> tuple[Any, ...]:
        """Columns of the newest remote call."""
        (row,) = self.here.site.rows(
            f"SELECT {', '.join(columns)} FROM a2a_client_remotecall "  # noqa: S608
            "ORDER BY created_at DESC LIMIT 1"
        )
        return row


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with (
        stand(
            tmp_path_factory.mktemp("here"), database=processes.SQLITE, **CLIENT_ROLE
        ) as here,
        stand(
            tmp_path_factory.mktemp("there"), database=processes.SQLITE, host=THERE
        ) as there,
    ):
        there.make_records(
            {scripts.AGENT: ASKING},
            {"here": {}},
        )
        here.make_records(
            {"relay": {"offline": scripts.RELAY, "tools": [f"a2a_{scripts.AGENT}"]}},
            {"client": {"workspace": "Drafts"}},
        )
        for installation in (here, there):
            installation.site.start_web()
        there.site.start_sweep("--interval", "0.1")
        _register(here, there)
        yield Pair(here=here, there=there)


def _register(here: Stand, there: Stand) -> None:
    """As an administrator does, but for what they choose in the admin."""
    card_url = f"{there.site.origin}/.well-known/agent-card.json"
    here.site.manage("a2a_agent_import", scripts.AGENT, "--card-url", card_url, "--yes")
    _choose(here, "credential_kind = 'bearer', requires_approval = false")
    token = f"{there.tokens['here']}\n"
    here.site.manage("a2a_agent_secret", scripts.AGENT, typed=token)
    _choose(here, "is_enabled = true")


def _choose(here: Stand, values: str) -> None:
    here.site.rows(f"UPDATE a2a_client_remoteagent SET {values}")  # noqa: S608


@pytest.fixture
def client(pair: Pair) -> Iterator[Peer]:
    """A client of the installation here, where a sweep is at work."""
    sweep = pair.here.site.start_sweep("--interval", "0.1")
    yield pair.here.peer()
    assert sweep.stop() == 0


def _wait_for_question(client: Peer, task_id: str) -> dict[str, Any]:
    processes.wait_until(
        lambda: client.state(task_id) == "INPUT_REQUIRED", what="the question"
    )
    return client.task(task_id)


def _said(task: dict[str, Any]) -> str:
    """The model's words; what a skill has written is told beside them."""
    text: str = task["artifacts"][0]["parts"][0]["text"]
    return text


def test_a_question_travels_through_both_and_its_answer_back(
    pair: Pair, client: Peer
) -> None:
    """C5, C6, C8: and each installation tells its own client the same."""
    before = pair.there.count("a2a_server_task")
    task_id = client.start("The opening", skill="relay")
    asking = _wait_for_question(client, task_id)
    asked_there = pair.task_there()

    client.send("Culture", taskId=task_id)
    ended = client.wait_until_ended(task_id)

    (part,) = asking["status"]["message"]["parts"][:1]
    assert "For which section is «The opening»?" in part["text"]
    assert "INPUT_REQUIRED" in asked_there.upper()
    assert "«The opening» is for Culture." in _said(ended)
    assert _said(ended).startswith("success: ")
    assert "COMPLETED" in pair.task_there().upper()
    assert pair.call_here("state") == ("completed",)
    assert pair.there.count("a2a_server_task") == before + 1


def test_an_answer_that_is_no_option_goes_no_further(pair: Pair, client: Peer) -> None:
    """T8: the question's options have travelled, too."""
    task_id = client.start("The match", skill="relay")
    _wait_for_question(client, task_id)

    refused = client.send("Sports", taskId=task_id)
    still = client.state(task_id)
    client.send("News", taskId=task_id)

    assert "error" in refused.json
    assert still == "INPUT_REQUIRED"
    ended = client.wait_until_ended(task_id)
    assert "«The match» is for News." in _said(ended)


def test_canceling_here_cancels_there(pair: Pair, client: Peer) -> None:
    """C9."""
    task_id = client.start("The closing", skill="relay")
    _wait_for_question(client, task_id)

    peers.result_of(client.call("CancelTask", {"id": task_id}))

    processes.wait_until(
        lambda: "CANCELED" in pair.task_there().upper(), what="the end over there"
    )
    assert client.state(task_id) == "CANCELED"
    assert pair.call_here("state", "cancellation") == ("canceled", "sent")


def test_the_client_role_works_where_the_server_role_is_off(pair: Pair) -> None:
    """C10: a question ends the command, and another one answers it."""
    role = {"A2A_SERVER_ENABLED": "off"}
    asked = pair.here.site.manage(
        *CALL, "The review", "--json", check=False, seconds=60, **role
    )
    document = json.loads(asked.stdout)
    answered = pair.here.site.manage(
        *CALL, "--task-id", document["taskId"], "--answer", "Culture", **role
    )

    assert asked.returncode == 3, asked.stderr
    assert "For which section is «The review»?" in json.dumps(
        document, ensure_ascii=False
    )
    assert answered.stdout.strip() == "«The review» is for Culture."


def test_without_the_client_role_nothing_is_offered(pair: Pair) -> None:
    """C1: neither to a model nor to people, though the agent is registered."""
    role = {"A2A_CLIENT_ENABLED": "off"}
    before = pair.there.count("a2a_server_task")
    # A tick counts as a worker for two minutes.
    pair.here.site.manage("agent_work", "--limit", "0", **role)
    given = pair.here.peer().start("The premiere", skill="relay")
    port = processes.free_port()
    pair.here.site.start_another_web(port, **role)
    client = pair.here.peer(port=port)
    not_given = client.start("The premiere", skill="relay")

    pair.here.site.manage("agent_work", **role)
    refused = pair.here.site.manage(*CALL, "The premiere", check=False, **role)

    assert client.state(given) == "FAILED"
    assert _said(client.task(not_given)) == scripts.NOBODY
    assert refused.returncode == 1
    assert "A2A_CLIENT_ENABLED" in refused.stderr
    assert pair.there.count("a2a_server_task") == before
