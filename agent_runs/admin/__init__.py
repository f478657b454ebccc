"""The admin of this package, a file for each kind of page; Django imports this module."""

from __future__ import annotations

from agent_runs.admin import (
    drafts,
    groups,
    inbox,
    llm,
    runs,
    tools,
    workers,
    workspaces,
)

__all__ = ["drafts", "groups", "inbox", "llm", "runs", "tools", "workers", "workspaces"]
