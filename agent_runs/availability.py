"""May this be used now: the questions that server, admin and engine ask alike.

Every answer is a sentence for administrators, or None. Nothing here is told to a peer.
Callers read records with `select_related("provider")` where they read many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_runs import llm
from agent_runs.models.llm import AnswerLevel, ProviderKind
from agent_runs.offline import scripts

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, Group
    from django.db.models import QuerySet

    from agent_runs.models import LLMConfiguration, Provider

_NEEDS_BASE_URL = frozenset({ProviderKind.OPENAI_COMPATIBLE})


def configuration_problem(configuration: LLMConfiguration) -> str | None:
    """Why no run may use this configuration, or None."""
    if not configuration.is_active:
        return f"The LLM configuration «{configuration}» is not active."
    if not configuration.model_name.strip():
        return f"The LLM configuration «{configuration}» names no model."
    provider = configuration.provider
    return provider_problem(provider) or _model_problem(configuration, provider)


def provider_problem(provider: Provider) -> str | None:
    if not provider.is_active:
        return f"The provider «{provider}» is not active."
    if problem := llm.kind_problem(provider.kind):
        return problem
    if provider.base_url:
        return base_url_problem(provider.base_url)
    if provider.kind in _NEEDS_BASE_URL:
        return f"The provider «{provider}» has no base URL."
    return None


def base_url_problem(url: str) -> str | None:
    """Why an operator's address cannot be called (P1); private hosts are fine."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port != 0
    except ValueError:
        return "The base URL cannot be read."
    if parts.scheme not in {"http", "https"}:
        return "The base URL must begin with http:// or https://."
    if "@" in parts.netloc:
        return "The base URL must not hold a user name or password."
    if not parts.hostname or not port_is_fine or not _is_plain(url):
        return "The base URL names no host that could be called."
    return None


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


def _model_problem(configuration: LLMConfiguration, provider: Provider) -> str | None:
    wanted = configuration.model_name
    if provider.kind != ProviderKind.OFFLINE or scripts.find(wanted):
        return None
    return f"The offline model «{wanted}» does not exist; there are {scripts.listed()}."


def keeps_result(configuration: LLMConfiguration | None) -> bool:
    """Whether a result may be kept under the provider's answer level (R16)."""
    if configuration is None:
        return True
    return AnswerLevel(configuration.provider.answer_level).keeps_result


def user_may_use(
    configuration: LLMConfiguration, user: AbstractBaseUser | None
) -> bool:
    """No group chosen: everybody. Otherwise being in one of them counts, nothing else.

    Asks nothing where both sides' groups were prefetched.
    """
    if user is None or user.pk is None:
        return False
    allowed = {group.pk for group in configuration.allowed_groups.all()}
    return not allowed or any(group.pk in allowed for group in _groups_of(user))


def _groups_of(user: Any) -> QuerySet[Group]:
    groups: QuerySet[Group] = user.groups.all()
    return groups


def owner_problem(user: AbstractBaseUser | None) -> str | None:
    """Why no run may act as this user (R19)."""
    if user is None:
        return "The technical user does not exist any more."
    if not user.is_active:
        return f"The technical user «{user.get_username()}» is not active."
    if getattr(user, "is_superuser", False):
        return f"The technical user «{user.get_username()}» is a superuser."
    return None
