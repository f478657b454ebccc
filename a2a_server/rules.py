"""The rules of profiles, clients and grants when they are saved (P3, P4, P6).

Each is a function from a change to problems, registered with `agent_runs.saving`. A rule
between two records stands here once for each side: a writing skill needs a workspace,
whether the skill begins to write, the client loses its workspace or the two are brought
together. Every sentence names the record whose rule the save would break.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from a2a_server.models import Client, ClientProfile, Profile
from a2a_server.models.profile import RESERVED_SKILL_IDS
from agent_runs import availability, handlers
from agent_runs.saving import Change, Problem, listed, register_rules, related
from agent_runs.tools import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_runs.models import LLMConfiguration

    ProfileChange = Change[Profile]
    ClientChange = Change[Client]
    GrantChange = Change[ClientProfile]

_LISTS = ("tags", "examples", "tools")
# Controls, lone surrogates, line and paragraph separators.
_UNFIT = frozenset({"Cc", "Cs", "Zl", "Zp"})


# What `grants_fit` reads of many profiles.
GROUPS_OF_PROFILES = ("configuration__allowed_groups",)

# --- A profile by itself --------------------------------------------------------------


def skill_id_is_free(change: ProfileChange) -> Iterator[Problem]:
    skill_id = str(change.new.skill_id or "")
    if change.touches("skill_id") and skill_id.casefold() in RESERVED_SKILL_IDS:
        yield Problem(
            sentence=f"«{skill_id}» is an address of the protocol; choose another id.",
            field="skill_id",
        )


def texts_are_visible(change: ProfileChange) -> Iterator[Problem]:
    for name in ("name", "description"):
        text = getattr(change.new, name)
        # Nothing at all has its own message from the field.
        if text and not str(text).strip() and change.touches(name):
            yield Problem(sentence="This needs some visible text.", field=name)


def lists_hold_lines(change: ProfileChange) -> Iterator[Problem]:
    for name in _LISTS:
        if change.touches(name) and not _is_list_of_lines(getattr(change.new, name)):
            yield Problem(
                sentence="This must be a list of lines, each with some visible text.",
                field=name,
            )


def _is_list_of_lines(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(line, str) and line.strip() and _is_one_line(line) for line in value
    )


def _is_one_line(text: str) -> bool:
    return not any(unicodedata.category(letter) in _UNFIT for letter in text)


def handler_is_known(change: ProfileChange) -> Iterator[Problem]:
    name = change.new.handler
    if not change.touches("handler") and not change.gains("is_public"):
        return
    if name and handlers.find(name) is None:
        yield Problem(
            sentence=f"No domain handler «{name}» is installed.", field="handler"
        )


def configuration_fits_handler(change: ProfileChange) -> Iterator[Problem]:
    if not change.touches("handler", "configuration_id", "is_public"):
        return
    if not change.touches("handler", "configuration_id") and not change.new.is_public:
        return
    handler = handlers.find(change.new.handler or "")
    if handler is None:
        return
    has_configuration = change.new.configuration_id is not None
    if handler.uses_model and not has_configuration:
        sentence = f"The handler «{handler.name}» needs an LLM configuration."
        yield Problem(sentence=sentence, field="configuration")
    if not handler.uses_model and has_configuration:
        sentence = f"The handler «{handler.name}» uses no model; leave this empty."
        yield Problem(sentence=sentence, field="configuration")


def tools_only_read(change: ProfileChange) -> Iterator[Problem]:
    """Without «may write», a list that gains a tool may hold reading ones only."""
    new, stored = change.new, change.stored
    if new.may_write or not _is_list_of_lines(new.tools):
        return
    if stored is not None and _is_part_of(new.tools, stored.tools):
        return
    writing = [name for name in new.tools if registry.effect_of(name).is_write]
    if writing:
        yield Problem(
            sentence=f"{listed(writing)} may write or is not installed here: leave "
            "it out, or switch «may write» on.",
            field="tools",
        )


def _is_part_of(tools: list[str], stored: Any) -> bool:
    return _is_list_of_lines(stored) and set(tools) <= set(stored)


# --- A profile and its configuration --------------------------------------------------


def public_skill_can_answer(change: ProfileChange) -> Iterator[Problem]:
    new = change.new
    configuration = related(new, "configuration")
    if not new.is_public or configuration is None:
        return
    if change.touches("is_public", "configuration_id", "handler"):
        yield from _answer_problems(configuration)


def _answer_problems(configuration: LLMConfiguration) -> Iterator[Problem]:
    if problem := availability.configuration_problem(configuration):
        yield Problem(sentence=f"It cannot be public: {problem}", field="configuration")
    provider = configuration.provider
    if not availability.keeps_result(configuration):
        level = provider.get_answer_level_display()
        yield Problem(
            sentence=f"It cannot be public: the provider «{provider}» keeps no result "
            f"(answer level «{level}»).",
            field="configuration",
        )


def granted_users_may_use_configuration(change: ProfileChange) -> Iterator[Problem]:
    if change.stored is None or not change.touches("configuration_id"):
        return
    configuration = related(change.new, "configuration")
    if configuration is None:
        return
    groups = configuration.allowed_groups.all()
    if not groups:
        return
    clients = Client.objects.filter(profiles=change.new).order_by("name")
    excluded = clients.exclude(technical_user__groups__in=groups)
    if excluded:
        yield Problem(
            sentence=f"The technical user of the client {listed(excluded)} is in no "
            f"group that may use «{configuration}».",
            field="configuration",
        )


# --- Writing skills and workspaces ----------------------------------------------------


def granted_clients_have_workspaces(change: ProfileChange) -> Iterator[Problem]:
    if change.stored is None or not change.gains("may_write"):
        return
    live = Client.objects.filter(profiles=change.new, workspace=None).order_by("name")
    if live:
        yield Problem(
            sentence=f"The client {listed(live)} may call this skill and has no "
            "workspace: give it one first, or take the skill from it.",
            field="may_write",
        )


# --- A client -------------------------------------------------------------------------


def name_is_visible(change: ClientChange) -> Iterator[Problem]:
    # Nothing at all became of white space, which the field had let pass.
    if not change.new.name and change.touches("name"):
        yield Problem(sentence="This needs some visible text.", field="name")


def technical_user_is_fit(change: ClientChange) -> Iterator[Problem]:
    user = related(change.new, "technical_user")
    if not change.new.is_enabled or user is None:
        return
    if not change.touches("technical_user_id") and not _is_let_in(change):
        return
    if problem := availability.owner_problem(user):
        yield Problem(
            sentence=f"The client cannot be enabled: {problem}", field="technical_user"
        )


def _lasts_longer(change: ClientChange) -> bool:
    stored = change.stored.expires_at if change.stored else None
    new = change.new.expires_at
    return stored is not None and (new is None or new > stored)


def stored_grants_fit(change: ClientChange) -> Iterator[Problem]:
    if change.stored is None or change.new.grants_are_checked_later:
        return
    profiles = Profile.objects.filter(clients=change.new).order_by("name")
    yield from grants_fit(change, profiles.prefetch_related(*GROUPS_OF_PROFILES))


def grants_fit(change: ClientChange, profiles: Iterable[Profile]) -> Iterator[Problem]:
    """Whether the client, as it is about to be saved, may hold these skills."""
    client = change.new
    granted = list(profiles)
    writing = [profile for profile in granted if profile.may_write]
    if writing and client.workspace_id is None and _may_reach_more(change):
        yield Problem(
            sentence=f"The client may call the writing skill {listed(writing)}, which "
            "needs a workspace.",
            field="workspace",
        )
    if change.touches("technical_user_id") or _is_let_in(change):
        yield from _group_problems(client, granted)


def _may_reach_more(change: ClientChange) -> bool:
    return change.touches("workspace_id") or _is_let_in(change)


def _is_let_in(change: ClientChange) -> bool:
    """Whether its calls are taken from now on, or for longer than before."""
    return change.new.is_enabled and (
        change.touches("is_enabled") or _lasts_longer(change)
    )


def _group_problems(client: Client, profiles: list[Profile]) -> Iterator[Problem]:
    for profile in profiles:
        if problem := _group_problem(client, profile):
            yield Problem(sentence=problem, field="technical_user")


def _group_problem(client: Client, profile: Profile) -> str | None:
    user, configuration = related(client, "technical_user"), profile.configuration
    if user is None or configuration is None:
        return None
    if availability.user_may_use(configuration, user):
        return None
    return f"The skill «{profile}» uses «{configuration}», whose groups «{user}» is not in."


# --- A grant --------------------------------------------------------------------------


def grant_fits(change: GrantChange) -> Iterator[Problem]:
    client = related(change.new, "client")
    profile = related(change.new, "profile")
    if client is None or profile is None:
        return
    if not change.touches("client_id", "profile_id"):
        return
    if profile.may_write and client.workspace_id is None:
        yield Problem(
            sentence=f"The skill «{profile}» may write, so the client «{client}» needs a "
            "workspace first.",
            field="profile",
        )
    if problem := _group_problem(client, profile):
        yield Problem(sentence=problem, field="profile")


def register() -> None:
    register_rules(
        Profile,
        skill_id_is_free,
        texts_are_visible,
        lists_hold_lines,
        handler_is_known,
        configuration_fits_handler,
        tools_only_read,
        public_skill_can_answer,
        granted_users_may_use_configuration,
        granted_clients_have_workspaces,
    )
    register_rules(Client, name_is_visible, technical_user_is_fit, stored_grants_fit)
    register_rules(ClientProfile, grant_fits)
