"""Asks a remote agent something harmless, to see whether it can be reached (C3).

It is asked for a task that nobody has. An agent that says so was reached, speaks the
protocol and took the credential; nothing is begun there.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asgiref.sync import async_to_sync

from a2a_client import transport
from a2a_client.audit import Audit
from a2a_client.replies import CREDENTIAL_REFUSED, TASK_NOT_FOUND, Accepted
from a2a_protocol import types

if TYPE_CHECKING:
    from a2a_client.models import RemoteAgent
    from a2a_client.replies import Judgement, NotAccepted, Unknown

PURPOSE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """`sentence` is for administrators; `detail` is what the agent answered instead."""

    is_good: bool
    sentence: str
    detail: str = ""


def probe(agent: RemoteAgent) -> Probed:
    """Blocks for as long as the agent's time-out; raises nothing of the network's."""
    if problem := agent.reach_problem():
        return Probed(is_good=False, sentence=f"The agent was not asked. {problem}")
    began = time.monotonic()
    judgement = _ask(agent)
    took = f"{max(round((time.monotonic() - began) * 1000), 1)} ms"
    if isinstance(judgement, Accepted):
        return Probed(is_good=False, sentence=_believed_anything(agent, took))
    if judgement.code == TASK_NOT_FOUND:
        return Probed(is_good=True, sentence=_reached(agent, took))
    return _failed(agent, judgement, took)


def _ask(agent: RemoteAgent) -> Judgement:
    nobodys = types.GetTaskRequest(tenant=agent.interface_tenant, id=str(uuid.uuid4()))
    audit = Audit(purpose=PURPOSE)
    return async_to_sync(transport.send)(agent, "GetTask", nobodys, audit=audit)


def _reached(agent: RemoteAgent, took: str) -> str:
    credential = (
        "took the credential" if agent.needs_secret else "wants no credential for this"
    )
    return (
        f"«{agent.host}» answered in {took}: it speaks A2A {agent.interface_version} and "
        f"{credential}."
    )


def _believed_anything(agent: RemoteAgent, took: str) -> str:
    return (
        f"«{agent.host}» answered in {took}, but claims to have a task that nobody gave "
        "it. Check whether its interface is an agent's."
    )


def _failed(agent: RemoteAgent, failure: NotAccepted | Unknown, took: str) -> Probed:
    sentence = f"{failure.sentence} It took {took}."
    if failure.code in CREDENTIAL_REFUSED:
        sentence = (
            f"«{agent.host}» was reached in {took}. {_refused(agent, failure.code)}"
        )
    return Probed(is_good=False, sentence=sentence, detail=failure.detail)


def _refused(agent: RemoteAgent, code: str) -> str:
    status = code.removeprefix("http_")
    if agent.needs_secret:
        return (
            f"It refuses the credential (HTTP {status}): enter it again, or choose "
            "another kind."
        )
    return f"It wants a credential (HTTP {status}): choose its kind and enter it."
