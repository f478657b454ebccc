from __future__ import annotations

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ToolCallPart

from agent_runs.effects import Effect
from agent_runs.models import AgentRun, Workspace
from agent_runs.tools import gate
from agent_runs.tools.contract import Tool, ToolCall, Written

CALL = ToolCallPart("look", "{}", "c1")


class _Nothing(BaseModel):
    """Arguments of a tool that takes none."""


@pytest.mark.parametrize(
    "text", ["short", "ü" * 25_000, ""], ids=["short", "exact", "empty"]
)
def test_text_within_the_limit_stays_as_it_is(text: str) -> None:
    assert gate.cut(text) == text


def test_a_cut_never_leaves_half_a_character() -> None:
    """R6: 50,000 bytes."""
    kept = gate.cut("a" + "ü" * 25_000)

    assert kept.startswith("a" + "ü" * 24_999)
    assert "�" not in kept
    assert "[cut" in kept


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (gate.failed(CALL, "no"), "failed"),
        (gate.denied(CALL, "no"), "denied"),
        (gate.answered(CALL, "no"), "success"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_results_name_their_call(result: gate.ToolResult, outcome: str) -> None:
    assert (result.call_id, result.tool_name) == ("c1", "look")
    assert (result.content, result.outcome) == ("no", outcome)


@pytest.mark.parametrize(
    ("supports_workspaces", "workspace", "told"),
    [
        (True, None, "There is no workspace to write to."),
        (False, Workspace(pk=1), "look writes live, and this run writes drafts only."),
        (True, Workspace(pk=1), "written"),
        (False, None, "written"),
    ],
    ids=["drafts, live", "live, drafts", "drafts, drafts", "live, live"],
)
@pytest.mark.django_db
def test_a_writer_runs_only_where_it_is_at_home(
    supports_workspaces: bool, workspace: Workspace | None, told: str
) -> None:
    """T15: a client with a workspace never writes live."""
    ran: list[str] = []

    def write(call: ToolCall) -> Written:
        ran.append(call.call_id)
        return Written(content="written", writes=())

    tool = Tool(
        name="look",
        description="",
        parameters=_Nothing,
        effect=Effect.NON_IDEMPOTENT_WRITE,
        write=write,
        supports_workspaces=supports_workspaces,
    )

    result, _ = gate.write(AgentRun(workspace=workspace), CALL, tool)

    assert result.content == told
    assert ran == (["c1"] if told == "written" else [])
