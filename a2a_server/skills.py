"""Which skills are offered, and which one a call is for (S7, S30, S31).

Two audiences: administrators get sentences that name records (`problems`), a client gets
a reason that names nothing. Both follow from the same questions, which are asked anew
every time, since records change by ways that validate nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from django.contrib.auth import get_user_model

from a2a_protocol.cards import PROFILE_EXTENSION_URI
from a2a_protocol.errors import FieldViolation, invalid_params
from a2a_server.errors import Reason, refuse
from a2a_server.models import ClientProfile, Profile
from agent_runs import availability, handlers
from agent_runs.effects import Effect
from agent_runs.statements import Select, value
from agent_runs.tools import grants, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import QuerySet

    from a2a_protocol.json_text import JSONValue
    from agent_runs.handlers import DomainHandler
    from agent_runs.models import LLMConfiguration
    from agent_runs.tools.contract import Tool

_FIELD = "metadata"


class Caller(Protocol):
    """What choosing asks about the authenticated client."""

    @property
    def client_id(self) -> int: ...

    @property
    def technical_user_id(self) -> int: ...

    @property
    def workspace_id(self) -> int | None: ...


# --- What is offered ------------------------------------------------------------------


def offered() -> list[Profile]:
    """The profiles on the card, in the card's order."""
    return [profile for profile in _IN_ORDER.all() if not problems(profile)]


def all_with_problems() -> list[tuple[Profile, tuple[str, ...]]]:
    """Every profile with the reasons why it is not on the card; none: it is."""
    return [(profile, problems(profile)) for profile in _IN_ORDER.all()]


def problems(profile: Profile) -> tuple[str, ...]:
    """Why the profile is not on the card, for administrators (S7)."""
    return tuple(_problems(profile))


def _in_order() -> QuerySet[Profile]:
    related = Profile.objects.select_related("configuration__provider")
    return related.order_by("position", "skill_id")


_IN_ORDER: Final = Select(_in_order)


def _problems(profile: Profile) -> Iterator[str]:
    if not profile.is_public:
        yield "It is not public."
    yield from _shape_problems(profile)
    if problem := work_problem(profile):
        yield problem
    elif not keeps_result(profile):
        yield (
            f"The provider of its LLM configuration «{profile.configuration}» keeps no "
            "result (its answer level)."
        )


def _shape_problems(profile: Profile) -> Iterator[str]:
    """What a form refuses, but a fixture or an `update` may have stored."""
    for name in ("name", "description"):
        if not getattr(profile, name).strip():
            yield f"Its {name} is empty."
    for name in ("tags", "examples", "tools"):
        if not _is_list_of_texts(getattr(profile, name)):
            yield f"Its {name} are not a list of texts."


def work_problem(profile: Profile) -> str | None:
    """Why no run of it could work, for administrators."""
    handler = handlers.find(profile.handler)
    if handler is None:
        return f"Its domain handler «{profile.handler}» is not available."
    if not handler.uses_model:
        return None
    if profile.configuration is None:
        return f"Its domain handler «{profile.handler}» needs an LLM configuration."
    return availability.configuration_problem(profile.configuration)


def keeps_result(profile: Profile) -> bool:
    return availability.keeps_result(configuration_of(profile))


def configuration_of(profile: Profile) -> LLMConfiguration | None:
    """The configuration that its runs use: none where the handler uses no model."""
    handler = handlers.find(profile.handler)
    return profile.configuration if handler and handler.uses_model else None


def handler_of(profile: Profile) -> DomainHandler:
    """The handler that its runs use, or PROFILE_UNAVAILABLE."""
    handler = handlers.find(profile.handler)
    if handler is None:
        raise refuse(Reason.PROFILE_UNAVAILABLE)
    return handler


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# --- What a run may use ---------------------------------------------------------------


def granted_tools(profile: Profile) -> tuple[str, ...]:
    """The profile's tools, without the writing ones unless it may write (T3)."""
    listed = _listed_tools(profile)
    if profile.may_write or not listed:
        return listed
    known = registry.all_tools()
    return tuple(
        name for name in listed if name in known and _may(profile, known[name])
    )


