"""The open turn of a run: the calls of the model's last answer (R7, R8, R13, T7, T11–T14).

Before any call of a turn runs, the whole turn is looked at: first for calls that a person
has to approve, then for questions. Then nothing of it runs and the run waits. A turn that
is decided runs call by call, each result stored before the next call begins; what a writer
does is stored with its result, in one transaction.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction

from agent_runs import delegations, redaction, registries, suspending
from agent_runs.events import NewEvent
from agent_runs.interrupting import interruptible
from agent_runs.models import EndReason
from agent_runs.models.run import EventKind
from agent_runs.outcomes import Failed
from agent_runs.questions import QuestionError
from agent_runs.tools import gate, grants
from agent_runs.tools.contract import ToolError
from agent_runs.transcript import ToolResult
from agent_runs.waiting import ShownCall, open_approval, open_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.messages import ToolCallPart

    from agent_runs.outcomes import Suspended
    from agent_runs.segment import Segment
    from agent_runs.tools.contract import Tool, Write
    from agent_runs.transcript import Transcript
    from agent_runs.waiting import OpenApproval, OpenQuestion

DENIED = "Denied by the person who was asked."
# Every result is stored with all before it: a turn without end would never end.
MOST_CALLS = 50
TOO_MANY = f"not run: more than {MOST_CALLS} calls in one answer"


class OpenTurn:
    def __init__(
        self, segment: Segment, transcript: Transcript, tools: Mapping[str, Tool]
    ) -> None:
        self.segment = segment
        self.run_row = segment.run
        self.transcript = transcript
        self.tools = tools

    # --- Before anything runs ---------------------------------------------------------

    async def scan(self) -> Suspended | Failed | None:
        """Approvals first, then questions; what was decided already is let through."""
        if self._is_denied:
            return None
        approval = await sync_to_async(self._needed_approval)()
        if approval:
            return suspending.for_approval(self.segment, approval)
        question = self._next_question()
        return suspending.for_answer(self.segment, question) if question else None

    def lost_write(self) -> Failed | None:
        """A write that had begun when its worker was lost; nobody knows how far it got."""
        begun = self.transcript.begun
        if any(call.tool_call_id == begun for call in self.transcript.open_calls):
            return Failed(reason=EndReason.LEASE_LOST_AFTER_WRITE)
        return None

    def _needed_approval(self) -> OpenApproval | None:
        """What a person has to see before anything of the turn runs (T11, T13).

        Once a call of an approved turn has run, what it did may have changed the other
        previews: the verdict covers the turn as it was shown.
        """
        has_begun = self.transcript.journal or self.transcript.has_delegated
        if has_begun and self.transcript.decisions.is_approved:
            return None
        calls = [
            (call, tool)
            for call in self._calls
            if (tool := self.tools.get(call.tool_name))
            and tool.needs_approval
            and _fits(call, tool)
        ]
        if not calls:
            return None
        approval = open_approval(self._shown(call, tool) for call, tool in calls)
        is_given = approval.id == self.transcript.decisions.approval_id
        return None if is_given else approval

    def _shown(self, call: ToolCallPart, tool: Tool) -> ShownCall:
        return ShownCall(
            call_id=call.tool_call_id,
            tool=tool.name,
            arguments=gate.arguments_of(call),
            preview=gate.preview(self.run_row, call, tool),
        )

    def _next_question(self) -> OpenQuestion | None:
        """The first call of the turn that asks and has no answer yet (T7)."""
        # Of two that ask the same, the second one is another question (T9).
        unanswered = [each for each in self._calls if not self._is_answered(each)]
        for call in unanswered:
            tool = self.tools.get(call.tool_name)
            if tool is None or not tool.asks_client:
                continue
            try:
                question = redaction.askable(
                    self.segment.level, gate.question_of(call, tool)
                )
            except (ToolError, QuestionError):
                # It becomes an error result when the turn runs.
                continue
            return open_question(
                question,
                key=call.tool_call_id,
                asked_by=[each.tool_call_id for each in unanswered],
                tool=tool.name,
            )
        return None

    def _is_answered(self, call: ToolCallPart) -> bool:
        return call.tool_call_id in self.transcript.decisions.answers

    # --- Running ----------------------------------------------------------------------

    async def run(self) -> Suspended | Failed | None:
        """Run what has no result yet, in order, storing each result before the next.

        A call that is handed on may end the segment in the middle of the turn.
        """
        for call in self._calls:
            self.segment.check()
            started = time.monotonic()
            tool = await sync_to_async(self._tool_of)(call)
            if tool and tool.write and not self._is_denied:
                await sync_to_async(self._write)(call, tool, started)
                continue
            made = await self._result_of(call, tool)
            if not isinstance(made, ToolResult):
                return made
            self.transcript.journal.append(made)
            await sync_to_async(self.segment.store_checkpoint)(
                self.transcript.dump(), event=self._tool_event(started)
            )
        for call in self.transcript.open_calls:
            self.transcript.journal.append(gate.failed(call, TOO_MANY))
        self.transcript.close_turn()
        return None

    @property
    def _calls(self) -> list[ToolCallPart]:
        """The open calls, as far as one turn may have them."""
        counted = self.transcript.turn_calls[:MOST_CALLS]
        within = {call.tool_call_id for call in counted}
        return [
            call for call in self.transcript.open_calls if call.tool_call_id in within
        ]

    def _tool_of(self, call: ToolCallPart) -> Tool | None:
        """The tool that is called, if it may still be used at this moment (T3)."""
        tool = self.tools.get(call.tool_name)
        if tool is None or tool.asks_client or self._is_denied:
            return tool
        owner = grants.fit_user(self.run_row.owner_id)
        if owner is None or tool.name not in grants.offered([tool.name], owner):
            return None
        # What the tool asks about permissions, it asks of the user as of now.
        self.run_row.owner = owner  # type: ignore[assignment]
        if tool.effect.is_write and registries.segment_problem(self.run_row):
            return None
        return tool

    @property
    def _is_denied(self) -> bool:
        return self.transcript.decisions.is_approved is False

    async def _result_of(
        self, call: ToolCallPart, tool: Tool | None
    ) -> ToolResult | Suspended | Failed:
        if self._is_denied:
            return gate.denied(call, DENIED)
        if self._is_answered(call):
            answer = self.transcript.decisions.answers[call.tool_call_id]
            return gate.answered(call, answer.text)
        if tool and tool.asks_client:
            return self._cannot_be_asked(call, tool)
        if tool and tool.delegate:
            return await delegations.proceed(self.segment, self.transcript, call, tool)
        if tool and tool.effect.is_write and _fits(call, tool):
            await self._begin_write(call, tool)
            return await gate.execute(self.run_row, call, tool)
        return await interruptible(self.segment, gate.execute(self.run_row, call, tool))

    def _cannot_be_asked(self, call: ToolCallPart, tool: Tool) -> ToolResult:
        try:
            redaction.askable(self.segment.level, gate.question_of(call, tool))
        except (ToolError, QuestionError) as error:
            return gate.failed(call, str(error))
        raise RuntimeError("a question was passed over")

    def _write(self, call: ToolCallPart, tool: Tool, started: float) -> None:
        """The write, its events and its checkpoint: one transaction (R13).

        Nothing in it is tried again here, since nobody knows what became of a commit
        whose answer was lost: the next segment finds the checkpoint or it does not.
        """
        try:
            self._write_whole(call, tool, started)
        except IntegrityError:
            # PostgreSQL looks at some references at the commit only. Nothing was written.
            self.transcript.journal = [
                kept
                for kept in self.transcript.journal
                if kept.call_id != call.tool_call_id
            ]
            self.transcript.journal.append(gate.failed(call, gate.FAILED))
            self.segment.store_checkpoint(
                self.transcript.dump(), event=self._tool_event(started)
            )

    def _write_whole(self, call: ToolCallPart, tool: Tool, started: float) -> None:
        with transaction.atomic():
            # First of all the row is locked, which tells that the lease is ours.
            self.segment.store()
            result, written = gate.write(self.run_row, call, tool)
            writes = written.writes if written else ()
            for write in writes:
                self.segment.store(event=self._write_event(write, tool))
            self.transcript.journal.append(result)
            self.segment.store_checkpoint(
                self.transcript.dump(),
                event=self._tool_event(started),
                **({"has_effects": True} if writes else {}),
            )
        self.run_row.has_effects = self.run_row.has_effects or bool(writes)

    def _write_event(self, write: Write, tool: Tool) -> NewEvent:
        workspace = self.run_row.workspace
        facts = {
            "tool": tool.name,
            "kind": write.kind,
            "model": write.model,
            "object_id": write.object_id,
            "draft_id": write.draft_id,
            "workspace": workspace.name if workspace else "",
        }
        return NewEvent(kind=EventKind.WRITE, round=self.run_row.rounds, facts=facts)

    def _tool_event(self, started: float) -> NewEvent:
        """About the call whose result was stored last."""
        result = self.transcript.journal[-1]
        return NewEvent(
            kind=EventKind.TOOL,
            round=self.run_row.rounds,
            duration_ms=since(started),
            facts={
                "tool": result.tool_name,
                "outcome": result.outcome,
                "result_length": len(result.content),
            },
            content=redaction.event_content(self.segment.level, result.content),
        )

    async def _begin_write(self, call: ToolCallPart, tool: Tool) -> None:
        """From now on the run never starts over, and this call begins once at most."""
        if not tool.effect.may_repeat:
            self.transcript.begun = call.tool_call_id
        self.run_row.has_effects = True
        await sync_to_async(self.segment.store_checkpoint)(
            self.transcript.dump(), has_effects=True
        )


def _fits(call: ToolCallPart, tool: Tool) -> bool:
    """Whether it can be made at all; if not, there is nothing to approve (T11)."""
    try:
        gate.parse(call, tool)
    except ToolError:
        return False
    return True


def since(started: float) -> int:
    """Milliseconds."""
    return round((time.monotonic() - started) * 1000)
