"""The offline model «delegate»: hands a message on and gives back what came of it.

It calls the first tool that takes a `task`, once, with the message as it came. Of other
parameters it fills in those that offer a choice, with the first one. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_runs import fencing
from agent_runs.offline.scripts import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_runs.offline.scripts import Conversation, Done, OfferedTool

NAME = "delegate"
_TASK = "task"


def delegate(conversation: Conversation) -> str | tuple[Call, ...]:
    for tool, offered in conversation.tools.items():
        if _TASK in _parameters(offered):
            return _hand_on(conversation, tool, offered)
    return "Nothing was handed on: this skill is given no tool that takes a task."


def _hand_on(
    conversation: Conversation, tool: str, offered: OfferedTool
) -> str | tuple[Call, ...]:
    if done := conversation.last(tool):
        return _report(done)
    if not conversation.may_call:
        return "Nothing was handed on: this skill has too few rounds to do it."
    if not conversation.prompt.strip():
        return "Nothing was handed on: send a text."
    arguments = _choices(offered) | {_TASK: conversation.prompt}
    return (Call(tool=tool, arguments=arguments),)


def _report(done: Done) -> str:
    if done.is_success:
        return fencing.inner(done.content)
    if done.outcome == "denied":
        return "Nothing was handed on: it was not approved."
    return f"There is no result. {fencing.inner(done.content)}"


def _parameters(offered: OfferedTool) -> Mapping[str, Any]:
    found: Mapping[str, Any] = offered.schema.get("properties", {})
    return found


def _choices(offered: OfferedTool) -> dict[str, Any]:
    first = {name: _first(schema) for name, schema in _parameters(offered).items()}
    return {name: choice for name, choice in first.items() if choice is not None}


def _first(schema: Mapping[str, Any]) -> Any:
    """The first choice that a JSON schema offers, or None."""
    for each in (schema, *schema.get("anyOf", ())):
        if "const" in each:
            return each["const"]
        if each.get("enum"):
            return each["enum"][0]
    return None
