"""Offline models of the drill: one that hands everything on, one that asks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_runs.offline.scripts import Call

if TYPE_CHECKING:
    from agent_runs.offline.scripts import Conversation, Script

RELAY = "drill-relay"
DESK = "drill-desk"
# The remote agent that `RELAY` knows, and the tool that it is.
AGENT = "desk"
_TOOL = f"a2a_{AGENT}"
_ASK = "ask_choice"
NOBODY = "There is nobody to ask."
SECTIONS = ("News", "Culture")


def relay(conversation: Conversation) -> str | tuple[Call, ...]:
    """Says what the agent said, or what was said of it."""
    if _TOOL not in conversation.tools:
        return NOBODY
    told = conversation.last(_TOOL)
    if told is None:
        arguments = {"task": conversation.prompt, "skill": AGENT}
        return (Call(tool=_TOOL, arguments=arguments),)
    return f"{told.outcome}: {told.content}"


def desk(conversation: Conversation) -> str | tuple[Call, ...]:
    chosen = conversation.last(_ASK)
    if chosen is None:
        question = f"For which section is «{conversation.prompt}»?"
        arguments = {"question": question, "options": list(SECTIONS)}
        return (Call(tool=_ASK, arguments=arguments),)
    return f"«{conversation.prompt}» is for {chosen.content}."


SCRIPTS: dict[str, Script] = {RELAY: relay, DESK: desk}
