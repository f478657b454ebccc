"""A run with a scripted model that hands a step to a peer, segment by segment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync

from a2a_client import delegation, polling
from a2a_client.models import RemoteAgent, RemoteCall
from agent_runs import clock, deciding
from agent_runs.models import AgentRun, RunState
from agent_runs.outcomes import Suspended
from agent_runs.tools import grants
from agent_runs.tools.contract import ToolCall
from tests import factories
from tests.a2a_client import agents, scripts
from tests.agent_runs.scripted import Script, run_loop, set_aside
from tests.agent_runs.segments import claim, make_segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_runs.segment import Segment
    from agent_runs.tools.progress import Progress
    from tests.a2a_client.peer import Peer
    from tests.a2a_client.peer import Script as Answer

TASK = "Find it."
# Of the first call of a script's first answer.
CALL_ID = "c1-0"
WORKING = agents.task("WORKING")
DONE = agents.task(artifacts=[agents.artifact("Paris")])
ASKING = agents.task("INPUT_REQUIRED", say="Which year?")
TELLER = deciding.Teller(name="partner")


@dataclass
class Delegating:
    """`go` runs the next segment as a worker would, and gives how it ended."""

    agent: RemoteAgent
    segment: Segment
    script: Script

    def go(self) -> Any:
        run = AgentRun.objects.get(pk=self.segment.run.pk)
        if run.state == RunState.QUEUED:
            self.segment = claim(run, owner=f"worker-{run.segments}")
        ended = run_loop(self.segment, self.script)
        return set_aside(self.segment, ended) if isinstance(ended, Suspended) else ended

    def delegate(self) -> Progress:
        """What a segment does that dies right after it."""
        tool = grants.offered([self.agent.tool_name], self.run.owner)
        arguments = tool[self.agent.tool_name].parameters(task=TASK)
        request = ToolCall(run=self.run, call_id=CALL_ID, arguments=arguments)
        return async_to_sync(delegation.delegate)(self.agent, request)

    def poll(self) -> None:
        """What the sweep does once the next poll is due."""
        make_due()
        polling.poll()

    def sweep(self) -> None:
        """Every job there is, all of them due."""
        self.poll()
        polling.tidy()
        polling.cancel()

    def answer(self, given: str) -> None:
        deciding.answer(self.segment.run.pk, given, by=TELLER)

    @property
    def run(self) -> AgentRun:
        return AgentRun.objects.get(pk=self.segment.run.pk)

    @property
    def call(self) -> RemoteCall:
        return RemoteCall.objects.select_related("agent").get()

    @property
    def result(self) -> tuple[str, str]:
        """Outcome and content of the call's result, as the model got it."""
        (result,) = self.script.results()
        return result


def sends(task: Mapping[str, Any], **members: Any) -> Answer:
    """SendMessage answered with a task; `members` are of the envelope."""
    return scripts.result({"task": task}, **members)


def make_due() -> None:
    waiting = RemoteCall.objects.filter(due_at__isnull=False)
    waiting.update(due_at=clock.database_now())


def delegating(peer: Peer, task: str = TASK, **values: Any) -> Delegating:
    """`run` are columns of the run."""
    columns = values.pop("run", {})
    agent = factories.make_remote_agent(peer.url, **values)
    return delegating_to(agent, task, **columns)


def delegating_to(agent: RemoteAgent, task: str = TASK, **columns: Any) -> Delegating:
    workspace = factories.make_workspace()
    given = {
        "tools": [agent.tool_name],
        "configuration": factories.make_configuration(),
        "workspace": workspace,
        "text": "hi",
    }
    segment = make_segment(**given | columns)
    arguments = json.dumps({"task": task})
    script = Script([(agent.tool_name, arguments)], "done")
    return Delegating(agent=agent, segment=segment, script=script)
