"""The admin of this package, a file for each kind of page; Django imports this module."""

from __future__ import annotations

from a2a_client.admin import agents, calls

__all__ = ["agents", "calls"]
