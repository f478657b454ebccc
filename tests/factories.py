"""Records for tests: plain functions, every value open to a keyword.

What a keyword leaves out is made so that the record works: a profile is public and has a
configuration of the offline provider, a client is enabled and has a token.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group, Permission, User

from a2a_client.models import CallState, RemoteAgent, RemoteCall
from a2a_server import documents
from a2a_server.models import Client, ClientProfile, Profile, Task, TaskState
from agent_runs import clock, contents, questions, waiting
from agent_runs.models import (
    AgentRun,
    EndReason,
    LLMConfiguration,
    Provider,
    RunState,
    WorkerHeartbeat,
    Workspace,
)
from agent_runs.models.llm import ProviderKind
from agent_runs.models.run import TERMINAL_STATES, WAITING_FOR_PEOPLE
from agent_runs.models.worker import Transport
from egress.policy import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_numbers = itertools.count(1)


def make_user(
    username: str | None = None, *, permissions: Iterable[str] = (), **values: Any
) -> User:
    """`permissions` are written `app_label.codename`; the password is the name."""
    username = username or f"user-{next(_numbers)}"
    user = User.objects.create_user(username, password=username, **values)
    for permission in permissions:
        app_label, codename = permission.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
    return user


def make_group(name: str = "", *, members: Iterable[User] = ()) -> Group:
    group = Group.objects.create(name=name or f"group-{next(_numbers)}")
    group.user_set.add(*members)
    return group


def make_workspace(name: str = "", **values: Any) -> Workspace:
    return Workspace.objects.create(
        name=name or f"workspace-{next(_numbers)}", **values
    )


def make_provider(**values: Any) -> Provider:
    number = next(_numbers)
    return Provider.objects.create(
        **{"name": f"Provider {number}", "kind": ProviderKind.OFFLINE} | values
    )


def make_configuration(**values: Any) -> LLMConfiguration:
    number = next(_numbers)
    if "provider" not in values:
        values["provider"] = make_provider()
    defaults = {
        "identifier": f"configuration-{number}",
        "name": f"Configuration {number}",
        "model_name": "echo",
    }
    return LLMConfiguration.objects.create(**defaults | values)


def make_profile(skill_id: str = "", **values: Any) -> Profile:
    """A public skill of the handler `llm.text`."""
    skill_id = skill_id or f"skill-{next(_numbers)}"
    defaults: dict[str, Any] = {
        "skill_id": skill_id,
        "name": skill_id.replace("-", " ").capitalize(),
        "description": f"What {skill_id} does.",
        "handler": "llm.text",
        "is_public": True,
    }
    if "configuration" not in values:
        values["configuration"] = make_configuration()
    return Profile.objects.create(**defaults | values)


def make_remote_agent(
    url: str = "https://agent.example/rpc", *, secret: str = "", **values: Any
) -> RemoteAgent:
    """Enabled, with a JSON-RPC interface at `url`, which is confirmed."""
    number = next(_numbers)
    origin = origin_of(url)
    defaults: dict[str, Any] = {
        "identifier": f"agent_{number}",
        "name": f"Agent {number}",
        "is_enabled": True,
        "card_url": f"{origin}/.well-known/agent-card.json",
        "card": json.dumps({"name": f"Agent {number}", "capabilities": {}}),
        "interface_url": url,
        "interface_binding": "JSONRPC",
        "interface_version": "1.0",
        "confirmed_origin": origin,
        "requires_approval": False,
    }
    agent = RemoteAgent.objects.create(**defaults | values)
    if secret:
        # A new row has no key yet that its secret could be bound to.
        agent.enter_secret(secret)
        agent.save()
    return RemoteAgent.objects.get(pk=agent.pk)


def make_remote_call(state: str = CallState.COMPLETED, **values: Any) -> RemoteCall:
    """A call as the ledger would hold it in `state`; `text` is what was handed over."""
    now = values.pop("now", None) or clock.database_now()
    if "agent" not in values:
        values["agent"] = make_remote_agent()
    defaults: dict[str, Any] = {
        "state": state,
        "host": values["agent"].host,
        "message_id": str(uuid.uuid4()),
        "context_id": str(uuid.uuid4()),
        "request": values.pop("text", "Look into it."),
        "deadline_at": now + timedelta(hours=1),
        "created_at": now,
        "state_changed_at": now,
        "ended_at": None if CallState(state).is_active else now,
    }
    return RemoteCall.objects.create(**defaults | values)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of S21's form, the same for the same number."""

    number: int

    @property
    def prefix(self) -> str:
        return f"test{self.number:08d}"

    @property
    def text(self) -> str:
        return f"a2a_{self.prefix}_{self.number:043d}"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def header(self) -> str:
        return f"Bearer {self.text}"


