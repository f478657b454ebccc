"""The client role: remote agents that runs may hand a step to."""

from __future__ import annotations
