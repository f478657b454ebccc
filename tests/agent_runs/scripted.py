"""A model that follows a script, tools that record what ran, and the loop around them.

The model is pydantic-ai's own function model, and everything else is what a worker uses.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agent_runs import clock, lifecycle, queue
from agent_runs.agent_loop import AgentLoop
from agent_runs.effects import Effect
from agent_runs.models import AgentRun
from agent_runs.outcomes import Suspended
from agent_runs.questions import Question
from agent_runs.tools import grants, registry
from agent_runs.tools.contract import Tool, ToolCall, Written
from agent_runs.transcript import Transcript
from tests import factories
from tests.agent_runs.segments import claim, make_segment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from agent_runs.handlers import ModelAnswer
    from agent_runs.outcomes import Failed
    from agent_runs.segment import Segment

# What the model does at each call: text, or calls as (name, arguments).
Step = str | list[tuple[str, str]]


class KilledError(BaseException):
    """The worker dies here."""


class Arguments(BaseModel):
    value: int = 0


class Script:
    """Plays steps; the last one is repeated. Ids of calls are distinct, unless given."""

    def __init__(self, *steps: Step, call_id: str = "c{call}-{index}") -> None:
        self.steps = list(steps)
        self.call_id = call_id
        self.seen: list[tuple[list[ModelMessage], AgentInfo]] = []

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self._stream, model_name="script")

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[Any]:
        step = self.steps[min(len(self.seen), len(self.steps) - 1)]
        self.seen.append((messages, info))
        if isinstance(step, str):
            yield step
            return
        yield {
            index: DeltaToolCall(name, arguments, tool_call_id=self._id(index))
            for index, (name, arguments) in enumerate(step)
        }

    def _id(self, index: int) -> str:
        return self.call_id.format(call=len(self.seen), index=index)

    def results(self, call: int = -1) -> list[tuple[str, str]]:
        """Outcome and content of the tool results in the model's n-th call."""
        request = self.seen[call][0][-1]
        assert isinstance(request, ModelRequest)
        parts = [part for part in request.parts if isinstance(part, ToolReturnPart)]
        return [(part.outcome, str(part.content)) for part in parts]


class Toolbox:
    """Registers tools and records what ran."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []
        self.ran: list[tuple[str, int]] = []

    def add(
        self, name: str, *, says: str | BaseException = "ok", **values: Any
    ) -> None:
        async def execute(call: ToolCall) -> str:
            assert isinstance(call.arguments, Arguments)
            self.ran.append((name, call.arguments.value))
            if isinstance(says, BaseException):
                raise says
            return says

        self._add(name, execute=execute, **values)

    def add_writer(
        self, name: str, write: Callable[[ToolCall], Written], **values: Any
    ) -> None:
        def recorded(call: ToolCall) -> Written:
            assert isinstance(call.arguments, Arguments)
            self.ran.append((name, call.arguments.value))
            return write(call)

        effect = Effect.NON_IDEMPOTENT_WRITE
        self._add(name, **{"write": recorded, "effect": effect} | values)

    def add_question(
        self,
        name: str,
        question: Question | None = None,
        *,
        ask: Callable[[Any], Question] | None = None,
        **values: Any,
    ) -> None:
        asked = question or Question(text="Which colour?")
        self._add(name, question=ask or (lambda arguments: asked), **values)

    def add_delegation(
        self, name: str, delegate: Callable[[ToolCall], Awaitable[Any]], **values: Any
    ) -> None:
        given = {
            "delegate": delegate,
            "effect": Effect.NON_IDEMPOTENT_WRITE,
            "supports_workspaces": True,
        }
        self._add(name, **given | values)

    def _add(self, name: str, **values: Any) -> None:
        defaults: dict[str, Any] = {
            "description": name,
            "effect": Effect.READ_ONLY,
            "parameters": Arguments,
            "enabled_by_default": True,
        }
        self.tools.append(Tool(name=name, **defaults | values))

    def __call__(self) -> list[Tool]:
        return self.tools


@contextmanager
def registered() -> Iterator[Toolbox]:
    box = Toolbox()
    registry.register_provider(box)
    try:
        yield box
    finally:
        registry.unregister_provider(box)


# --- Segments -------------------------------------------------------------------------


def new_segment(*tools: str, **configuration: Any) -> Segment:
    """The first segment of a new run that is given these tools."""
    return make_segment(
        tools=list(tools),
        configuration=factories.make_configuration(**configuration),
        text="hi",
    )


def loop_of(segment: Segment, script: Script) -> AgentLoop:
    stored = segment.run.checkpoint
    assert segment.run.configuration
    return AgentLoop(
        segment,
        segment.run.configuration,
        model=script.model,
        settings={},
        transcript=Transcript.load(stored) if stored else Transcript.begin("hi"),
        tools=grants.offered(segment.run.tools, segment.run.owner),
    )


def run_loop(segment: Segment, script: Script) -> ModelAnswer | Suspended | Failed:
    return async_to_sync(loop_of(segment, script).run)()


def set_aside(segment: Segment, ended: object) -> Suspended:
    """What the engine does with a run that has to wait."""
    assert isinstance(ended, Suspended), ended
    assert lifecycle.suspend(
        segment.lease,
        ended.target,
        waiting=ended.waiting,
        now=clock.database_now(),
        event=ended.event,
    )
    return ended


def after_a_death(segment: Segment) -> Segment:
    """The worker dies; the reaper gives the run to another one."""
    AgentRun.objects.filter(id=segment.run.id).update(
        lease_expires_at=clock.database_now() - lifecycle.LEASE_TIME
    )
    queue.reap()
    return claim(segment.run, owner="other")