def make_client(
    name: str = "",
    *,
    profiles: Iterable[Profile] = (),
    token: Token | None = None,
    **values: Any,
) -> Client:
    """An enabled client; `token_of` tells the token that opens it."""
    number = next(_numbers)
    token = token or Token(number)
    if "technical_user" not in values:
        values["technical_user"] = make_user(f"technical-user-{number}")
    defaults = {
        "name": name or f"client-{number}",
        "is_enabled": True,
        "token_prefix": token.prefix,
        "token_hash": token.digest,
        "token_issued_at": clock.database_now(),
    }
    client = Client.objects.create(**defaults | values)
    ClientProfile.objects.bulk_create(
        ClientProfile(client=client, profile=profile) for profile in profiles
    )
    return client


def token_of(client: Client) -> Token:
    """The token of a client that `make_client` made with one of its own."""
    assert client.token_prefix
    return Token(int(client.token_prefix.removeprefix("test")))


def make_worker(**values: Any) -> WorkerHeartbeat:
    """A live sweep; pass `last_seen_at` for one that is gone."""
    now = clock.database_now()
    defaults = {
        "worker_id": f"{next(_numbers):032x}",
        "transport": Transport.SWEEP,
        "last_seen_at": now,
        "started_at": now,
        "version": "test",
    }
    return WorkerHeartbeat.objects.create(**defaults | values)


_END_REASONS = {
    RunState.COMPLETED: EndReason.COMPLETED,
    RunState.FAILED: EndReason.NOT_RETRYABLE,
    RunState.CANCELED: EndReason.CANCELED,
    RunState.REJECTED: EndReason.INPUT_REJECTED,
}


def make_question(
    text: str = "Which colour?", *options: str, key: str = "call-1"
) -> Any:
    """An open question as a run waits with it; without options any text answers it."""
    question = questions.choice(text, options, allow_free_text=False)
    return waiting.open_question(question, key=key, asked_by=[key], tool="ask_choice")


def make_approval(*tools: str, preview: str = "old → new") -> Any:
    """An open approval of a call of each tool."""
    return waiting.open_approval(
        waiting.ShownCall(
            call_id=f"call-{number}", tool=tool, arguments="{}", preview=preview
        )
        for number, tool in enumerate(tools or ("write",), 1)
    )


def _waiting_columns(state: RunState, found: Any) -> dict[str, Any]:
    if state not in WAITING_FOR_PEOPLE:
        return {}
    if found is None:
        is_question = state == RunState.WAITING_FOR_INPUT
        found = make_question() if is_question else make_approval()
    return {"waiting_for": waiting.dump(found), "waiting_id": found.id}


def _state_columns(state: RunState, now: datetime) -> dict[str, Any]:
    if state in TERMINAL_STATES:
        return {"ended_at": now, "end_reason": _END_REASONS[state]}
    if state == RunState.RUNNING:
        return {"lease_owner": "test-owner", "lease_expires_at": now}
    return {"due_at": now} if state == RunState.QUEUED else {}


def make_run(state: str = RunState.QUEUED, **values: Any) -> AgentRun:
    """A run as the ledger would hold it in `state`; `text` is its input.

    `waiting` is what it waits for, where the state is one of waiting for a person.
    """
    now = values.pop("now", None) or clock.database_now()
    if "owner" not in values:
        values["owner"] = make_user()
    run_input = contents.RunInput(
        parts=(contents.TextPart(text=values.pop("text", "Hello.")),)
    )
    defaults: dict[str, Any] = {
        "state": state,
        "handler": "llm.text",
        "request": contents.dump_input(run_input),
        "created_at": now,
        "state_changed_at": now,
    }
    columns = _state_columns(RunState(state), now)
    columns |= _waiting_columns(RunState(state), values.pop("waiting", None))
    return AgentRun.objects.create(**defaults | columns | values)


_RUN_STATES = {
    TaskState.SUBMITTED: RunState.QUEUED,
    TaskState.WORKING: RunState.RUNNING,
    TaskState.INPUT_REQUIRED: RunState.WAITING_FOR_INPUT,
    TaskState.COMPLETED: RunState.COMPLETED,
    TaskState.FAILED: RunState.FAILED,
    TaskState.CANCELED: RunState.CANCELED,
    TaskState.REJECTED: RunState.REJECTED,
}


def make_task(state: str = TaskState.SUBMITTED, **values: Any) -> Task:
    """A task with its run, client and profile; its document is a head without lists."""
    now = values.pop("now", None) or clock.database_now()
    if "profile" not in values:
        values["profile"] = make_profile()
    if "client" not in values:
        values["client"] = make_client(profiles=[values["profile"]])
    if "run" not in values:
        values["run"] = make_run(
            _RUN_STATES[TaskState(state)],
            owner=values["client"].technical_user,
            configuration=values["profile"].configuration,
            handler=values["profile"].handler,
            now=now,
        )
    columns: dict[str, Any] = {
        "id": uuid.uuid4(),
        "state": state,
        "context_id": f"context-{next(_numbers)}",
        "status_at": now,
        "created_at": now,
        "history": documents.EMPTY,
    } | values
    columns.setdefault("head", _head_of(columns))
    return Task.objects.create(**columns)


def _head_of(columns: dict[str, Any]) -> str:
    name = documents.TaskName(task_id=columns["id"], context_id=columns["context_id"])
    status = documents.status(columns["state"], at=columns["status_at"])
    return documents.head(name, status)
