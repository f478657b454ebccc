"""The admin of this package, a file for each kind of page; Django imports this module."""

from __future__ import annotations

from a2a_server.admin import clients, profiles, tasks

__all__ = ["clients", "profiles", "tasks"]
