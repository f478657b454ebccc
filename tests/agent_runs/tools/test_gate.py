from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ToolCallPart

from agent_runs.effects import Effect
from agent_runs.tools import gate, registry
from agent_runs.tools.contract import Tool, ToolCall
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = ToolCallPart("look", "{}", "c1")


class NoArguments(BaseModel):
    pass


async def _execute(call: ToolCall) -> str:
    return ""


def _tools() -> list[Tool]:
    return [
        Tool(
            name=name,
            description=name,
            parameters=NoArguments,
            effect=Effect.READ_ONLY,
            execute=_execute,
            permission=permission,
        )
        for name, permission in (
            ("open", ""),
            ("decide", "agent_runs.decide_run"),
            ("unlisted", ""),
        )
    ]


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    registry.register_provider(_tools)
    yield
    registry.unregister_provider(_tools)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("permissions", "offered"),
    [([], {"open"}), (["agent_runs.decide_run"], {"open", "decide"})],
    ids=["without", "with"],
)
def test_offers_what_is_listed_registered_and_permitted(
    permissions: list[str], offered: set[str]
) -> None:
    """T3."""
    run = factories.make_run(
        tools=["open", "decide", "gone"],
        owner=factories.make_user(permissions=permissions),
    )

    assert set(gate.offered_tools(run)) == offered


@pytest.mark.django_db
def test_a_run_without_its_owner_gets_no_tool_that_needs_a_permission() -> None:
    run = factories.make_run(tools=["open", "decide"], owner=None)

    assert set(gate.offered_tools(run)) == {"open"}


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
