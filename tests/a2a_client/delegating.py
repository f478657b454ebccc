"""A run with a scripted model that hands a step to a peer, segment by segment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_client import polling
from a2a_client.models import RemoteAgent, RemoteCall
from agent_runs import clock, deciding
from agent_runs.models import AgentRun, RunState
from agent_runs.outcomes import Suspended
from tests import factories
from tests.agent_runs.scripted import Script, run_loop, set_aside
from tests.agent_runs.segments import claim, make_segment

if TYPE_CHECKING:
    from agent_runs.segment import Segment
    from tests.a2a_client.peer import Peer

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

    def poll(self) -> None:
        """What the sweep does once the next poll is due."""
        RemoteCall.objects.update(due_at=clock.database_now())
        polling.poll()

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


def delegating(peer: Peer, task: str = "Find it.", **values: Any) -> Delegating:
    agent = factories.make_remote_agent(peer.url, **values)
    workspace = factories.make_workspace()
    segment = make_segment(
        tools=[agent.tool_name],
        configuration=factories.make_configuration(),
        workspace=workspace,
        text="hi",
    )
    arguments = json.dumps({"task": task})
    script = Script([(agent.tool_name, arguments)], "done")
    return Delegating(agent=agent, segment=segment, script=script)
