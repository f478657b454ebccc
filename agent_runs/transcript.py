"""What a model run remembers between segments: its checkpoint (R8).

The messages up to the last model answer; of the open turn, a journal with the results of
calls that ran, in the order they ran, what was decided about it, and which call has begun
that must not begin twice. The system prompt is not stored; it is set anew at every model
call. Pure: reads and writes text only.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_runs.cleaning import clean_text
from agent_runs.contents import dump_document, load_document, reading
from agent_runs.questions import Answer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agent_runs.contents import Turn

Outcome = Literal["success", "failed", "denied"]
# No tool's name is longer; events keep names, whatever else they may not keep (R16).
_LONGEST_NAME = 64
_LONGEST_MODEL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    call_id: str
    tool_name: str
    content: str
    outcome: Outcome = "success"

    def part(self) -> ToolReturnPart:
        return ToolReturnPart(
            self.tool_name, self.content, self.call_id, outcome=self.outcome
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What people and the client said about what is open: a verdict, answers by key.

    `approval_id` is what the verdict was given to.
    """

    is_approved: bool | None = None
    approval_id: str = ""
    answers: Mapping[str, Answer] = field(default_factory=dict)

    def with_more(self, later: Decisions) -> Decisions:
        verdict = self if later.is_approved is None else later
        return Decisions(
            is_approved=verdict.is_approved,
            approval_id=verdict.approval_id,
            answers={**self.answers, **later.answers},
        )

    def dump(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    @reading()
    def load(cls, text: str) -> Decisions:
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Decisions:
        answers = {key: Answer(**value) for key, value in stored["answers"].items()}
        return cls(
            is_approved=stored["is_approved"],
            approval_id=stored.get("approval_id", ""),
            answers=answers,
        )


@dataclass(slots=True, kw_only=True)
class Transcript:
    messages: list[ModelMessage]
    journal: list[ToolResult] = field(default_factory=list)
    decisions: Decisions = field(default_factory=Decisions)
    # The id of a call that has begun and must not begin again.
    begun: str = ""
    # Whether a call of the open turn was handed to somebody else.
    has_delegated: bool = False
    # The last answer was asked for with tool use switched off.
    is_last: bool = False

    @classmethod
    def begin(cls, prompt: str, earlier: Iterable[Turn] = ()) -> Transcript:
        """`earlier` is what was said before in the same conversation."""
        before = [_earlier_message(turn) for turn in earlier]
        return cls(messages=[*before, ModelRequest(parts=[UserPromptPart(prompt)])])

    @property
    def last_response(self) -> ModelResponse | None:
        last = self.messages[-1]
        return last if isinstance(last, ModelResponse) else None

    @property
    def turn_calls(self) -> list[ToolCallPart]:
        response = self.last_response
        return tool_calls(response) if response else []

    @property
    def open_calls(self) -> list[ToolCallPart]:
        """Calls of the last answer that have no result yet."""
        done = {result.call_id for result in self.journal}
        return [call for call in self.turn_calls if call.tool_call_id not in done]

    def add_response(self, response: ModelResponse) -> ModelResponse:
        """Give it back as it is kept; nothing else of it can be stored."""
        kept = cleaned(response, self._known_ids())
        self.messages.append(kept)
        return kept

    def _known_ids(self) -> set[str]:
        earlier = (m for m in self.messages if isinstance(m, ModelResponse))
        return {call.tool_call_id for each in earlier for call in tool_calls(each)}

    def close_turn(self) -> None:
        """Hand the journal's results to the model."""
        self.messages.append(ModelRequest(parts=[r.part() for r in self.journal]))
        self.journal = []
        self.decisions = Decisions()
        # A later turn may use the same ids.
        self.begun = ""
        self.has_delegated = False

    def with_instructions(self, instructions: str) -> list[ModelMessage]:
        """The messages as they are sent: the newest request carries the instructions."""
        *earlier, last = self.messages
        if isinstance(last, ModelRequest) and instructions:
            last = dataclasses.replace(last, instructions=instructions)
        return [*earlier, last]

    def dump(self) -> str:
        messages = json.loads(ModelMessagesTypeAdapter.dump_json(self.messages))
        journal = [dataclasses.asdict(result) for result in self.journal]
        decisions = dataclasses.asdict(self.decisions)
        return dump_document(
            {
                "messages": messages,
                "journal": journal,
                "decisions": decisions,
                "begun": self.begun,
                "has_delegated": self.has_delegated,
                "is_last": self.is_last,
            }
        )

    @classmethod
    @reading()
    def load(cls, text: str) -> Transcript:
        """Raise `ContentsError` for a checkpoint of a release that writes otherwise."""
        stored = load_document(text)
        return cls(
            messages=ModelMessagesTypeAdapter.validate_python(stored["messages"]),
            journal=[ToolResult(**result) for result in stored["journal"]],
            decisions=Decisions.of(stored["decisions"]),
            begun=stored["begun"],
            has_delegated=stored.get("has_delegated", False),
            is_last=stored["is_last"],
        )


def _earlier_message(turn: Turn) -> ModelMessage:
    if turn.is_from_agent:
        return ModelResponse(parts=[TextPart(turn.text)])
    return ModelRequest(parts=[UserPromptPart(turn.text)])


def tool_calls(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def text_of(response: ModelResponse) -> str:
    return "".join(p.content for p in response.parts if isinstance(p, TextPart))


def cleaned(response: ModelResponse, known: Collection[str] = ()) -> ModelResponse:
    """The answer as it can be stored: clean text, and a distinct id for every call.

    `known` are the ids of earlier answers: a verdict or an answer that was given to one
    of their calls must never be taken for a later one (T9, T12).
    """
    seen = set(known)
    parts = [_cleaned_part(part, seen) for part in response.parts]
    model = clean_text(response.model_name or "")[:_LONGEST_MODEL]
    return dataclasses.replace(response, parts=parts, model_name=model or None)


def _cleaned_part(part: ModelResponsePart, seen: set[str]) -> ModelResponsePart:
    if isinstance(part, TextPart | ThinkingPart):
        return dataclasses.replace(part, content=clean_text(part.content))
    if isinstance(part, ToolCallPart):
        return _cleaned_call(part, seen)
    return part


def _cleaned_call(part: ToolCallPart, seen: set[str]) -> ToolCallPart:
    # Some models leave the id empty or use one twice; results are matched by it.
    call_id = clean_text(part.tool_call_id)
    if not call_id or call_id in seen:
        call_id = f"call_{uuid.uuid4().hex}"
    seen.add(call_id)
    arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
    return dataclasses.replace(
        part,
        tool_name=clean_text(part.tool_name)[:_LONGEST_NAME],
        args=clean_text(arguments),
        tool_call_id=call_id,
    )
