"""What the guard says about the addresses of remote agents, for administrators.

Its sentences are completed by the setting that decides. Nothing here asks DNS: what a name
leads to is judged whenever a connection is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_runs import outbound
from egress import addresses, policy
from egress.errors import Reason, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from egress.errors import EgressError

GROUP: Final = "a2a_remote_agent"

# What an operator changes to let through what was refused.
_SETTINGS: Final[Mapping[Reason, str]] = {
    Reason.NOT_ALLOWED: "A2A_EGRESS_REMOTE_AGENT_ALLOW",
    Reason.PORT: "A2A_EGRESS_REMOTE_AGENT_ALLOW",
    Reason.DENIED: "A2A_EGRESS_REMOTE_AGENT_DENY",
    Reason.SCHEME: "A2A_EGRESS_ALLOW_HTTP",
    Reason.CERTIFICATE: "A2A_EGRESS_CA_FILE",
}


def sentence_of(error: EgressError) -> str:
    setting = _SETTINGS.get(error.reason)
    return f"{error.sentence} (Setting: {setting}.)" if setting else error.sentence


def url_problem(url: str) -> str | None:
    """Why this URL can never be called as the settings are now."""
    try:
        rules = outbound.policy_for(GROUP)
        target = policy.judge_url(rules, url)
        if address := addresses.literal(target.host):
            policy.judge_addresses(rules, [address], host=target.host, port=target.port)
    except Refused as refusal:
        return sentence_of(refusal)
    return None
