"""For whom a request leaves; what the log says beside the agent (C3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from uuid import UUID

    from a2a_client.models import RemoteAgent, RemoteCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """`purpose` is a few words of ours, such as «poll»; there need be no run or call."""

    run_id: UUID | None = None
    call_id: UUID | None = None
    purpose: str

    @classmethod
    def of(cls, call: RemoteCall, purpose: str) -> Self:
        return cls(run_id=call.run_id, call_id=call.pk, purpose=purpose)

    def facts(self, agent: RemoteAgent) -> dict[str, str]:
        """For the log."""
        facts = {
            "agent": agent.identifier,
            "host": agent.host,
            "purpose": self.purpose,
        }
        if self.run_id:
            facts["run"] = str(self.run_id)
        if self.call_id:
            facts["call_id"] = str(self.call_id)
        return facts
