"""The tools this process knows. Providers are asked anew at every segment, so that tools
made from records need no restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent_runs.effects import Effect
from agent_runs.tools.contract import Tool

ToolProvider = Callable[[], Iterable[Tool]]

_providers: list[ToolProvider] = []


def register_provider(provider: ToolProvider) -> None:
    if provider not in _providers:
        _providers.append(provider)


def unregister_provider(provider: ToolProvider) -> None:
    """Forget a provider; for tests."""
    if provider in _providers:
        _providers.remove(provider)


def all_tools() -> dict[str, Tool]:
    return {tool.name: tool for provider in _providers for tool in provider()}


def effect_of(name: str) -> Effect:
    """The declared effect; a name that nobody registered counts as a write (T1)."""
    tool = all_tools().get(name)
    return tool.effect if tool else Effect.NON_IDEMPOTENT_WRITE