def _listed_tools(profile: Profile) -> tuple[str, ...]:
    if not _is_list_of_texts(profile.tools):
        return ()
    return tuple(dict.fromkeys(profile.tools))


def _may(profile: Profile, tool: Tool) -> bool:
    return profile.may_write or tool.effect is Effect.READ_ONLY


def given_tools(profile: Profile, *, user_id: int) -> tuple[str, ...]:
    """The tools that a new run of this user is given (S50, T3).

    Only those that it would be offered now: it fails when it loses one of them.
    """
    handler = handlers.find(profile.handler)
    listed = _listed_tools(profile) if handler and handler.uses_model else ()
    if not listed:
        return ()
    user = get_user_model().objects.filter(pk=user_id).first()
    offered = grants.offered(listed, user)
    return tuple(n for n in listed if n in offered and _may(profile, offered[n]))


# --- Choosing -------------------------------------------------------------------------


def named_skill(metadata: Mapping[str, JSONValue] | None) -> str | None:
    """The skill id in a request's metadata; -32602 when it is no text."""
    value = (metadata or {}).get(PROFILE_EXTENSION_URI)
    if value is None or isinstance(value, str):
        return value
    raise invalid_params(f"{_FIELD}.{PROFILE_EXTENSION_URI}", "A skill id is a text.")


def choose(caller: Caller, name: str | None) -> Profile:
    """The profile that a call is for, or the refusal of S30 and S31."""
    statement = _ALL if name is None else _NAMED
    candidates = statement.all(client_id=caller.client_id, skill_id=name)
    if not candidates:
        raise refuse(Reason.PROFILE_UNAVAILABLE)
    if len(candidates) > 1:
        candidates = _callable(candidates, caller)
    (profile,) = candidates
    if reason := _refusal(profile, caller):
        raise refuse(reason)
    return profile


def _candidates() -> QuerySet[Profile]:
    found = Profile.objects.filter(
        grants__client_id=value(ClientProfile, "client_id"), is_public=True
    )
    found = found.select_related("configuration__provider")
    found = found.prefetch_related("configuration__allowed_groups")
    return found.order_by("position", "skill_id")


_ALL: Final = Select(_candidates)
_NAMED: Final = Select(
    lambda: _candidates().filter(skill_id=value(Profile, "skill_id"))
)


def _callable(candidates: list[Profile], caller: Caller) -> list[Profile]:
    """Of several skills, the only one that the client could call."""
    found = [profile for profile in candidates if not _refusal(profile, caller)]
    if len(found) > 1:
        raise _profile_required(found)
    if not found:
        raise refuse(Reason.PROFILE_UNAVAILABLE)
    return found


def _profile_required(profiles: list[Profile]) -> Exception:
    ids = ", ".join(profile.skill_id for profile in profiles)
    violation = FieldViolation(
        f"{_FIELD}.{PROFILE_EXTENSION_URI}", f"Name one of these skills: {ids}."
    )
    return refuse(
        Reason.PROFILE_REQUIRED,
        metadata={"skills": ",".join(profile.skill_id for profile in profiles)},
        violations=(violation,),
    )


def _refusal(profile: Profile, caller: Caller) -> Reason | None:
    user = get_user_model()(pk=caller.technical_user_id)
    return refusal(profile, user=user, has_workspace=caller.workspace_id is not None)


def refusal(
    profile: Profile, *, user: AbstractBaseUser, has_workspace: bool
) -> Reason | None:
    """Why a client with this technical user may not call a public skill that it holds."""
    if work_problem(profile) or not _user_may_use(profile, user):
        return Reason.PROFILE_UNAVAILABLE
    if not keeps_result(profile):
        return Reason.RESULT_NOT_RETAINABLE
    if profile.may_write and not has_workspace:
        return Reason.WORKSPACE_REQUIRED
    return None


def _user_may_use(profile: Profile, user: AbstractBaseUser) -> bool:
    configuration = configuration_of(profile)
    return configuration is None or availability.user_may_use(configuration, user)
