"""The tools of a skill as boxes to tick, stored as the list of names that it was (P3)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from agent_runs.admin.choosing import NamesField
from agent_runs.admin.tools import effect_label
from agent_runs.tools import grants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_runs.tools.grants import ManagedTool

    Choices = list[tuple[str, str]]

_NOT_INSTALLED = "Not installed here"


class ToolsField(NamesField):
    """What is stored and not installed stays a choice, so that it can be seen and kept."""

    default_error_messages = {"invalid_choice": "«%(value)s» is not installed here."}

    def offer(self, stored: Any) -> None:
        known = grants.managed()
        self.choices = list(_groups(known, self.prepare_value(stored)))
        if not self.choices:
            self.help_text = "None is installed here."


def in_stored_order(chosen: list[str], stored: Any) -> list[str]:
    """What stays keeps its place; what is new follows."""
    before = stored if isinstance(stored, list) else []
    kept = [name for name in before if name in chosen]
    return [*kept, *(name for name in chosen if name not in kept)]


def _groups(
    known: dict[str, ManagedTool], stored: list[str]
) -> Iterator[tuple[str, str | Choices]]:
    """Tools of no group first, then each group, then what is not installed."""
    by_group = sorted(known.values(), key=lambda each: each.tool.group)
    for group, tools in groupby(by_group, key=lambda each: each.tool.group):
        choices = [(each.tool.name, _label(each)) for each in tools]
        yield from [(group, choices)] if group else choices
    if missing := [(name, name) for name in stored if name not in known]:
        yield (_NOT_INSTALLED, missing)


def _label(each: ManagedTool) -> str:
    facts = [effect_label(each.tool.effect)]
    if each.tool.needs_approval:
        facts.append("needs approval")
    if not each.is_enabled:
        facts.append("not enabled")
    return f"{each.tool.name} ({', '.join(facts)})"
