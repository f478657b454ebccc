"""The rules of providers and LLM configurations when they are saved (P1, P2).

Each is a function from a change to problems, registered with `agent_runs.saving`; what it
does not ask about it must not judge. Other packages add theirs to the same records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_runs import availability, llm
from agent_runs.models import LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind
from agent_runs.offline import scripts
from agent_runs.saving import Change, Problem, register_rules, related

if TYPE_CHECKING:
    from collections.abc import Iterator

    ProviderChange = Change[Provider]
    ConfigurationChange = Change[LLMConfiguration]


def kind_is_usable(change: ProviderChange) -> Iterator[Problem]:
    kind = change.new.kind
    # A kind outside the choices has its own message from the field.
    if not change.touches("kind") or kind not in ProviderKind.values:
        return
    if problem := llm.kind_problem(kind):
        yield Problem(sentence=problem, field="kind")


def address_fits_kind(change: ProviderChange) -> Iterator[Problem]:
    if not change.touches("kind", "base_url") and not change.gains("is_active"):
        return
    if problem := address_problem(change.new.kind, change.new.base_url or ""):
        yield Problem(sentence=problem, field="base_url")


def address_problem(kind: str, url: str) -> str | None:
    """Why a provider of this kind cannot have this base URL."""
    if kind == ProviderKind.OFFLINE:
        return "An offline provider has no base URL; leave it empty." if url else None
    if not url:
        needed = kind == ProviderKind.OPENAI_COMPATIBLE
        return "This kind of provider needs a base URL." if needed else None
    return availability.base_url_problem(url) or _ending_problem(url)


def _ending_problem(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        return "The base URL must end with its path: no «?» and no «#»."
    return None


def offline_model_exists(change: ConfigurationChange) -> Iterator[Problem]:
    provider = related(change.new, "provider")
    if provider is None or provider.kind != ProviderKind.OFFLINE:
        return
    if not change.touches("model_name", "provider_id"):
        return
    if not scripts.find(change.new.model_name):
        yield Problem(
            sentence=f"The provider «{provider}» is offline and knows "
            f"{scripts.listed()} only.",
            field="model_name",
        )


def register() -> None:
    register_rules(Provider, kind_is_usable, address_fits_kind)
    register_rules(LLMConfiguration, offline_model_exists)
