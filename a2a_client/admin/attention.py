"""Which agents somebody should look at, and why: what the list says (C7, C8).

Beside what keeps an agent from being called, the newest step that ended tells: it goes
away by itself when the next one ends well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import OuterRef, Subquery

from a2a_client.models import CallState, RemoteCall
from a2a_client.recording import AUTH_REQUIRED
from a2a_client.replies import CREDENTIAL_REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDED = RemoteCall.objects.filter(agent=OuterRef("pk"), ended_at__isnull=False)
_NEWEST = _ENDED.order_by("-created_at", "-id")
# Annotations of a queryset of agents that `sentence` reads.
LAST: Mapping[str, Any] = {
    "last_state": Subquery(_NEWEST.values("state")[:1]),
    "last_code": Subquery(_NEWEST.values("code")[:1]),
    "last_looked_up_at": Subquery(_NEWEST.values("looked_up_at")[:1]),
}

_REFUSED = "It refused the credential at the last step."
_BY_CODE = {
    AUTH_REQUIRED: "Its last step waits for a sign-in that only a person can do at the "
    "agent.",
    **dict.fromkeys(CREDENTIAL_REFUSED, _REFUSED),
}
_UNKNOWN = "Nobody knows what became of its last step: look it up among its calls."


def sentence(agent: Any) -> str:
    """Empty where all is well."""
    if problem := agent.reach_problem():
        return str(problem)
    if agent.last_state == CallState.UNKNOWN and agent.last_looked_up_at is None:
        return _UNKNOWN
    return _BY_CODE.get(agent.last_code or "", "")
